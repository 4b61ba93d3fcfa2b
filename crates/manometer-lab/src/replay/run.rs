//! Replays requests on a device.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;

use manometer_measure::{Clock as _, MonotonicClock};
use rustix::fs::OFlags;

use super::requests;
use crate::LabError;

const ALIGNMENT: usize = 4096;

/// Replays the requests of a file on `device`, each after the one before has ended, past the page cache. Writes the time at
/// which each ended, in nanoseconds since the begin, to `times`.
///
/// # Errors
/// A file or the device cannot be read or written.
pub fn replay(requests: &Path, device: &Path, times: &Path) -> Result<(), LabError> {
    let requests = requests::read(requests)?;
    let longest = requests.iter().map(|request| request.bytes as usize).max().unwrap_or(0);
    let mut memory = vec![0_u8; longest + ALIGNMENT];
    let begin = memory.as_ptr().align_offset(ALIGNMENT);
    let direct = i32::try_from(OFlags::DIRECT.bits()).unwrap_or_default();
    let file = OpenOptions::new().read(true).write(true).custom_flags(direct).open(device);
    let file = file.map_err(LabError::at(device))?;
    let mut ended = Vec::with_capacity(requests.len() * size_of::<u64>());
    let since_ns = MonotonicClock.now_ns();
    for request in requests {
        let part = &mut memory[begin..begin + request.bytes as usize];
        let done = match request.is_write {
            true => file.write_all_at(part, request.offset),
            false => file.read_exact_at(part, request.offset),
        };
        done.map_err(LabError::at(device))?;
        ended.extend((MonotonicClock.now_ns() - since_ns).to_le_bytes());
    }
    fs::write(times, ended).map_err(LabError::at(times))
}
