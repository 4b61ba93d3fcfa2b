//! The isolation of one run, from its begin to its end.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::borrowed::Borrowed;
use super::container::Container;
use super::group::{Group, Subtree};
use super::host::{Host, line_of};
use super::place::Place;
use super::refuse::{refusals, weighs_by_bfq};
use super::translate::{Version, files};
use super::{IsolateError, Isolation, Limits, Setting, asks};
use crate::file::{Experiment, Workload};
use crate::plan::workloads_in_phases;

/// What a run has made and changed on the host for its workloads. Dropping it takes all away: workers must have ended.
#[derive(Debug)]
pub(crate) struct Isolated {
    members: Vec<Member>,
    version: Option<Version>,
    disk: String,
    by_bfq: bool,
    /// Dropped in this order: the groups, then the host's settings.
    subtree: Option<Subtree>,
    borrowed: Borrowed,
}

#[derive(Debug)]
struct Member {
    name: String,
    isolation: Isolation,
    limits: Limits,
    place: Place,
}

impl Isolated {
    /// Makes what `experiment` asks for; what killed runs left is taken away already ([`super::clean_up`]).
    pub(crate) fn begin(experiment: &Experiment) -> Result<Self, IsolateError> {
        let mut borrowed = Borrowed::none(&experiment.directory);
        let member = |workload: &Workload| Member {
            name: workload.name.clone(),
            isolation: workload.isolation,
            limits: workload.limits.clone(),
            place: Place { priority: workload.limits.io_prio_class, ..Place::default() },
        };
        let members = experiment.workloads().map(member).collect();
        if !asks(experiment) {
            let (version, disk, by_bfq) = (None, String::new(), false);
            return Ok(Self { members, version, disk, by_bfq, subtree: None, borrowed });
        }
        let host = Host::read(experiment);
        let refused = refusals(experiment, &host);
        if !refused.is_empty() {
            return Err(IsolateError::Refused(refused));
        }
        set_device(experiment, &host, &mut borrowed)?;
        let mut isolated = Self {
            members,
            version: host.version(),
            disk: host.disk.clone().unwrap_or_default(),
            by_bfq: weighs_by_bfq(experiment, &host),
            subtree: None,
            borrowed,
        };
        isolated.make_groups(&host, &experiment.directory)?;
        Ok(isolated)
    }

    fn make_groups(&mut self, host: &Host, directory: &Path) -> Result<(), IsolateError> {
        let wanted = self.members.iter().any(|member| member.isolation != Isolation::None);
        let Some(version) = self.version.filter(|_| wanted) else { return Ok(()) };
        let subtree =
            self.subtree.insert(Subtree::make(&host.cgroups, version, std::process::id(), &mut self.borrowed)?);
        for member in self.members.iter_mut().filter(|member| member.isolation != Isolation::None) {
            let group = subtree.group(&member.name)?;
            for name in member.limits.set() {
                limit(&group, &member.limits, name, (version, &self.disk, self.by_bfq))?;
            }
            member.place.group = Some(group);
            let program = host.container_program().filter(|_| member.isolation == Isolation::Container);
            member.place.container =
                program.map(|program| Container::prepare(program, &member.name, directory)).transpose()?;
        }
        Ok(())
    }

    /// Where the workload `index` runs.
    pub(crate) fn place(&self, index: usize) -> &Place {
        &self.members[index].place
    }

    /// Rewrites a limit of the workload `index`, whose setting is called `setting` in the experiment.
    pub(crate) fn change(&mut self, index: usize, setting: &str, value: &Value) -> Result<(), String> {
        let member = &mut self.members[index];
        let changeable = match Setting::of(setting) {
            Some(Setting::Limit(name)) if Limits::CHANGEABLE.contains(&name) => Some(name),
            _ => None,
        };
        let (Some(name), Some(version), Some(group)) = (changeable, self.version, &member.place.group) else {
            return Err(format!("`{setting}` cannot change while it runs"));
        };
        member.limits = member.limits.with(name, value)?;
        if files(&member.limits, name, version, &self.disk, self.by_bfq).is_empty() {
            return Err(format!("`{setting}` has no counterpart in control groups of version {}", version.number()));
        }
        limit(group, &member.limits, name, (version, &self.disk, self.by_bfq)).map_err(|error| error.to_string())
    }

    /// What is wrong with the isolation of the workload `index`, whose worker is the process `pid`.
    pub(crate) fn lost(&self, index: usize, pid: u32) -> Option<String> {
        let folder = self.members[index].place.group.as_ref()?.lost(pid)?;
        let what = if folder.exists() { "is no longer around it" } else { "has vanished" };
        Some(format!("its control group {} {what}: it ran without its limits", folder.display()))
    }

    /// What a reader of the environment must know, by workload; nothing where nothing was asked for.
    pub(crate) fn environment(&self) -> Option<Value> {
        let asked = |member: &&Member| member.isolation != Isolation::None || member.limits.set().next().is_some();
        let told = |member: &Member| {
            let group = member.place.group.as_ref();
            let told = json!({
                "isolation": member.isolation,
                "limits": member.limits,
                "cgroup_version": group.and(self.version).map(Version::number),
                "cgroups": group.map(|group| group.folders().collect::<Vec<_>>()),
                "container": member.place.container.as_ref().map(Container::describe),
            });
            (member.name.clone(), told)
        };
        let all: serde_json::Map<String, Value> = self.members.iter().filter(asked).map(told).collect();
        (!all.is_empty()).then(|| all.into())
    }

    /// Whether `experiment` asks, in any phase, for a bound on writes in version 1, which does not bind writes through
    /// the page cache.
    pub(crate) fn bounds_direct_writes_only(&self, experiment: &Experiment) -> bool {
        let bounds = |workload: &Workload| workload.limits.io_max.is_some_and(|max| max.bounds_writes());
        self.version == Some(Version::V1) && workloads_in_phases(experiment).iter().any(bounds)
    }
}

fn limit(
    group: &Group,
    limits: &Limits,
    name: &str,
    (version, disk, by_bfq): (Version, &str, bool),
) -> Result<(), IsolateError> {
    files(limits, name, version, disk, by_bfq).iter().try_for_each(|file| group.limit(file))
}

/// Sets the device's scheduler and io.cost as `experiment` says.
fn set_device(experiment: &Experiment, host: &Host, borrowed: &mut Borrowed) -> Result<(), IsolateError> {
    for queue in &host.queues {
        if let (Some(wanted), Some(was)) = (&experiment.scheduler, &queue.in_force)
            && wanted != was
        {
            borrowed.change(&queue.file, wanted, was.clone())?;
        }
    }
    let wanted = experiment.workloads().find_map(|workload| workload.limits.io_cost.as_ref());
    let (Some(wanted), Some(disk), Some(v2)) = (wanted, &host.disk, &host.cgroups.v2) else { return Ok(()) };
    let file = v2.mounted_at.join("io.cost.qos");
    let text = fs::read_to_string(&file).map_err(IsolateError::at(&file))?;
    let was = line_of(&text, disk).map_or_else(|| format!("{disk} enable=0"), str::to_owned);
    if wanted.is_on() || was.contains("enable=1") {
        borrowed.change(&file, &format!("{disk} {}", wanted.for_kernel()), was)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::path::PathBuf;
    use std::process::{Child, Command, Stdio};

    use super::*;

    const BYTES: u64 = 1 << 20;

    /// A neighbour in a group of version 1 of its own, and a folder on a disk; nothing where that cannot be had.
    fn scene() -> Option<(tempfile::TempDir, Experiment)> {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let text = format!(
            "name = \"a test\"\n[device]\ndirectory = \"{}\"\n[[neighbour]]\nname = \"reader\"\nkind = \"io\"\n\
             file_size = \"1MiB\"\nisolation = \"cgroup\"\n[neighbour.limits]\n\"io.max\" = \"rbps=64MiB\"\n\
             \"memory.max\" = \"256MiB\"\n[plan]\nphase = \"1s\"\n",
            dir.path().display()
        );
        fs::write(dir.path().join("e.toml"), text).unwrap();
        let experiment = crate::file::load(&dir.path().join("e.toml"), &[]).unwrap();
        let host = Host::read(&experiment);
        let refused = refusals(&experiment, &host);
        if host.version() != Some(Version::V1) || !refused.is_empty() {
            println!("skipped: control groups of version 1 cannot limit I/O here: {refused:?}");
            return None;
        }
        Some((dir, experiment))
    }

    fn waiting(script: &str) -> Child {
        Command::new("sh").args(["-c", &format!("read job; {script}")]).stdin(Stdio::piped()).spawn().unwrap()
    }

    fn blkio(isolated: &Isolated) -> PathBuf {
        let group = isolated.place(0).group.as_ref().unwrap();
        group.folders().find(|folder| folder.to_string_lossy().contains("blkio")).unwrap().to_owned()
    }

    /// One test, since the folder of a process's groups is one.
    #[test]
    fn a_worker_is_counted_and_bounded_in_its_group_and_its_loss_is_told() {
        let Some((dir, experiment)) = scene() else { return };
        let mut isolated = Isolated::begin(&experiment).unwrap();
        let (group, disk) = (blkio(&isolated), isolated.disk.clone());
        let bound = || fs::read_to_string(group.join("blkio.throttle.read_bps_device")).unwrap();
        assert_eq!(bound(), format!("{disk} {}\n", 64 << 20));

        let file = dir.path().join("data");
        fs::write(&file, vec![1_u8; BYTES as usize]).unwrap();
        fs::File::open(&file).unwrap().sync_all().unwrap();
        let mut child = waiting(&format!("dd if={} of=/dev/null bs=64k iflag=direct status=none", file.display()));
        assert_eq!(isolated.place(0).admit(child.id()).unwrap(), child.id());
        assert_eq!(isolated.lost(0, child.id()), None);
        child.stdin.take().unwrap().write_all(b"go\n").unwrap();
        assert!(child.wait().unwrap().success());
        let counted = fs::read_to_string(group.join("blkio.throttle.io_service_bytes")).unwrap();
        let read = counted.lines().find_map(|line| line.strip_prefix(&format!("{disk} Read "))?.parse().ok());
        assert!(read.is_some_and(|bytes: u64| bytes >= BYTES), "{counted}");

        isolated.change(0, "limits.io.max", &json!("rbps=1MiB")).unwrap();
        assert_eq!(bound(), format!("{disk} {}\n", 1 << 20));
        isolated.change(0, "limits.io.max", &Value::Null).unwrap();
        assert_eq!(bound(), "");
        for (setting, value) in [("limits.io.prio.class", "idle"), ("limits.io.latency", "10ms")] {
            let refused = isolated.change(0, setting, &json!(value)).unwrap_err();
            assert!(refused.contains(setting), "{refused}");
        }

        let told = isolated.environment().unwrap();
        assert_eq!(told["reader"]["isolation"], "cgroup");
        assert_eq!(told["reader"]["limits"]["memory.max"], "256MiB");
        assert_eq!(told["reader"]["cgroup_version"], 1);

        fs::remove_dir(&group).unwrap();
        let lost = isolated.lost(0, child.id()).unwrap();
        assert!(lost.contains("has vanished") && lost.contains(group.to_str().unwrap()), "{lost}");
        drop(isolated);
        assert!(!group.parent().unwrap().exists());
    }
}
