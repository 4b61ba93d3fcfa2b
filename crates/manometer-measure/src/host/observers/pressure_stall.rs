//! Pressure stall information (PSI): `/proc/pressure/*`, as the share of time in which tasks waited.

use super::super::kernel_file::KernelFile;
use super::super::observer::{Observer, ObserverKind, boxed};
use super::super::rates::{RateCalculator, RawValue};
use crate::samples::Column;

pub(super) const OBSERVER: ObserverKind = ObserverKind {
    series: "pressure_stall",
    description: "Pressure stall information (PSI) of the whole host: the share of time in which tasks waited.",
    columns,
    create: |subject| boxed(subject.host_directory().map(|_| PressureStall::default())),
};

/// The resource, the line of its file, and the meaning.
pub(super) const STALLS: [(&str, &str, &str); 6] = [
    ("cpu", "some", "Time in which some task waited for a core."),
    ("io", "some", "Time in which some task waited for I/O."),
    ("io", "full", "Time in which every task that was not idle waited for I/O."),
    ("memory", "some", "Time in which some task waited for free memory."),
    ("memory", "full", "Time in which every task that was not idle waited for free memory."),
    ("irq", "full", "Time in which tasks waited for interrupts to be handled."),
];

/// The names of the files.
const RESOURCES: [&str; 4] = ["cpu", "io", "memory", "irq"];

pub(super) fn columns() -> Vec<Column> {
    let column = |(resource, line, meaning): (&str, &str, &str)| {
        Column::new(format!("{resource}.{line}"), "share").meaning(meaning).from(format!("/proc/pressure/{resource}"))
    };
    STALLS.map(column).to_vec()
}

#[derive(Debug)]
pub(super) struct PressureStall {
    files: [(&'static str, KernelFile); 4],
    rates: RateCalculator,
}

impl Default for PressureStall {
    fn default() -> Self {
        let file = |resource| (resource, KernelFile::new(format!("/proc/pressure/{resource}")));
        Self { files: RESOURCES.map(file), rates: RateCalculator::default() }
    }
}

impl Observer for PressureStall {
    fn series(&self) -> &str {
        "pressure_stall"
    }

    fn columns(&self) -> Vec<Column> {
        columns()
    }

    fn sample(&mut self, t_ns: u64) -> Vec<Option<f64>> {
        let mut totals = Vec::with_capacity(STALLS.len());
        for (resource, file) in &mut self.files {
            let text = file.read().unwrap_or_default();
            let ours = STALLS.iter().filter(|(wanted, _, _)| wanted == resource);
            totals.extend(ours.map(|(_, line, _)| RawValue::Counter(total_s(text, line))));
        }
        self.rates.rates(t_ns, totals)
    }
}

/// The stall time so far, in seconds.
pub(super) fn total_s(text: &str, line: &str) -> Option<f64> {
    let line = text.lines().find(|candidate| candidate.split(' ').next() == Some(line))?;
    let total = line.split(' ').find_map(|field| field.strip_prefix("total="))?;
    Some(total.parse::<u64>().ok()? as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_is_found_on_its_line() {
        let text =
            "some avg10=0.00 avg60=0.00 avg300=0.00 total=2500000\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=7\n";
        assert_eq!(total_s(text, "some"), Some(2.5));
        assert_eq!(total_s(text, "full"), Some(7e-6));
        assert_eq!(total_s("", "some"), None);
    }

    #[test]
    fn resources_and_stalls_are_in_one_order() {
        let mut order: Vec<&str> = STALLS.iter().map(|(resource, _, _)| *resource).collect();
        order.dedup();
        assert_eq!(order, RESOURCES);
    }
}
