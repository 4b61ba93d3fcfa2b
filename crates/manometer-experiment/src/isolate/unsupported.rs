//! Requirements of an experiment that this host does not support. They are reported before anything runs, with a remedy.

use manometer_measure::doctor::{Check, containers};

use super::cgroup::is_used;
use super::cgroup_files::{CgroupVersion, controllers, is_supported};
use super::host::{HostCapabilities, is_writable};
use crate::definition::{Experiment, ExperimentWorkload, workloads_in_phases};
use crate::limits::{Isolation, Limits};

/// The maximum weight of bfq.
const MAX_BFQ_WEIGHT: u16 = 1000;

/// Whether `experiment` isolates or limits a workload, or sets the device's scheduler.
pub(super) fn requires_isolation(experiment: &Experiment) -> bool {
    let is_isolated = |workload: &ExperimentWorkload| {
        workload.isolation != Isolation::None || workload.limits.names_set().next().is_some()
    };
    experiment.scheduler.is_some() || experiment.workloads().any(is_isolated)
}

/// Why this host's kernel is not the one that `experiment` demands. `6.1` stands for `6.1.90`, not for `6.12`.
pub(super) fn other_kernel(experiment: &Experiment) -> Option<String> {
    let wanted = experiment.kernel.as_deref()?;
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    let rest = release.strip_prefix(wanted);
    let is_wanted = rest.is_some_and(|rest| !rest.starts_with(|next: char| next.is_ascii_digit()));
    let help = "boot it, or let `manometer cluster run` find a host that has it";
    (!is_wanted).then(|| format!("`device.kernel`: this host runs {release}, not {wanted}: {help}"))
}

/// The requirements of `experiment` that `host` does not support, with remedies.
pub(super) fn unsupported(experiment: &Experiment, host: &HostCapabilities) -> Vec<String> {
    let mut all: Vec<String> =
        unsupported_scheduler(experiment, host).into_iter().chain(conflicting_io_cost(experiment)).collect();
    for workload in workloads_in_phases(experiment) {
        let limits = workload.limits.names_set().flat_map(|name| unsupported_limit(experiment, &workload, name, host));
        for reason in unsupported_isolation(&workload, host).into_iter().chain(limits) {
            let reason = format!("`{}`: {reason}", workload.name);
            if !all.contains(&reason) {
                all.push(reason);
            }
        }
    }
    all
}

fn with_remedy(reason: &str, check: &Check) -> String {
    let remedy = if check.remedy.is_empty() { String::new() } else { format!(": {}", check.remedy) };
    format!("{reason}; `manometer doctor` found {}{remedy}", check.text)
}

/// Why the isolation of `workload` is not supported.
fn unsupported_isolation(workload: &ExperimentWorkload, host: &HostCapabilities) -> Option<String> {
    let cgroups = host.cgroups.check();
    match workload.isolation {
        Isolation::None => None,
        Isolation::Container if host.container_program().is_none() => {
            Some(with_remedy("no container program is available", &containers::check(&host.containers)))
        }
        Isolation::Cgroup | Isolation::Container => match host.version() {
            None => Some(with_remedy("control groups cannot limit I/O", &cgroups)),
            Some(version) if !can_create_groups(host, version) => {
                Some(with_remedy("control groups cannot be created", &cgroups))
            }
            Some(_) => None,
        },
    }
}

fn can_create_groups(host: &HostCapabilities, version: CgroupVersion) -> bool {
    match version {
        CgroupVersion::V2 => host.cgroups.v2.as_ref().is_some_and(|v2| v2.writable),
        CgroupVersion::V1 => host.cgroups.v1.iter().all(|v1| v1.writable || !is_used(v1)),
    }
}

/// Why the limit `name` of `workload` is not supported.
fn unsupported_limit(
    experiment: &Experiment,
    workload: &ExperimentWorkload,
    name: &str,
    host: &HostCapabilities,
) -> Option<String> {
    if name == "io.prio.class" {
        let realtime = workload.limits.io_prio_class.is_some_and(|class| class.is_realtime());
        return (realtime && !host.may_realtime)
            .then(|| "`io.prio.class`: the class `realtime` needs privileges: run as root".to_owned());
    }
    let version = host.version().filter(|_| workload.isolation != Isolation::None)?;
    if !is_supported(name, version) {
        let reason = format!("`{name}` is not supported by control groups of version 1");
        return Some(with_remedy(&reason, &host.cgroups.check()));
    }
    if name.starts_with("io.") && host.disk.is_none() {
        return Some(format!("`{name}`: no block device shows below {}", experiment.directory.display()));
    }
    if let Some(missing) = controllers(name, version).into_iter().find(|one| !host.has_controller(one)) {
        let reason = format!("`{name}` needs the controller `{missing}` in version {}", version.number());
        return Some(with_remedy(&reason, &host.cgroups.check()));
    }
    if name == "io.weight" { ineffective_weight(experiment, &workload.limits, version, host) } else { None }
}

/// Why the weight in `limits` would have no effect.
fn ineffective_weight(
    experiment: &Experiment,
    limits: &Limits,
    version: CgroupVersion,
    host: &HostCapabilities,
) -> Option<String> {
    let by_bfq = uses_bfq(experiment, host);
    let sets_io_cost = experiment.workloads().any(|workload| workload.limits.io_cost.is_some());
    match version {
        _ if by_bfq && limits.io_weight.is_some_and(|weight| weight.0 > MAX_BFQ_WEIGHT) => {
            Some(format!("`io.weight`: bfq supports weights from 1 to {MAX_BFQ_WEIGHT}"))
        }
        _ if by_bfq => None,
        CgroupVersion::V2 if sets_io_cost || host.io_cost => None,
        CgroupVersion::V2 => Some(
            "`io.weight` is effective only with io.cost or bfq: add `\"io.cost\" = \"auto\"` to the limits, or `scheduler \
             = \"bfq\"` to `[device]`"
                .to_owned(),
        ),
        CgroupVersion::V1 => Some(
            "`io.weight` is effective in control groups of version 1 only with bfq: add `scheduler = \"bfq\"` to \
             `[device]`"
                .to_owned(),
        ),
    }
}

/// Whether the device has the scheduler bfq during `experiment`.
pub(super) fn uses_bfq(experiment: &Experiment, host: &HostCapabilities) -> bool {
    let queues = || host.queues.iter();
    let is_active = || queues().next().is_some() && queues().all(|queue| queue.active.as_deref() == Some("bfq"));
    experiment.scheduler.as_deref().map_or_else(is_active, |scheduler| scheduler == "bfq")
}

/// Why the device does not support the scheduler of `experiment`.
fn unsupported_scheduler(experiment: &Experiment, host: &HostCapabilities) -> Vec<String> {
    let Some(scheduler) = experiment.scheduler.as_deref() else { return Vec::new() };
    if host.queues.is_empty() {
        let directory = experiment.directory.display();
        return vec![format!("`device.scheduler`: no disk with a choice of schedulers shows below {directory}")];
    }
    let mut all = Vec::new();
    for queue in &host.queues {
        if !queue.schedulers.iter().any(|one| one == scheduler) {
            let available = queue.schedulers.join(", ");
            let help = format!("`modprobe {scheduler}` loads it where the kernel has it as a module");
            all.push(format!("`device.scheduler`: {} supports {available}, not {scheduler}: {help}", queue.disk));
        } else if !is_writable(&queue.file) {
            all.push(format!("`device.scheduler`: {} is not writable: run as root", queue.file.display()));
        }
    }
    all
}

/// Two workloads that set the device's io.cost differently.
fn conflicting_io_cost(experiment: &Experiment) -> Option<String> {
    let mut settings =
        experiment.workloads().filter_map(|workload| Some((&workload.name, workload.limits.io_cost.as_ref()?)));
    let (name, first) = settings.next()?;
    let (other, _) = settings.find(|(_, cost)| *cost != first)?;
    Some(format!(
        "`{name}` and `{other}` set different `io.cost`, which is one setting of the device: give both the same"
    ))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use manometer_measure::doctor::{Answer, Cgroups, ContainerProgram, Hierarchy};

    use super::super::host::BlockQueue;
    use super::*;

    fn experiment(device: &str, limits: &str) -> Experiment {
        experiment_with(device, limits, "")
    }

    fn experiment_with(device: &str, limits: &str, plan: &str) -> Experiment {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("e.toml");
        let text = format!(
            "name = \"a test\"\n[device]\ndirectory = \"data\"\n{device}\n[[neighbour]]\nname = \"n\"\nkind = \"io\"\n\
             file_size = \"1MiB\"\n{limits}\n[plan]\nphase = \"1s\"\n{plan}"
        );
        std::fs::write(&path, text).unwrap();
        crate::file::load(&path, &[]).unwrap()
    }

    fn hierarchy(controllers: &[&str]) -> Hierarchy {
        let controllers = controllers.iter().map(|&name| name.to_owned()).collect();
        Hierarchy { mounted_at: "/sys/fs/cgroup".into(), controllers, writable: true }
    }

    fn host(cgroups: Cgroups) -> HostCapabilities {
        let queue = BlockQueue {
            disk: "sda".to_owned(),
            file: PathBuf::from("/dev/null"),
            schedulers: vec!["none".to_owned(), "bfq".to_owned()],
            active: Some("none".to_owned()),
        };
        HostCapabilities {
            cgroups,
            containers: Vec::new(),
            disk: Some("8:0".to_owned()),
            queues: vec![queue],
            io_cost: false,
            may_realtime: false,
        }
    }

    fn v1() -> HostCapabilities {
        host(Cgroups { v2: None, v1: vec![hierarchy(&["blkio"]), hierarchy(&["cpu"])] })
    }

    fn v2() -> HostCapabilities {
        host(Cgroups { v2: Some(hierarchy(&["io", "cpu"])), v1: Vec::new() })
    }

    #[track_caller]
    fn assert_unsupported(device: &str, limits: &str, host: &HostCapabilities, words: &[&str]) {
        let reasons = unsupported(&experiment(device, limits), host).join("\n");
        assert!(!reasons.is_empty());
        words.iter().for_each(|word| assert!(reasons.contains(word), "`{word}` is not in: {reasons}"));
    }

    #[track_caller]
    fn assert_supported(device: &str, limits: &str, host: &HostCapabilities) {
        assert_eq!(unsupported(&experiment(device, limits), host), Vec::<String>::new());
    }

    const CGROUP: &str = "isolation = \"cgroup\"\n";

    #[test]
    fn limits_of_version_2_are_rejected_in_version_1_with_a_remedy() {
        for name in ["\"io.latency\" = \"10ms\"", "\"io.cost\" = \"auto\""] {
            let limits = format!("{CGROUP}limits = {{ {name} }}");
            assert_unsupported("", &limits, &v1(), &["version 1", "unified_cgroup_hierarchy=1", "`n`"]);
            assert_supported("", &limits, &v2());
        }
        assert_supported(
            "",
            &format!("{CGROUP}limits = {{ \"io.max\" = \"rbps=1MiB\", \"cpu.max\" = \"max\" }}"),
            &v1(),
        );
    }

    #[test]
    fn limits_of_a_single_phase_are_checked() {
        let reasons = |device: &str, vary: &str| {
            let vary = format!("vary = {{ \"n.limits.{vary} }}");
            unsupported(&experiment_with(device, CGROUP, &vary), &v1()).join("\n")
        };
        let latency = reasons("", "io.latency\" = [\"10ms\", \"20ms\"]");
        assert!(latency.contains("`n`: `io.latency` is not supported"), "{latency}");
        assert_eq!(latency.lines().count(), 1, "reported once: {latency}");
        assert!(reasons("scheduler = \"bfq\"", "io.weight\" = [100, 2000]").contains("1 to 1000"));
        assert_eq!(reasons("", "io.max\" = [\"rbps=1MiB\", \"rbps=2MiB\"]"), "");
    }

    #[test]
    fn an_ineffective_weight_is_rejected() {
        let limits = format!("{CGROUP}limits = {{ \"io.weight\" = 2000 }}");
        assert_unsupported("", &limits, &v1(), &["bfq"]);
        assert_unsupported("", &limits, &v2(), &["io.cost", "bfq"]);
        assert_unsupported("scheduler = \"bfq\"", &limits, &v1(), &["1 to 1000"]);
        assert_supported("scheduler = \"bfq\"", &limits.replace("2000", "200"), &v1());
        assert_supported("", &limits.replace("}", ", \"io.cost\" = \"off\" }"), &v2());
        assert_supported("", &limits, &HostCapabilities { io_cost: true, ..v2() });
    }

    #[test]
    fn missing_groups_controllers_and_devices_are_reported() {
        assert_unsupported("", CGROUP, &host(Cgroups::default()), &["none mounted"]);
        let mut locked = v2();
        locked.cgroups.v2.as_mut().unwrap().writable = false;
        assert_unsupported("", CGROUP, &locked, &["run as root", "delegated", "`cpu io memory`"]);
        let memory = format!("{CGROUP}limits = {{ \"memory.max\" = \"1GiB\" }}");
        assert_unsupported("", &memory, &v2(), &["`memory.max` needs the controller `memory`"]);
        let max = format!("{CGROUP}limits = {{ \"io.max\" = \"rbps=1MiB\" }}");
        assert_unsupported("", &max, &HostCapabilities { disk: None, ..v2() }, &["no block device"]);
    }

    #[test]
    fn schedulers_that_the_disk_lacks_are_rejected() {
        assert_unsupported("scheduler = \"kyber\"", "", &v1(), &["sda supports none, bfq", "modprobe kyber"]);
        assert_supported("scheduler = \"bfq\"", "", &v1());
        assert_unsupported("scheduler = \"bfq\"", "", &HostCapabilities { queues: Vec::new(), ..v1() }, &["no disk"]);
    }

    #[test]
    fn containers_need_a_container_program() {
        let stopped = ContainerProgram { name: "docker", answer: Answer::Refused("no daemon".to_owned()) };
        let without = HostCapabilities { containers: vec![stopped], ..v2() };
        assert_unsupported("", "isolation = \"container\"", &without, &["docker: no daemon", "systemctl start docker"]);
        let podman = ContainerProgram { name: "podman", answer: Answer::Version("5.0".to_owned()) };
        assert_supported("", "isolation = \"container\"", &HostCapabilities { containers: vec![podman], ..v2() });
    }

    #[test]
    fn only_the_realtime_class_needs_privileges() {
        assert_unsupported("", "limits = { \"io.prio.class\" = \"realtime\" }", &v1(), &["root"]);
        assert_supported("", "limits = { \"io.prio.class\" = \"idle\" }", &v1());
    }
}
