//! The host's attributes and the mount's.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs;

use super::super::node_file_system::{FileType, Stat};

pub(super) fn numbered(stat: &fs::Stat, inode: u64) -> Stat {
    Stat {
        inode,
        generation: 0,
        file_type: file_type(fs::FileType::from_raw_mode(stat.st_mode)),
        mode: (stat.st_mode & 0o7777) as u16,
        links: u32::try_from(stat.st_nlink).unwrap_or(u32::MAX),
        uid: stat.st_uid,
        gid: stat.st_gid,
        device: stat.st_rdev as u32,
        size: stat.st_size as u64,
        blocks: stat.st_blocks as u64,
        accessed: time(stat.st_atime, stat.st_atime_nsec),
        modified: time(stat.st_mtime, stat.st_mtime_nsec),
        changed: time(stat.st_ctime, stat.st_ctime_nsec),
    }
}

pub(super) fn file_type(file_type: fs::FileType) -> FileType {
    match file_type {
        fs::FileType::Directory => FileType::Directory,
        fs::FileType::Symlink => FileType::Symlink,
        fs::FileType::Fifo => FileType::Pipe,
        fs::FileType::Socket => FileType::Socket,
        fs::FileType::CharacterDevice => FileType::CharacterDevice,
        fs::FileType::BlockDevice => FileType::BlockDevice,
        fs::FileType::RegularFile | fs::FileType::Unknown => FileType::Regular,
    }
}

pub(super) fn raw_type(file_type: FileType) -> fs::FileType {
    match file_type {
        FileType::Directory => fs::FileType::Directory,
        FileType::Symlink => fs::FileType::Symlink,
        FileType::Regular => fs::FileType::RegularFile,
        FileType::Pipe => fs::FileType::Fifo,
        FileType::Socket => fs::FileType::Socket,
        FileType::CharacterDevice => fs::FileType::CharacterDevice,
        FileType::BlockDevice => fs::FileType::BlockDevice,
    }
}

fn time(seconds: i64, nanoseconds: u64) -> SystemTime {
    let fraction = Duration::from_nanos(nanoseconds);
    let distance = Duration::from_secs(seconds.unsigned_abs());
    if seconds < 0 { UNIX_EPOCH - distance + fraction } else { UNIX_EPOCH + distance + fraction }
}

/// A time to set, or that it stays.
pub(super) fn timespec(time: Option<SystemTime>) -> fs::Timespec {
    let Some(time) = time else { return fs::Timespec { tv_sec: 0, tv_nsec: fs::UTIME_OMIT } };
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => fs::Timespec { tv_sec: after.as_secs() as i64, tv_nsec: after.subsec_nanos().into() },
        Err(before) => {
            let distance = before.duration();
            let borrow = i64::from(distance.subsec_nanos() > 0);
            let nanoseconds = (1_000_000_000 - distance.subsec_nanos()) % 1_000_000_000;
            fs::Timespec { tv_sec: -(distance.as_secs() as i64) - borrow, tv_nsec: nanoseconds.into() }
        }
    }
}
