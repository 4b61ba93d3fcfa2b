//! Files of a tool become recordings in a folder.

use std::path::{Path, PathBuf};

use manometer_measure::recording::check_room;
use manometer_workload::command::ParserName;

use crate::{Draft, ImportError, fio_logs, programs, resctl_bench, storiks, swept, ycsb};

/// A tool whose results can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    /// Logs of Storiks and of `rocksdb_test`.
    Storiks,
    /// What YCSB printed, and its histogram logs.
    Ycsb,
    /// What `db_bench` printed.
    DbBench,
    /// fio's documents or its logs.
    Fio,
    /// Results of resctl-bench.
    ResctlBench,
}

impl Tool {
    /// Reads `files`: a draft for each run in them.
    ///
    /// # Errors
    /// One cannot be read, or is not this tool's.
    pub fn read(self, files: &[PathBuf]) -> Result<Vec<Draft>, ImportError> {
        let each = |read: &dyn Fn(&Path) -> Result<Draft, ImportError>| files.iter().map(|path| read(path)).collect();
        match self {
            Self::Storiks => each(&storiks::read),
            Self::Ycsb => ycsb::read(files),
            Self::DbBench => each(&|path| programs::read(ParserName::DbBench, path)),
            Self::Fio if files.iter().all(|path| fio_logs::is_log(path)) => fio_logs::read(files),
            Self::Fio => each(&|path| programs::read(ParserName::Fio, path)),
            Self::ResctlBench => each(&resctl_bench::read),
        }
    }
}

/// Makes recordings of `files` in the folder `out`: in itself for one run, in `runs/001` and so on for several, where what
/// differs between them is what was swept. All are read before anything is written. Gives their folders.
///
/// # Errors
/// `out` is not empty, a file cannot be read or is not the tool's, or a recording cannot be written.
pub fn import(tool: Tool, files: &[PathBuf], out: &Path) -> Result<Vec<PathBuf>, ImportError> {
    check_room(out)?;
    let mut drafts = tool.read(files)?;
    swept(&mut drafts);
    let dirs: Vec<PathBuf> = match drafts.len() {
        1 => vec![out.to_owned()],
        several => (1..=several).map(|number| out.join("runs").join(format!("{number:03}"))).collect(),
    };
    for (draft, dir) in drafts.iter().zip(&dirs) {
        draft.write(dir)?;
    }
    Ok(dirs)
}
