//! `checksums.jsonl`: the CRC-32C of the files of a recording that are written in one go, one line for each version of a file.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _, Write as _};

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use crate::directory::Directory;
use crate::json_line;

/// The file's name in the recording.
const FILE: &str = "checksums.jsonl";

/// The largest file that is read, and how much of another is read at once.
const MOST_BYTES: u64 = 64 << 20;
const CHUNK_BYTES: usize = 1 << 16;

/// A line.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct FileSum {
    /// The path below the recording.
    file: String,
    /// Eight hexadecimal digits; empty for a series or log that begins, whose `file` has no ending yet.
    sum: String,
    /// From 0: shows lines that are lost, doubled or exchanged.
    #[serde(default)]
    line_number: Option<u64>,
}

/// The checksums of the files of a recording; empty for a recording of an earlier version.
#[derive(Debug, Default)]
pub(super) struct FileSums {
    files: BTreeMap<String, Vec<String>>,
    /// Whether the last line is cut off: damage, unless the run was.
    pub(super) is_cut: bool,
}

impl FileSums {
    /// Reads the checksums of the recording `files`; lines that cannot be read are added to `damage`.
    pub(super) fn read(files: &Directory, damage: &mut Vec<String>) -> Self {
        let mut sums = Self::default();
        let bytes = match files.read_all(FILE, MOST_BYTES) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return sums,
            Err(error) => {
                damage.push(format!("{FILE}: {error}"));
                return sums;
            }
            Ok(bytes) => bytes,
        };
        let mut are_in_order = true;
        for (index, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
            match json_line::decode::<FileSum>(line) {
                Ok((line, true)) => {
                    are_in_order &= line.line_number.is_none_or(|number| number == index as u64);
                    sums.files.entry(line.file).or_default().push(line.sum);
                }
                Err(error) if error.is_cut() && !line.ends_with(b"\n") => sums.is_cut = true,
                Ok((_, false)) => damage.push(format!("{FILE}, line {} is left out: it has no checksum", index + 1)),
                Err(error) => damage.push(format!("{FILE}, line {} is left out: {error}", index + 1)),
            }
        }
        if !are_in_order {
            damage.push(format!("{FILE}: lines are lost, doubled or exchanged"));
        }
        sums
    }

    /// What is wrong with the `files` that are listed: one is missing, or has another checksum, or none though the run
    /// has ended.
    pub(super) fn faults(&self, files: &Directory, has_ended: bool) -> Vec<String> {
        let exists = |name: &str, endings: &[&str]| endings.iter().any(|ending| files.holds(format!("{name}{ending}")));
        let fault = |(name, sums): (&String, &Vec<String>)| {
            let is_begun = sums.iter().all(String::is_empty);
            let has_final =
                || [".parquet", ".hlog"].iter().any(|ending| self.files.contains_key(&format!("{name}{ending}")));
            if is_begun && has_final() {
                return None;
            }
            if !exists(name, if is_begun { &[".arrows", ".parquet", ".hlog"] } else { &[""] }) {
                return Some(format!("{name} is missing"));
            }
            if is_begun {
                let is_final = has_ended && !exists(name, &[".arrows"]);
                is_final.then(|| format!("{FILE}: the checksum of {name} is missing"))
            } else {
                self.fault_of_file(files, name).unwrap_or_else(|error| Some(format!("{name}: {error}")))
            }
        };
        self.files.iter().filter_map(fault).collect()
    }

    /// Whether the file `name` has a checksum.
    pub(super) fn lists(&self, name: &str) -> bool {
        self.files.contains_key(name)
    }

    /// What is wrong with the file `name`, whose content is `bytes`.
    pub(super) fn fault(&self, name: &str, bytes: &[u8]) -> Option<String> {
        self.contradicts(name, crc32c::crc32c(bytes)).then(|| fault(name))
    }

    /// What is wrong with the file `name` of `files`, without its content in memory.
    pub(super) fn fault_of_file(&self, files: &Directory, name: &str) -> io::Result<Option<String>> {
        if !self.lists(name) {
            return Ok(None);
        }
        Ok(self.contradicts(name, sum_of_file(files.read(name)?)?).then(|| fault(name)))
    }

    fn contradicts(&self, name: &str, sum: u32) -> bool {
        self.files.get(name).is_some_and(|sums| !sums.contains(&format!("{sum:08x}")))
    }
}

fn fault(name: &str) -> String {
    format!("{name} was changed or damaged after it was written: its checksum in {FILE} is another")
}

/// Adds the checksum of the file `name` of `files`, which is complete.
pub(super) fn add_file(files: &Directory, name: &str) -> io::Result<()> {
    append(files, name, sum_of_file(files.read(name)?)?)
}

/// Adds the checksum of the content `bytes` that the file `name` is about to have. The old content keeps its own, because the
/// run may be killed between this line and the file.
pub(super) fn add(files: &Directory, name: &str, bytes: &[u8]) -> io::Result<()> {
    append(files, name, crc32c::crc32c(bytes))
}

/// Adds that the series or log `name`, without its ending, begins: if it is missing later, that is damage.
pub(super) fn begin(files: &Directory, name: &str) -> io::Result<()> {
    open(files)?.write_all(&line(files, name, String::new())?)
}

fn append(files: &Directory, name: &str, sum: u32) -> io::Result<()> {
    let mut file = open(files)?;
    file.write_all(&line(files, name, format!("{sum:08x}"))?)?;
    file.sync_data()
}

/// The next line of the checksums of `files`.
fn line(files: &Directory, name: &str, sum: String) -> io::Result<Vec<u8>> {
    let before = files.read_all(FILE, MOST_BYTES)?;
    let number = before.iter().filter(|byte| **byte == b'\n').count() as u64;
    Ok(json_line::encode(&FileSum { file: name.to_owned(), sum, line_number: Some(number) }))
}

fn open(files: &Directory) -> io::Result<File> {
    files.open_file(FILE, OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::NONBLOCK)
}

fn sum_of_file(mut file: File) -> io::Result<u32> {
    let (mut sum, mut chunk) = (0, vec![0; CHUNK_BYTES]);
    loop {
        match file.read(&mut chunk)? {
            0 => return Ok(sum),
            length => sum = crc32c::crc32c_append(sum, &chunk[..length]),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn folder() -> (tempfile::TempDir, Directory) {
        let folder = tempfile::tempdir().unwrap();
        let files = Directory::open(folder.path()).unwrap();
        (folder, files)
    }

    fn fault_of(dir: &Directory, content: &[u8]) -> (Option<String>, Vec<String>) {
        fs::write(dir.path().join("plan.json"), content).unwrap();
        let mut damage = Vec::new();
        let sums = FileSums::read(dir, &mut damage);
        let fault = sums.fault("plan.json", content);
        assert_eq!(sums.fault_of_file(dir, "plan.json").unwrap(), fault);
        (fault, damage)
    }

    #[test]
    fn each_version_of_a_file_that_was_written_counts_and_no_other() {
        let (_folder, dir) = folder();
        assert_eq!(fault_of(&dir, b"of an earlier version"), (None, vec![]));
        add(&dir, "plan.json", b"one").unwrap();
        add(&dir, "plan.json", b"two").unwrap();
        for content in [b"one", b"two"] {
            assert_eq!(fault_of(&dir, content), (None, vec![]));
        }
        assert!(fault_of(&dir, b"six").0.unwrap().contains("plan.json was changed or damaged"));
    }

    #[test]
    fn a_file_that_is_listed_and_missing_is_named() {
        let (_folder, dir) = folder();
        begin(&dir, "samples").unwrap();
        add(&dir, "plan.json", b"one").unwrap();
        let faults = || FileSums::read(&dir, &mut Vec::new()).faults(&dir, false);
        assert_eq!(faults(), ["plan.json is missing", "samples is missing"]);
        fs::write(dir.path().join("samples.parquet"), "").unwrap();
        fs::write(dir.path().join("plan.json"), "one").unwrap();
        assert_eq!(faults(), [] as [String; 0]);
        let after_the_end = FileSums::read(&dir, &mut Vec::new()).faults(&dir, true);
        assert_eq!(after_the_end, ["checksums.jsonl: the checksum of samples is missing"]);
    }

    #[test]
    fn lost_doubled_and_exchanged_lines_are_damage() {
        let (_folder, dir) = folder();
        for name in ["a", "b", "c"] {
            add(&dir, name, name.as_bytes()).unwrap();
        }
        let text = fs::read_to_string(dir.path().join(FILE)).unwrap();
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        for (order, damages) in [(&[0, 1, 2][..], 0), (&[0, 2], 1), (&[1, 2], 1), (&[0, 0, 1, 2], 1), (&[1, 0, 2], 1)] {
            fs::write(dir.path().join(FILE), order.iter().map(|at| lines[*at]).collect::<String>()).unwrap();
            let mut damage = Vec::new();
            FileSums::read(&dir, &mut damage);
            assert_eq!(damage.len(), damages, "{order:?}: {damage:?}");
        }
    }

    #[test]
    fn a_damaged_line_is_named() {
        let (_folder, dir) = folder();
        add(&dir, "plan.json", b"one").unwrap();
        let text = fs::read_to_string(dir.path().join(FILE)).unwrap();
        fs::write(dir.path().join(FILE), text.replacen("\"sum\":\"", "\"sum\":\"0", 1)).unwrap();
        let (fault, damage) = fault_of(&dir, b"one");
        assert_eq!(fault, None);
        assert_eq!(damage, ["checksums.jsonl, line 1 is left out: its checksum contradicts it"]);
        fs::write(dir.path().join(FILE), &text[..20]).unwrap();
        assert_eq!(fault_of(&dir, b"one"), (None, vec![]), "killed while it was written");
    }
}
