//! Each core: `/proc/stat`, and how often it, or its package, was throttled because of heat.

use std::fs;
use std::path::{Path, PathBuf};

use super::super::kernel_file::KernelFile;
use super::super::observer::{Observer, ObserverKind, boxed};
use super::super::rates::{RateCalculator, RawValue};
use super::cpu::{STAT, TIMES, times_of};
use crate::samples::{Column, columns_from};

pub(super) const OBSERVER: ObserverKind = ObserverKind {
    series: "cpu.cores",
    description: "Each core that was online at the start of the run; a core that goes offline is a gap. Throttling also by package.",
    columns: patterns,
    create: |subject| boxed(subject.host_directory().map(|_| CpuCores::of_host())),
};

const CPUS: &str = "/sys/devices/system/cpu";

/// The file `name` in the folder of the core `core`.
fn core_file(cpus: &Path, core: &str, name: &str) -> PathBuf {
    cpus.join(format!("cpu{core}")).join(name)
}

/// The files of a core that count its throttling and that of its package.
const CORE_THROTTLES: &str = "thermal_throttle/core_throttle_count";
const PACKAGE_THROTTLES: &str = "thermal_throttle/package_throttle_count";

/// The file of a core with the number of its package.
const PACKAGE: &str = "topology/physical_package_id";

pub(super) fn patterns() -> Vec<Column> {
    let from = |name| core_file(Path::new(CPUS), "<N>", name);
    let package = throttles("package<M>", "the package", &from(PACKAGE_THROTTLES));
    [core_columns("<N>", Some(&from(CORE_THROTTLES))), vec![package]].concat()
}

/// The columns of the core `core`, a number or a pattern for one.
fn core_columns(core: &str, throttled: Option<&Path>) -> Vec<Column> {
    let of_core = |column: Column| Column { name: format!("core{core}.{}", column.name), ..column };
    let mut columns: Vec<Column> = columns_from(STAT, &TIMES).into_iter().map(of_core).collect();
    columns.extend(throttled.map(|from| throttles(&format!("core{core}"), "the core", from)));
    columns
}

fn throttles(name: &str, what: &str, from: &Path) -> Column {
    let column = Column::new(format!("{name}.throttles"), "1/s").from(from.display().to_string());
    column.meaning(format!("Times that {what} was throttled because of heat."))
}

#[derive(Debug)]
struct Core {
    /// As the kernel numbers it.
    number: String,
    throttles: Option<KernelFile>,
}

#[derive(Debug)]
struct Package {
    /// As the kernel numbers it.
    number: String,
    /// The file of the first of its cores: all show the same count.
    throttles: KernelFile,
}

#[derive(Debug)]
pub(super) struct CpuCores {
    stat: KernelFile,
    cores: Vec<Core>,
    packages: Vec<Package>,
    rates: RateCalculator,
}

impl CpuCores {
    /// The cores that are online now. A core that goes offline later is a gap from then on.
    pub(super) fn of_host() -> Self {
        Self::read_from(Path::new(STAT), Path::new(CPUS))
    }

    fn read_from(stat: &Path, cpus: &Path) -> Self {
        let mut stat = KernelFile::new(stat);
        let numbers: Vec<String> =
            lines(stat.read().unwrap_or_default()).map(|(number, _)| number.to_owned()).collect();
        let mut packages: Vec<Package> = Vec::new();
        for number in &numbers {
            let Ok(package) = fs::read_to_string(core_file(cpus, number, PACKAGE)) else { continue };
            let package = package.trim();
            if packages.iter().all(|known| known.number != package) {
                let throttles = counter(cpus, number, PACKAGE_THROTTLES);
                packages.extend(throttles.map(|throttles| Package { number: package.to_owned(), throttles }));
            }
        }
        let core = |number: String| Core { throttles: counter(cpus, &number, CORE_THROTTLES), number };
        Self { stat, cores: numbers.into_iter().map(core).collect(), packages, rates: RateCalculator::default() }
    }
}

/// A counter of the core `core`; `None` where it has none.
fn counter(cpus: &Path, core: &str, name: &str) -> Option<KernelFile> {
    let mut file = KernelFile::new(core_file(cpus, core, name));
    file.number().is_some().then_some(file)
}

/// The number of each core, and the numbers after it.
fn lines(stat: &str) -> impl Iterator<Item = (&str, &str)> {
    let cores = stat.lines().take_while(|line| line.starts_with("cpu"));
    cores.filter_map(|line| line.strip_prefix("cpu")?.split_once(' ')).filter(|(number, _)| !number.is_empty())
}

impl Observer for CpuCores {
    fn series(&self) -> &str {
        "cpu.cores"
    }

    fn columns(&self) -> Vec<Column> {
        let core = |core: &Core| core_columns(&core.number, core.throttles.as_ref().map(KernelFile::path));
        let package = |package: &Package| {
            throttles(&format!("package{}", package.number), "the package", package.throttles.path())
        };
        self.cores.iter().flat_map(core).chain(self.packages.iter().map(package)).collect()
    }

    fn sample(&mut self, t_ns: u64) -> Vec<Option<f64>> {
        let mut shown = lines(self.stat.read().unwrap_or_default()).peekable();
        let mut raws = Vec::with_capacity(self.cores.len() * (TIMES.len() + 1) + self.packages.len());
        for core in &mut self.cores {
            let numbers = shown.next_if(|(number, _)| *number == core.number).map_or("", |(_, numbers)| numbers);
            raws.extend(times_of(numbers));
            raws.extend(core.throttles.as_mut().map(|file| RawValue::Counter(file.number())));
        }
        raws.extend(self.packages.iter_mut().map(|package| RawValue::Counter(package.throttles.number())));
        self.rates.rates(t_ns, raws)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_are_found_by_number_and_an_offline_core_is_a_gap() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("stat");
        let ticks = procfs::ticks_per_second();
        fs::write(&path, "cpu  1 0 0 0 0 0 0 0\ncpu0 0 0 0 0 0 0 0 0\ncpu1 0 0 0 0 0 0 0 0\ncpu2 0 0 0 0 0 0 0 0\n")
            .unwrap();
        let mut observer = CpuCores::read_from(&path, dir.path());
        observer.sample(1_000_000_000);
        let text = format!("cpu  1 0 0 0 0 0 0 0\ncpu0 {ticks} 0 0 0 0 0 0 0\ncpu2 0 0 {ticks} 0 0 0 0 0\nintr 5 1\n");
        fs::write(&path, text).unwrap();
        let row = observer.sample(2_000_000_000);
        assert_eq!(row[0], Some(1.0));
        assert_eq!(row[6..12], [None; 6]);
        assert_eq!(row[13], Some(1.0));
    }

    #[test]
    fn throttling_is_read_once_per_core_and_once_per_package() {
        let dir = tempfile::tempdir().unwrap();
        let write = |core: &str, name: &str, text: &str| {
            let path = core_file(dir.path(), core, name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let stat = dir.path().join("stat");
        fs::write(&stat, "cpu  0 0 0 0 0 0 0 0\ncpu0 0 0 0 0 0 0 0 0\ncpu1 0 0 0 0 0 0 0 0\ncpu2 0 0 0 0 0 0 0 0\n")
            .unwrap();
        for (core, package) in [("0", "0\n"), ("1", "0\n"), ("2", "1\n")] {
            write(core, PACKAGE, package);
            write(core, CORE_THROTTLES, "7\n");
            write(core, PACKAGE_THROTTLES, "9\n");
        }
        let mut observer = CpuCores::read_from(&stat, dir.path());
        let names: Vec<String> = observer.columns().into_iter().map(|column| column.name).collect();
        let throttles: Vec<&str> = names.iter().filter_map(|name| name.strip_suffix(".throttles")).collect();
        assert_eq!(throttles, ["core0", "core1", "core2", "package0", "package1"]);
        observer.sample(1_000_000_000);
        write("1", CORE_THROTTLES, "10\n");
        write("2", PACKAGE_THROTTLES, "11\n");
        let row = observer.sample(2_000_000_000);
        let grown: Vec<f64> = names
            .iter()
            .zip(&row)
            .filter(|(name, _)| name.ends_with(".throttles"))
            .map(|(_, value)| value.unwrap())
            .collect();
        assert_eq!(grown, [0.0, 3.0, 0.0, 0.0, 2.0]);
    }
}
