//! Each core by itself: `/proc/stat`, and how often heat slowed it down.

use super::columns::table;
use super::cpu::{STAT, TIMES, times_of};
use super::kernel_file::KernelFile;
use super::{Observer, Rates, Raw};
use crate::samples::Column;

/// Where a core tells how often heat slowed it down.
fn throttle_path(core: &str) -> String {
    format!("/sys/devices/system/cpu/cpu{core}/thermal_throttle/core_throttle_count")
}

/// The columns of the core `core`, a number or a pattern for one.
pub(super) fn columns_of(core: &str, throttled: bool) -> Vec<Column> {
    let mut columns = table(STAT, &TIMES);
    let meaning = "How often heat made the core slow down.";
    columns.extend(throttled.then(|| Column::new("throttles", "1/s").meaning(meaning).from(throttle_path(core))));
    let of_core = |column: Column| Column { name: format!("core{core}.{}", column.name), ..column };
    columns.into_iter().map(of_core).collect()
}

#[derive(Debug)]
struct Core {
    /// As the kernel numbers it.
    number: String,
    throttles: Option<KernelFile>,
}

#[derive(Debug)]
pub(super) struct Cores {
    stat: KernelFile,
    cores: Vec<Core>,
    rates: Rates,
}

impl Cores {
    /// The cores that are on now: one that is switched off later is a gap from then on.
    pub(super) fn of_host() -> Self {
        let mut stat = KernelFile::new(STAT);
        let text = stat.read().unwrap_or_default();
        let cores = lines(text).map(|(number, _)| {
            let mut throttles = KernelFile::new(throttle_path(number));
            let shown = throttles.number().is_some();
            Core { number: number.to_owned(), throttles: shown.then_some(throttles) }
        });
        let cores = cores.collect();
        Self { stat, cores, rates: Rates::default() }
    }
}

/// The number of each core, and the numbers behind it.
fn lines(stat: &str) -> impl Iterator<Item = (&str, &str)> {
    let cores = stat.lines().take_while(|line| line.starts_with("cpu"));
    cores.filter_map(|line| line.strip_prefix("cpu")?.split_once(' ')).filter(|(number, _)| !number.is_empty())
}

impl Observer for Cores {
    fn source(&self) -> &str {
        "cpu.cores"
    }

    fn columns(&self) -> Vec<Column> {
        self.cores.iter().flat_map(|core| columns_of(&core.number, core.throttles.is_some())).collect()
    }

    fn sample(&mut self, t_ns: u64) -> Vec<Option<f64>> {
        let mut shown = lines(self.stat.read().unwrap_or_default()).peekable();
        let mut raws = Vec::with_capacity(self.cores.len() * (TIMES.len() + 1));
        for core in &mut self.cores {
            let numbers = shown.next_if(|(number, _)| *number == core.number).map_or("", |(_, numbers)| numbers);
            raws.extend(times_of(numbers));
            raws.extend(core.throttles.as_mut().map(|file| Raw::Total(file.number())));
        }
        self.rates.row(t_ns, raws)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_are_found_by_number_and_a_core_switched_off_is_a_gap() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("stat");
        let core = |number: &str| Core { number: number.to_owned(), throttles: None };
        let cores = ["0", "1", "2"].map(core).into();
        let mut observer = Cores { stat: KernelFile::new(&path), cores, rates: Rates::default() };
        let ticks = procfs::ticks_per_second();
        std::fs::write(
            &path,
            "cpu  1 0 0 0 0 0 0 0\ncpu0 0 0 0 0 0 0 0 0\ncpu1 0 0 0 0 0 0 0 0\ncpu2 0 0 0 0 0 0 0 0\n",
        )
        .unwrap();
        observer.sample(1_000_000_000);
        let text = format!("cpu  1 0 0 0 0 0 0 0\ncpu0 {ticks} 0 0 0 0 0 0 0\ncpu2 0 0 {ticks} 0 0 0 0 0\nintr 5 1\n");
        std::fs::write(&path, text).unwrap();
        let row = observer.sample(2_000_000_000);
        assert_eq!(row[0], Some(1.0));
        assert_eq!(row[6..12], [None; 6]);
        assert_eq!(row[13], Some(1.0));
    }
}
