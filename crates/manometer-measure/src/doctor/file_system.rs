//! The file system: what it lies on, and its mount options.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Check, CheckStatus};
use crate::host::device_of;
use crate::host::mount::{self, Backing};
use crate::human;

const WHY: &str = "decides what reaches the device, and when";
const WHY_OPTIONS: &str = "options may add requests";
const WHY_DATA: &str = "options may add requests; `data=` says whether data passes through the journal";

/// How ext4 orders data and journal where neither the mount nor the file system says.
const USUAL_DATA: &str = "ordered";

/// What ext4 does with data and journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Data {
    /// `data=` this.
    Mode(String),
    /// Nothing: it has no journal.
    NoJournal,
}

/// A file system as far as the checks ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSystem {
    /// Its type, such as `ext4`; nothing where the folder's mount is not found.
    pub fs_type: Option<String>,
    /// What is mounted.
    pub source: Option<String>,
    /// Where it is mounted.
    pub mounted_at: PathBuf,
    /// The options in force.
    pub options: Vec<String>,
    /// ext4's way with data and journal that is in force; its options show it only where it is not the default.
    pub data: Option<Data>,
    /// What it allocates by.
    pub block_bytes: Option<u64>,
    /// What can still be written.
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
            return Check::new("file-system", CheckStatus::Missing, "the folder's mount is not found", WHY);
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
                    "{text}: {}; no device is observed, no I/O limited, and the program's own work is in every figure",
                    Backing::Program.what()
                );
                Check::new("file-system", CheckStatus::Limited, text, WHY).remedy("choose a folder on a local disk")
            }
            (backing, _) => {
                let text = format!("{text}: {}; `manometer run` refuses it", backing.what());
                Check::new("file-system", CheckStatus::Missing, text, WHY).remedy("choose a folder on a local disk")
            }
        }
    }

    fn check_options(&self) -> Check {
        let at = self.mounted_at.display();
        let why = if self.is_ext() { WHY_DATA } else { WHY_OPTIONS };
        let hidden = self.hidden_data().map(|mode| format!("data={mode}"));
        let has = |option: &str| self.options.iter().chain(&hidden).any(|other| other == option);
        let found: Vec<&Costly> = COSTLY.iter().filter(|costly| has(costly.option)).collect();
        let Some(first) = found.first() else {
            let data = self.default_data().map_or_else(String::new, |data| format!("{data}; "));
            let text = format!("{data}{}: none costs anything", self.shown_options());
            let remedy = if self.is_ext() { self.other_data_mode() } else { String::new() };
            return Check::new("mount-options", CheckStatus::Ok, text, why).remedy(remedy);
        };
        let data = self.default_data();
        let texts = found.iter().map(|costly| format!("{}: {}", costly.option, costly.effect));
        let texts: Vec<String> = texts.chain(data).collect();
        let status = if has("ro") { CheckStatus::Missing } else { CheckStatus::Limited };
        let instead: Vec<&str> = found.iter().filter_map(|costly| costly.instead).collect();
        let remedy = if first.option == "data=journal" {
            format!("mount {at} anew with data={USUAL_DATA}")
        } else {
            format!("mount -o remount,{} {at}", instead.join(","))
        };
        Check::new("mount-options", status, texts.join("; "), why).remedy(remedy)
    }

    /// ext4's way with data and journal where it is not among the options: the kernel hides the default.
    fn hidden_data(&self) -> Option<&str> {
        match &self.data {
            Some(Data::Mode(mode)) if self.hides_data() => Some(mode),
            _ => None,
        }
    }

    fn hides_data(&self) -> bool {
        self.is_ext() && !self.options.iter().any(|option| option.starts_with("data="))
    }

    fn is_ext(&self) -> bool {
        self.fs_type.as_deref().is_some_and(is_ext)
    }

    /// ext4's way with data and journal in words, where it is not among the options.
    fn default_data(&self) -> Option<String> {
        let usual = || format!("data={USUAL_DATA} (the default, unless `tune2fs -l` shows another, or no journal)");
        self.hides_data().then(|| match &self.data {
            Some(Data::Mode(mode)) => format!("data={mode} (the default)"),
            Some(Data::NoJournal) => "no journal, and so no data=".to_owned(),
            None => usual(),
        })
    }

    /// What changes the way with data and journal: a remount cannot. Nothing where there is no journal.
    fn other_data_mode(&self) -> String {
        let (source, at) = (self.source.as_deref().unwrap_or("DEVICE"), self.mounted_at.display());
        let other = match &self.data {
            Some(Data::NoJournal) => return String::new(),
            Some(Data::Mode(mode)) if mode == "writeback" => USUAL_DATA,
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

/// What the ext4 that holds `dir` does with data and journal: it lists `data=` with all its options where it has one.
fn data_of(dir: &Path) -> Option<Data> {
    fs::read_to_string(Path::new("/proc/fs/ext4").join(device_of(dir)?.name).join("options"))
        .ok()
        .map(|all| data_among(&all))
}

fn data_among(options: &str) -> Data {
    let mode = options.lines().find_map(|line| line.strip_prefix("data="));
    mode.map_or(Data::NoJournal, |mode| Data::Mode(mode.to_owned()))
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

    fn ext4(options: &[&str], data: Option<Data>) -> Check {
        FileSystem { data, ..file_system("ext4", options) }.check_options()
    }

    #[test]
    fn the_way_with_data_and_journal_is_told_where_the_kernel_hides_it() {
        let mode = |mode: &str| Some(Data::Mode(mode.to_owned()));
        let check = ext4(&["relatime", "rw"], mode("ordered"));
        assert_eq!(check.text, "data=ordered (the default); relatime,rw: none costs anything");
        assert!(check.why.contains("journal"), "{}", check.why);
        assert_eq!(check.remedy, "for another: umount /data && mount -o data=writeback /dev/nvme0n1p1 /data");
        assert!(ext4(&["rw"], mode("writeback")).text.starts_with("data=writeback (the default)"));
        assert!(ext4(&["rw"], None).text.contains("tune2fs -l"));
        let without = ext4(&["rw"], Some(Data::NoJournal));
        assert_eq!(
            (without.text.as_str(), without.remedy.as_str()),
            ("no journal, and so no data=; rw: none costs anything", "")
        );
        let twice = ext4(&["rw"], mode("journal"));
        assert_eq!(twice.status, CheckStatus::Limited);
        assert_eq!(twice.text, "data=journal: writes all data twice; data=journal (the default)");
        assert!(ext4(&["discard", "rw"], mode("ordered")).text.contains("data=ordered"));
    }

    #[test]
    fn the_way_with_data_and_journal_is_told_once_where_the_options_say_it() {
        for data in [Some(Data::Mode("writeback".to_owned())), None] {
            let said = ext4(&["data=writeback", "rw"], data);
            assert_eq!(said.text, "data=writeback,rw: none costs anything");
        }
        let said = ext4(&["data=writeback", "rw"], Some(Data::Mode("writeback".to_owned())));
        assert!(said.remedy.contains("data=ordered"), "{}", said.remedy);
        assert_eq!(file_system("xfs", &["rw"]).check_options().text, "rw: none costs anything");
    }

    #[test]
    fn ext4_lists_its_mode_where_it_has_a_journal() {
        assert_eq!(
            data_among("rw\nbarrier\ndata=ordered\ninode_readahead_blks=32\n"),
            Data::Mode("ordered".to_owned())
        );
        assert_eq!(data_among("rw\nbarrier\nauto_da_alloc\n"), Data::NoJournal);
    }

    #[test]
    fn costly_options_are_named_with_what_undoes_them() {
        let check = file_system("ext4", &["discard", "relatime", "rw"]).check_options();
        assert_eq!((check.status, check.remedy.as_str()), (CheckStatus::Limited, "mount -o remount,nodiscard /data"));
        let check = file_system("ext4", &["data=journal", "discard", "rw"]).check_options();
        assert!(check.text.contains("twice") && check.text.contains("discards"), "{}", check.text);
        assert!(!check.text.contains("the default"), "{}", check.text);
        assert_eq!(check.remedy, "mount /data anew with data=ordered");
        assert_eq!(file_system("ext4", &["ro"]).check_options().status, CheckStatus::Missing);
        assert_eq!(file_system("ext4", &["rw", "data=ordered"]).check_options().status, CheckStatus::Ok);
    }
}
