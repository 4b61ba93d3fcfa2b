//! What of the host decides about isolation.

use std::fs;
use std::path::{Path, PathBuf};

use manometer_measure::doctor::{Answer, Cgroups, ContainerProgram, Hierarchy};
use manometer_measure::host::{Device, chain, device_of};
use rustix::thread::{CapabilitySet, capabilities};

use super::Isolation;
use super::translate::Version;
use crate::file::Experiment;

/// The facts that isolation is decided by.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Host {
    pub(super) cgroups: Cgroups,
    /// podman and docker; asked only where somebody wants a container.
    pub(super) containers: Vec<ContainerProgram>,
    /// The disk under the directory, as the kernel numbers it: `8:0`.
    pub(super) disk: Option<String>,
    /// The nearest queues under the directory that let a scheduler be chosen.
    pub(super) queues: Vec<Queue>,
    /// Whether io.cost is on for the disk.
    pub(super) io_cost: bool,
    /// Whether requests may be given the class `realtime`.
    pub(super) may_realtime: bool,
}

/// A disk's queue, whose scheduler can be chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Queue {
    pub disk: String,
    /// The file that the scheduler is chosen by.
    pub file: PathBuf,
    pub schedulers: Vec<String>,
    pub in_force: Option<String>,
}

impl Queue {
    /// The queue of `disk`, out of the text of its file; none where nothing can be chosen.
    fn of(disk: &str, file: PathBuf, text: &str) -> Option<Self> {
        let bare = |word: &str| word.trim_matches(['[', ']']).to_owned();
        let schedulers: Vec<String> = text.split_whitespace().map(bare).collect();
        let in_force = text.split_whitespace().find(|word| word.starts_with('[')).map(bare);
        (schedulers.len() > 1).then(|| Self { disk: disk.to_owned(), file, schedulers, in_force })
    }
}

impl Host {
    /// Reads what concerns `experiment`.
    pub(super) fn read(experiment: &Experiment) -> Self {
        let device = device_of(&experiment.directory);
        let disk = device.as_ref().and_then(|device| Device::at(&device.disk_sysfs()));
        let disk = disk.map(|disk| format!("{}:{}", disk.major, disk.minor));
        let cgroups = Cgroups::read();
        let qos = cgroups.v2.as_ref().and_then(|v2| fs::read_to_string(v2.mounted_at.join("io.cost.qos")).ok());
        let wanted = experiment.workloads().any(|workload| workload.isolation == Isolation::Container);
        Self {
            containers: if wanted { ContainerProgram::read_all() } else { Vec::new() },
            io_cost: disk.as_deref().zip(qos.as_deref()).is_some_and(|(disk, qos)| io_cost_is_on(qos, disk)),
            queues: device.as_ref().map(queues).unwrap_or_default(),
            may_realtime: capabilities(None)
                .is_ok_and(|sets| sets.effective.intersects(CapabilitySet::SYS_ADMIN | CapabilitySet::SYS_NICE)),
            cgroups,
            disk,
        }
    }

    /// The version that groups are made in: 2 where it can limit I/O.
    pub(super) fn version(&self) -> Option<Version> {
        let has = |hierarchy: &Hierarchy, name: &str| hierarchy.controllers.iter().any(|one| one == name);
        if self.cgroups.v2.as_ref().is_some_and(|v2| has(v2, "io")) {
            return Some(Version::V2);
        }
        self.cgroups.v1.iter().any(|v1| has(v1, "blkio")).then_some(Version::V1)
    }

    /// Whether groups can be limited by `controller`.
    pub(super) fn has_controller(&self, controller: &str) -> bool {
        let has = |hierarchy: &Hierarchy| hierarchy.controllers.iter().any(|one| one == controller);
        match self.version() {
            Some(Version::V2) => self.cgroups.v2.as_ref().is_some_and(has),
            Some(Version::V1) => self.cgroups.v1.iter().any(has),
            None => false,
        }
    }

    /// The program that runs containers here.
    pub(super) fn container_program(&self) -> Option<&'static str> {
        let answers = |one: &&ContainerProgram| matches!(one.answer, Answer::Version(_));
        self.containers.iter().find(answers).map(|one| one.name)
    }
}

/// The nearest queues under `device` with a scheduler to choose: those of the disks under an array, say.
fn queues(device: &Device) -> Vec<Queue> {
    let layers = chain(device);
    let queue = |device: &Device| {
        let disk = device.disk_sysfs();
        let file = disk.join("queue/scheduler");
        Queue::of(disk.file_name()?.to_str()?, file.clone(), &fs::read_to_string(&file).ok()?)
    };
    let mut next: Vec<&str> = vec![&device.name];
    let mut found: Vec<Queue> = Vec::new();
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

/// Whether the text of `io.cost.qos` says that it is on for `disk`.
fn io_cost_is_on(qos: &str, disk: &str) -> bool {
    qos.lines().any(|line| {
        let mut words = line.split_whitespace();
        words.next() == Some(disk) && words.any(|word| word == "enable=1")
    })
}

/// The line of `disk` in the text of a file that has one a disk.
pub(super) fn line_of<'a>(text: &'a str, disk: &str) -> Option<&'a str> {
    text.lines().find(|line| line.split_whitespace().next() == Some(disk))
}

/// Whether we may write the file or folder at `path`.
pub(super) fn may_write(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_says_what_can_be_chosen_and_what_is() {
        let queue = Queue::of("sda", PathBuf::from("x"), "none [mq-deadline] bfq\n").unwrap();
        assert_eq!(queue.schedulers, ["none", "mq-deadline", "bfq"]);
        assert_eq!(queue.in_force.as_deref(), Some("mq-deadline"));
        assert_eq!(Queue::of("dm-0", PathBuf::from("x"), "none\n"), None);
    }

    #[test]
    fn io_cost_is_on_for_one_disk_and_off_for_another() {
        let qos = "8:0 enable=1 ctrl=auto rpct=0.00\n8:16 enable=0 ctrl=auto\n";
        assert!(io_cost_is_on(qos, "8:0"));
        assert!(!io_cost_is_on(qos, "8:16") && !io_cost_is_on(qos, "8:1"));
        assert_eq!(line_of(qos, "8:16"), Some("8:16 enable=0 ctrl=auto"));
    }

    #[test]
    fn the_version_that_can_limit_io_is_taken() {
        let hierarchy = |controllers: &[&str]| Hierarchy {
            mounted_at: "/sys/fs/cgroup".into(),
            controllers: controllers.iter().map(|&name| name.to_owned()).collect(),
            writable: true,
        };
        let mut host = Host {
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
        assert_eq!(host.version(), Some(Version::V1));
        assert!(host.has_controller("cpu") && !host.has_controller("hugetlb"));
        host.cgroups.v2 = Some(hierarchy(&["io", "memory"]));
        assert_eq!(host.version(), Some(Version::V2));
        host.cgroups = Cgroups::default();
        assert_eq!(host.version(), None);
    }
}
