//! The temperature sensors that the kernel shows: hwmon and thermal zones.

use std::fs;
use std::path::{Path, PathBuf};

use super::super::kernel_file::KernelFile;
use super::super::observer::{Observer, ObserverKind, boxed};
use crate::samples::Column;

pub(super) const OBSERVER: ObserverKind = ObserverKind {
    series: "temperature",
    description: "Every temperature sensor that the kernel shows.",
    columns: patterns,
    create: |subject| boxed(subject.host_directory().and_then(|_| Temperatures::of_host())),
};

const HWMON: &str = "/sys/class/hwmon";
const ZONES: &str = "/sys/class/thermal";

/// The limit of sensors; the rest are left out.
const MAX_SENSORS: usize = 256;

pub(super) fn patterns() -> Vec<Column> {
    let sensor = |name: &str, meaning: &str, from: &str| Column::new(name, "°C").meaning(meaning).from(from);
    vec![
        sensor("<chip>.<label>", "The temperature of a sensor.", "/sys/class/hwmon/hwmon<N>/temp<M>_input"),
        sensor("zone<N>.<type>", "The temperature of a thermal zone.", "/sys/class/thermal/thermal_zone<N>/temp"),
    ]
}

#[derive(Debug)]
pub(super) struct Temperatures(Vec<(String, KernelFile)>);

impl Temperatures {
    /// The sensors of this host; `None` where it has none.
    pub(super) fn of_host() -> Option<Self> {
        Self::read_from(Path::new(HWMON), Path::new(ZONES))
    }

    fn read_from(hwmon: &Path, zones: &Path) -> Option<Self> {
        let mut sensors: Vec<(String, KernelFile)> = Vec::new();
        for (name, path) in chips(hwmon).chain(thermal_zones(zones)).take(MAX_SENSORS) {
            let same = sensors.iter().filter(|(other, _)| *other == name || other.starts_with(&format!("{name}#")));
            let name = match same.count() {
                0 => name,
                before => format!("{name}#{}", before + 1),
            };
            sensors.push((name, KernelFile::new(path)));
        }
        (!sensors.is_empty()).then_some(Self(sensors))
    }
}

fn chips(hwmon: &Path) -> impl Iterator<Item = (String, PathBuf)> {
    entries(hwmon, "hwmon").into_iter().flat_map(|chip| {
        let name = text(&chip.join("name")).unwrap_or_else(|| file_name(&chip));
        entries(&chip, "temp").into_iter().filter_map(move |input| {
            let sensor = file_name(&input).strip_suffix("_input")?.to_owned();
            let label = text(&chip.join(format!("{sensor}_label"))).unwrap_or(sensor);
            Some((format!("{name}.{label}"), input))
        })
    })
}

fn thermal_zones(zones: &Path) -> impl Iterator<Item = (String, PathBuf)> {
    entries(zones, "thermal_zone").into_iter().map(|zone| {
        let number = file_name(&zone).replace("thermal_zone", "zone");
        let kind = text(&zone.join("type")).unwrap_or_default();
        (format!("{number}.{kind}"), zone.join("temp"))
    })
}

/// The entries of `folder` whose names begin with `prefix`, in numeric order.
fn entries(folder: &Path, prefix: &str) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut paths: Vec<PathBuf> = paths.filter(|path| file_name(path).starts_with(prefix)).collect();
    paths.sort_by_key(|path| (file_name(path).len(), file_name(path)));
    paths
}

fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn text(path: &Path) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_owned()).filter(|text| !text.is_empty())
}

impl Observer for Temperatures {
    fn series(&self) -> &str {
        "temperature"
    }

    fn columns(&self) -> Vec<Column> {
        let column = |(name, file): &(String, KernelFile)| {
            let from = file.path().display().to_string();
            Column::new(name, "°C").meaning("The temperature of this sensor.").from(from)
        };
        self.0.iter().map(column).collect()
    }

    fn sample(&mut self, _: u64) -> Vec<Option<f64>> {
        // The kernel shows thousandths of a degree.
        self.0.iter_mut().map(|(_, file)| file.number().map(|thousandths| thousandths / 1000.0)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sensors_have_the_names_of_their_chips_and_labels() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        for disk in ["hwmon0", "hwmon1"] {
            write(&format!("hwmon/{disk}/name"), "nvme\n");
            write(&format!("hwmon/{disk}/temp1_input"), "38850\n");
            write(&format!("hwmon/{disk}/temp1_label"), "Composite\n");
            write(&format!("hwmon/{disk}/temp1_max"), "84850\n");
        }
        write("hwmon/hwmon1/temp2_input", "-1000\n");
        write("thermal/thermal_zone0/type", "x86_pkg_temp\n");
        write("thermal/thermal_zone0/temp", "51000\n");
        write("thermal/cooling_device0/type", "Processor\n");
        let (hwmon, zones) = (root.path().join("hwmon"), root.path().join("thermal"));
        let mut sensors = Temperatures::read_from(&hwmon, &zones).unwrap();
        let names: Vec<String> = sensors.columns().into_iter().map(|column| column.name).collect();
        assert_eq!(names, ["nvme.Composite", "nvme.Composite#2", "nvme.temp2", "zone0.x86_pkg_temp"]);
        assert_eq!(sensors.sample(0), [Some(38.85), Some(38.85), Some(-1.0), Some(51.0)]);
        fs::remove_dir_all(&zones).unwrap();
        fs::remove_dir_all(hwmon.join("hwmon0")).unwrap();
        assert!(Temperatures::read_from(&zones, &zones).is_none());
    }
}
