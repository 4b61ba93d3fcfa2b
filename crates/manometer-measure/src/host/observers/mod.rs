//! The observers: one file for each series, named after it.
//!
//! To add one, write its file with a constant `OBSERVER`, declare it below and add it to [`OBSERVERS`]. Sampling,
//! `manometer schema columns`, `docs/columns.md` and the tests use this list; a test fails for a file that is not in it.

mod cgroup;
mod conductor;
mod cpu;
mod cpu_cores;
mod device;
mod filesystem;
mod foreign_processes;
pub mod health;
mod interrupts;
mod layer;
mod memory;
mod pressure_stall;
mod process;
mod temperature;
mod vmstat;

use super::observer::ObserverKind;

/// All observers, in the order in which they sample and the manual lists them.
pub const OBSERVERS: &[ObserverKind] = &[
    cpu::OBSERVER,
    cpu_cores::OBSERVER,
    memory::OBSERVER,
    vmstat::OBSERVER,
    interrupts::OBSERVER,
    pressure_stall::OBSERVER,
    temperature::OBSERVER,
    filesystem::OBSERVER,
    device::OBSERVER,
    layer::OBSERVER,
    health::OBSERVER,
    foreign_processes::OBSERVER,
    process::OBSERVER,
    cgroup::OBSERVER,
    conductor::OBSERVER,
];
