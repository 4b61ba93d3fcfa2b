//! What a recording holds of each workload and of its host, read once, as far as it is whole.

use std::collections::BTreeMap;

use manometer_measure::latency_log::LatencyLog;
use manometer_measure::{Recording, Role, Samples};

/// The host's series that findings are judged by.
const HOST: [&str; 7] = ["conductor", "cpu", "cpu.cores", "device", "health", "memory", "vmstat"];

/// The sample series of the workloads, of the host and of the primary's engine, and the primary's latencies.
pub(crate) struct Sources {
    samples: BTreeMap<String, Samples>,
    /// The primary's latencies; empty where there are none.
    pub(crate) latency: LatencyLog,
    /// What could not be read, for people.
    pub(crate) damage: Vec<String>,
}

impl Sources {
    /// Reads what `recording` holds.
    pub(crate) fn read(recording: &Recording) -> Self {
        let mut damage = recording.damage.clone();
        let mut samples = BTreeMap::new();
        let present = recording.series();
        for source in wanted(recording).into_iter().filter(|source| present.contains(source)) {
            match recording.samples(&source) {
                Ok(read) => {
                    // While a run lives its streams have no end; only a run that ended should have ended them.
                    if read.cut && recording.status().is_some() {
                        damage.push(format!("the samples of `{source}` end early"));
                    }
                    samples.insert(source, read);
                }
                Err(error) => damage.push(error.to_string()),
            }
        }
        let latency = read_latency(recording, &mut damage);
        Self { samples, latency, damage }
    }

    /// The sample series of a workload, of the host or of the primary's engine.
    pub(crate) fn samples(&self, source: &str) -> Option<&Samples> {
        self.samples.get(source)
    }

    /// When the last sample of any of `workloads` ended.
    pub(crate) fn last_sample_ns(&self, workloads: &[String]) -> Option<u64> {
        workloads.iter().filter_map(|workload| self.samples(workload)?.t_ns.iter().max().copied()).max()
    }
}

/// The names of the series that the analysis reads.
fn wanted(recording: &Recording) -> Vec<String> {
    let engine = recording.plan.primary().map(|primary| format!("{}.engine", primary.name));
    let workloads = recording.plan.workloads.iter().map(|workload| workload.name.clone());
    workloads.chain(engine).chain(HOST.map(str::to_owned)).collect()
}

fn read_latency(recording: &Recording, damage: &mut Vec<String>) -> LatencyLog {
    let primary = recording.plan.workloads.iter().find(|workload| workload.role == Role::Primary);
    let Some(primary) = primary else { return LatencyLog::default() };
    match recording.latency(&primary.name) {
        Ok(log) => {
            if log.cut {
                damage.push(format!("the latencies of `{}` end early", primary.name));
            }
            log
        }
        Err(error) => {
            damage.push(error.to_string());
            LatencyLog::default()
        }
    }
}
