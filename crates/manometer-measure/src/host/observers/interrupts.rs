//! Interrupts by line and by kind: `/proc/stat`, and on hosts of few cores `/proc/interrupts`.

use super::super::kernel_file::KernelFile;
use super::super::observer::{Observer, ObserverKind, boxed};
use super::super::rates::{RateCalculator, RawValue};
use super::cpu::STAT;
use crate::samples::Column;

pub(super) const OBSERVER: ObserverKind = ObserverKind {
    series: "interrupts",
    description: "Interrupts by line and by kind.",
    columns: patterns,
    create: |subject| boxed(subject.host_directory().map(|_| Interrupts::of_host())),
};

const INTERRUPTS: &str = "/proc/interrupts";

/// `/proc/interrupts` has a number for each line and core: with more cores than this, reading it on every tick costs more
/// than it is worth.
const MAX_CORES: usize = 32;

/// Software interrupts, in the order of their line in `/proc/stat`.
const SOFT: [(&str, &str); 11] = [
    ("total", "All software interrupts."),
    ("hi", "High-priority tasklets."),
    ("timer", "Timers that expired."),
    ("net_tx", "Network transmissions."),
    ("net_rx", "Network receptions."),
    ("block", "Completed block requests."),
    ("irq_poll", "Polled block completions."),
    ("tasklet", "Tasklets."),
    ("sched", "Scheduler load balancing."),
    ("hrtimer", "High-resolution timers."),
    ("rcu", "Read-copy-update (RCU) callbacks."),
];

/// One line of `/proc/interrupts`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Line {
    /// A number for the line of a device, letters for an interrupt of the architecture.
    id: String,
    description: String,
}

#[derive(Debug)]
pub(super) struct Interrupts {
    stat: KernelFile,
    /// The lines of devices, with their numbers.
    lines: Vec<(usize, String)>,
    /// The interrupts of the architecture; none on hosts with many cores.
    architecture: Vec<Line>,
    interrupts: KernelFile,
    rates: RateCalculator,
}

/// The columns that every host has.
fn common_columns() -> Vec<Column> {
    let mut columns = vec![rate("total").meaning("All interrupts.").from(STAT)];
    columns.extend(SOFT.map(|(name, meaning)| rate(&format!("softirq.{name}")).meaning(meaning).from(STAT)));
    columns
}

/// All columns, with placeholders for those that differ between hosts.
pub(super) fn patterns() -> Vec<Column> {
    let mut columns = common_columns();
    columns.push(rate("irq.<N>").meaning("Interrupts of line N; the recording names its device.").from(STAT));
    let own = "Interrupts of the architecture, such as `TLB` for shootdowns; on hosts with up to 32 cores.";
    columns.push(rate("arch.<KIND>").meaning(own).from(INTERRUPTS));
    columns
}

fn rate(name: &str) -> Column {
    Column::new(name, "1/s")
}

impl Interrupts {
    pub(super) fn of_host() -> Self {
        let mut interrupts = KernelFile::new(INTERRUPTS);
        let text = interrupts.read().unwrap_or_default();
        let cores = cores(text);
        let (mut lines, mut architecture) = (Vec::new(), Vec::new());
        for line in text.lines().skip(1).filter_map(|line| read_line(line, cores).map(|(line, _)| line)) {
            match line.id.parse() {
                Ok(number) => lines.push((number, line.description)),
                Err(_) if cores <= MAX_CORES => architecture.push(line),
                Err(_) => {}
            }
        }
        Self { stat: KernelFile::new(STAT), lines, architecture, interrupts, rates: RateCalculator::default() }
    }
}

/// The number of cores in the header of `/proc/interrupts`.
fn cores(text: &str) -> usize {
    text.lines().next().unwrap_or_default().split_ascii_whitespace().count()
}

/// A line of `/proc/interrupts` and the sum of its numbers, at most `cores` of them.
fn read_line(line: &str, cores: usize) -> Option<(Line, f64)> {
    let (id, rest) = line.split_once(':')?;
    let mut words = rest.split_ascii_whitespace().peekable();
    let (mut sum, mut left) = (0.0, cores);
    while let Some(count) = words.peek().filter(|_| left > 0).and_then(|word| word.parse::<u64>().ok()) {
        sum += count as f64;
        left -= 1;
        words.next();
    }
    Some((Line { id: id.trim().to_owned(), description: words.collect::<Vec<_>>().join(" ") }, sum))
}

impl Observer for Interrupts {
    fn series(&self) -> &str {
        "interrupts"
    }

    fn columns(&self) -> Vec<Column> {
        let mut columns = common_columns();
        let device = |(number, what): &(usize, String)| {
            rate(&format!("irq.{number}")).meaning(format!("Interrupts of {what}.")).from(STAT)
        };
        columns.extend(self.lines.iter().map(device));
        let architecture = |line: &Line| {
            let what = if line.description.is_empty() {
                "An interrupt that the kernel does not describe."
            } else {
                &line.description
            };
            rate(&format!("arch.{}", line.id)).meaning(what).from(INTERRUPTS)
        };
        columns.extend(self.architecture.iter().map(architecture));
        columns
    }

    fn sample(&mut self, t_ns: u64) -> Vec<Option<f64>> {
        let stat = self.stat.read().unwrap_or_default();
        let hard = numbers(stat, "intr ");
        let soft = numbers(stat, "softirq ");
        let at = |numbers: &[f64], index: usize| RawValue::Counter(numbers.get(index).copied());
        let mut raws = vec![at(&hard, 0)];
        raws.extend((0..SOFT.len()).map(|index| at(&soft, index)));
        raws.extend(self.lines.iter().map(|(number, _)| at(&hard, number + 1)));
        if !self.architecture.is_empty() {
            let text = self.interrupts.read().unwrap_or_default();
            raws.extend(architecture_totals(text, &self.architecture));
        }
        self.rates.rates(t_ns, raws)
    }
}

fn numbers(stat: &str, name: &str) -> Vec<f64> {
    let line = stat.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    line.split_ascii_whitespace().map_while(|number| number.parse::<u64>().ok()).map(|count| count as f64).collect()
}

/// The totals of the interrupts of the architecture; both lists are in the kernel's order.
fn architecture_totals(text: &str, own: &[Line]) -> Vec<RawValue> {
    let cores = cores(text);
    let mut shown = text.lines().skip(1).filter(|line| {
        let id = line.trim_start().bytes().next();
        id.is_some_and(|first| first.is_ascii_alphabetic())
    });
    own.iter()
        .map(|wanted| {
            let line = shown.find_map(|line| read_line(line, cores).filter(|(line, _)| line.id == wanted.id));
            RawValue::Counter(line.map(|(_, sum)| sum))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "           CPU0       CPU1\n 36:          5   70902580 PCI-MSIX-0000:00:02.0   1-edge      \
                        virtio1-req.0\nTLB:    2068861    2137686   TLB shootdowns\nERR:          3\n";

    #[test]
    fn a_line_is_summed_over_cores_and_named_after_its_device() {
        let read: Vec<(Line, f64)> = TEXT.lines().skip(1).filter_map(|line| read_line(line, cores(TEXT))).collect();
        assert_eq!(read[0].0.description, "PCI-MSIX-0000:00:02.0 1-edge virtio1-req.0");
        assert_eq!(read[0].1, 70_902_585.0);
        assert_eq!(read[1].0, Line { id: "TLB".to_owned(), description: "TLB shootdowns".to_owned() });
        assert_eq!(read[2].1, 3.0);
    }

    #[test]
    fn an_interrupt_that_disappeared_is_a_gap() {
        let line = |id: &str| Line { id: id.to_owned(), description: String::new() };
        let totals = architecture_totals(TEXT, &[line("TLB"), line("ERR"), line("ZZZ")]);
        assert_eq!(
            totals,
            [RawValue::Counter(Some(4_206_547.0)), RawValue::Counter(Some(3.0)), RawValue::Counter(None)]
        );
    }
}
