//! Isolation: each workload in a control group or a container of its own, with limits; and the device's scheduler
//! while a run lasts.
//!
//! What an experiment asks for is checked against the host first ([`refusals`]); a run then makes what it needs
//! ([`Isolated`]) and takes it away when it ends. A worker is moved into its group before it is told its job, so that
//! nothing it opens is opened outside. What control groups count is observed by `manometer-measure`.

mod borrowed;
mod container;
mod cpu_max;
mod group;
mod host;
mod io_cost;
mod io_latency;
mod io_max;
mod io_weight;
mod limits;
mod memory_max;
mod place;
mod priority;
mod refuse;
mod run;
mod translate;
mod value;

use std::io;
use std::path::{Path, PathBuf};

pub use cpu_max::CpuMax;
pub use io_cost::IoCost;
pub use io_latency::IoLatency;
pub use io_max::IoMax;
pub use io_weight::IoWeight;
pub use limits::{Isolation, Limits};
use manometer_measure::doctor::Cgroups;
pub use memory_max::MemoryMax;
pub(crate) use place::Place;
pub use priority::PriorityClass;
pub(crate) use run::Isolated;
use serde_json::Value;

use crate::file::{Experiment, settings_text};
use borrowed::Borrowed;
use host::Host;

/// Isolation that could not be had, or not kept.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IsolateError {
    /// This host cannot give what the experiment asks for.
    #[error("this host cannot give what the experiment asks for:\n  {}", .0.join("\n  "))]
    Refused(Vec<String>),
    /// A file or folder cannot be made or read.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// What is to be given back cannot be read.
    #[error(
        "{} should say which settings a killed run is to give back, and makes no sense ({source}): remove it and set the \
         scheduler yourself", path.display()
    )]
    Note {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// The kernel does not take a setting.
    #[error("{} does not take `{text}`: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What was to be written.
        text: String,
        /// What the kernel said.
        source: io::Error,
    },
    /// A group has no such controller.
    #[error("its control group has no controller `{0}`")]
    NoController(&'static str),
    /// The requests of a worker cannot be given their priority.
    #[error("its requests cannot be given the priority `{class}`: {source}")]
    Priority {
        /// The class wanted.
        class: PriorityClass,
        /// What the kernel said.
        source: io::Error,
    },
    /// A container did not come up.
    #[error("its container: {0}")]
    Container(String),
}

impl IsolateError {
    fn at(path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }
}

/// Whether `experiment` asks for anything that the host might not give.
fn asks(experiment: &Experiment) -> bool {
    let asks = |isolation, limits: &Limits| isolation != Isolation::None || limits.set().next().is_some();
    experiment.scheduler.is_some() || experiment.workloads().any(|workload| asks(workload.isolation, &workload.limits))
}

/// Takes away the groups that killed runs left, and gives back the settings that one in the device directory
/// `directory`, which must be held, has left changed.
pub(crate) fn clean_up(directory: &Path) -> Result<(), IsolateError> {
    group::clean_up(&Cgroups::read());
    Borrowed::give_back_left(directory)
}

/// Everything that `runs` ask for and this host cannot give, for people, each once; nothing has been changed.
pub fn refusals<'a>(runs: impl Iterator<Item = &'a Experiment>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for run in runs.filter(|run| asks(run)) {
        for reason in refuse::refusals(run, &Host::read(run)) {
            if !all.contains(&reason) {
                all.push(reason);
            }
        }
    }
    all
}

/// How `experiment` isolates its workloads and schedules its device, a line each; nothing where it does neither.
pub fn describe(experiment: &Experiment) -> Vec<String> {
    if !asks(experiment) {
        return Vec::new();
    }
    let workload = |workload: &crate::file::Workload| {
        let how = match workload.isolation {
            Isolation::None => "none",
            Isolation::Cgroup => "cgroup",
            Isolation::Container => "container",
        };
        let limits = workload.limits.to_map();
        let limits = if limits.is_empty() { String::new() } else { format!("; {}", settings_text(&limits)) };
        format!("{}: {how}{limits}", workload.name)
    };
    let scheduler = experiment.scheduler.iter().map(|name| format!("device: scheduler {name}"));
    scheduler.chain(experiment.workloads().map(workload)).collect()
}

/// The setting of a workload's isolation that `name` means, by the key of the experiment file.
pub(crate) enum Setting<'a> {
    Isolation,
    Limit(&'a str),
}

impl<'a> Setting<'a> {
    /// What `name` means; nothing where it is a setting of the workload itself.
    pub(crate) fn of(name: &'a str) -> Option<Self> {
        match name.strip_prefix("limits.") {
            Some(limit) => Some(Self::Limit(limit)),
            None => (name == "isolation").then_some(Self::Isolation),
        }
    }

    /// All their names.
    pub(crate) fn names() -> Vec<String> {
        let limits = Limits::NAMES.iter().map(|name| format!("limits.{name}"));
        std::iter::once("isolation".to_owned()).chain(limits).collect()
    }
}

/// Reads `isolation` out of a value.
pub(crate) fn read_isolation(value: &Value) -> Result<Isolation, String> {
    serde_json::from_value(value.clone()).map_err(|error| error.to_string())
}
