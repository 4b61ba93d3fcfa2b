//! Observers of the host: one file each, sampled on the workloads' beat.

mod cgroup;
pub mod chain;
pub mod columns;
mod conductor;
mod controllers;
mod cores;
mod cpu;
mod device;
mod disks;
pub mod environment;
mod filesystem;
mod health;
mod interrupts;
mod kernel_file;
mod memory;
pub(crate) mod movers;
mod others;
mod pressure_stall;
mod process;
mod rates;
mod servers;
mod temperature;
pub mod virtual_disk;
mod vmstat;
mod vmstat_fields;

use std::path::Path;

pub use chain::{Layer, LayerKind, chain};
pub use controllers::nvme_controllers;
pub use device::{Device, device_of};
pub use health::{LEAST_STEPS, utilisation_bytes};
use rates::{Rates, Raw};
use serde_json::Value;

use crate::clock::WallAnchor;
use crate::event::Event;
use crate::samples::Column;

/// The begin or end of a phase's measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PhaseBoundary {
    /// It begins.
    Begin,
    /// It ends.
    End,
}

/// Something to look at once an interval.
pub trait Observer: Send {
    /// The name of its sample series.
    fn source(&self) -> &str;

    /// What it sees.
    fn columns(&self) -> Vec<Column>;

    /// Looks, at the moment `t_ns`. What cannot be seen is missing; a rate needs a second look. An empty row is
    /// none: there was nothing new to see.
    fn sample(&mut self, t_ns: u64) -> Vec<Option<f64>>;

    /// Looks closer at the begin or end of a phase, where it looks rarely, at the moment `t_ns`; returns what is to be
    /// told of the phase.
    fn phase_boundary(&mut self, t_ns: u64, boundary: PhaseBoundary) -> Vec<Event> {
        let _ = (t_ns, boundary);
        Vec::new()
    }

    /// Is told that the process `pid` is a worker.
    fn add_worker(&mut self, pid: u32) {
        let _ = pid;
    }

    /// Is told that `workload` drives a server at `addresses`: `host:port`, or several with commas between. Returns
    /// what is to be told of it.
    fn add_server(&mut self, workload: &str, addresses: &str) -> Vec<Event> {
        let _ = (workload, addresses);
        Vec::new()
    }

    /// The row that was still on its way when the run ended at `t_ns`, waited for within a limit.
    fn final_row(&mut self, t_ns: u64) -> Vec<Option<f64>> {
        let _ = t_ns;
        Vec::new()
    }

    /// The moment that the row just returned stands for, where it is not the one of the look.
    fn row_ns(&self) -> Option<u64> {
        None
    }

    /// What it learnt that a reader of the environment must know of the device, by name.
    fn device_facts(&self) -> Option<(&'static str, Value)> {
        None
    }
}

/// The observers of this host: its processors and memory, the device under `dir` with the layers under it, its file
/// system, and the processes that are none of ours.
pub fn observers(dir: &Path) -> Vec<Box<dyn Observer>> {
    let mut observers: Vec<Box<dyn Observer>> = vec![
        Box::new(cpu::Cpu::default()),
        Box::new(cores::Cores::of_host()),
        Box::new(memory::Memory::default()),
        Box::new(vmstat::VmStat::of_host()),
        Box::new(interrupts::Interrupts::of_host()),
        Box::new(pressure_stall::PressureStall::default()),
        Box::new(filesystem::FileSystem::new(dir)),
        Box::new(others::Others::of_host()),
    ];
    observers.extend(temperature::Temperatures::of_host().map(|sensors| Box::new(sensors) as Box<dyn Observer>));
    if let Some(device) = device_of(dir) {
        let layers = chain(&device);
        observers.push(Box::new(device::DiskStats::new("device".to_owned(), &device)));
        let under = layers.iter().skip(1);
        observers.extend(under.map(|layer| -> Box<dyn Observer> {
            Box::new(device::DiskStats::new(format!("layer.{}", layer.name), &layer.device))
        }));
        observers.extend(health::Health::of(&layers).map(|health| Box::new(health) as Box<dyn Observer>));
    }
    observers
}

/// The observers of the process `pid`, which runs the workload `name` in the directory `dir`.
pub fn worker(name: &str, pid: u32, dir: &Path) -> Vec<Box<dyn Observer>> {
    vec![
        Box::new(process::WorkerProcess::new(name, pid)),
        Box::new(cgroup::WorkerCgroup::new(name, pid, device_of(dir).as_ref())),
    ]
}

/// The observers of this process as the conductor, whose beat is `interval_ns` in a recording that began at `start`.
pub fn conductor(interval_ns: u64, start: WallAnchor) -> Vec<Box<dyn Observer>> {
    vec![
        Box::new(conductor::Conductor::new(interval_ns, start)),
        Box::new(process::WorkerProcess::new("conductor", std::process::id())),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_observer_fills_its_columns_and_says_what_they_are() {
        let mut all = observers(Path::new("."));
        all.extend(worker("self", std::process::id(), Path::new(".")));
        all.extend(conductor(1_000_000_000, WallAnchor::now()));
        let mut count = 0;
        for observer in &mut all {
            for t_ns in [1_000_000_000, 2_000_000_000] {
                let row = observer.sample(t_ns);
                assert!(row.is_empty() || row.len() == observer.columns().len(), "{}", observer.source());
            }
            let columns = observer.columns();
            for column in &columns {
                assert!(!column.meaning.is_empty() && !column.from.is_empty(), "{}: {column:?}", observer.source());
            }
            let mut names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), columns.len(), "{} has two columns of one name", observer.source());
            count += columns.len();
        }
        println!("{count} columns on this host");
    }

    #[test]
    fn a_process_that_is_gone_is_a_gap() {
        for mut gone in worker("gone", u32::MAX - 1, Path::new(".")) {
            assert!(gone.sample(1).iter().all(Option::is_none));
        }
    }
}
