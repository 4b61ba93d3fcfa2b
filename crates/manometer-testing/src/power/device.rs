//! The device: an ext4 file system, followed by blocks with the guest's markers.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::process::Command;

use super::machine::{Machine, PATH};

/// Small, so that blocks are soon reused.
const FILE_SYSTEM_BYTES: u64 = 32 << 20;

pub(super) const BLOCK_BYTES: usize = 4096;

/// The offset of the marker for what was acknowledged last.
pub(super) const ACKNOWLEDGED_AT: u64 = FILE_SYSTEM_BYTES;

/// The offset of the marker for the last point that was reached.
pub(super) const REACHED_AT: u64 = ACKNOWLEDGED_AT + BLOCK_BYTES as u64;

pub(super) const DEVICE_BYTES: u64 = REACHED_AT + BLOCK_BYTES as u64;

/// A device with an empty file system.
pub fn with_file_system(machine: &Machine) -> Vec<u8> {
    let path = machine.directory().join("new");
    File::create(&path).unwrap().set_len(FILE_SYSTEM_BYTES).unwrap();
    // Everything is initialised here, so that nothing is left to the kernel whose writes are recorded.
    run("mkfs.ext4", &["-q", "-F", "-b", "4096", "-E", "nodiscard,lazy_itable_init=0,lazy_journal_init=0"], &path)
        .unwrap();
    let mut image = fs::read(&path).unwrap();
    fs::remove_file(path).unwrap();
    image.resize(DEVICE_BYTES as usize, 0);
    image
}

/// Checks the file system. Its journal must keep it sound: if it is not, no device could have been cut like this.
pub(super) fn check(path: &Path) -> Result<(), String> {
    run("e2fsck", &["-f", "-n"], path)
}

fn run(program: &str, arguments: &[&str], path: &Path) -> Result<(), String> {
    let output = Command::new(program).env("PATH", PATH).args(arguments).arg(path).output().unwrap();
    if output.status.success() {
        return Ok(());
    }
    let texts = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    Err(format!("{program} {}: {}{}", output.status, texts[0], texts[1]))
}

/// Writes an image as a sparse file.
pub fn write(image: &[u8], path: &Path) -> io::Result<()> {
    let file = File::create(path)?;
    file.set_len(image.len() as u64)?;
    for (index, block) in image.chunks(BLOCK_BYTES).enumerate() {
        if *block != [0; BLOCK_BYTES] {
            file.write_all_at(block, (index * BLOCK_BYTES) as u64)?;
        }
    }
    Ok(())
}
