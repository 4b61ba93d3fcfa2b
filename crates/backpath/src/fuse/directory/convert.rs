//! The host's attributes and the mount's.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs;

use super::super::node_file_system::{FileType, Stat};

pub(super) fn numbered(stat: &fs::Statx, inode: u64) -> Stat {
    Stat {
        inode,
        generation: 0,
        file_type: file_type(fs::FileType::from_raw_mode(stat.stx_mode.into())),
        mode: stat.stx_mode & 0o7777,
        links: stat.stx_nlink,
        uid: stat.stx_uid,
        gid: stat.stx_gid,
        device: fs::makedev(stat.stx_rdev_major, stat.stx_rdev_minor) as u32,
        size: stat.stx_size,
        blocks: stat.stx_blocks,
        accessed: time(stat.stx_atime),
        modified: time(stat.stx_mtime),
        changed: time(stat.stx_ctime),
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

fn time(time: fs::StatxTimestamp) -> SystemTime {
    let fraction = Duration::from_nanos(time.tv_nsec.into());
    let distance = Duration::from_secs(time.tv_sec.unsigned_abs());
    if time.tv_sec < 0 { UNIX_EPOCH - distance + fraction } else { UNIX_EPOCH + distance + fraction }
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
