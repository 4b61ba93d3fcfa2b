//! Data that shrink to fit a small disk. How far they shrink is decided by [`crate::prepare::disk_fit`].

use manometer_measure::ByteSize;
use manometer_measure::event::{Finding, Severity};
use manometer_workload::settings::WorkloadSettings;
use serde::{Deserialize, Serialize};

use super::resolved::set_in_table;
use super::{Experiment, ExperimentWorkload};

/// How far the data of the experiments in one device directory shrink, and why.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct DiskFit {
    /// The factor of record counts and file sizes: 1 where they fit.
    pub factor: f64,
    /// The space that was available when the factor was decided.
    #[serde(alias = "at_hand_bytes")]
    pub available_bytes: u64,
    /// The size of the largest experiment before shrinking.
    #[serde(alias = "wanted_bytes")]
    pub required_bytes: u64,
}

impl DiskFit {
    /// The factor as text: `27 %`.
    fn percent(&self) -> String {
        let digits = (-1 - decimal_exponent(self.factor)).max(0) as usize;
        format!("{:.digits$} %", 100.0 * self.factor)
    }
}

/// The exponent of a positive number in scientific notation: -1 for 0.27.
pub(crate) fn decimal_exponent(number: f64) -> i32 {
    number.log10().floor() as i32
}

impl Experiment {
    /// Whether the data of `workload` may shrink to fit the disk.
    fn may_shrink(&self, workload: &ExperimentWorkload) -> bool {
        self.fit || workload.settings.scales_to_disk()
    }

    /// Whether any data may shrink to fit the disk.
    pub(crate) fn scales_to_disk(&self) -> bool {
        self.fit || self.workloads().any(|workload| self.may_shrink(workload))
    }

    /// The size of the data that may not shrink.
    pub(crate) fn fixed_bytes(&self) -> u64 {
        let fixed = self.workloads().filter(|workload| !self.may_shrink(workload));
        fixed.map(|workload| workload.settings.bytes_to_prepare()).sum()
    }

    /// The experiment with its data shrunk as `fit` says, and a finding about it where they did.
    pub fn fitted(self, fit: Option<DiskFit>) -> Experiment {
        let Some(fit) = fit else { return self };
        if fit.factor == 1.0 {
            return Experiment { disk_fit: Some(fit), ..self };
        }
        let required = self.bytes_to_prepare();
        let mut run = self.shrunk(fit.factor);
        let what = match run.fit {
            true => "record counts and file sizes are reduced to {} of those in the file",
            false => "files without an explicit number or size are reduced to {} of their workload's default",
        };
        let text = format!(
            "The data need {:.0} MiB and {:.0} MiB of disk space are available: {}, {:.0} MiB in all.",
            required.mib(),
            ByteSize(fit.available_bytes).mib(),
            what.replace("{}", &fit.percent()),
            run.bytes_to_prepare().mib(),
        );
        run.findings.push(Finding::new("scaled-down", Severity::Warning, text));
        run.disk_fit = Some(fit);
        run
    }

    /// The experiment with the data that may shrink scaled by `factor`.
    fn shrunk(mut self, factor: f64) -> Self {
        let all = self.fit;
        let neighbours = self.neighbours.iter_mut().map(|one| (one.table.clone(), &mut one.workload));
        let primary = self.primary.iter_mut().map(|primary| (primary.name.clone(), primary));
        let chosen = primary.chain(neighbours).filter(|(_, one)| all || one.settings.scales_to_disk());
        for (table, workload) in chosen {
            workload.settings = workload.settings.shrunk(factor);
            let setting = match &workload.settings {
                WorkloadSettings::Io(_) => "file_size",
                WorkloadSettings::Files(files) => files.scaling(),
                WorkloadSettings::Paths(_) => "files",
                WorkloadSettings::Kv(_) => "records",
                WorkloadSettings::Replay(_) | WorkloadSettings::Command(_) => continue,
            };
            let value = workload.settings.get(setting);
            set_in_table(&mut self.resolved, &table, setting, &value);
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_factor_is_printed_with_two_significant_digits() {
        for (factor, text) in [(0.27, "27 %"), (0.0012, "0.12 %"), (0.099, "9.9 %")] {
            assert_eq!(DiskFit { factor, available_bytes: 0, required_bytes: 0 }.percent(), text);
        }
    }
}
