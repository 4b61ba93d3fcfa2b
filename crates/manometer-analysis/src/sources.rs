//! What a recording holds of each workload, read once, as far as it is whole.

use std::collections::BTreeMap;

use manometer_measure::latency_log::LatencyLog;
use manometer_measure::{Recording, Role, Samples};

/// The sample series of the workloads, and the primary's latencies.
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
        for workload in recording.plan.workloads.iter().filter(|workload| present.contains(&workload.name)) {
            match recording.samples(&workload.name) {
                Ok(read) => {
                    // While a run lives its streams have no end; only a run that ended should have ended them.
                    if read.cut && recording.status().is_some() {
                        damage.push(format!("the samples of `{}` end early", workload.name));
                    }
                    samples.insert(workload.name.clone(), read);
                }
                Err(error) => damage.push(error.to_string()),
            }
        }
        let latency = read_latency(recording, &mut damage);
        Self { samples, latency, damage }
    }

    /// The sample series of `workload`.
    pub(crate) fn samples(&self, workload: &str) -> Option<&Samples> {
        self.samples.get(workload)
    }

    /// When the last sample of any of `workloads` ended.
    pub(crate) fn last_sample_ns(&self, workloads: &[String]) -> Option<u64> {
        workloads.iter().filter_map(|workload| self.samples(workload)?.t_ns.iter().max().copied()).max()
    }
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
