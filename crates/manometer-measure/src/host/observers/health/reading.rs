//! One reading of the counters of a device.

use super::thermal::{self, Thermal};
use crate::samples::Column;

/// A counter that grew by fewer of its steps than this gives no ratio: each end of an interval may be off by a step.
pub const LEAST_STEPS: f64 = 20.0;

/// One reading; a counter that the device does not report is missing.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Reading {
    pub host_bytes_written: Option<f64>,
    pub host_bytes_read: Option<f64>,
    pub nand_bytes_written: Option<f64>,
    pub percentage_used: Option<f64>,
    pub spare: Option<f64>,
    pub temperature: Option<f64>,
    pub critical_warning: Option<f64>,
    pub throttle_time: Option<f64>,
    pub utilisation: Option<f64>,
    /// The steps in which the counters of written bytes grow.
    pub host_step_bytes: Option<f64>,
    pub nand_step_bytes: Option<f64>,
    pub thermal: Thermal,
}

const SMART: &str = "smartctl -j, nvme smart-log";

pub(super) fn columns() -> Vec<Column> {
    let nand = "nvme ocp smart-add-log, nvme intel smart-log-add, vendor attributes of smartctl -j";
    let all = [
        ("host_bytes_written", "B", "Bytes written by the host in the life of the device.", SMART),
        ("host_bytes_read", "B", "Bytes read by the host in the life of the device.", SMART),
        ("nand_bytes_written", "B", "Bytes written to the flash in the life of the device.", nand),
        ("percentage_used", "%", "Used share of the rated endurance; may exceed 100.", SMART),
        ("spare", "%", "Remaining spare blocks.", SMART),
        ("temperature", "°C", "Composite temperature.", SMART),
        ("critical_warning", "bits", "NVMe critical warnings: 1 spare, 2 temperature, 4 reliability, …", SMART),
        ("throttle_time", "s", "Time of thermal throttling in the life of the device.", "nvme smart-log"),
        ("utilisation", "B", "Allocated bytes of the namespace (NUSE).", "nvme id-ns, smartctl -j"),
        ("host_step", "B", "The steps in which `host_bytes_written` is counted.", SMART),
        ("nand_step", "B", "The steps in which `nand_bytes_written` is counted.", nand),
    ];
    let all = all.map(|(name, unit, meaning, from)| Column::new(name, unit).meaning(meaning).from(from));
    all.into_iter().chain(thermal::columns()).collect()
}

impl Reading {
    /// The values in the order of [`columns`].
    pub(super) fn values(&self) -> Vec<Option<f64>> {
        let all = [
            self.host_bytes_written,
            self.host_bytes_read,
            self.nand_bytes_written,
            self.percentage_used,
            self.spare,
            self.temperature,
            self.critical_warning,
            self.throttle_time,
            self.utilisation,
            self.host_step_bytes,
            self.nand_step_bytes,
        ];
        all.into_iter().chain(self.thermal.values()).collect()
    }

    /// Whether every counter is missing.
    pub(super) fn is_empty(&self) -> bool {
        self.values().iter().all(Option::is_none)
    }

    /// The reading of two disks below one file system: the sums of counters and the worse of states. What one of them does
    /// not report is missing for both.
    pub(super) fn merge(&self, other: &Self) -> Self {
        let sum = |one: Option<f64>, other: Option<f64>| Some(one? + other?);
        let largest = |one: Option<f64>, other: Option<f64>| Some(one?.max(other?));
        let bits = |one: Option<f64>, other: Option<f64>| Some((one? as u64 | other? as u64) as f64);
        Self {
            host_bytes_written: sum(self.host_bytes_written, other.host_bytes_written),
            host_bytes_read: sum(self.host_bytes_read, other.host_bytes_read),
            nand_bytes_written: sum(self.nand_bytes_written, other.nand_bytes_written),
            percentage_used: largest(self.percentage_used, other.percentage_used),
            spare: self.spare.zip(other.spare).map(|(one, other)| one.min(other)),
            temperature: largest(self.temperature, other.temperature),
            critical_warning: bits(self.critical_warning, other.critical_warning),
            throttle_time: sum(self.throttle_time, other.throttle_time),
            utilisation: sum(self.utilisation, other.utilisation),
            host_step_bytes: sum(self.host_step_bytes, other.host_step_bytes),
            nand_step_bytes: sum(self.nand_step_bytes, other.nand_step_bytes),
            thermal: self.thermal.merge(&other.thermal),
        }
    }

    /// The bytes written by the host and to the flash since `first`; `None` if a counter is missing.
    fn written_since(&self, first: &Self) -> Option<[f64; 2]> {
        let host = self.host_bytes_written? - first.host_bytes_written?;
        Some([host, self.nand_bytes_written? - first.nand_bytes_written?])
    }

    /// The write amplification since `first`: NAND bytes divided by host bytes; `None` if a counter grew by too few steps.
    pub(super) fn amplification_since(&self, first: &Self) -> Option<f64> {
        let written = self.written_since(first)?;
        let steps = [self.host_step_bytes, self.nand_step_bytes];
        let is_enough =
            |(bytes, step): (&f64, &Option<f64>)| *bytes > 0.0 && *bytes >= LEAST_STEPS * step.unwrap_or(0.0);
        let [host, nand] = written;
        written.iter().zip(&steps).all(is_enough).then(|| nand / host)
    }

    /// Whether a counter of written bytes grew since `first`.
    pub(super) fn grew_since(&self, first: &Self) -> bool {
        self.written_since(first).is_some_and(|written| written.iter().any(|bytes| *bytes > 0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merged_disks_have_the_sum_of_bytes_and_the_worst_state() {
        let one = Reading {
            host_bytes_written: Some(10.0),
            nand_bytes_written: Some(20.0),
            spare: Some(90.0),
            temperature: Some(40.0),
            critical_warning: Some(1.0),
            ..Reading::default()
        };
        let other =
            Reading { spare: Some(100.0), nand_bytes_written: None, critical_warning: Some(2.0), ..one.clone() };
        let both = one.merge(&other);
        assert_eq!(both.host_bytes_written, Some(20.0));
        assert_eq!(both.nand_bytes_written, None);
        assert_eq!((both.spare, both.critical_warning), (Some(90.0), Some(3.0)));
    }

    #[test]
    fn an_amplification_needs_twenty_steps_of_either_counter() {
        let at = |host: f64, nand: f64| Reading {
            host_bytes_written: Some(host),
            nand_bytes_written: Some(nand),
            host_step_bytes: Some(1.0),
            nand_step_bytes: Some(32.0),
            ..Reading::default()
        };
        let first = at(1_000.0, 3_200.0);
        assert_eq!(at(1_320.0, 3_200.0 + 20.0 * 32.0).amplification_since(&first), Some(2.0));
        assert_eq!(at(1_320.0, 3_200.0 + 19.0 * 32.0).amplification_since(&first), None);
        assert_eq!(at(1_019.0, 3_200.0 + 20.0 * 32.0).amplification_since(&first), None);
        assert!(at(1_019.0, 3_200.0).grew_since(&first) && !first.grew_since(&first));
        let unknown = Reading { nand_bytes_written: None, ..at(2_000.0, 0.0) };
        assert_eq!((unknown.amplification_since(&first), unknown.grew_since(&first)), (None, false));
        let both = first.merge(&first);
        assert_eq!(both.nand_step_bytes, Some(64.0), "two counters may be a step off each");
    }

    #[test]
    fn a_reading_has_a_value_for_each_column() {
        assert_eq!(Reading::default().values().len(), columns().len());
    }
}
