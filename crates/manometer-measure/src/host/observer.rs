//! What an observer is: the trait, and the entry of each kind in the list of observers.

use std::path::Path;

use serde_json::Value;

use super::block_device::BlockDevice;
use super::layers::Layer;
use crate::clock::WallAnchor;
use crate::event::Event;
use crate::samples::Column;

/// The start or the end of a phase's measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PhaseBoundary {
    /// The measurement starts.
    Begin,
    /// The measurement ends.
    End,
}

/// Reads one part of the host, once per sample interval.
pub trait Observer: Send {
    /// The name of its sample series.
    fn series(&self) -> &str;

    /// The columns of its sample series on this host.
    fn columns(&self) -> Vec<Column>;

    /// A value for each column at the time `t_ns`. A value that the host does not show is missing; a rate needs a
    /// previous sample. An empty sample means that there is nothing new to record.
    fn sample(&mut self, t_ns: u64) -> Vec<Option<f64>>;

    /// Takes an extra reading at the start or the end of a phase, for observers that sample rarely. Returns the events
    /// to record for the phase.
    fn phase_boundary(&mut self, t_ns: u64, boundary: PhaseBoundary) -> Vec<Event> {
        let _ = (t_ns, boundary);
        Vec::new()
    }

    /// Registers the process `pid` as a worker.
    fn add_worker(&mut self, pid: u32) {
        let _ = pid;
    }

    /// Registers the server that `workload` drives at `addresses`: `host:port`, several separated by commas. Returns
    /// the events to record.
    fn add_server(&mut self, workload: &str, addresses: &str) -> Vec<Event> {
        let _ = (workload, addresses);
        Vec::new()
    }

    /// The sample that was still pending when the run ended at `t_ns`. Waits for it within a limit.
    fn last_sample(&mut self, t_ns: u64) -> Vec<Option<f64>> {
        let _ = t_ns;
        Vec::new()
    }

    /// The time of the last sample, where it is not the time at which it was returned.
    fn sample_time_ns(&self) -> Option<u64> {
        None
    }

    /// What it found out about the device for `environment.json`, by name.
    fn device_facts(&self) -> Option<(&'static str, Value)> {
        None
    }
}

/// What is observed.
#[derive(Debug, Clone, Copy)]
pub enum Subject<'a> {
    /// The host.
    Host {
        /// The device directory.
        directory: &'a Path,
        /// The device of the directory and the devices below it, nearest first; empty where none is visible.
        layers: &'a [Layer],
    },
    /// A worker process.
    Worker {
        /// The name of its workload.
        workload: &'a str,
        /// Its process id.
        pid: u32,
        /// The device of its directory.
        device: Option<&'a BlockDevice>,
    },
    /// This process as the conductor of a run.
    Conductor {
        /// The sample interval.
        interval_ns: u64,
        /// The start of the recording.
        start: WallAnchor,
    },
}

impl<'a> Subject<'a> {
    /// The device directory, if the subject is the host.
    pub fn host_directory(&self) -> Option<&'a Path> {
        match *self {
            Self::Host { directory, .. } => Some(directory),
            _ => None,
        }
    }

    /// The devices below the device directory, if the subject is the host.
    pub fn host_layers(&self) -> &'a [Layer] {
        match *self {
            Self::Host { layers, .. } => layers,
            _ => &[],
        }
    }
}

/// A kind of observer: its entry in [`OBSERVERS`](super::observers::OBSERVERS).
#[derive(Debug, Clone, Copy)]
pub struct ObserverKind {
    /// The name of its series, with `<placeholders>` where there is one for each workload or device.
    pub series: &'static str,
    /// What it observes; the manual's description of its series.
    pub description: &'static str,
    /// The columns of its series with units and meanings, with `<placeholders>` where names differ between hosts.
    pub columns: fn() -> Vec<Column>,
    /// Creates its observers of a subject; none for a subject that it does not observe.
    pub create: fn(&Subject<'_>) -> Vec<Box<dyn Observer>>,
}

/// Observers of one type as trait objects.
pub(super) fn boxed<T: Observer + 'static>(observers: impl IntoIterator<Item = T>) -> Vec<Box<dyn Observer>> {
    observers.into_iter().map(|observer| Box::new(observer) as Box<dyn Observer>).collect()
}
