//! Checks of whether this host is fit for measuring, with remedies.
//!
//! One file per family of checks: its facts, how they are read, and the checks. Checks are pure functions of the facts, so
//! that recorded facts of any host give the checks of that host. I/O interfaces are tried by `manometer-target`, which
//! passes the results as [`Interfaces`].

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
mod verdict;
mod virtual_machine;

use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use cgroup::{Cgroups, Hierarchy};
pub use containers::{Answer, ContainerProgram};
pub use cpu::Cpu;
pub use device::CheckedDisk;
pub use file_system::{DataMode, FileSystem};
pub use interfaces::{Interfaces, Probe};
pub use layers::Layer;
pub use memory::Swap;
pub use nvme::{Hints, LatencyTolerance, Nvme};
pub use tools::Tools;
pub use verdict::{Judgement, Verdict};
pub use virtual_machine::Machine;

use crate::host::{device_of, layers_of};

/// How long a program may take to answer.
const PROGRAM_TIMEOUT: Duration = Duration::from_secs(5);

/// The status of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckStatus {
    /// Fit for measuring.
    Ok,
    /// This host has nothing that it could apply to.
    NotApplicable,
    /// It works only in part, or affects the measurement.
    Limited,
    /// It does not work, or the host does not show it.
    Missing,
}

/// A check and its result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// Its stable id, for machines: `direct-io`.
    pub id: &'static str,
    /// Its status.
    pub status: CheckStatus,
    /// What was found.
    pub text: String,
    /// Its relevance for a measurement.
    pub why: &'static str,
    /// The command, or another way, to change it; empty if nothing can or need be changed.
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

/// The facts from which the checks are computed.
#[derive(Debug, Clone, PartialEq)]
pub struct Facts {
    /// The file system that holds the folder.
    pub file_system: FileSystem,
    /// From the file system's device down to the disks.
    pub layers: Vec<Layer>,
    /// The disks at the end of the layers.
    pub disks: Vec<CheckedDisk>,
    /// The I/O interfaces, tried on a file in the directory.
    pub interfaces: Interfaces,
    /// Control groups.
    pub cgroups: Cgroups,
    /// podman and docker.
    pub containers: Vec<ContainerProgram>,
    /// The clock of the processors.
    pub cpu: Cpu,
    /// Swap.
    pub swap: Swap,
    /// Whether the host is a virtual machine.
    pub machine: Machine,
    /// Tools that read and trace the device.
    pub tools: Tools,
}

impl Facts {
    /// Reads the facts of this host for the directory `dir`; `interfaces` were tried there.
    pub fn read(dir: &Path, interfaces: Interfaces) -> Self {
        let host_layers = device_of(dir).map(|device| layers_of(&device)).unwrap_or_default();
        let layers: Vec<Layer> = host_layers.iter().map(Layer::read).collect();
        let disks = layers.iter().filter(|layer| layer.is_lowest).map(CheckedDisk::read).collect();
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

    /// The checks of these facts.
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
