//! One disk: which tools are asked about it, and what they answered.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::super::super::block_device::Device;
use super::super::super::nvme_controllers::nvme_controllers;
use super::nand::{self, Count, NVME_LOGS};
use super::reading::Reading;
use super::tool::Tools;
use super::{nvme, smartctl};
use crate::program::{Output, ProgramError};

/// An answer about one disk, or about all.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Answer {
    /// What was read; nothing where no tool told anything.
    pub reading: Option<Reading>,
    /// The tools that told something.
    pub read_by: Vec<String>,
    /// What tools said that told nothing, for people.
    pub refused: Vec<String>,
    /// Whether asking again would bring nothing.
    pub hopeless: bool,
}

impl Answer {
    /// The answers about all disks as one; a disk that tells nothing leaves nothing to tell of all.
    pub(super) fn of_all(answers: Vec<Self>) -> Self {
        let readings: Option<Vec<&Reading>> = answers.iter().map(|answer| answer.reading.as_ref()).collect();
        let together = |readings: Vec<&Reading>| {
            let (first, others) = readings.split_first()?;
            Some(others.iter().fold((*first).clone(), |all, reading| all.beside(reading)))
        };
        Self {
            reading: readings.and_then(together),
            hopeless: answers.iter().any(|answer| answer.hopeless),
            read_by: answers.iter().flat_map(|answer| answer.read_by.clone()).collect(),
            refused: answers.into_iter().flat_map(|answer| answer.refused).collect(),
        }
    }
}

#[derive(Debug)]
pub(super) struct Disk {
    path: String,
    is_nvme: bool,
    /// Its maker's number on the PCI bus.
    vendor: Option<u32>,
    /// Which of [`NVME_LOGS`] it answers; nothing before the first reading, an empty answer for none.
    nand_log: Option<Option<usize>>,
}

impl Disk {
    pub(super) fn new(device: &Device) -> Self {
        Self::at(&format!("/dev/{}", device.name), vendor(&device.sysfs))
    }

    pub(super) fn at(path: &str, vendor: Option<u32>) -> Self {
        Self { path: path.to_owned(), is_nvme: path.starts_with("/dev/nvme"), vendor, nand_log: None }
    }

    /// Reads its counters: by `nvme` where it is one, else by `smartctl`.
    pub(super) fn read(&mut self, tools: &Tools) -> Answer {
        // Until a tool is found of which more can be hoped.
        let mut answer = Answer { hopeless: true, ..Answer::default() };
        let by_nvme = if self.is_nvme { self.by_nvme(tools, &mut answer) } else { None };
        let reading = by_nvme.or_else(|| self.by_smartctl(tools, &mut answer));
        answer.reading = reading.filter(|reading| !reading.is_empty()).map(|mut reading| {
            if let Some((written, throttles)) = self.by_maker(tools, &mut answer) {
                reading.nand_bytes_written = Some(written.bytes);
                reading.nand_step_bytes = Some(written.step);
                reading.thermal.throttle_events = throttles;
            }
            reading
        });
        answer
    }

    fn by_nvme(&self, tools: &Tools, answer: &mut Answer) -> Option<Reading> {
        let ask = |verb| tools.run(&tools.nvme, &[verb, "-o", "json", &self.path]);
        let log = ask("smart-log").and_then(|output| nvme::smart_log(&output.stdout).ok_or_else(|| refusal(&output)));
        let reading = answer.heard("nvme smart-log", log)?;
        let used = ask("id-ns").ok().and_then(|output| nvme::used_bytes(&output.stdout));
        Some(Reading { utilisation: used, ..reading })
    }

    /// What of it holds data; nothing for a disk that is no NVMe's namespace, or does not say.
    pub(super) fn used_bytes(&self, tools: &Tools) -> Option<f64> {
        if !self.is_nvme {
            return None;
        }
        let told = tools.run(&tools.nvme, &["id-ns", "-o", "json", &self.path]).ok();
        let by_smartctl = || self.by_smartctl(tools, &mut Answer::default())?.utilisation;
        told.and_then(|output| nvme::used_bytes(&output.stdout)).or_else(by_smartctl)
    }

    fn by_smartctl(&self, tools: &Tools, answer: &mut Answer) -> Option<Reading> {
        let arguments = ["--json", "--info", "--attributes", "--log=devstat", &self.path];
        let told = tools.run(&tools.smartctl, &arguments).and_then(|output| {
            let refused = |text| ProgramError::Refused { program: "smartctl".to_owned(), text };
            smartctl::read(&output.stdout).map_err(refused)
        });
        answer.heard("smartctl", told)
    }

    /// What reached the flash and how often heat held it back, by the log that this maker's NVMe devices have.
    fn by_maker(&mut self, tools: &Tools, answer: &mut Answer) -> Option<(Count, Option<f64>)> {
        if !self.is_nvme {
            return None;
        }
        let mut slow = false;
        let mut ask = |log: &nand::Log| {
            let arguments: Vec<&str> = log.arguments.iter().copied().chain([self.path.as_str()]).collect();
            let output = tools.run(&tools.nvme, &arguments).inspect_err(|error| slow |= !error.is_final()).ok()?;
            let told: Value = serde_json::from_str(&output.stdout).ok()?;
            Some(((log.written)(&told)?, (log.throttles)(&told)))
        };
        let suits = |log: &nand::Log| log.vendors.is_empty() || self.vendor.is_some_and(|id| log.vendors.contains(&id));
        let logs = NVME_LOGS.iter().enumerate().filter(|(_, log)| suits(log));
        let mut known = logs.filter(|(index, _)| self.nand_log.is_none_or(|known| known == Some(*index)));
        let found = known.find_map(|(index, log)| Some((index, ask(log)?)));
        if !slow {
            self.nand_log.get_or_insert(found.map(|(index, _)| index));
        }
        let (index, told) = found?;
        answer.read_by.push(format!("nvme {}", NVME_LOGS[index].arguments[..2].join(" ")));
        Some(told)
    }
}

/// The number on the PCI bus of the maker of the NVMe disk whose folder in sysfs is `disk`.
fn vendor(disk: &Path) -> Option<u32> {
    let of = |controller: PathBuf| fs::read_to_string(controller.join("device/vendor")).ok();
    let text = nvme_controllers(disk).into_iter().find_map(of)?;
    u32::from_str_radix(text.trim().strip_prefix("0x")?, 16).ok()
}

/// What `nvme` said instead of a log.
fn refusal(output: &Output) -> ProgramError {
    let line = output.stderr.lines().chain(output.stdout.lines()).find(|line| !line.trim().is_empty());
    let text = line.unwrap_or("it printed nothing").trim().to_owned();
    ProgramError::Refused { program: "nvme".to_owned(), text }
}

impl Answer {
    /// Notes what came of asking `tool`.
    fn heard(&mut self, tool: &str, told: Result<Reading, ProgramError>) -> Option<Reading> {
        match told {
            Ok(reading) => {
                self.hopeless = false;
                self.read_by.push(tool.to_owned());
                Some(reading)
            }
            Err(error) => {
                self.hopeless &= error.is_final();
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

    fn nvme(vendor: u32) -> Disk {
        Disk::at("/dev/nvme0n1", Some(vendor))
    }

    #[test]
    fn an_nvme_device_is_read_by_nvme_and_its_flash_by_the_log_it_has() {
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
    fn what_a_namespace_holds_is_told_by_either_tool_and_of_no_other_disk() {
        let script = Script::of_verbs(&[("id-ns", include_str!("samples/nvme_id_ns.json"))]);
        assert_eq!(nvme(INTEL).used_bytes(&script.as_nvme()), Some(244_190_646.0 * 4096.0));
        assert_eq!(Disk::at("/dev/sda", None).used_bytes(&script.as_nvme()), None);
        assert_eq!(nvme(INTEL).used_bytes(&Tools::missing()), None);
        let by_smartctl = Script::printing(include_str!("samples/smartctl_nvme.json"), 0);
        assert!(nvme(INTEL).used_bytes(&by_smartctl.tools()).is_some());
    }

    #[test]
    fn the_maker_is_known_through_any_controller() {
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
    fn a_log_that_a_device_does_not_have_is_asked_for_once() {
        let script = Script::of_verbs(&[("smart-log", include_str!("samples/nvme_smart_log.json"))]);
        let mut disk = nvme(0x144d);
        for runs in [3, 5] {
            let answer = disk.read(&script.as_nvme());
            assert_eq!(answer.reading.unwrap().nand_bytes_written, None);
            assert_eq!(script.runs(), runs, "the health log and the namespace each time, the flash's log once");
        }
    }

    #[test]
    fn an_nvme_device_without_either_tool_says_so_of_both() {
        let answer = nvme(INTEL).read(&Tools::missing());
        assert_eq!(answer.refused, ["nvme is not installed", "smartctl is not installed"]);
        assert!(answer.hopeless && answer.reading.is_none());
    }

    #[test]
    fn a_tool_that_was_slow_is_hoped_for_whatever_the_other_says() {
        let hanging = Script::hanging();
        let mut slow_nvme = hanging.hurried_tools();
        slow_nvme.nvme = std::mem::replace(&mut slow_nvme.smartctl, Tools::missing().smartctl);
        let answer = nvme(INTEL).read(&slow_nvme);
        assert_eq!(answer.refused, ["smartctl did not answer within 20 ms", "smartctl is not installed"]);
        assert!(!answer.hopeless, "nvme may answer the next time");
        let answer = nvme(INTEL).read(&hanging.hurried_tools());
        assert_eq!(answer.refused, ["nvme is not installed", "smartctl did not answer within 20 ms"]);
        assert!(!answer.hopeless, "smartctl may");
    }

    #[test]
    fn disks_of_which_one_is_silent_tell_nothing_together() {
        let speaking =
            || Answer { reading: Some(Reading { spare: Some(1.0), ..Reading::default() }), ..Answer::default() };
        let silent = Answer { refused: vec!["smartctl: no".to_owned()], hopeless: true, ..Answer::default() };
        assert!(Answer::of_all(vec![speaking(), speaking()]).reading.is_some());
        let both = Answer::of_all(vec![speaking(), silent]);
        assert_eq!((both.reading, both.hopeless, both.refused.len()), (None, true, 1));
    }

    #[test]
    fn what_nvme_says_of_a_device_that_is_none_is_its_first_line() {
        let stderr = "/dev/vda: Operation not permitted\nUsage: nvme smart-log <device> [OPTIONS]\n".to_owned();
        let error = refusal(&Output { status: None, stdout: String::new(), stderr });
        assert_eq!(error.to_string(), "nvme: /dev/vda: Operation not permitted");
    }
}
