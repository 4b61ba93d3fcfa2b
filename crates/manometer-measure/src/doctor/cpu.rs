//! The clock of the processors: frequency governor and turbo.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::{Check, CheckStatus};

const WHY_GOVERNOR: &str = "a clock that follows the load slows down phases with little load";
const WHY_TURBO: &str = "a cold processor is faster";

/// The clock of the processors, as far as the host shows it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cpu {
    /// The current governors, each once.
    pub governors: BTreeSet<String>,
    /// Whether turbo is on, and the file with the setting.
    pub turbo: Option<(bool, &'static str)>,
}

const FOLDER: &str = "/sys/devices/system/cpu";
const NO_TURBO: &str = "/sys/devices/system/cpu/intel_pstate/no_turbo";
const BOOST: &str = "/sys/devices/system/cpu/cpufreq/boost";

impl Cpu {
    pub(super) fn read() -> Self {
        let entries = fs::read_dir(FOLDER).into_iter().flatten().filter_map(Result::ok);
        let governor = |folder: &Path| fs::read_to_string(folder.join("cpufreq/scaling_governor")).ok();
        let governors = entries.filter_map(|entry| Some(governor(&entry.path())?.trim().to_owned())).collect();
        let flag = |file: &str| fs::read_to_string(file).ok().map(|text| text.trim() == "1");
        let turbo = flag(NO_TURBO).map(|off| (!off, NO_TURBO)).or_else(|| flag(BOOST).map(|on| (on, BOOST)));
        Self { governors, turbo }
    }

    pub(super) fn checks(&self) -> [Check; 2] {
        [self.governor(), self.turbo()]
    }

    fn governor(&self) -> Check {
        let new = |status, text: String| Check::new("cpu-governor", status, text, WHY_GOVERNOR);
        let names: Vec<&str> = self.governors.iter().map(String::as_str).collect();
        match names.as_slice() {
            [] => new(CheckStatus::Missing, "unknown: the host does not show it".to_owned()),
            ["performance"] => new(CheckStatus::Ok, "performance".to_owned()),
            others => {
                new(CheckStatus::Limited, others.join(", ")).remedy("cpupower frequency-set --governor performance")
            }
        }
    }

    fn turbo(&self) -> Check {
        let new = |status, text: &str| Check::new("cpu-turbo", status, text, WHY_TURBO);
        match self.turbo {
            None => new(CheckStatus::Missing, "unknown: the host does not show it"),
            Some((false, _)) => new(CheckStatus::Ok, "off"),
            Some((true, file)) => {
                let off = if file == NO_TURBO { 1 } else { 0 };
                new(CheckStatus::Limited, "on").remedy(format!("echo {off} > {file}"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::recorded;
    use super::*;

    #[test]
    fn a_fixed_clock_is_ok_and_a_variable_one_has_a_remedy() {
        let [governor, turbo] = recorded::nvme().cpu.checks();
        assert_eq!((governor.status, governor.text.as_str()), (CheckStatus::Limited, "powersave"));
        assert_eq!(turbo.remedy, "echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo");
        let fixed = Cpu { governors: ["performance".to_owned()].into(), turbo: Some((false, BOOST)) };
        assert!(fixed.checks().iter().all(|check| check.status == CheckStatus::Ok));
        let amd = Cpu { turbo: Some((true, BOOST)), ..fixed };
        assert_eq!(amd.checks()[1].remedy, "echo 0 > /sys/devices/system/cpu/cpufreq/boost");
    }

    #[test]
    fn a_clock_that_is_not_shown_is_a_gap() {
        assert!(Cpu::default().checks().iter().all(|check| check.status == CheckStatus::Missing));
    }
}
