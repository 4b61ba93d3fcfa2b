//! The file system: its type, and its mount options.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Check, CheckStatus};
use crate::host::device_of;
use crate::host::mount::{self, Backing};
use crate::human;

const WHY: &str = "decides what reaches the device, and when";
const WHY_OPTIONS: &str = "options may add requests";
const WHY_DATA: &str = "options may add requests; `data=` says whether data passes through the journal";

/// The data mode of ext4 unless the mount or the file system sets another.
const DEFAULT_DATA: &str = "ordered";

/// The data mode of ext4.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DataMode {
    /// The value of `data=`.
    Mode(String),
    /// It has no journal.
    NoJournal,
}

/// The facts about a file system for the checks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSystem {
    /// Its type, such as `ext4`; `None` if the mount of the directory is not found.
    pub fs_type: Option<String>,
    /// What is mounted.
    pub source: Option<String>,
    /// Its mount point.
    pub mounted_at: PathBuf,
    /// Its mount options.
    pub options: Vec<String>,
    /// The current data mode of ext4; the options show it only if it is not the default.
    pub data: Option<DataMode>,
    /// Its allocation unit.
    pub block_bytes: Option<u64>,
    /// Its free space for this user.
    pub free_bytes: Option<u64>,
}

impl FileSystem {
    pub(super) fn read(dir: &Path) -> Self {
        let mount = mount::mount_of(dir);
        Self {
            fs_type: mount.as_ref().map(|mount| mount.fs_type.clone()),
            source: mount.as_ref().and_then(|mount| mount.source.clone()),
            mounted_at: mount.as_ref().map_or_else(|| dir.to_owned(), |mount| mount.mounted_at.clone()),
            data: mount.as_ref().filter(|mount| is_ext(&mount.fs_type)).and_then(|_| data_of(dir)),
            options: mount.map(|mount| mount.options).unwrap_or_default(),
            block_bytes: mount::block_size_bytes(dir),
            free_bytes: mount::free_bytes(dir),
        }
    }

    pub(super) fn checks(&self) -> [Check; 2] {
        [self.check_type(), self.check_options()]
    }

    fn check_type(&self) -> Check {
        let Some(fs_type) = &self.fs_type else {
            return Check::new("file-system", CheckStatus::Missing, "the mount of the directory was not found", WHY);
        };
        let free = self.free_bytes.map_or_else(String::new, |bytes| format!(", {} free", human::bytes(bytes)));
        let at = self.mounted_at.display();
        let text = format!("{fs_type} at {at}{free}");
        match (mount::backing(fs_type, self.source.as_deref()), fs_type.as_str()) {
            (Backing::Device, "btrfs" | "zfs" | "bcachefs") => {
                let text = format!("{text}: copies on write");
                Check::new("file-system", CheckStatus::Limited, text, WHY)
                    .remedy("use ext4 or XFS for the device directory")
            }
            (Backing::Device, _) => Check::new("file-system", CheckStatus::Ok, text, WHY),
            (Backing::Program, _) => {
                let text = format!(
                    "{text}: {}; no device is observed, I/O cannot be limited, and every result includes the program's own work",
                    Backing::Program.description()
                );
                Check::new("file-system", CheckStatus::Limited, text, WHY).remedy("choose a directory on a local disk")
            }
            (backing, _) => {
                let text = format!("{text}: {}; `manometer run` refuses it", backing.description());
                Check::new("file-system", CheckStatus::Missing, text, WHY).remedy("choose a directory on a local disk")
            }
        }
    }

    fn check_options(&self) -> Check {
        let at = self.mounted_at.display();
        let why = if self.is_ext() { WHY_DATA } else { WHY_OPTIONS };
        let hidden = self.hidden_data().map(|mode| format!("data={mode}"));
        let has = |option: &str| self.options.iter().chain(&hidden).any(|other| other == option);
        let found: Vec<&HarmfulOption> = HARMFUL_OPTIONS.iter().filter(|harmful| has(harmful.option)).collect();
        let Some(first) = found.first() else {
            let data = self.default_data().map_or_else(String::new, |data| format!("{data}; "));
            let text = format!("{data}{}: no harmful option", self.shown_options());
            let remedy = if self.is_ext() { self.other_data_mode() } else { String::new() };
            return Check::new("mount-options", CheckStatus::Ok, text, why).remedy(remedy);
        };
        let data = self.default_data();
        let texts = found.iter().map(|harmful| format!("{}: {}", harmful.option, harmful.effect));
        let texts: Vec<String> = texts.chain(data).collect();
        let status = if has("ro") { CheckStatus::Missing } else { CheckStatus::Limited };
        let opposites: Vec<&str> = found.iter().filter_map(|harmful| harmful.opposite).collect();
        let remedy = if first.option == "data=journal" {
            format!("unmount {at} and mount it with data={DEFAULT_DATA}")
        } else {
            format!("mount -o remount,{} {at}", opposites.join(","))
        };
        Check::new("mount-options", status, texts.join("; "), why).remedy(remedy)
    }

    /// The data mode of ext4 if it is not among the options: the kernel hides the default.
    fn hidden_data(&self) -> Option<&str> {
        match &self.data {
            Some(DataMode::Mode(mode)) if self.hides_data() => Some(mode),
            _ => None,
        }
    }

    fn hides_data(&self) -> bool {
        self.is_ext() && !self.options.iter().any(|option| option.starts_with("data="))
    }

    fn is_ext(&self) -> bool {
        self.fs_type.as_deref().is_some_and(is_ext)
    }

    /// The data mode of ext4 in words, if it is not among the options.
    fn default_data(&self) -> Option<String> {
        let unknown = || format!("data={DEFAULT_DATA} (the default, unless `tune2fs -l` shows another, or no journal)");
        self.hides_data().then(|| match &self.data {
            Some(DataMode::Mode(mode)) => format!("data={mode} (the default)"),
            Some(DataMode::NoJournal) => "no journal, hence no data=".to_owned(),
            None => unknown(),
        })
    }

    /// The command that changes the data mode, which a remount cannot. Empty if there is no journal.
    fn other_data_mode(&self) -> String {
        let (source, at) = (self.source.as_deref().unwrap_or("DEVICE"), self.mounted_at.display());
        let other = match &self.data {
            Some(DataMode::NoJournal) => return String::new(),
            Some(DataMode::Mode(mode)) if mode == "writeback" => DEFAULT_DATA,
            _ => "writeback",
        };
        format!("for another: umount {at} && mount -o data={other} {source} {at}")
    }

    fn shown_options(&self) -> String {
        if self.options.is_empty() { "no options".to_owned() } else { self.options.join(",") }
    }
}

fn is_ext(fs_type: &str) -> bool {
    matches!(fs_type, "ext3" | "ext4")
}

/// The data mode of the ext4 that holds `dir`. It lists `data=` with all its options if it has a journal.
fn data_of(dir: &Path) -> Option<DataMode> {
    fs::read_to_string(Path::new("/proc/fs/ext4").join(device_of(dir)?.name).join("options"))
        .ok()
        .map(|all| data_among(&all))
}

fn data_among(options: &str) -> DataMode {
    let mode = options.lines().find_map(|line| line.strip_prefix("data="));
    mode.map_or(DataMode::NoJournal, |mode| DataMode::Mode(mode.to_owned()))
}

/// An option that changes the measurement.
struct HarmfulOption {
    option: &'static str,
    effect: &'static str,
    /// The option of a remount that turns it off; `None` if only a new mount does.
    opposite: Option<&'static str>,
}

const HARMFUL_OPTIONS: [HarmfulOption; 8] = [
    HarmfulOption { option: "data=journal", effect: "writes all data twice", opposite: None },
    HarmfulOption { option: "ro", effect: "nothing can be written", opposite: Some("rw") },
    HarmfulOption {
        option: "discard",
        effect: "each deletion sends discards during the run",
        opposite: Some("nodiscard"),
    },
    HarmfulOption {
        option: "discard=async",
        effect: "deletions send discards during the run",
        opposite: Some("nodiscard"),
    },
    HarmfulOption { option: "sync", effect: "each write waits for the device", opposite: Some("async") },
    HarmfulOption { option: "nobarrier", effect: "a sync is not durable", opposite: Some("barrier") },
    HarmfulOption { option: "barrier=0", effect: "a sync is not durable", opposite: Some("barrier=1") },
    HarmfulOption { option: "strictatime", effect: "each read writes its access time", opposite: Some("relatime") },
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
    fn a_file_system_that_is_not_on_a_disk_is_missing() {
        for fs_type in ["nfs4", "overlay", "tmpfs", "virtiofs", "fuse.sshfs", "9p", "cifs"] {
            let check = file_system(fs_type, &["rw"]).check_type();
            assert_eq!(check.status, CheckStatus::Missing, "{fs_type}");
            assert!(check.text.contains("refuses"), "{}", check.text);
        }
        let named = |source: &str| {
            let source = Some(source.to_owned());
            FileSystem { source, ..file_system("fuse.newfs", &["rw"]) }.check_type()
        };
        assert_eq!(named("server:/volume").status, CheckStatus::Missing);
        let program = named("/home/me/secret");
        assert_eq!(program.status, CheckStatus::Limited);
        assert!(program.text.contains("no device is observed"), "{}", program.text);
        assert_eq!(file_system("xfs", &["rw"]).check_type().status, CheckStatus::Ok);
        assert_eq!(file_system("btrfs", &["rw"]).check_type().status, CheckStatus::Limited);
    }

    fn ext4(options: &[&str], data: Option<DataMode>) -> Check {
        FileSystem { data, ..file_system("ext4", options) }.check_options()
    }

    #[test]
    fn the_data_mode_is_named_if_the_kernel_hides_it() {
        let mode = |mode: &str| Some(DataMode::Mode(mode.to_owned()));
        let check = ext4(&["relatime", "rw"], mode("ordered"));
        assert_eq!(check.text, "data=ordered (the default); relatime,rw: no harmful option");
        assert!(check.why.contains("journal"), "{}", check.why);
        assert_eq!(check.remedy, "for another: umount /data && mount -o data=writeback /dev/nvme0n1p1 /data");
        assert!(ext4(&["rw"], mode("writeback")).text.starts_with("data=writeback (the default)"));
        assert!(ext4(&["rw"], None).text.contains("tune2fs -l"));
        let without = ext4(&["rw"], Some(DataMode::NoJournal));
        assert_eq!(
            (without.text.as_str(), without.remedy.as_str()),
            ("no journal, hence no data=; rw: no harmful option", "")
        );
        let twice = ext4(&["rw"], mode("journal"));
        assert_eq!(twice.status, CheckStatus::Limited);
        assert_eq!(twice.text, "data=journal: writes all data twice; data=journal (the default)");
        assert!(ext4(&["discard", "rw"], mode("ordered")).text.contains("data=ordered"));
    }

    #[test]
    fn the_data_mode_is_named_once_if_the_options_have_it() {
        for data in [Some(DataMode::Mode("writeback".to_owned())), None] {
            let check = ext4(&["data=writeback", "rw"], data);
            assert_eq!(check.text, "data=writeback,rw: no harmful option");
        }
        let check = ext4(&["data=writeback", "rw"], Some(DataMode::Mode("writeback".to_owned())));
        assert!(check.remedy.contains("data=ordered"), "{}", check.remedy);
        assert_eq!(file_system("xfs", &["rw"]).check_options().text, "rw: no harmful option");
    }

    #[test]
    fn ext4_lists_its_data_mode_if_it_has_a_journal() {
        assert_eq!(
            data_among("rw\nbarrier\ndata=ordered\ninode_readahead_blks=32\n"),
            DataMode::Mode("ordered".to_owned())
        );
        assert_eq!(data_among("rw\nbarrier\nauto_da_alloc\n"), DataMode::NoJournal);
    }

    #[test]
    fn harmful_options_are_named_with_their_remedies() {
        let check = file_system("ext4", &["discard", "relatime", "rw"]).check_options();
        assert_eq!((check.status, check.remedy.as_str()), (CheckStatus::Limited, "mount -o remount,nodiscard /data"));
        let check = file_system("ext4", &["data=journal", "discard", "rw"]).check_options();
        assert!(check.text.contains("twice") && check.text.contains("discards"), "{}", check.text);
        assert!(!check.text.contains("the default"), "{}", check.text);
        assert_eq!(check.remedy, "unmount /data and mount it with data=ordered");
        assert_eq!(file_system("ext4", &["ro"]).check_options().status, CheckStatus::Missing);
        assert_eq!(file_system("ext4", &["rw", "data=ordered"]).check_options().status, CheckStatus::Ok);
    }
}
