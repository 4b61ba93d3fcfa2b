//! Observers of the host: one file each, sampled on the workloads' beat.

pub mod chain;
mod cpu;
mod device;
pub mod environment;
mod memory;
mod pressure_stall;
mod process;

use std::path::Path;

pub use device::{Device, device_of};

use crate::samples::Column;

/// Something to look at once an interval.
pub trait Observer: Send {
    /// The name of its sample series.
    fn source(&self) -> &str;

    /// What it sees.
    fn columns(&self) -> Vec<Column>;

    /// Looks, at the moment `t_ns`. What cannot be seen is missing; a rate needs a second look.
    fn sample(&mut self, t_ns: u64) -> Vec<Option<f64>>;
}

/// The observers of this host: its processors, memory and pressure stalls, and the device under `dir`.
pub fn observers(dir: &Path) -> Vec<Box<dyn Observer>> {
    let mut observers: Vec<Box<dyn Observer>> = vec![
        Box::new(cpu::Cpu::default()),
        Box::new(memory::Memory),
        Box::new(pressure_stall::PressureStall::default()),
    ];
    if let Some(device) = device_of(dir) {
        observers.push(Box::new(device::DiskStats::new(&device)));
    }
    observers
}

/// The observer of the process `pid`, which runs the workload `name`.
pub fn process(name: &str, pid: u32) -> Box<dyn Observer> {
    Box::new(process::WorkerProcess::new(name, pid))
}

/// Turns counters that only grow into rates per second.
#[derive(Debug, Default)]
struct Rates {
    last: Option<(u64, Vec<Option<f64>>)>,
}

impl Rates {
    /// The growth per second of each counter since the last look; missing at the first, for a counter
    /// that is missing, and for one that fell (it began anew).
    fn per_second(&mut self, t_ns: u64, counters: Vec<Option<f64>>) -> Vec<Option<f64>> {
        let rates = match &self.last {
            Some((last_ns, last)) if t_ns > *last_ns => {
                let seconds = (t_ns - last_ns) as f64 / 1e9;
                let rate = |(now, before): (&Option<f64>, &Option<f64>)| {
                    let (now, before) = ((*now)?, (*before)?);
                    (now >= before).then(|| (now - before) / seconds)
                };
                counters.iter().zip(last).map(rate).collect()
            }
            _ => vec![None; counters.len()],
        };
        self.last = Some((t_ns, counters));
        rates
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_need_two_looks_and_survive_a_counter_that_begins_anew() {
        let mut rates = Rates::default();
        assert_eq!(rates.per_second(0, vec![Some(10.0), Some(10.0), None]), [None; 3]);
        assert_eq!(rates.per_second(2_000_000_000, vec![Some(14.0), Some(5.0), None]), [Some(2.0), None, None]);
        assert_eq!(
            rates.per_second(3_000_000_000, vec![Some(14.0), Some(6.0), Some(1.0)]),
            [Some(0.0), Some(1.0), None]
        );
    }

    #[test]
    fn every_observer_fills_its_columns() {
        let mut all = observers(Path::new("."));
        all.push(process("self", std::process::id()));
        for observer in &mut all {
            let columns = observer.columns().len();
            for t_ns in [1_000_000_000, 2_000_000_000] {
                assert_eq!(observer.sample(t_ns).len(), columns, "{}", observer.source());
            }
        }
    }

    #[test]
    fn a_process_that_is_gone_is_a_gap() {
        let mut gone = process("gone", u32::MAX - 1);
        assert!(gone.sample(1).iter().all(Option::is_none));
    }
}
