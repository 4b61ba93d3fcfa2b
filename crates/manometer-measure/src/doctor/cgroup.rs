//! Control groups: which version, and whether I/O can be limited.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

use super::{Check, Status};

const WHY: &str = "limits and counts a workload's I/O";

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
    /// Where.
    pub mounted_at: PathBuf,
    /// Its controllers.
    pub controllers: Vec<String>,
    /// Whether we may make groups in it.
    pub writable: bool,
}

impl Hierarchy {
    fn has(&self, controller: &str) -> bool {
        self.controllers.iter().any(|one| one == controller)
    }
}

impl Cgroups {
    /// Reads what is mounted here.
    pub fn read() -> Self {
        let mounts = procfs::process::Process::myself().and_then(|process| process.mountinfo());
        let mut found = Self::default();
        for mount in mounts.map(|mounts| mounts.0).unwrap_or_default() {
            let at = mount.mount_point;
            match mount.fs_type.as_str() {
                "cgroup2" => {
                    let text = fs::read_to_string(at.join("cgroup.controllers")).unwrap_or_default();
                    let controllers = text.split_whitespace().map(str::to_owned).collect();
                    found.v2.get_or_insert(hierarchy(at, controllers));
                }
                "cgroup" => {
                    let options = mount.super_options.into_keys().filter(|option| option != "rw" && option != "ro");
                    let mut controllers: Vec<String> = options.collect();
                    controllers.sort();
                    found.v1.push(hierarchy(at, controllers));
                }
                _ => {}
            }
        }
        found
    }

    /// What they are good for.
    pub fn check(&self) -> Check {
        let new = |status, text: String| Check::new("cgroup", status, text, WHY);
        let unified = "boot with systemd.unified_cgroup_hierarchy=1";
        if let Some(v2) = self.v2.as_ref().filter(|v2| v2.has("io")) {
            let text = format!("version 2 at {}: {}", v2.mounted_at.display(), v2.controllers.join(" "));
            return if v2.writable {
                new(Status::Ok, text)
            } else {
                new(Status::Limited, format!("{text}; no groups may be made in it"))
                    .remedy("run as root, or: systemd-run --user --scope -p Delegate=yes manometer …")
            };
        }
        if let Some(v1) = self.v1.iter().find(|one| one.has("blkio")) {
            let text = format!("version 1, blkio at {}: it throttles direct I/O only", v1.mounted_at.display());
            let text = if v1.writable { text } else { format!("{text}; no groups may be made in it") };
            return new(Status::Limited, text).remedy(unified);
        }
        let text = match (&self.v2, self.v1.is_empty()) {
            (Some(v2), _) => format!("version 2 at {} without the controller `io`", v2.mounted_at.display()),
            (None, false) => "version 1 without `blkio`".to_owned(),
            (None, true) => "none mounted".to_owned(),
        };
        new(Status::Missing, text).remedy(unified)
    }
}

fn hierarchy(mounted_at: PathBuf, controllers: Vec<String>) -> Hierarchy {
    let writable = may_write(&mounted_at);
    Hierarchy { mounted_at, controllers, writable }
}

fn may_write(folder: &Path) -> bool {
    access(folder, Access::WRITE_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use super::super::recorded;
    use super::*;

    #[test]
    fn version_2_with_io_is_well_where_we_may_write() {
        let mut cgroups = recorded::nvme().cgroups;
        assert_eq!(cgroups.check().status, Status::Ok);
        cgroups.v2.as_mut().unwrap().writable = false;
        assert!(cgroups.check().remedy.contains("Delegate=yes"));
    }

    #[test]
    fn version_1_throttles_only() {
        let check = recorded::virtual_machine().cgroups.check();
        assert_eq!(check.status, Status::Limited);
        assert!(check.text.starts_with("version 1, blkio at /sys/fs/cgroup/blkio"), "{}", check.text);
    }

    #[test]
    fn neither_is_missing() {
        assert_eq!(Cgroups::default().check().text, "none mounted");
        let without = Hierarchy { mounted_at: "/sys/fs/cgroup".into(), controllers: vec![], writable: true };
        let check = Cgroups { v2: Some(without), v1: Vec::new() }.check();
        assert_eq!(check.text, "version 2 at /sys/fs/cgroup without the controller `io`");
    }
}
