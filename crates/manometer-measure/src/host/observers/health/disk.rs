//! A disk: reads its counters with the tools that support it.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::super::super::block_device::BlockDevice;
use super::super::super::nvme_controllers::nvme_controllers;
use super::nand::{self, Count, NVME_LOGS};
use super::reading::Reading;
use super::tool::Tools;
use super::{nvme, smartctl};
use crate::program::{Output, ProgramError};

/// The result of reading one disk, or all.
#[derive(Debug, Default, PartialEq)]
pub(super) struct DiskAnswer {
    /// The counters; `None` if no tool read any.
    pub reading: Option<Reading>,
    /// The tools that read something.
    pub read_by: Vec<String>,
    /// The errors of the tools that read nothing, for people.
    pub refused: Vec<String>,
    /// Whether no later attempt can succeed.
    pub is_unsupported: bool,
}

impl DiskAnswer {
    /// The answers of all disks as one. Without the counters of one disk there are none of all.
    pub(super) fn merge(answers: Vec<Self>) -> Self {
        let readings: Option<Vec<&Reading>> = answers.iter().map(|answer| answer.reading.as_ref()).collect();
        let merged = |readings: Vec<&Reading>| {
            let (first, others) = readings.split_first()?;
            Some(others.iter().fold((*first).clone(), |all, reading| all.merge(reading)))
        };
        Self {
            reading: readings.and_then(merged),
            is_unsupported: answers.iter().any(|answer| answer.is_unsupported),
            read_by: answers.iter().flat_map(|answer| answer.read_by.clone()).collect(),
            refused: answers.into_iter().flat_map(|answer| answer.refused).collect(),
        }
    }
}

#[derive(Debug)]
pub(super) struct SmartDisk {
    path: String,
    is_nvme: bool,
    /// The PCI id of its vendor.
    vendor: Option<u32>,
    /// Which of [`NVME_LOGS`] it supports: `None` before the first read, `Some(None)` for no log.
    nand_log: Option<Option<usize>>,
}

impl SmartDisk {
    pub(super) fn new(device: &BlockDevice) -> Self {
        Self::at(&format!("/dev/{}", device.name), vendor(&device.sysfs))
    }

    pub(super) fn at(path: &str, vendor: Option<u32>) -> Self {
        Self { path: path.to_owned(), is_nvme: path.starts_with("/dev/nvme"), vendor, nand_log: None }
    }

    /// Reads its counters: with `nvme` for an NVMe disk, else, or if that fails, with `smartctl`.
    pub(super) fn read(&mut self, tools: &Tools) -> DiskAnswer {
        // Until a tool succeeds or may succeed later.
        let mut answer = DiskAnswer { is_unsupported: true, ..DiskAnswer::default() };
        let nvme_reading = if self.is_nvme { self.read_nvme(tools, &mut answer) } else { None };
        let reading = nvme_reading.or_else(|| self.read_smartctl(tools, &mut answer));
        answer.reading = reading.filter(|reading| !reading.is_empty()).map(|mut reading| {
            if let Some((written, throttles)) = self.read_vendor_log(tools, &mut answer) {
                reading.nand_bytes_written = Some(written.bytes);
                reading.nand_step_bytes = Some(written.step);
                reading.thermal.throttle_events = throttles;
            }
            reading
        });
        answer
    }

    fn read_nvme(&self, tools: &Tools, answer: &mut DiskAnswer) -> Option<Reading> {
        let run = |verb| tools.run(&tools.nvme, &[verb, "-o", "json", &self.path]);
        let log = run("smart-log").and_then(|output| nvme::smart_log(&output.stdout).ok_or_else(|| refusal(&output)));
        let reading = answer.record("nvme smart-log", log)?;
        let used = run("id-ns").ok().and_then(|output| nvme::used_bytes(&output.stdout));
        Some(Reading { utilisation: used, ..reading })
    }

    /// Its utilisation in bytes; `None` for a disk that is not NVMe or does not report it.
    pub(super) fn used_bytes(&self, tools: &Tools) -> Option<f64> {
        if !self.is_nvme {
            return None;
        }
        let id_ns = tools.run(&tools.nvme, &["id-ns", "-o", "json", &self.path]).ok();
        let by_smartctl = || self.read_smartctl(tools, &mut DiskAnswer::default())?.utilisation;
        id_ns.and_then(|output| nvme::used_bytes(&output.stdout)).or_else(by_smartctl)
    }

    fn read_smartctl(&self, tools: &Tools, answer: &mut DiskAnswer) -> Option<Reading> {
        let arguments = ["--json", "--info", "--attributes", "--log=devstat", &self.path];
        let reading = tools.run(&tools.smartctl, &arguments).and_then(|output| {
            let refused = |text| ProgramError::Refused { program: "smartctl".to_owned(), text };
            smartctl::read(&output.stdout).map_err(refused)
        });
        answer.record("smartctl", reading)
    }

    /// The bytes that reached the flash and the count of thermal throttling, from the log of the vendor's NVMe devices.
    fn read_vendor_log(&mut self, tools: &Tools, answer: &mut DiskAnswer) -> Option<(Count, Option<f64>)> {
        if !self.is_nvme {
            return None;
        }
        let mut may_succeed_later = false;
        let mut read = |log: &nand::Log| {
            let arguments: Vec<&str> = log.arguments.iter().copied().chain([self.path.as_str()]).collect();
            let output =
                tools.run(&tools.nvme, &arguments).inspect_err(|error| may_succeed_later |= !error.is_final()).ok()?;
            let json: Value = serde_json::from_str(&output.stdout).ok()?;
            Some(((log.written)(&json)?, (log.throttles)(&json)))
        };
        let is_supported =
            |log: &nand::Log| log.vendors.is_empty() || self.vendor.is_some_and(|id| log.vendors.contains(&id));
        let logs = NVME_LOGS.iter().enumerate().filter(|(_, log)| is_supported(log));
        let mut candidates = logs.filter(|(index, _)| self.nand_log.is_none_or(|known| known == Some(*index)));
        let found = candidates.find_map(|(index, log)| Some((index, read(log)?)));
        if !may_succeed_later {
            self.nand_log.get_or_insert(found.map(|(index, _)| index));
        }
        let (index, counters) = found?;
        answer.read_by.push(format!("nvme {}", NVME_LOGS[index].arguments[..2].join(" ")));
        Some(counters)
    }
}

/// The PCI vendor id of the NVMe disk whose folder in sysfs is `disk`.
fn vendor(disk: &Path) -> Option<u32> {
    let of = |controller: PathBuf| fs::read_to_string(controller.join("device/vendor")).ok();
    let text = nvme_controllers(disk).into_iter().find_map(of)?;
    u32::from_str_radix(text.trim().strip_prefix("0x")?, 16).ok()
}

/// The error that `nvme` printed instead of a log.
fn refusal(output: &Output) -> ProgramError {
    let line = output.stderr.lines().chain(output.stdout.lines()).find(|line| !line.trim().is_empty());
    let text = line.unwrap_or("it printed nothing").trim().to_owned();
    ProgramError::Refused { program: "nvme".to_owned(), text }
}

impl DiskAnswer {
    /// Records the result of `tool`.
    fn record(&mut self, tool: &str, result: Result<Reading, ProgramError>) -> Option<Reading> {
        match result {
            Ok(reading) => {
                self.is_unsupported = false;
                self.read_by.push(tool.to_owned());
                Some(reading)
            }
            Err(error) => {
                self.is_unsupported &= error.is_final();
                self.refused.push(error.to_string());
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tool::tests::Script;
    use super::*;

    const INTEL: u32 = 0x8086;

    fn nvme(vendor: u32) -> SmartDisk {
        SmartDisk::at("/dev/nvme0n1", Some(vendor))
    }

    #[test]
    fn an_nvme_device_is_read_by_nvme_and_its_flash_by_its_vendor_log() {
        let standard = [
            ("smart-log", include_str!("samples/nvme_smart_log.json")),
            ("id-ns", include_str!("samples/nvme_id_ns.json")),
        ];
        let with = |verb, text| Script::of_verbs(&[standard[0], standard[1], (verb, text)]);
        let ocp = with("ocp", include_str!("samples/nvme_ocp.json"));
        let answer = nvme(0x144d).read(&ocp.as_nvme());
        assert_eq!(answer.read_by, ["nvme smart-log", "nvme ocp smart-add-log"]);
        let reading = answer.reading.unwrap();
        assert_eq!(reading.nand_bytes_written, Some(527_805_403_860_992.0));
        assert_eq!((reading.nand_step_bytes, reading.thermal.throttle_events), (Some(1.0), Some(2.0)));
        assert_eq!(reading.utilisation, Some(244_190_646.0 * 4096.0));
        let intel = with("intel", include_str!("samples/nvme_intel.json"));
        let of = |vendor| nvme(vendor).read(&intel.as_nvme()).reading.unwrap().nand_bytes_written;
        assert_eq!((of(INTEL), of(0x144d)), (Some(1_024.0 * 32.0 * 1_048_576.0), None));
    }

    #[test]
    fn the_utilisation_of_a_namespace_is_read_by_either_tool() {
        let script = Script::of_verbs(&[("id-ns", include_str!("samples/nvme_id_ns.json"))]);
        assert_eq!(nvme(INTEL).used_bytes(&script.as_nvme()), Some(244_190_646.0 * 4096.0));
        assert_eq!(SmartDisk::at("/dev/sda", None).used_bytes(&script.as_nvme()), None);
        assert_eq!(nvme(INTEL).used_bytes(&Tools::missing()), None);
        let by_smartctl = Script::printing(include_str!("samples/smartctl_nvme.json"), 0);
        assert!(nvme(INTEL).used_bytes(&by_smartctl.tools()).is_some());
    }

    #[test]
    fn the_vendor_is_known_through_any_controller() {
        for controller in ["device", "device/nvme1"] {
            let dir = tempfile::tempdir().unwrap();
            let bus = dir.path().join(controller).join("device");
            fs::create_dir_all(&bus).unwrap();
            fs::write(bus.join("vendor"), "0x8086\n").unwrap();
            assert_eq!(vendor(dir.path()), Some(INTEL), "{controller}");
        }
        assert_eq!(vendor(Path::new("/nowhere")), None);
    }

    #[test]
    fn a_missing_log_is_requested_once() {
        let script = Script::of_verbs(&[("smart-log", include_str!("samples/nvme_smart_log.json"))]);
        let mut disk = nvme(0x144d);
        for runs in [3, 5] {
            let answer = disk.read(&script.as_nvme());
            assert_eq!(answer.reading.unwrap().nand_bytes_written, None);
            assert_eq!(script.runs(), runs, "the health log and the namespace each time, the vendor log once");
        }
    }

    #[test]
    fn without_tools_both_are_named() {
        let answer = nvme(INTEL).read(&Tools::missing());
        assert_eq!(answer.refused, ["nvme is not installed", "smartctl is not installed"]);
        assert!(answer.is_unsupported && answer.reading.is_none());
    }

    #[test]
    fn a_slow_tool_is_tried_again_whatever_the_other_reports() {
        let hanging = Script::hanging();
        let mut slow_nvme = hanging.hurried_tools();
        slow_nvme.nvme = std::mem::replace(&mut slow_nvme.smartctl, Tools::missing().smartctl);
        let answer = nvme(INTEL).read(&slow_nvme);
        assert_eq!(answer.refused, ["smartctl did not answer within 20 ms", "smartctl is not installed"]);
        assert!(!answer.is_unsupported, "nvme may answer next time");
        let answer = nvme(INTEL).read(&hanging.hurried_tools());
        assert_eq!(answer.refused, ["nvme is not installed", "smartctl did not answer within 20 ms"]);
        assert!(!answer.is_unsupported, "smartctl may answer next time");
    }

    #[test]
    fn without_the_counters_of_one_disk_there_are_none_of_all() {
        let readable = || DiskAnswer {
            reading: Some(Reading { spare: Some(1.0), ..Reading::default() }),
            ..DiskAnswer::default()
        };
        let unreadable =
            DiskAnswer { refused: vec!["smartctl: no".to_owned()], is_unsupported: true, ..DiskAnswer::default() };
        assert!(DiskAnswer::merge(vec![readable(), readable()]).reading.is_some());
        let both = DiskAnswer::merge(vec![readable(), unreadable]);
        assert_eq!((both.reading, both.is_unsupported, both.refused.len()), (None, true, 1));
    }

    #[test]
    fn the_error_of_nvme_is_its_first_line() {
        let stderr = "/dev/vda: Operation not permitted\nUsage: nvme smart-log <device> [OPTIONS]\n".to_owned();
        let error = refusal(&Output { status: None, stdout: String::new(), stderr });
        assert_eq!(error.to_string(), "nvme: /dev/vda: Operation not permitted");
    }
}
