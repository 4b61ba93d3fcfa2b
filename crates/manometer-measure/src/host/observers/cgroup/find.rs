//! The control groups of a process that are not the conductor's.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use procfs::process::{MountInfo, Process};

/// The groups of a process alone.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Groups {
    /// Its folder in the hierarchy of v2.
    pub unified: Option<PathBuf>,
    /// Its folder for each controller of v1.
    pub legacy: BTreeMap<String, PathBuf>,
}

/// The groups of the process `pid` that this process is not in; `None` if it has none.
pub(super) fn own_groups(pid: u32) -> Option<Groups> {
    let theirs = fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
    let ours = fs::read_to_string("/proc/self/cgroup").ok()?;
    if theirs == ours {
        return None;
    }
    let mounts: Vec<Mount> = Process::myself().ok()?.mountinfo().ok()?.0.iter().filter_map(Mount::of).collect();
    let groups = differing(&theirs, &ours, &mounts);
    (groups != Groups::default()).then_some(groups)
}

/// Where a hierarchy is mounted.
struct Mount {
    /// Its controllers; none for v2.
    controllers: Option<Vec<String>>,
    /// The group that is mounted, and where.
    root: String,
    point: PathBuf,
}

impl Mount {
    fn of(mount: &MountInfo) -> Option<Self> {
        let controllers = match mount.fs_type.as_str() {
            "cgroup2" => None,
            "cgroup" => Some(mount.super_options.keys().cloned().collect()),
            _ => return None,
        };
        Some(Self { controllers, root: mount.root.clone(), point: mount.mount_point.clone() })
    }

    fn folder(&self, group: &str) -> PathBuf {
        let root = self.root.trim_end_matches('/');
        let below = group.strip_prefix(root).unwrap_or(group);
        self.point.join(Path::new(below).strip_prefix("/").unwrap_or(Path::new(below)))
    }
}

/// The groups in `theirs` that are not in `ours`, two texts of `/proc/PID/cgroup`.
fn differing(theirs: &str, ours: &str, mounts: &[Mount]) -> Groups {
    let mut groups = Groups::default();
    for line in theirs.lines().filter(|line| !ours.lines().any(|own| own == *line)) {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(group)) = (fields.next(), fields.next()) else { continue };
        if controllers.is_empty() {
            let mount = mounts.iter().find(|mount| mount.controllers.is_none());
            groups.unified = mount.map(|mount| mount.folder(group));
            continue;
        }
        for controller in controllers.split(',') {
            let has = |mount: &&Mount| mount.controllers.iter().flatten().any(|name| name == controller);
            let folder = mounts.iter().find(has).map(|mount| mount.folder(group));
            groups.legacy.extend(folder.map(|folder| (controller.to_owned(), folder)));
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mounts() -> Vec<Mount> {
        let legacy = |names: &[&str], point: &str| Mount {
            controllers: Some(names.iter().map(|&name| name.to_owned()).collect()),
            root: "/".to_owned(),
            point: PathBuf::from(point),
        };
        vec![
            legacy(&["cpu", "cpuacct", "rw"], "/sys/fs/cgroup/cpu,cpuacct"),
            legacy(&["blkio"], "/sys/fs/cgroup/blkio"),
            Mount { controllers: None, root: "/".to_owned(), point: PathBuf::from("/sys/fs/cgroup/unified") },
        ]
    }

    #[test]
    fn only_groups_that_differ_are_its_own() {
        let ours = "8:blkio:/\n2:cpu,cpuacct:/user\n0::/session\n";
        let theirs = "8:blkio:/manometer/writer\n2:cpu,cpuacct:/user\n0::/session\n";
        let groups = differing(theirs, ours, &mounts());
        assert_eq!(groups.unified, None);
        let folder = PathBuf::from("/sys/fs/cgroup/blkio/manometer/writer");
        assert_eq!(groups.legacy, BTreeMap::from([("blkio".to_owned(), folder)]));
        assert_eq!(differing(ours, ours, &mounts()), Groups::default());
    }

    #[test]
    fn a_hierarchy_mounted_from_within_is_followed_from_there() {
        let mut mounts = mounts();
        mounts[2].root = "/session".to_owned();
        let groups = differing("0::/session/writer\n", "0::/session\n", &mounts);
        assert_eq!(groups.unified, Some(PathBuf::from("/sys/fs/cgroup/unified/writer")));
    }
}
