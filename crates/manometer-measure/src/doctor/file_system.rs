//! The file system: what it lies on, and its mount options.

use std::path::{Path, PathBuf};

use super::{Check, Status};
use crate::host::environment::{self, Backing};

const WHY: &str = "decides what reaches the device, and when";
const WHY_OPTIONS: &str = "options may add requests";

/// A file system as far as the checks ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSystem {
    /// Its type, such as `ext4`; nothing where the folder's mount is not found.
    pub fs_type: Option<String>,
    /// Where it is mounted.
    pub mounted_at: PathBuf,
    /// The options in force.
    pub options: Vec<String>,
    /// What it allocates by.
    pub block_bytes: Option<u64>,
    /// What can still be written.
    pub free_bytes: Option<u64>,
}

impl FileSystem {
    pub(super) fn read(dir: &Path) -> Self {
        let mount = environment::mount_of(dir);
        Self {
            fs_type: mount.as_ref().map(|mount| mount.fs_type.clone()),
            mounted_at: mount.as_ref().map_or_else(|| dir.to_owned(), |mount| mount.mounted_at.clone()),
            options: mount.map(|mount| mount.options).unwrap_or_default(),
            block_bytes: environment::block_size_bytes(dir),
            free_bytes: environment::free_bytes(dir),
        }
    }

    pub(super) fn checks(&self) -> [Check; 2] {
        [self.check_type(), self.check_options()]
    }

    fn check_type(&self) -> Check {
        let Some(fs_type) = &self.fs_type else {
            return Check::new("file-system", Status::Missing, "the folder's mount is not found", WHY);
        };
        let free = self.free_bytes.map_or_else(String::new, |bytes| format!(", {} free", super::size(bytes)));
        let at = self.mounted_at.display();
        let text = format!("{fs_type} at {at}{free}");
        match (environment::backing(fs_type), fs_type.as_str()) {
            (Backing::Device, "btrfs" | "zfs" | "bcachefs") => {
                let text = format!("{text}: copies on write");
                Check::new("file-system", Status::Limited, text, WHY).remedy("use ext4 or XFS for the device directory")
            }
            (Backing::Device, _) => Check::new("file-system", Status::Ok, text, WHY),
            (backing, _) => {
                let text = format!("{text}: {}; `manometer run` refuses it", backing.what());
                Check::new("file-system", Status::Missing, text, WHY).remedy("choose a folder on a local disk")
            }
        }
    }

    fn check_options(&self) -> Check {
        let at = self.mounted_at.display();
        let has = |option: &str| self.options.iter().any(|other| other == option);
        let found: Vec<&Costly> = COSTLY.iter().filter(|costly| has(costly.option)).collect();
        let Some(first) = found.first() else {
            let text = format!("{}: none costs anything", self.shown_options());
            return Check::new("mount-options", Status::Ok, text, WHY_OPTIONS);
        };
        let texts: Vec<String> = found.iter().map(|costly| format!("{}: {}", costly.option, costly.effect)).collect();
        let status = if has("ro") { Status::Missing } else { Status::Limited };
        let instead: Vec<&str> = found.iter().filter_map(|costly| costly.instead).collect();
        let remedy = if first.option == "data=journal" || instead.is_empty() {
            format!("mount {at} anew without it")
        } else {
            format!("mount -o remount,{} {at}", instead.join(","))
        };
        Check::new("mount-options", status, texts.join("; "), WHY_OPTIONS).remedy(remedy)
    }

    fn shown_options(&self) -> String {
        if self.options.is_empty() { "no options".to_owned() } else { self.options.join(",") }
    }
}

/// An option that changes what is measured.
struct Costly {
    option: &'static str,
    effect: &'static str,
    /// What a remount says to be rid of it; nothing where only a new mount helps.
    instead: Option<&'static str>,
}

const COSTLY: [Costly; 8] = [
    Costly { option: "data=journal", effect: "writes all data twice", instead: None },
    Costly { option: "ro", effect: "nothing can be written", instead: Some("rw") },
    Costly { option: "discard", effect: "each deletion sends discards amid the run", instead: Some("nodiscard") },
    Costly { option: "discard=async", effect: "deletions send discards amid the run", instead: Some("nodiscard") },
    Costly { option: "sync", effect: "each write waits for the device", instead: Some("async") },
    Costly { option: "nobarrier", effect: "a sync is not durable", instead: Some("barrier") },
    Costly { option: "barrier=0", effect: "a sync is not durable", instead: Some("barrier=1") },
    Costly { option: "strictatime", effect: "each read writes its time", instead: Some("relatime") },
];

#[cfg(test)]
mod tests {
    use super::super::recorded;
    use super::*;

    fn file_system(fs_type: &str, options: &[&str]) -> FileSystem {
        let options = options.iter().map(|option| (*option).to_owned()).collect();
        FileSystem { fs_type: Some(fs_type.to_owned()), options, ..recorded::nvme().file_system }
    }

    #[test]
    fn what_is_no_disk_is_missing() {
        for fs_type in ["nfs4", "overlay", "tmpfs", "virtiofs", "fuse.sshfs", "9p", "cifs"] {
            let check = file_system(fs_type, &["rw"]).check_type();
            assert_eq!(check.status, Status::Missing, "{fs_type}");
            assert!(check.text.contains("refuses"), "{}", check.text);
        }
        assert_eq!(file_system("xfs", &["rw"]).check_type().status, Status::Ok);
        assert_eq!(file_system("btrfs", &["rw"]).check_type().status, Status::Limited);
    }

    #[test]
    fn costly_options_are_named_with_what_undoes_them() {
        let check = file_system("ext4", &["discard", "relatime", "rw"]).check_options();
        assert_eq!((check.status, check.remedy.as_str()), (Status::Limited, "mount -o remount,nodiscard /data"));
        let check = file_system("ext4", &["data=journal", "discard", "rw"]).check_options();
        assert!(check.text.contains("twice") && check.text.contains("discards"), "{}", check.text);
        assert_eq!(check.remedy, "mount /data anew without it");
        assert_eq!(file_system("ext4", &["ro"]).check_options().status, Status::Missing);
        assert_eq!(file_system("ext4", &["rw", "data=ordered"]).check_options().status, Status::Ok);
    }
}
