//! What this host can do for a measurement, what it cannot, and how to change that.
//!
//! One file per family: its facts, how they are read, and what they mean. Meaning is pure: facts of any host,
//! written down, give the checks of that host. What must be tried on a file is tried by `manometer-target`, which
//! knows how, and comes in as [`Interfaces`].

mod alignment;
mod cgroup;
pub mod containers;
mod cpu;
mod device;
mod file_system;
mod interfaces;
mod layers;
mod memory;
mod nvme;
#[cfg(test)]
mod recorded;
mod tools;
mod virtual_machine;

use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use cgroup::{Cgroups, Hierarchy};
pub use containers::{Answer, ContainerProgram};
pub use cpu::Cpu;
pub use device::Disk;
pub use file_system::{Data, FileSystem};
pub use interfaces::{Interfaces, Probe};
pub use layers::Layer;
pub use memory::Swap;
pub use nvme::{Hints, LatencyTolerance, Nvme};
pub use tools::Tools;
pub use virtual_machine::Machine;

use crate::host::{device_of, layers_of};

/// How long a program that is asked may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// How well the host can do what a check is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckStatus {
    /// As a measurement wants it.
    Ok,
    /// Not wholly, or with an effect on what is measured.
    Limited,
    /// Not at all, or the host does not tell.
    Missing,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// Its kind, fixed, for machines: `direct-io`.
    pub id: &'static str,
    /// How well the host can do it.
    pub status: CheckStatus,
    /// What was found.
    pub text: String,
    /// Why it matters for a measurement.
    pub why: &'static str,
    /// The command that changes it, or what else does; empty where nothing can or need be changed.
    pub remedy: String,
}

impl Check {
    fn new(id: &'static str, status: CheckStatus, text: impl Into<String>, why: &'static str) -> Self {
        Self { id, status, text: text.into(), why, remedy: String::new() }
    }

    fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = remedy.into();
        self
    }
}

/// Everything that the checks are made of.
#[derive(Debug, Clone, PartialEq)]
pub struct Facts {
    /// The file system that holds the folder.
    pub file_system: FileSystem,
    /// From the file system's device down to the disks.
    pub layers: Vec<Layer>,
    /// The disks at the end of the layers.
    pub disks: Vec<Disk>,
    /// What was tried on a file in the folder.
    pub interfaces: Interfaces,
    /// Control groups.
    pub cgroups: Cgroups,
    /// podman and docker.
    pub containers: Vec<ContainerProgram>,
    /// The processors' clock.
    pub cpu: Cpu,
    /// Swap.
    pub swap: Swap,
    /// Whether the host is one of its own.
    pub machine: Machine,
    /// What helps to look into the device.
    pub tools: Tools,
}

impl Facts {
    /// Reads the facts of this host that concern the folder `dir`; `interfaces` is what was tried there.
    pub fn read(dir: &Path, interfaces: Interfaces) -> Self {
        let host_layers = device_of(dir).map(|device| layers_of(&device)).unwrap_or_default();
        let layers: Vec<Layer> = host_layers.iter().map(Layer::read).collect();
        let disks = layers.iter().filter(|layer| layer.last).map(Disk::read).collect();
        Self {
            file_system: FileSystem::read(dir),
            layers,
            disks,
            interfaces,
            cgroups: Cgroups::read(),
            containers: ContainerProgram::read_all(),
            cpu: Cpu::read(),
            swap: Swap::read(),
            machine: Machine::read(),
            tools: Tools::read(),
        }
    }

    /// What the facts mean, check by check.
    pub fn checks(&self) -> Vec<Check> {
        let mut checks = self.file_system.checks().to_vec();
        checks.push(layers::check(&self.layers));
        checks.extend(device::checks(&self.disks));
        checks.push(alignment::check(&self.layers, &self.file_system));
        checks.extend(nvme::checks(&device::nvme_disks(&self.disks)));
        checks.extend(self.interfaces.checks());
        checks.push(self.cgroups.check());
        checks.push(containers::check(&self.containers));
        checks.extend(self.cpu.checks());
        checks.push(self.swap.check());
        checks.push(self.machine.check());
        checks.extend(self.tools.checks());
        checks
    }
}
