//! All processors together: `/proc/stat`, and the run-queue wait of `/proc/schedstat`.

use super::super::kernel_file::{KernelFile, field};
use super::super::observer::{Observer, ObserverKind, boxed};
use super::super::rates::{RateCalculator, RawValue};
use crate::samples::{Column, columns_from};

pub(super) const OBSERVER: ObserverKind = ObserverKind {
    series: "cpu",
    description: "All processors together.",
    columns,
    create: |subject| boxed(subject.host_directory().map(|_| Cpu::default())),
};

pub(super) const STAT: &str = "/proc/stat";
const SCHEDSTAT: &str = "/proc/schedstat";

/// The kinds of processor time, of the host and of each core.
pub(super) const TIMES: [(&str, &str, &str); 6] = [
    ("user", "cores", "Processor time in user mode, niced programs and guests included."),
    ("system", "cores", "Processor time in the kernel, interrupts excluded."),
    ("iowait", "cores", "Idle time while some task waited for I/O."),
    ("interrupts", "cores", "Processor time in hardware and software interrupts."),
    ("steal", "cores", "Time that the hypervisor gave to other guests."),
    ("idle", "cores", "Idle time, `iowait` excluded."),
];

const REST: [(&str, &str, &str); 4] = [
    ("context_switches", "1/s", "Context switches."),
    ("running_processes", "", "Tasks that run or wait for a core (run queue)."),
    ("blocked_processes", "", "Tasks that wait for I/O."),
    ("forks", "1/s", "Processes and threads created."),
];

pub(super) fn columns() -> Vec<Column> {
    let mut columns = columns_from(STAT, &TIMES);
    columns.extend(columns_from(STAT, &REST));
    columns.extend(columns_from(
        SCHEDSTAT,
        &[("run_queue_wait", "s/s", "Time that tasks waited for a core, summed over tasks and cores.")],
    ));
    columns
}

#[derive(Debug)]
pub(super) struct Cpu {
    stat: KernelFile,
    schedstat: KernelFile,
    rates: RateCalculator,
}

impl Default for Cpu {
    fn default() -> Self {
        Self { stat: KernelFile::new(STAT), schedstat: KernelFile::new(SCHEDSTAT), rates: RateCalculator::default() }
    }
}

impl Observer for Cpu {
    fn series(&self) -> &str {
        "cpu"
    }

    fn columns(&self) -> Vec<Column> {
        columns()
    }

    fn sample(&mut self, t_ns: u64) -> Vec<Option<f64>> {
        let stat = self.stat.read().unwrap_or_default();
        let mut raws = times(stat, "cpu").to_vec();
        raws.push(RawValue::Counter(field(stat, "ctxt")));
        raws.push(RawValue::Gauge(field(stat, "procs_running")));
        raws.push(RawValue::Gauge(field(stat, "procs_blocked")));
        raws.push(RawValue::Counter(field(stat, "processes")));
        raws.push(RawValue::Counter(self.schedstat.read().and_then(waited_s)));
        self.rates.rates(t_ns, raws)
    }
}

/// The seconds in the line `name` of `/proc/stat`, in the order of [`TIMES`].
pub(super) fn times(stat: &str, name: &str) -> [RawValue; 6] {
    let line = stat.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    times_of(line.unwrap_or_default())
}

/// The same, from the numbers after the name of a line.
pub(super) fn times_of(numbers: &str) -> [RawValue; 6] {
    let ticks_per_s = procfs::ticks_per_second() as f64;
    let mut all = [None; 8];
    for (slot, number) in all.iter_mut().zip(numbers.split_ascii_whitespace()) {
        *slot = number.parse::<u64>().ok().map(|ticks| ticks as f64 / ticks_per_s);
    }
    let [user, nice, system, idle, iowait, hard, soft, steal] = all;
    let sum = |one: Option<f64>, other: Option<f64>| Some(one? + other?);
    [sum(user, nice), system, iowait, sum(hard, soft), steal, idle].map(RawValue::Counter)
}

/// The seconds that tasks have waited for a core so far.
fn waited_s(schedstat: &str) -> Option<f64> {
    let cores = schedstat.lines().filter(|line| line.starts_with("cpu"));
    let waits = cores.map(|line| line.split(' ').nth(8).and_then(|wait| wait.parse::<u64>().ok()));
    let ns: u64 = waits.sum::<Option<u64>>().filter(|_| schedstat.contains("cpu"))?;
    Some(ns as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_times_is_split_by_kind() {
        let text = "cpu  100 20 300 4000 50 6 7 8 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\nctxt 5\n";
        let ticks = procfs::ticks_per_second() as f64;
        let expected = [120.0, 300.0, 50.0, 13.0, 8.0, 4000.0].map(|spent| RawValue::Counter(Some(spent / ticks)));
        assert_eq!(times(text, "cpu"), expected);
        assert_eq!(times(text, "cpu7"), [RawValue::Counter(None); 6]);
    }

    #[test]
    fn waiting_is_summed_over_cores() {
        let text = "version 17\ntimestamp 1\ncpu0 0 0 0 0 0 0 10 1500000000 3\ndomain0 MC 3 0 0\n\
                    cpu1 0 0 0 0 0 0 10 500000000 3\n";
        assert_eq!(waited_s(text), Some(2.0));
        assert_eq!(waited_s("version 17\n"), None);
    }
}
