//! Control groups: their version, and whether I/O can be limited.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

use super::{Check, CheckStatus};

const WHY: &str = "limits and counts the I/O of a workload";

/// The controllers of version 2 that hold the limits of workloads.
const CONTROLLERS: [&str; 3] = ["cpu", "io", "memory"];

/// What isolation needs of version 2: it creates its groups directly below the mount point.
const NEEDED: &str = "run as root; else the mounted subtree must be delegated to this user with the controllers \
                      `cpu io memory`, and its processes must be in groups below it";

const UNIFIED: &str = "boot with systemd.unified_cgroup_hierarchy=1";

/// The control groups of a host.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cgroups {
    /// Version 2, if it is mounted.
    pub v2: Option<Hierarchy>,
    /// The hierarchies of version 1.
    pub v1: Vec<Hierarchy>,
}

/// One mounted hierarchy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hierarchy {
    /// Its mount point.
    pub mounted_at: PathBuf,
    /// Its controllers.
    pub controllers: Vec<String>,
    /// Whether this user can create groups in it and enable their controllers.
    pub writable: bool,
}

impl Hierarchy {
    fn has(&self, controller: &str) -> bool {
        self.controllers.iter().any(|one| one == controller)
    }
}

impl Cgroups {
    /// Reads the hierarchies of this host.
    pub fn read() -> Self {
        let mounts = procfs::process::Process::myself().and_then(|process| process.mountinfo());
        let mut found = Self::default();
        for mount in mounts.map(|mounts| mounts.0).unwrap_or_default() {
            let at = mount.mount_point;
            match mount.fs_type.as_str() {
                "cgroup2" => {
                    let text = fs::read_to_string(at.join("cgroup.controllers")).unwrap_or_default();
                    let controllers = text.split_whitespace().map(str::to_owned).collect();
                    let writable = can_write(&at) && can_enable(&at);
                    found.v2.get_or_insert(Hierarchy { mounted_at: at, controllers, writable });
                }
                "cgroup" => {
                    let options = mount.super_options.into_keys().filter(|option| option != "rw" && option != "ro");
                    let mut controllers: Vec<String> = options.collect();
                    controllers.sort();
                    let writable = can_write(&at);
                    found.v1.push(Hierarchy { mounted_at: at, controllers, writable });
                }
                _ => {}
            }
        }
        found
    }

    /// The check of control groups.
    pub fn check(&self) -> Check {
        let new = |status, text: String| Check::new("cgroup", status, text, WHY);
        if let Some(v2) = self.v2.as_ref().filter(|v2| v2.has("io")) {
            let text = format!("version 2 at {}: {}", v2.mounted_at.display(), v2.controllers.join(" "));
            let missing: Vec<&str> = CONTROLLERS.into_iter().filter(|name| !v2.has(name)).collect();
            return match (v2.writable, missing.is_empty()) {
                (true, true) => new(CheckStatus::Ok, text),
                (true, false) => {
                    let remedy = format!("{UNIFIED}; for a delegated subtree, Delegate={} too", missing.join(" "));
                    new(CheckStatus::Limited, format!("{text}; without {}", missing.join(" "))).remedy(remedy)
                }
                (false, _) => {
                    new(CheckStatus::Limited, format!("{text}; this user cannot create groups in it")).remedy(NEEDED)
                }
            };
        }
        if let Some(v1) = self.v1.iter().find(|one| one.has("blkio")) {
            let text = format!("version 1, blkio at {}: it throttles direct I/O only", v1.mounted_at.display());
            return match v1.writable {
                true => new(CheckStatus::Limited, text).remedy(UNIFIED),
                false => new(CheckStatus::Limited, format!("{text}; this user cannot create groups in it"))
                    .remedy("run as root"),
            };
        }
        let text = match (&self.v2, self.v1.is_empty()) {
            (Some(v2), _) => format!("version 2 at {} without the controller `io`", v2.mounted_at.display()),
            (None, false) => "version 1 without `blkio`".to_owned(),
            (None, true) => "none mounted".to_owned(),
        };
        new(CheckStatus::Missing, text).remedy(UNIFIED)
    }
}

/// Whether controllers can be enabled for groups in `folder` of version 2: below the root, the kernel allows that only if no
/// process is in `folder` itself.
fn can_enable(folder: &Path) -> bool {
    let read = |file: &str| fs::read_to_string(folder.join(file)).unwrap_or_default();
    let enabled = read("cgroup.subtree_control");
    let is_enabled = |name: &&str| enabled.split_whitespace().any(|one| one == *name);
    let is_root = !folder.join("cgroup.type").exists();
    is_root || CONTROLLERS.iter().all(is_enabled) || read("cgroup.procs").trim().is_empty()
}

fn can_write(folder: &Path) -> bool {
    access(folder, Access::WRITE_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use super::super::recorded;
    use super::*;

    #[test]
    fn version_2_with_io_is_ok_if_writable() {
        let mut cgroups = recorded::nvme().cgroups;
        assert_eq!(cgroups.check().status, CheckStatus::Ok);
        let v2 = cgroups.v2.as_mut().unwrap();
        v2.controllers.retain(|name| name != "memory");
        let check = cgroups.check();
        assert_eq!(check.status, CheckStatus::Limited);
        assert!(check.text.ends_with("; without memory") && check.remedy.contains("Delegate=memory"), "{check:?}");
        cgroups.v2.as_mut().unwrap().writable = false;
        let check = cgroups.check();
        assert!(check.text.ends_with("this user cannot create groups in it"), "{}", check.text);
        assert!(
            check.remedy.starts_with("run as root") && check.remedy.contains("`cpu io memory`"),
            "{}",
            check.remedy
        );
    }

    #[test]
    fn a_subtree_with_processes_cannot_enable_controllers() {
        let dir = tempfile::tempdir().unwrap();
        let write = |file: &str, text: &str| fs::write(dir.path().join(file), text).unwrap();
        write("cgroup.procs", "1\n7\n");
        write("cgroup.subtree_control", "memory pids\n");
        assert!(can_enable(dir.path()), "the root can");
        write("cgroup.type", "domain\n");
        assert!(!can_enable(dir.path()));
        write("cgroup.subtree_control", "cpu io memory pids\n");
        assert!(can_enable(dir.path()), "they are enabled already");
        write("cgroup.subtree_control", "\n");
        write("cgroup.procs", "");
        assert!(can_enable(dir.path()));
    }

    #[test]
    fn version_1_throttles_only() {
        let check = recorded::virtual_machine().cgroups.check();
        assert_eq!(check.status, CheckStatus::Limited);
        assert!(check.text.starts_with("version 1, blkio at /sys/fs/cgroup/blkio"), "{}", check.text);
        assert!(check.remedy.contains("unified_cgroup_hierarchy=1"), "{}", check.remedy);
        let mut cgroups = recorded::virtual_machine().cgroups;
        cgroups.v1.iter_mut().for_each(|v1| v1.writable = false);
        assert_eq!(cgroups.check().remedy, "run as root");
    }

    #[test]
    fn neither_is_missing() {
        assert_eq!(Cgroups::default().check().text, "none mounted");
        let without = Hierarchy { mounted_at: "/sys/fs/cgroup".into(), controllers: vec![], writable: true };
        let check = Cgroups { v2: Some(without), v1: Vec::new() }.check();
        assert_eq!(check.text, "version 2 at /sys/fs/cgroup without the controller `io`");
    }
}
