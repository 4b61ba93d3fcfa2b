//! Links to the recording's own files.

use std::fmt::Write as _;
use std::fs;
use std::path::{Component, Path, PathBuf};

use manometer_measure::Recording;
use manometer_measure::human;

use super::html::{escape, link};
use crate::ReportError;

/// The files of a recording besides its series and logs, and what they hold.
const FILES: [(&str, &str); 5] = [
    ("summary.json", "what the analysis says"),
    ("experiment.toml", "the experiment exactly as run"),
    ("plan.json", "the phases"),
    ("environment.json", "the host"),
    ("events.jsonl", "what happened, as it happened"),
];

/// The folders of a recording, and what their files hold.
const FOLDERS: [(&str, &str); 2] =
    [("samples", "one row per sample interval"), ("latency", "latencies per sample interval and operation")];

pub(super) fn section(recording: &Recording, folder: &Path, level: usize) -> Result<String, ReportError> {
    let dir = relative(&recording.dir, folder)?;
    let mut html = format!(
        "<section><h{level}>Data</h{level}>\n<p class=\"caption\">The recording from which this page was computed. The \
         links work while the page lies where it was written; the data of each chart can be saved from the chart \
         itself.</p>\n<ul class=\"files\">\n"
    );
    for (path, what) in files(&recording.dir) {
        let size = fs::metadata(recording.dir.join(&path)).map_or(0, |file| file.len());
        let href = link(&dir.join(&path).to_string_lossy());
        let size = human::bytes(size);
        _ = writeln!(html, "<li><a href=\"{href}\">{}</a> <small>{what} · {size}</small></li>", escape(&path));
    }
    html.push_str("</ul></section>\n");
    Ok(html)
}

/// The files that are there, each with what it holds.
fn files(dir: &Path) -> Vec<(String, &'static str)> {
    let mut files: Vec<(String, &str)> = FILES
        .iter()
        .filter(|(name, _)| dir.join(name).is_file())
        .map(|(name, what)| ((*name).to_owned(), *what))
        .collect();
    for (folder, what) in FOLDERS {
        let entries = fs::read_dir(dir.join(folder)).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.map(|entry| format!("{folder}/{}", entry.file_name().to_string_lossy())).collect();
        names.sort();
        files.extend(names.into_iter().map(|name| (name, what)));
    }
    files
}

/// The way from the folder `from` to `to`.
fn relative(to: &Path, from: &Path) -> Result<PathBuf, ReportError> {
    let absolute = |path: &Path| {
        fs::canonicalize(path)
            .or_else(|_| std::path::absolute(path))
            .map_err(|source| ReportError::Path { path: path.to_owned(), source })
    };
    let (to, from) = (absolute(to)?, absolute(from)?);
    let shared = to.components().zip(from.components()).take_while(|(left, right)| left == right).count();
    let up = from.components().skip(shared).map(|_| Component::ParentDir);
    Ok(up.chain(to.components().skip(shared)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_from_the_page_to_the_recording() {
        let way = |to: &str, from: &str| relative(Path::new(to), Path::new(from)).unwrap();
        assert_eq!(way("/no/such/runs/000", "/no/such"), Path::new("runs/000"));
        assert_eq!(way("/no/such/run", "/no/such/run"), Path::new(""));
        assert_eq!(way("/no/such/run", "/no/such/pages"), Path::new("../run"));
    }
}
