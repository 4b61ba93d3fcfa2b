//! Recordings that a test changes.

use std::fs;
use std::path::Path;

/// Makes the recording in `dir` one without checksums, as earlier versions wrote, so that a test may change its files.
///
/// # Panics
/// It is no recording.
pub fn remove_checksums(dir: &Path) {
    fs::remove_file(dir.join("checksums.jsonl")).unwrap();
    let path = dir.join("events.jsonl");
    let events = fs::read_to_string(&path).unwrap();
    let unnumbered = |line: &str| match line.rsplit_once(",\"line_number\":") {
        Some((line, _)) => format!("{line}}}\n"),
        None => format!("{line}\n"),
    };
    fs::write(&path, events.lines().map(unnumbered).collect::<String>()).unwrap();
}
