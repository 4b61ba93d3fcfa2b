//! The capabilities of the host that isolation depends on.

use std::fs;
use std::path::{Path, PathBuf};

use manometer_measure::doctor::{Answer, Cgroups, ContainerProgram, Hierarchy};
use manometer_measure::host::{BlockDevice, device_of, layers_of};
use rustix::thread::{CapabilitySet, capabilities};

use super::cgroup_files::CgroupVersion;
use crate::definition::Experiment;
use crate::limits::Isolation;

/// The capabilities of the host that isolation depends on.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct HostCapabilities {
    pub(super) cgroups: Cgroups,
    /// podman and docker; read only where a workload needs a container.
    pub(super) containers: Vec<ContainerProgram>,
    /// The device number of the disk below the directory: `8:0`.
    pub(super) disk: Option<String>,
    /// The nearest block queues below the directory that have a choice of schedulers.
    pub(super) queues: Vec<BlockQueue>,
    /// Whether io.cost is enabled for the disk.
    pub(super) io_cost: bool,
    /// Whether the I/O priority class `realtime` is permitted.
    pub(super) may_realtime: bool,
}

/// The block queue of a disk with a choice of schedulers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BlockQueue {
    pub disk: String,
    /// The file that sets the scheduler.
    pub file: PathBuf,
    pub schedulers: Vec<String>,
    pub active: Option<String>,
}

impl BlockQueue {
    /// Parses the text of the scheduler file of `disk`; nothing where there is no choice.
    fn parse(disk: &str, file: PathBuf, text: &str) -> Option<Self> {
        let bare = |word: &str| word.trim_matches(['[', ']']).to_owned();
        let schedulers: Vec<String> = text.split_whitespace().map(bare).collect();
        let active = text.split_whitespace().find(|word| word.starts_with('[')).map(bare);
        (schedulers.len() > 1).then(|| Self { disk: disk.to_owned(), file, schedulers, active })
    }
}

impl HostCapabilities {
    /// Reads the capabilities that `experiment` needs.
    pub(super) fn read(experiment: &Experiment) -> Self {
        let device = device_of(&experiment.directory);
        let disk = device.as_ref().and_then(|device| BlockDevice::at(&device.disk_sysfs()));
        let disk = disk.map(|disk| format!("{}:{}", disk.major, disk.minor));
        let cgroups = Cgroups::read();
        let qos = cgroups.v2.as_ref().and_then(|v2| fs::read_to_string(v2.mounted_at.join("io.cost.qos")).ok());
        let needs_container = experiment.workloads().any(|workload| workload.isolation == Isolation::Container);
        Self {
            containers: if needs_container { ContainerProgram::read_all() } else { Vec::new() },
            io_cost: disk.as_deref().zip(qos.as_deref()).is_some_and(|(disk, qos)| io_cost_is_on(qos, disk)),
            queues: device.as_ref().map(queues).unwrap_or_default(),
            may_realtime: capabilities(None)
                .is_ok_and(|sets| sets.effective.intersects(CapabilitySet::SYS_ADMIN | CapabilitySet::SYS_NICE)),
            cgroups,
            disk,
        }
    }

    /// The version of control groups to use: 2 where it can limit I/O.
    pub(super) fn version(&self) -> Option<CgroupVersion> {
        let has = |hierarchy: &Hierarchy, name: &str| hierarchy.controllers.iter().any(|one| one == name);
        if self.cgroups.v2.as_ref().is_some_and(|v2| has(v2, "io")) {
            return Some(CgroupVersion::V2);
        }
        self.cgroups.v1.iter().any(|v1| has(v1, "blkio")).then_some(CgroupVersion::V1)
    }

    /// Whether groups have the controller `controller`.
    pub(super) fn has_controller(&self, controller: &str) -> bool {
        let has = |hierarchy: &Hierarchy| hierarchy.controllers.iter().any(|one| one == controller);
        match self.version() {
            Some(CgroupVersion::V2) => self.cgroups.v2.as_ref().is_some_and(has),
            Some(CgroupVersion::V1) => self.cgroups.v1.iter().any(has),
            None => false,
        }
    }

    /// The program that runs containers.
    pub(super) fn container_program(&self) -> Option<&'static str> {
        let answers = |one: &&ContainerProgram| matches!(one.answer, Answer::Version(_));
        self.containers.iter().find(answers).map(|one| one.name)
    }
}

/// The nearest block queues below `device` with a choice of schedulers, such as those of the disks of an array.
fn queues(device: &BlockDevice) -> Vec<BlockQueue> {
    let layers = layers_of(device);
    let queue = |device: &BlockDevice| {
        let disk = device.disk_sysfs();
        let file = disk.join("queue/scheduler");
        BlockQueue::parse(disk.file_name()?.to_str()?, file.clone(), &fs::read_to_string(&file).ok()?)
    };
    let mut next: Vec<&str> = vec![&device.name];
    let mut found: Vec<BlockQueue> = Vec::new();
    let mut seen: Vec<&str> = Vec::new();
    while let Some(name) = next.pop() {
        let Some(layer) = layers.iter().find(|layer| layer.name == name).filter(|_| !seen.contains(&name)) else {
            continue;
        };
        seen.push(name);
        match queue(&layer.device) {
            Some(queue) if found.iter().any(|other| other.disk == queue.disk) => {}
            Some(queue) => found.push(queue),
            None => next.extend(layer.maps_to.iter().map(String::as_str)),
        }
    }
    found.sort_by(|one, other| one.disk.cmp(&other.disk));
    found
}

/// Whether io.cost is enabled for `disk` in the text of `io.cost.qos`.
fn io_cost_is_on(qos: &str, disk: &str) -> bool {
    qos.lines().any(|line| {
        let mut words = line.split_whitespace();
        words.next() == Some(disk) && words.any(|word| word == "enable=1")
    })
}

/// The line of `disk` in a file with one line per disk.
pub(super) fn line_of<'a>(text: &'a str, disk: &str) -> Option<&'a str> {
    text.lines().find(|line| line.split_whitespace().next() == Some(disk))
}

/// Whether the file or folder at `path` is writable.
pub(super) fn is_writable(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedulers_are_parsed_with_the_active_one() {
        let queue = BlockQueue::parse("sda", PathBuf::from("x"), "none [mq-deadline] bfq\n").unwrap();
        assert_eq!(queue.schedulers, ["none", "mq-deadline", "bfq"]);
        assert_eq!(queue.active.as_deref(), Some("mq-deadline"));
        assert_eq!(BlockQueue::parse("dm-0", PathBuf::from("x"), "none\n"), None);
    }

    #[test]
    fn io_cost_is_parsed_per_disk() {
        let qos = "8:0 enable=1 ctrl=auto rpct=0.00\n8:16 enable=0 ctrl=auto\n";
        assert!(io_cost_is_on(qos, "8:0"));
        assert!(!io_cost_is_on(qos, "8:16") && !io_cost_is_on(qos, "8:1"));
        assert_eq!(line_of(qos, "8:16"), Some("8:16 enable=0 ctrl=auto"));
    }

    #[test]
    fn the_version_that_can_limit_io_is_used() {
        let hierarchy = |controllers: &[&str]| Hierarchy {
            mounted_at: "/sys/fs/cgroup".into(),
            controllers: controllers.iter().map(|&name| name.to_owned()).collect(),
            writable: true,
        };
        let mut host = HostCapabilities {
            cgroups: Cgroups {
                v2: Some(hierarchy(&["hugetlb"])),
                v1: vec![hierarchy(&["blkio"]), hierarchy(&["cpu"])],
            },
            containers: Vec::new(),
            disk: None,
            queues: Vec::new(),
            io_cost: false,
            may_realtime: false,
        };
        assert_eq!(host.version(), Some(CgroupVersion::V1));
        assert!(host.has_controller("cpu") && !host.has_controller("hugetlb"));
        host.cgroups.v2 = Some(hierarchy(&["io", "memory"]));
        assert_eq!(host.version(), Some(CgroupVersion::V2));
        host.cgroups = Cgroups::default();
        assert_eq!(host.version(), None);
    }
}
