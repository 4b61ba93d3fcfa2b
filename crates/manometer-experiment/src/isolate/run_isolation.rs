//! The isolation of one run, from its start to its end.

use std::fs;
use std::path::Path;

use manometer_measure::Directory;
use serde_json::{Value, json};

use super::cgroup::{Cgroup, CgroupTree};
use super::cgroup_files::{CgroupVersion, limit_files};
use super::container::Container;
use super::error::IsolateError;
use super::host::{HostCapabilities, line_of};
use super::host_settings::HostSettings;
use super::placement::WorkerPlacement;
use super::unsupported::{requires_isolation, unsupported, uses_bfq};
use crate::definition::{Experiment, ExperimentWorkload, workloads_in_phases};
use crate::limits::{Isolation, IsolationSetting, Limits};

/// The control groups, containers and changed host settings of a run. Dropping it removes and restores them: all workers
/// must have ended.
#[derive(Debug)]
pub(crate) struct RunIsolation {
    workloads: Vec<IsolatedWorkload>,
    version: Option<CgroupVersion>,
    disk: String,
    by_bfq: bool,
    /// Dropped in this order: the groups, then the host settings.
    groups: Option<CgroupTree>,
    host_settings: HostSettings,
}

#[derive(Debug)]
struct IsolatedWorkload {
    name: String,
    isolation: Isolation,
    limits: Limits,
    placement: WorkerPlacement,
}

impl RunIsolation {
    /// Isolates the workloads of `experiment`, whose device directory is `directory`. Leftovers of killed runs are removed
    /// already ([`super::clean_up`]).
    pub(crate) fn begin(experiment: &Experiment, directory: &Directory) -> Result<Self, IsolateError> {
        let mut host_settings = HostSettings::unchanged(directory);
        let isolated = |workload: &ExperimentWorkload| IsolatedWorkload {
            name: workload.name.clone(),
            isolation: workload.isolation,
            limits: workload.limits.clone(),
            placement: WorkerPlacement { priority: workload.limits.io_prio_class, ..WorkerPlacement::default() },
        };
        let workloads = experiment.workloads().map(isolated).collect();
        if !requires_isolation(experiment) {
            let (version, disk, by_bfq) = (None, String::new(), false);
            return Ok(Self { workloads, version, disk, by_bfq, groups: None, host_settings });
        }
        let host = HostCapabilities::read(experiment);
        let reasons = unsupported(experiment, &host);
        if !reasons.is_empty() {
            return Err(IsolateError::Unsupported(reasons));
        }
        configure_device(experiment, &host, &mut host_settings)?;
        let mut isolated = Self {
            workloads,
            version: host.version(),
            disk: host.disk.clone().unwrap_or_default(),
            by_bfq: uses_bfq(experiment, &host),
            groups: None,
            host_settings,
        };
        isolated.create_groups(&host, &experiment.directory)?;
        Ok(isolated)
    }

    fn create_groups(&mut self, host: &HostCapabilities, directory: &Path) -> Result<(), IsolateError> {
        let needs_groups = self.workloads.iter().any(|workload| workload.isolation != Isolation::None);
        let Some(version) = self.version.filter(|_| needs_groups) else { return Ok(()) };
        let tree = CgroupTree::create(&host.cgroups, version, std::process::id(), &mut self.host_settings)?;
        let tree = self.groups.insert(tree);
        for workload in self.workloads.iter_mut().filter(|workload| workload.isolation != Isolation::None) {
            let group = tree.create_group(&workload.name)?;
            for name in workload.limits.names_set() {
                apply_limit(&group, &workload.limits, name, (version, &self.disk, self.by_bfq))?;
            }
            workload.placement.group = Some(group);
            let program = host.container_program().filter(|_| workload.isolation == Isolation::Container);
            workload.placement.container =
                program.map(|program| Container::prepare(program, &workload.name, directory)).transpose()?;
        }
        Ok(())
    }

    /// Where the worker of the workload `index` runs.
    pub(crate) fn placement(&self, index: usize) -> &WorkerPlacement {
        &self.workloads[index].placement
    }

    /// Changes a limit of the workload `index` by its key in the experiment file.
    pub(crate) fn change_limit(&mut self, index: usize, setting: &str, value: &Value) -> Result<(), String> {
        let workload = &mut self.workloads[index];
        let changeable = match IsolationSetting::parse(setting) {
            Some(IsolationSetting::Limit(name)) if Limits::CHANGEABLE.contains(&name) => Some(name),
            _ => None,
        };
        let (Some(name), Some(version), Some(group)) = (changeable, self.version, &workload.placement.group) else {
            return Err(format!("`{setting}` cannot change while the workload runs"));
        };
        workload.limits = workload.limits.with(name, value)?;
        if limit_files(&workload.limits, name, version, &self.disk, self.by_bfq).is_empty() {
            return Err(format!("`{setting}` is not supported by control groups of version {}", version.number()));
        }
        apply_limit(group, &workload.limits, name, (version, &self.disk, self.by_bfq))
            .map_err(|error| error.to_string())
    }

    /// How the workload `index` lost its isolation, where it did. Its worker is the process `pid`.
    pub(crate) fn loss(&self, index: usize, pid: u32) -> Option<String> {
        let folder = self.workloads[index].placement.group.as_ref()?.lost_folder(pid)?;
        let what = if folder.exists() { "no longer contains it" } else { "was removed" };
        Some(format!("its control group {} {what}: it ran without its limits", folder.display()))
    }

    /// The isolation of each workload, as in `environment.json`; nothing where no workload is isolated.
    pub(crate) fn environment(&self) -> Option<Value> {
        let is_isolated = |workload: &&IsolatedWorkload| {
            workload.isolation != Isolation::None || workload.limits.names_set().next().is_some()
        };
        let describe = |workload: &IsolatedWorkload| {
            let group = workload.placement.group.as_ref();
            let description = json!({
                "isolation": workload.isolation,
                "limits": workload.limits,
                "cgroup_version": group.and(self.version).map(CgroupVersion::number),
                "cgroups": group.map(|group| group.folders().collect::<Vec<_>>()),
                "container": workload.placement.container.as_ref().map(Container::describe),
            });
            (workload.name.clone(), description)
        };
        let all: serde_json::Map<String, Value> = self.workloads.iter().filter(is_isolated).map(describe).collect();
        (!all.is_empty()).then(|| all.into())
    }

    /// Whether any phase of `experiment` limits writes in version 1, which does not limit writes through the page cache.
    pub(crate) fn limits_direct_writes_only(&self, experiment: &Experiment) -> bool {
        let limits_writes =
            |workload: &ExperimentWorkload| workload.limits.io_max.is_some_and(|max| max.limits_writes());
        self.version == Some(CgroupVersion::V1) && workloads_in_phases(experiment).iter().any(limits_writes)
    }
}

fn apply_limit(
    group: &Cgroup,
    limits: &Limits,
    name: &str,
    (version, disk, by_bfq): (CgroupVersion, &str, bool),
) -> Result<(), IsolateError> {
    limit_files(limits, name, version, disk, by_bfq).iter().try_for_each(|file| group.limit(file))
}

/// Sets the device's scheduler and io.cost for `experiment`.
fn configure_device(
    experiment: &Experiment,
    host: &HostCapabilities,
    settings: &mut HostSettings,
) -> Result<(), IsolateError> {
    for queue in &host.queues {
        if let (Some(scheduler), Some(active)) = (&experiment.scheduler, &queue.active)
            && scheduler != active
        {
            settings.change(&queue.file, scheduler, active.clone())?;
        }
    }
    let io_cost = experiment.workloads().find_map(|workload| workload.limits.io_cost.as_ref());
    let (Some(io_cost), Some(disk), Some(v2)) = (io_cost, &host.disk, &host.cgroups.v2) else { return Ok(()) };
    let file = v2.mounted_at.join("io.cost.qos");
    let text = fs::read_to_string(&file).map_err(IsolateError::at(&file))?;
    let original = line_of(&text, disk).map_or_else(|| format!("{disk} enable=0"), str::to_owned);
    if io_cost.is_on() || original.contains("enable=1") {
        settings.change(&file, &format!("{disk} {}", io_cost.kernel_value()), original)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::path::PathBuf;
    use std::process::{Child, Command, Stdio};

    use manometer_testing::{Cause, skip};

    use super::*;

    const BYTES: u64 = 1 << 20;

    /// A neighbour in its own group of version 1, and a folder on a disk; nothing where that is not supported.
    fn isolated_experiment() -> Option<(tempfile::TempDir, Experiment)> {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let text = format!(
            "name = \"a test\"\n[device]\ndirectory = \"{}\"\n[[neighbour]]\nname = \"reader\"\nkind = \"io\"\n\
             file_size = \"1MiB\"\nisolation = \"cgroup\"\n[neighbour.limits]\n\"io.max\" = \"rbps=64MiB\"\n\
             \"memory.max\" = \"256MiB\"\n[plan]\nphase = \"1s\"\n",
            dir.path().display()
        );
        fs::write(dir.path().join("e.toml"), text).unwrap();
        let experiment = crate::file::load(&dir.path().join("e.toml"), &[]).unwrap();
        let host = HostCapabilities::read(&experiment);
        let reasons = unsupported(&experiment, &host);
        if host.version() != Some(CgroupVersion::V1) || !reasons.is_empty() {
            skip(Cause::CgroupV1, format_args!("{reasons:?}"));
            return None;
        }
        Some((dir, experiment))
    }

    fn waiting(script: &str) -> Child {
        Command::new("sh").args(["-c", &format!("read job; {script}")]).stdin(Stdio::piped()).spawn().unwrap()
    }

    fn blkio(isolated: &RunIsolation) -> PathBuf {
        let group = isolated.placement(0).group.as_ref().unwrap();
        group.folders().find(|folder| folder.to_string_lossy().contains("blkio")).unwrap().to_owned()
    }

    /// One test, as a process has one folder of groups.
    #[test]
    fn a_worker_is_counted_and_limited_in_its_group_and_its_loss_is_reported() {
        let Some((dir, experiment)) = isolated_experiment() else { return };
        let mut isolated = RunIsolation::begin(&experiment, &Directory::open(&experiment.directory).unwrap()).unwrap();
        let (group, disk) = (blkio(&isolated), isolated.disk.clone());
        let bound = || fs::read_to_string(group.join("blkio.throttle.read_bps_device")).unwrap();
        assert_eq!(bound(), format!("{disk} {}\n", 64 << 20));

        let file = dir.path().join("data");
        fs::write(&file, vec![1_u8; BYTES as usize]).unwrap();
        fs::File::open(&file).unwrap().sync_all().unwrap();
        let mut child = waiting(&format!("dd if={} of=/dev/null bs=64k iflag=direct status=none", file.display()));
        assert_eq!(isolated.placement(0).admit(child.id()).unwrap(), child.id());
        assert_eq!(isolated.loss(0, child.id()), None);
        child.stdin.take().unwrap().write_all(b"go\n").unwrap();
        assert!(child.wait().unwrap().success());
        let counted = fs::read_to_string(group.join("blkio.throttle.io_service_bytes")).unwrap();
        let read = counted.lines().find_map(|line| line.strip_prefix(&format!("{disk} Read "))?.parse().ok());
        assert!(read.is_some_and(|bytes: u64| bytes >= BYTES), "{counted}");

        isolated.change_limit(0, "limits.io.max", &json!("rbps=1MiB")).unwrap();
        assert_eq!(bound(), format!("{disk} {}\n", 1 << 20));
        isolated.change_limit(0, "limits.io.max", &Value::Null).unwrap();
        assert_eq!(bound(), "");
        for (setting, value) in [("limits.io.prio.class", "idle"), ("limits.io.latency", "10ms")] {
            let refused = isolated.change_limit(0, setting, &json!(value)).unwrap_err();
            assert!(refused.contains(setting), "{refused}");
        }

        let environment = isolated.environment().unwrap();
        assert_eq!(environment["reader"]["isolation"], "cgroup");
        assert_eq!(environment["reader"]["limits"]["memory.max"], "256MiB");
        assert_eq!(environment["reader"]["cgroup_version"], 1);

        fs::remove_dir(&group).unwrap();
        let lost = isolated.loss(0, child.id()).unwrap();
        assert!(lost.contains("was removed") && lost.contains(group.to_str().unwrap()), "{lost}");
        drop(isolated);
        assert!(!group.parent().unwrap().exists());
    }
}
