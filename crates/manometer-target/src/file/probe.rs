//! Probes the kernel's I/O interfaces with a small file.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use manometer_measure::doctor::{Interfaces, Probe};
use manometer_measure::{Clock as _, Directory, MonotonicClock};

use super::{BackendOptions, FileSet, IoEngine, IoOperation, Submission, direct_alignment_bytes, open};

/// Length of the request: whole blocks of every device.
const BYTES: u32 = 4096;

/// How long one request may take on a busy disk, in nanoseconds.
const PATIENCE_NS: u64 = 10_000_000_000;

/// Probes direct I/O, Linux AIO, io_uring and durable writes with a file in `dir`, which is then removed.
pub fn probe(dir: &Path) -> Interfaces {
    let file = match ProbeFile::make(dir) {
        Ok(file) => file,
        Err(reason) => return Interfaces::untried(&reason),
    };
    let direct = file.attempt(IoEngine::Posix, true, false);
    let past_cache = direct.is_ok();
    let also = |probe: Probe| match past_cache {
        true => probe,
        false => probe.map(|how| format!("{how}, but not past the page cache")),
    };
    Interfaces {
        libaio: also(file.attempt(IoEngine::Libaio, past_cache, false)),
        io_uring: also(file.attempt(IoEngine::IoUring, past_cache, false)),
        dsync: file.attempt(IoEngine::Posix, false, true),
        direct_io: direct.map(|how| match direct_alignment_bytes(&file.path()) {
            Some(bytes) => format!("{how} in multiples of {bytes} B"),
            None => how,
        }),
    }
}

/// A file of one block; removed when dropped.
struct ProbeFile {
    directory: Directory,
    name: String,
}

impl ProbeFile {
    fn make(dir: &Path) -> Result<Self, String> {
        let name = format!(".manometer-probe-{}", std::process::id());
        let failed = |error: std::io::Error| format!("not tried: {} cannot be written: {error}", dir.display());
        let directory = Directory::open(dir).map_err(failed)?;
        let mut file = directory.create_new(&name).map_err(failed)?;
        let made = Self { directory, name };
        file.write_all(&[0; BYTES as usize]).and_then(|()| file.sync_all()).map_err(failed)?;
        Ok(made)
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join(&self.name)
    }

    /// Writes the block and reads it back.
    fn attempt(&self, engine: IoEngine, direct: bool, dsync: bool) -> Probe {
        let files = FileSet { paths: vec![self.path()], bytes_each: u64::from(BYTES) };
        let options =
            BackendOptions { engine, depth: 1, slot_bytes: BYTES, write: true, direct, dsync, memory_bytes: 0 };
        let mut backend = open(&files, &options).map_err(|error| cause(&error))?;
        for operation in [IoOperation::Write, IoOperation::Read] {
            backend.slot_mut(0).fill(0x5a);
            backend.queue(Submission { slot: 0, operation, file: 0, offset: 0, skip: 0, length: BYTES });
            let (mut finished, begin_ns) = (Vec::new(), MonotonicClock.now_ns());
            while finished.is_empty() {
                let now_ns = MonotonicClock.now_ns();
                if now_ns > begin_ns + PATIENCE_NS {
                    return Err(format!("no answer within {} s", PATIENCE_NS / 1_000_000_000));
                }
                backend.wait(now_ns, begin_ns + PATIENCE_NS, &mut finished).map_err(|error| error.to_string())?;
            }
            match finished[0].result {
                result if result == BYTES as i32 => {}
                result if result < 0 => return Err(std::io::Error::from_raw_os_error(-result).to_string()),
                result => return Err(format!("moved {result} of {BYTES} bytes")),
            }
        }
        Ok("works".to_owned())
    }
}

impl Drop for ProbeFile {
    fn drop(&mut self) {
        // A file of 4 KiB that cannot be removed is harmless.
        let _ = self.directory.remove_file(&self.name);
    }
}

/// The kernel's error, without advice for workloads.
fn cause(error: &super::FileError) -> String {
    match error {
        super::FileError::DirectIoUnsupported(_) => "the file system does not support it".to_owned(),
        super::FileError::EngineUnavailable { source, .. } => source.to_string(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn on_a_disk_what_is_tried_works_or_says_why_and_nothing_is_left() {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let found = probe(dir.path());
        assert!(found.dsync.is_ok(), "{found:?}");
        for (engine, probe) in [(IoEngine::Libaio, &found.libaio), (IoEngine::IoUring, &found.io_uring)] {
            assert_eq!(engine.probe().is_ok(), probe.is_ok(), "{engine}: {probe:?}");
        }
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_no_fault_of_the_interfaces() {
        let found = probe(Path::new("/proc"));
        assert!(found.direct_io.unwrap_err().starts_with("not tried: /proc cannot be written"));
    }
}
