//! Parameter files: `--name=value` lines, including `--flagfile=other`.

use std::fs;
use std::path::{Path, PathBuf};

use super::parameters::Parameters;
use crate::ImportError;

/// The nesting depth beyond which files must include themselves.
const DEPTH_MAX: usize = 16;

/// The parameters of a file and of the files it includes, in order: later ones win.
pub(super) fn read(path: &Path) -> Result<Parameters, ImportError> {
    let mut parameters = Parameters::default();
    take(path, 0, &mut parameters)?;
    Ok(parameters)
}

fn take(path: &Path, depth: usize, parameters: &mut Parameters) -> Result<(), ImportError> {
    if depth == DEPTH_MAX {
        return Err(ImportError::format(path, "the files name one another without end: `--flagfile` leads back here"));
    }
    let text = fs::read_to_string(path).map_err(|source| ImportError::Io { path: path.to_owned(), source })?;
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let Some(flag) = line.strip_prefix("--") else {
            let reason = format!("line {number} is `{line}`: a parameter is `--name=value`");
            return Err(ImportError::format(path, reason));
        };
        let (name, value) = flag.split_once('=').unwrap_or((flag, "true"));
        if name == "flagfile" {
            let named: PathBuf = path.parent().unwrap_or(Path::new("")).join(value);
            take(&named, depth + 1, parameters)?;
        } else {
            parameters.set(name, value);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_taken_where_they_are_named_and_what_comes_later_wins() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(dir.path().join(name), text).unwrap();
        write("base.flags", "### base ###\n--num_ydbs=0\n--ydb_threads=4\n");
        write("one.flags", "--flagfile=base.flags\n--num_ydbs=1\n--sync_stats\n");
        let parameters = read(&dir.path().join("one.flags")).unwrap();
        assert_eq!((parameters.get("num_ydbs"), parameters.get("ydb_threads")), (Some("1"), Some("4")));
        assert_eq!(parameters.get("sync_stats"), Some("true"));
        write("loop.flags", "--flagfile=loop.flags\n");
        assert!(read(&dir.path().join("loop.flags")).unwrap_err().to_string().contains("without end"));
        write("bad.flags", "duration=1\n");
        assert!(read(&dir.path().join("bad.flags")).unwrap_err().to_string().contains("line 1"));
        assert!(read(&dir.path().join("none.flags")).is_err());
    }
}
