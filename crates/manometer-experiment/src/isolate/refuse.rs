//! What an experiment asks for and this host cannot give: told before anything runs, with what would help.

use manometer_measure::doctor::{Check, containers};

use super::host::{Host, may_write};
use super::translate::{Version, controllers, has_counterpart};
use super::{Isolation, Limits};
use crate::file::{Experiment, Workload};
use crate::plan::workloads_in_phases;

/// The largest weight that bfq knows.
const LARGEST_BFQ_WEIGHT: u16 = 1000;

/// Everything that `experiment` asks for and `host` cannot give, for people.
pub(super) fn refusals(experiment: &Experiment, host: &Host) -> Vec<String> {
    let mut all: Vec<String> = scheduler(experiment, host).into_iter().chain(io_cost(experiment)).collect();
    for workload in workloads_in_phases(experiment) {
        let limits = workload.limits.set().flat_map(|name| limit(experiment, &workload, name, host));
        for reason in isolation(&workload, host).into_iter().chain(limits) {
            let reason = format!("`{}`: {reason}", workload.name);
            if !all.contains(&reason) {
                all.push(reason);
            }
        }
    }
    all
}

fn with_advice(reason: &str, check: &Check) -> String {
    let advice = if check.remedy.is_empty() { String::new() } else { format!(": {}", check.remedy) };
    format!("{reason}; the doctor found {}{advice}", check.text)
}

/// Why `workload` cannot be isolated as it says.
fn isolation(workload: &Workload, host: &Host) -> Option<String> {
    let cgroups = host.cgroups.check();
    match workload.isolation {
        Isolation::None => None,
        Isolation::Container if host.container_program().is_none() => {
            Some(with_advice("no program runs containers here", &containers::check(&host.containers)))
        }
        Isolation::Cgroup | Isolation::Container => match host.version() {
            None => Some(with_advice("no control group can limit I/O here", &cgroups)),
            Some(version) if !writable(host, version) => {
                Some(with_advice("no control groups may be made here", &cgroups))
            }
            Some(_) => None,
        },
    }
}

fn writable(host: &Host, version: Version) -> bool {
    match version {
        Version::V2 => host.cgroups.v2.as_ref().is_some_and(|v2| v2.writable),
        Version::V1 => host.cgroups.v1.iter().all(|v1| v1.writable || !super::group::is_used(v1)),
    }
}

/// Why `workload` cannot have its limit `name`.
fn limit(experiment: &Experiment, workload: &Workload, name: &str, host: &Host) -> Option<String> {
    if name == "io.prio.class" {
        let realtime = workload.limits.io_prio_class.is_some_and(|class| class.is_realtime());
        return (realtime && !host.may_realtime)
            .then(|| "`io.prio.class`: only root may have the class `realtime`: run as root".to_owned());
    }
    let version = host.version().filter(|_| workload.isolation != Isolation::None)?;
    if !has_counterpart(name, version) {
        let reason = format!("`{name}` has no counterpart in control groups of version 1");
        return Some(with_advice(&reason, &host.cgroups.check()));
    }
    if name.starts_with("io.") && host.disk.is_none() {
        return Some(format!("`{name}`: no block device is seen under {}", experiment.directory.display()));
    }
    if let Some(missing) = controllers(name, version).into_iter().find(|one| !host.has_controller(one)) {
        let reason = format!("`{name}` needs the controller `{missing}` in version {}", version.number());
        return Some(with_advice(&reason, &host.cgroups.check()));
    }
    if name == "io.weight" { weight(experiment, &workload.limits, version, host) } else { None }
}

/// Why the weight in `limits` would not count.
fn weight(experiment: &Experiment, limits: &Limits, version: Version, host: &Host) -> Option<String> {
    let by_bfq = weighs_by_bfq(experiment, host);
    let said = experiment.workloads().any(|workload| workload.limits.io_cost.is_some());
    match version {
        _ if by_bfq && limits.io_weight.is_some_and(|weight| weight.0 > LARGEST_BFQ_WEIGHT) => {
            Some(format!("`io.weight`: bfq knows weights from 1 to {LARGEST_BFQ_WEIGHT}"))
        }
        _ if by_bfq => None,
        Version::V2 if said || host.io_cost => None,
        Version::V2 => Some(
            "`io.weight` counts only where io.cost or bfq shares the device: add `\"io.cost\" = \"auto\"` to the limits, \
             or `scheduler = \"bfq\"` to `[device]`"
                .to_owned(),
        ),
        Version::V1 => Some(
            "`io.weight` counts in control groups of version 1 only where bfq shares the device: add `scheduler = \
             \"bfq\"` to `[device]`"
                .to_owned(),
        ),
    }
}

/// Whether the scheduler bfq shares the device while `experiment` runs.
pub(super) fn weighs_by_bfq(experiment: &Experiment, host: &Host) -> bool {
    let queues = || host.queues.iter();
    let in_force = || queues().next().is_some() && queues().all(|queue| queue.in_force.as_deref() == Some("bfq"));
    experiment.scheduler.as_deref().map_or_else(in_force, |wanted| wanted == "bfq")
}

/// Why the device cannot have the scheduler that `experiment` wants.
fn scheduler(experiment: &Experiment, host: &Host) -> Vec<String> {
    let Some(wanted) = experiment.scheduler.as_deref() else { return Vec::new() };
    if host.queues.is_empty() {
        let directory = experiment.directory.display();
        return vec![format!("`device.scheduler`: no disk whose scheduler can be chosen is seen under {directory}")];
    }
    let mut all = Vec::new();
    for queue in &host.queues {
        if !queue.schedulers.iter().any(|one| one == wanted) {
            let there = queue.schedulers.join(", ");
            let help = format!("`modprobe {wanted}` brings it where the kernel has it as a module");
            all.push(format!("`device.scheduler`: {} has {there}, and no {wanted}: {help}", queue.disk));
        } else if !may_write(&queue.file) {
            all.push(format!("`device.scheduler`: {} may not be written: run as root", queue.file.display()));
        }
    }
    all
}

/// Why the device cannot be shared by cost in two ways.
fn io_cost(experiment: &Experiment) -> Option<String> {
    let mut said =
        experiment.workloads().filter_map(|workload| Some((&workload.name, workload.limits.io_cost.as_ref()?)));
    let (name, first) = said.next()?;
    let (other, _) = said.find(|(_, cost)| *cost != first)?;
    Some(format!("`{name}` and `{other}` want different `io.cost`: the device has one for all; give both the same"))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use manometer_measure::doctor::{Answer, Cgroups, ContainerProgram, Hierarchy};

    use super::super::host::Queue;
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

    fn host(cgroups: Cgroups) -> Host {
        let queue = Queue {
            disk: "sda".to_owned(),
            file: PathBuf::from("/dev/null"),
            schedulers: vec!["none".to_owned(), "bfq".to_owned()],
            in_force: Some("none".to_owned()),
        };
        Host {
            cgroups,
            containers: Vec::new(),
            disk: Some("8:0".to_owned()),
            queues: vec![queue],
            io_cost: false,
            may_realtime: false,
        }
    }

    fn v1() -> Host {
        host(Cgroups { v2: None, v1: vec![hierarchy(&["blkio"]), hierarchy(&["cpu"])] })
    }

    fn v2() -> Host {
        host(Cgroups { v2: Some(hierarchy(&["io", "cpu"])), v1: Vec::new() })
    }

    #[track_caller]
    fn refused(device: &str, limits: &str, host: &Host, words: &[&str]) {
        let told = refusals(&experiment(device, limits), host).join("\n");
        assert!(!told.is_empty());
        words.iter().for_each(|word| assert!(told.contains(word), "`{word}` is not in: {told}"));
    }

    #[track_caller]
    fn granted(device: &str, limits: &str, host: &Host) {
        assert_eq!(refusals(&experiment(device, limits), host), Vec::<String>::new());
    }

    const CGROUP: &str = "isolation = \"cgroup\"\n";

    #[test]
    fn what_version_1_has_nothing_for_is_refused_with_the_doctors_advice() {
        for name in ["\"io.latency\" = \"10ms\"", "\"io.cost\" = \"auto\""] {
            let limits = format!("{CGROUP}limits = {{ {name} }}");
            refused("", &limits, &v1(), &["version 1", "unified_cgroup_hierarchy=1", "`n`"]);
            granted("", &limits, &v2());
        }
        granted("", &format!("{CGROUP}limits = {{ \"io.max\" = \"rbps=1MiB\", \"cpu.max\" = \"max\" }}"), &v1());
    }

    #[test]
    fn what_only_a_phase_asks_for_is_refused_too() {
        let told = |device: &str, vary: &str| {
            let vary = format!("vary = {{ \"n.limits.{vary} }}");
            refusals(&experiment_with(device, CGROUP, &vary), &v1()).join("\n")
        };
        let latency = told("", "io.latency\" = [\"10ms\", \"20ms\"]");
        assert!(latency.contains("`n`: `io.latency` has no counterpart"), "{latency}");
        assert_eq!(latency.lines().count(), 1, "once is enough: {latency}");
        assert!(told("scheduler = \"bfq\"", "io.weight\" = [100, 2000]").contains("1 to 1000"));
        assert_eq!(told("", "io.max\" = [\"rbps=1MiB\", \"rbps=2MiB\"]"), "");
    }

    #[test]
    fn a_weight_that_would_not_count_is_refused() {
        let limits = format!("{CGROUP}limits = {{ \"io.weight\" = 2000 }}");
        refused("", &limits, &v1(), &["bfq"]);
        refused("", &limits, &v2(), &["io.cost", "bfq"]);
        refused("scheduler = \"bfq\"", &limits, &v1(), &["1 to 1000"]);
        granted("scheduler = \"bfq\"", &limits.replace("2000", "200"), &v1());
        granted("", &limits.replace("}", ", \"io.cost\" = \"off\" }"), &v2());
        granted("", &limits, &Host { io_cost: true, ..v2() });
    }

    #[test]
    fn a_host_without_groups_controllers_or_a_device_says_so() {
        refused("", CGROUP, &host(Cgroups::default()), &["none mounted"]);
        let mut locked = v2();
        locked.cgroups.v2.as_mut().unwrap().writable = false;
        refused("", CGROUP, &locked, &["run as root", "delegated", "`cpu io memory`"]);
        let memory = format!("{CGROUP}limits = {{ \"memory.max\" = \"1GiB\" }}");
        refused("", &memory, &v2(), &["`memory.max` needs the controller `memory`"]);
        let max = format!("{CGROUP}limits = {{ \"io.max\" = \"rbps=1MiB\" }}");
        refused("", &max, &Host { disk: None, ..v2() }, &["no block device"]);
    }

    #[test]
    fn schedulers_that_the_disk_does_not_have_are_refused() {
        refused("scheduler = \"kyber\"", "", &v1(), &["sda has none, bfq", "modprobe kyber"]);
        granted("scheduler = \"bfq\"", "", &v1());
        refused("scheduler = \"bfq\"", "", &Host { queues: Vec::new(), ..v1() }, &["no disk"]);
    }

    #[test]
    fn containers_need_a_program_that_runs_them() {
        let stopped = ContainerProgram { name: "docker", answer: Answer::Refused("no daemon".to_owned()) };
        let without = Host { containers: vec![stopped], ..v2() };
        refused("", "isolation = \"container\"", &without, &["docker: no daemon", "systemctl start docker"]);
        let podman = ContainerProgram { name: "podman", answer: Answer::Version("5.0".to_owned()) };
        granted("", "isolation = \"container\"", &Host { containers: vec![podman], ..v2() });
    }

    #[test]
    fn realtime_needs_root_and_idle_does_not() {
        refused("", "limits = { \"io.prio.class\" = \"realtime\" }", &v1(), &["root"]);
        granted("", "limits = { \"io.prio.class\" = \"idle\" }", &v1());
    }
}
