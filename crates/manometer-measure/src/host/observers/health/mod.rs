//! The device's own health counters (SMART), read by `nvme` or `smartctl` on a separate thread, so that a slow tool never
//! delays a tick.

mod disk;
mod json_number;
mod nand;
mod nvme;
mod reading;
mod smartctl;
mod thermal;
mod tool;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use disk::{DiskAnswer, SmartDisk};
use reading::Reading;
use serde_json::{Value, json};
use tool::Tools;

use super::super::block_device::device_of;
use super::super::layers::{Layer, LayerKind, layers_of};
use super::super::observer::{Observer, ObserverKind, PhaseBoundary, boxed};
use crate::event::Event;
use crate::samples::Column;

pub(super) const OBSERVER: ObserverKind = ObserverKind {
    series: "health",
    description: "The device's own health counters (SMART), every 30 s and at phase boundaries. For several disks below one file \
        system, counters are summed and states are those of the worst disk.",
    columns,
    create: |subject| boxed(Health::of(subject.host_layers())),
};

/// How often the counters are read between phase boundaries.
const READ_EVERY_NS: u64 = 30_000_000_000;

/// How long the end of a run waits for the last reading.
const LAST_READING_TIMEOUT: Duration = Duration::from_secs(15);

/// The limit of disks below one file system that are read.
const MAX_DISKS: usize = 32;

pub use reading::LEAST_STEPS;
use reading::columns;

/// The total utilisation (NUSE) of the NVMe namespaces below `directory`; `None` if one of the disks is not NVMe or does not
/// report it.
pub fn utilisation_bytes(directory: &Path) -> Option<u64> {
    let layers = layers_of(&device_of(directory)?);
    let disks: Vec<&Layer> = layers.iter().filter(|layer| layer.kind == LayerKind::Disk).take(MAX_DISKS).collect();
    let tools = Tools::default();
    let each: Option<Vec<f64>> = disks.iter().map(|layer| SmartDisk::new(&layer.device).used_bytes(&tools)).collect();
    each.filter(|each| !each.is_empty()).map(|each| each.iter().sum::<f64>() as u64)
}

#[derive(Debug)]
pub(super) struct Health {
    requests: Sender<()>,
    answers: Receiver<DiskAnswer>,
    /// The time of the pending request.
    requested_ns: Option<u64>,
    /// Whether a phase started or ended since the pending request: another one must follow.
    is_outdated: bool,
    /// The time of the latest sample: that of its request.
    sample_time_ns: Option<u64>,
    /// Whether no disk can report anything.
    is_unsupported: bool,
    next_read_ns: u64,
    first: Option<Reading>,
    latest: Option<Reading>,
    read_by: BTreeSet<String>,
    refused: BTreeSet<String>,
}

impl Health {
    /// The counters of the disks among `layers`; `None` if there is no disk.
    pub(super) fn of(layers: &[Layer]) -> Option<Self> {
        let disks: Vec<SmartDisk> = layers
            .iter()
            .filter(|layer| layer.kind == LayerKind::Disk)
            .take(MAX_DISKS)
            .map(|layer| SmartDisk::new(&layer.device))
            .collect();
        (!disks.is_empty()).then(|| Self::new(Tools::default(), disks))
    }

    fn new(tools: Tools, mut disks: Vec<SmartDisk>) -> Self {
        let (requests, requested) = channel();
        let (sender, answers) = channel();
        // The thread ends with the observer, which closes the channel.
        std::thread::spawn(move || {
            while requested.recv().is_ok() {
                let all: Vec<DiskAnswer> = disks.iter_mut().map(|disk| disk.read(&tools)).collect();
                if sender.send(DiskAnswer::merge(all)).is_err() {
                    return;
                }
            }
        });
        Self {
            requests,
            answers,
            requested_ns: None,
            is_outdated: false,
            sample_time_ns: None,
            is_unsupported: false,
            next_read_ns: 0,
            first: None,
            latest: None,
            read_by: BTreeSet::new(),
            refused: BTreeSet::new(),
        }
    }

    fn request(&mut self, t_ns: u64) {
        if self.requested_ns.is_none() && !self.is_unsupported && self.requests.send(()).is_ok() {
            self.requested_ns = Some(t_ns);
        }
    }

    /// Stores an answer. Returns its sample, which is empty if nothing was read.
    fn store(&mut self, answer: DiskAnswer) -> Vec<Option<f64>> {
        self.sample_time_ns = self.requested_ns.take();
        self.read_by.extend(answer.read_by);
        self.refused.extend(answer.refused);
        self.is_unsupported = answer.is_unsupported;
        let Some(reading) = answer.reading else { return Vec::new() };
        self.first.get_or_insert_with(|| reading.clone());
        let values = reading.values();
        self.latest = Some(reading);
        values
    }

    /// Stores an answer at `t_ns`, and requests another one if a phase started or ended since its request.
    fn receive(&mut self, answer: DiskAnswer, t_ns: u64) -> Vec<Option<f64>> {
        let values = self.store(answer);
        if std::mem::take(&mut self.is_outdated) {
            self.request(t_ns);
        }
        values
    }

    /// The sample of the pending request, if it is answered in time.
    fn wait(&mut self) -> Option<Vec<Option<f64>>> {
        self.requested_ns?;
        let answer = self.answers.recv_timeout(LAST_READING_TIMEOUT).ok()?;
        Some(self.store(answer))
    }

    /// NAND bytes over host bytes written between the first reading and the latest.
    fn write_amplification(&self) -> Option<f64> {
        self.latest.as_ref()?.amplification_since(self.first.as_ref()?)
    }

    /// The reason why the write amplification is unknown.
    fn reason(&self) -> &'static str {
        match &self.latest {
            None => "unknown: the device shows no counters",
            Some(latest) if latest.host_bytes_written.is_none() => {
                "unknown: the device does not count the bytes \
                 that the host writes"
            }
            Some(latest) if latest.nand_bytes_written.is_none() => {
                "unknown: the device has no known counter of the \
                 bytes that reach the flash"
            }
            Some(latest) if self.first.as_ref().is_some_and(|first| latest.grew_since(first)) => {
                "unknown: too little was written; a counter grew by fewer than 20 of its steps"
            }
            Some(_) => "unknown: the counters did not grow between two readings",
        }
    }
}

impl Observer for Health {
    fn series(&self) -> &str {
        "health"
    }

    fn columns(&self) -> Vec<Column> {
        columns()
    }

    fn sample(&mut self, t_ns: u64) -> Vec<Option<f64>> {
        if let Ok(answer) = self.answers.try_recv() {
            return self.receive(answer, t_ns);
        }
        if t_ns >= self.next_read_ns {
            self.next_read_ns = t_ns.saturating_add(READ_EVERY_NS);
            self.request(t_ns);
        }
        Vec::new()
    }

    fn phase_boundary(&mut self, t_ns: u64, _: PhaseBoundary) -> Vec<Event> {
        self.is_outdated |= self.requested_ns.is_some_and(|requested_ns| requested_ns < t_ns);
        self.request(t_ns);
        Vec::new()
    }

    fn last_sample(&mut self, t_ns: u64) -> Vec<Option<f64>> {
        // A request before the end of the last phase does not show the state at its end.
        if std::mem::take(&mut self.is_outdated) {
            if self.wait().is_none() {
                return Vec::new();
            }
            self.request(t_ns);
        }
        self.wait().unwrap_or_default()
    }

    fn sample_time_ns(&self) -> Option<u64> {
        self.sample_time_ns
    }

    fn device_facts(&self) -> Option<(&'static str, Value)> {
        let amplification = self.write_amplification();
        let mut facts = json!({
            "read_by": self.read_by,
            "refused": self.refused,
            "write_amplification": amplification,
        });
        if amplification.is_none() {
            facts["write_amplification_reason"] = self.reason().into();
        }
        Some(("health", facts))
    }
}

#[cfg(test)]
mod tests {
    use manometer_testing::{Cause, skip};

    use super::tool::tests::{Script, sata};
    use super::*;

    fn health(script: &Script) -> Health {
        Health::new(script.tools(), vec![sata("/dev/sda")])
    }

    fn read(health: &mut Health) -> Vec<Option<f64>> {
        health.phase_boundary(1, PhaseBoundary::Begin);
        health.last_sample(1)
    }

    #[test]
    fn a_sample_comes_only_from_a_reading_and_the_amplification_is_the_growth() {
        let text = |host: u64, nand: u64| {
            json!({
                "smartctl": {"exit_status": 0},
                "logical_block_size": 512,
                "ata_smart_attributes": {"table": [
                    {"id": 241, "name": "Host_Writes_32MiB", "raw": {"value": host}},
                    {"id": 249, "name": "NAND_Writes_1GiB", "raw": {"value": nand}},
                ]},
            })
            .to_string()
        };
        let script = Script::printing(&text(32, 2), 0);
        let mut health = health(&script);
        assert_eq!(health.last_sample(1), [], "nothing was requested");
        assert!(!read(&mut health).is_empty());
        assert_eq!(health.sample(1), [], "requested, not answered yet");
        assert!(!health.last_sample(1).is_empty());
        assert_eq!(health.sample(2), [], "half a minute has not passed");
        let facts = health.device_facts().unwrap().1;
        assert_eq!(facts["write_amplification_reason"], "unknown: the counters did not grow between two readings");
        script.now_prints(&text(64, 5), 0);
        read(&mut health);
        let facts = health.device_facts().unwrap().1;
        assert_eq!(facts["write_amplification"], Value::Null, "3 steps of 1 GiB");
        let reason = "unknown: too little was written; a counter grew by fewer than 20 of its steps";
        assert_eq!(facts["write_amplification_reason"], reason);
        script.now_prints(&text(672, 62), 0);
        read(&mut health);
        let facts = health.device_facts().unwrap().1;
        assert_eq!(facts["write_amplification"], 3.0, "20 GiB of the host, 60 GiB of flash");
        assert_eq!(facts["read_by"], json!(["smartctl"]));
    }

    /// The time of the next sample, which arrives at `t_ns`.
    fn next_sample_time_ns(health: &mut Health, t_ns: u64) -> u64 {
        let answer = health.answers.recv_timeout(LAST_READING_TIMEOUT).unwrap();
        assert!(!health.receive(answer, t_ns).is_empty());
        health.sample_time_ns().unwrap()
    }

    #[test]
    fn a_sample_has_the_time_of_its_request_and_a_phase_boundary_has_its_own() {
        let text = json!({
            "smartctl": {"exit_status": 0},
            "temperature": {"current": 40},
        });
        let script = Script::printing(&text.to_string(), 0);
        let mut health = health(&script);
        health.phase_boundary(5, PhaseBoundary::Begin);
        assert_eq!(next_sample_time_ns(&mut health, 7), 5);
        assert_eq!(health.sample(30), [], "a request is due");
        health.phase_boundary(30, PhaseBoundary::End);
        assert!(!health.is_outdated, "it was requested at the same time");
        health.phase_boundary(31, PhaseBoundary::Begin);
        assert_eq!(next_sample_time_ns(&mut health, 33), 30);
        assert_eq!(next_sample_time_ns(&mut health, 35), 33, "requested again for the start");
        assert_eq!((health.requested_ns, script.runs()), (None, 3));
        health.phase_boundary(40, PhaseBoundary::Begin);
        health.phase_boundary(50, PhaseBoundary::End);
        assert!(!health.last_sample(51).is_empty());
        assert_eq!((health.sample_time_ns(), script.runs()), (Some(51), 5), "the request at 40 does not show the end");
    }

    #[test]
    fn an_unsupported_device_is_not_read_again() {
        let script = Script::printing(include_str!("samples/smartctl_refused.json"), 1);
        let mut health = health(&script);
        assert_eq!(read(&mut health), []);
        let facts = health.device_facts().unwrap().1;
        assert_eq!(facts["refused"], json!(["smartctl: /dev/vda: Unable to detect device type"]));
        assert_eq!(facts["write_amplification"], Value::Null);
        assert_eq!(facts["write_amplification_reason"], "unknown: the device shows no counters");
        assert_eq!(read(&mut health), []);
        assert_eq!(script.runs(), 1);
    }

    #[test]
    fn a_missing_tool_is_named() {
        let mut health = Health::new(Tools::missing(), vec![sata("/dev/sda")]);
        assert_eq!(read(&mut health), []);
        let facts = health.device_facts().unwrap().1;
        assert_eq!(facts["refused"], json!(["smartctl is not installed"]));
    }

    #[test]
    fn a_slow_tool_is_killed_and_tried_again() {
        let script = Script::hanging();
        let mut health = Health::new(script.hurried_tools(), vec![sata("/dev/sda")]);
        assert_eq!(read(&mut health), []);
        let facts = health.device_facts().unwrap().1;
        assert_eq!(facts["refused"], json!(["smartctl did not answer within 20 ms"]));
        health.phase_boundary(2, PhaseBoundary::End);
        assert_eq!(health.requested_ns, Some(2), "it may answer next time");
    }

    #[test]
    fn the_tools_of_this_host_read_counters_or_report_why_not() {
        let device = crate::host::device_of(std::path::Path::new("."));
        let Some(mut health) = device.and_then(|device| Health::of(&layers_of(&device))) else {
            skip(Cause::BlockDevice, "no block device holds this directory");
            return;
        };
        let sample = read(&mut health);
        let facts = health.device_facts().unwrap().1;
        println!("{facts}");
        assert_eq!(sample.is_empty(), facts["read_by"].as_array().unwrap().is_empty());
        assert!(!sample.is_empty() || !facts["refused"].as_array().unwrap().is_empty());
    }
}
