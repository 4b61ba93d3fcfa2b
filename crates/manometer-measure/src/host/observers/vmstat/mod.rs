//! Virtual memory: every field of `/proc/vmstat`.

mod fields;

use self::fields::{FIELDS, OF_ZONES};
use super::super::kernel_file::KernelFile;
use super::super::observer::{Observer, ObserverKind, boxed};
use super::super::rates::{RateCalculator, RawValue};
use crate::samples::Column;

pub(super) const OBSERVER: ObserverKind = ObserverKind {
    series: "vmstat",
    description: "Virtual memory: every field that the kernel shows.",
    columns: patterns,
    create: |subject| boxed(subject.host_directory().map(|_| VmStat::of_host())),
};

const VMSTAT: &str = "/proc/vmstat";

#[derive(Debug)]
pub(super) struct VmStat {
    file: KernelFile,
    /// The fields' names, and whether each is a total.
    fields: Vec<(String, bool)>,
    rates: RateCalculator,
}

impl VmStat {
    pub(super) fn of_host() -> Self {
        Self::new(KernelFile::new(VMSTAT))
    }

    fn new(mut file: KernelFile) -> Self {
        let text = file.read().unwrap_or_default();
        let names = text.lines().filter_map(|line| line.split(' ').next()).filter(|name| !name.is_empty());
        let fields = names.map(|name| (name.to_owned(), column(name).unit.ends_with("/s"))).collect();
        Self { file, fields, rates: RateCalculator::default() }
    }
}

/// The column of the field `name`.
fn column(name: &str) -> Column {
    let known = FIELDS.iter().find(|(field, ..)| *field == name);
    let known = known.or_else(|| OF_ZONES.iter().find(|(prefix, ..)| name.starts_with(prefix)));
    let (unit, meaning) = match known {
        Some((_, unit, meaning)) => (*unit, *meaning),
        // The kernel names gauges `nr_…`; its other fields are counters.
        None if name.starts_with("nr_") => ("", "A field without a description here; its name is the kernel's."),
        None => ("1/s", "A field without a description here; its name is the kernel's."),
    };
    Column::new(name, unit).meaning(meaning).from(VMSTAT)
}

/// The known columns, with placeholders for those of zones and for unknown ones.
pub(super) fn patterns() -> Vec<Column> {
    let zones = OF_ZONES.map(|(prefix, unit, meaning)| (format!("{prefix}<zone>"), unit, meaning));
    let fields = FIELDS.map(|(name, unit, meaning)| (name.to_owned(), unit, meaning));
    let all = fields.into_iter().chain(zones);
    let columns = all.map(|(name, unit, meaning)| Column::new(name, unit).meaning(meaning).from(VMSTAT));
    columns.chain(["nr_<field>", "<field>"].map(column)).collect()
}

impl Observer for VmStat {
    fn series(&self) -> &str {
        "vmstat"
    }

    fn columns(&self) -> Vec<Column> {
        self.fields.iter().map(|(name, _)| column(name)).collect()
    }

    fn sample(&mut self, t_ns: u64) -> Vec<Option<f64>> {
        let mut lines = self.file.read().unwrap_or_default().lines();
        // The fields' order does not change while a kernel runs.
        let numbers = self.fields.iter().map(|(name, total)| {
            let number = lines.next().and_then(|line| line.strip_prefix(name.as_str())?.trim().parse().ok());
            if *total { RawValue::Counter(number) } else { RawValue::Gauge(number) }
        });
        let raws = numbers.collect();
        self.rates.rates(t_ns, raws)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gauges_are_recorded_as_they_are_and_counters_as_rates() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("vmstat");
        std::fs::write(&path, "nr_dirty 7\npgfault 100\npgalloc_dma 1\nnr_new 3\nbrand_new 5\n").unwrap();
        let mut vmstat = VmStat::new(KernelFile::new(&path));
        assert_eq!(vmstat.sample(1_000_000_000), [Some(7.0), None, None, Some(3.0), None]);
        std::fs::write(&path, "nr_dirty 8\npgfault 150\npgalloc_dma 5\nnr_new 3\nbrand_new 6\n").unwrap();
        assert_eq!(vmstat.sample(2_000_000_000), [Some(8.0), Some(50.0), Some(4.0), Some(3.0), Some(1.0)]);
        let units: Vec<String> = vmstat.columns().into_iter().map(|column| column.unit).collect();
        assert_eq!(units, ["pages", "1/s", "pages/s", "", "1/s"]);
        assert_eq!(vmstat.columns()[3].meaning, "A field without a description here; its name is the kernel's.");
    }

    #[test]
    fn no_field_is_listed_twice() {
        let mut names: Vec<&str> = FIELDS.iter().map(|(name, ..)| *name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), FIELDS.len());
    }

    #[test]
    fn most_fields_of_this_kernel_have_a_description() {
        let columns = VmStat::of_host().columns();
        let unknown: Vec<&str> =
            columns.iter().filter(|column| column.meaning.starts_with("As the kernel")).map(|c| &*c.name).collect();
        println!("{} fields, unknown: {unknown:?}", columns.len());
        assert!(unknown.len() * 10 <= columns.len(), "unknown: {unknown:?}");
    }
}
