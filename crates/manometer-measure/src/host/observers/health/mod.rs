//! The device from within: what its own counters say, read by `nvme` or `smartctl` on a thread of its own, so that
//! a slow tool never holds up the beat.

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

use disk::{Answer, Disk};
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
    columns: columns,
    create: |subject| boxed(Health::of(subject.host_layers())),
};

/// How often the counters are read between phase boundaries.
const READ_EVERY_NS: u64 = 30_000_000_000;

/// How long the last reading is waited for when the run ends.
const LAST_PATIENCE: Duration = Duration::from_secs(15);

/// More disks under one file system than this are not looked into.
const MAX_DISKS: usize = 32;

pub use reading::LEAST_STEPS;
use reading::columns;

/// What holds data of the NVMe namespaces under `directory` (NUSE), together; nothing where one of the disks there is
/// none, or does not say.
pub fn utilisation_bytes(directory: &Path) -> Option<u64> {
    let layers = layers_of(&device_of(directory)?);
    let disks: Vec<&Layer> = layers.iter().filter(|layer| layer.kind == LayerKind::Disk).take(MAX_DISKS).collect();
    let tools = Tools::default();
    let each: Option<Vec<f64>> = disks.iter().map(|layer| Disk::new(&layer.device).used_bytes(&tools)).collect();
    each.filter(|each| !each.is_empty()).map(|each| each.iter().sum::<f64>() as u64)
}

#[derive(Debug)]
pub(super) struct Health {
    asks: Sender<()>,
    answers: Receiver<Answer>,
    /// When the answer that is on its way was asked for.
    asked_ns: Option<u64>,
    /// Whether a phase began or ended since then: it is to be asked again.
    again: bool,
    /// What moment the latest row stands for: when it was asked for.
    sample_time_ns: Option<u64>,
    /// Whether any disk tells anything.
    silent: bool,
    next_ns: u64,
    first: Option<Reading>,
    latest: Option<Reading>,
    read_by: BTreeSet<String>,
    refused: BTreeSet<String>,
}

impl Health {
    /// The counters of the disks among `layers`; nothing where there is no disk.
    pub(super) fn of(layers: &[Layer]) -> Option<Self> {
        let disks: Vec<Disk> = layers
            .iter()
            .filter(|layer| layer.kind == LayerKind::Disk)
            .take(MAX_DISKS)
            .map(|layer| Disk::new(&layer.device))
            .collect();
        (!disks.is_empty()).then(|| Self::new(Tools::default(), disks))
    }

    fn new(tools: Tools, mut disks: Vec<Disk>) -> Self {
        let (asks, asked) = channel();
        let (sender, answers) = channel();
        // It ends with the observer, whose end of the channel it waits on.
        std::thread::spawn(move || {
            while asked.recv().is_ok() {
                let all: Vec<Answer> = disks.iter_mut().map(|disk| disk.read(&tools)).collect();
                if sender.send(Answer::of_all(all)).is_err() {
                    return;
                }
            }
        });
        Self {
            asks,
            answers,
            asked_ns: None,
            again: false,
            sample_time_ns: None,
            silent: false,
            next_ns: 0,
            first: None,
            latest: None,
            read_by: BTreeSet::new(),
            refused: BTreeSet::new(),
        }
    }

    fn ask(&mut self, t_ns: u64) {
        if self.asked_ns.is_none() && !self.silent && self.asks.send(()).is_ok() {
            self.asked_ns = Some(t_ns);
        }
    }

    /// Takes an answer in; its row, or none where it tells nothing.
    fn take(&mut self, answer: Answer) -> Vec<Option<f64>> {
        self.sample_time_ns = self.asked_ns.take();
        self.read_by.extend(answer.read_by);
        self.refused.extend(answer.refused);
        self.silent = answer.hopeless;
        let Some(reading) = answer.reading else { return Vec::new() };
        self.first.get_or_insert_with(|| reading.clone());
        let row = reading.row();
        self.latest = Some(reading);
        row
    }

    /// Takes an answer in at `t_ns`, and asks anew where a phase began or ended since it was asked for.
    fn hear(&mut self, answer: Answer, t_ns: u64) -> Vec<Option<f64>> {
        let row = self.take(answer);
        if std::mem::take(&mut self.again) {
            self.ask(t_ns);
        }
        row
    }

    /// The row of the answer that is on its way, if it comes.
    fn wait(&mut self) -> Option<Vec<Option<f64>>> {
        self.asked_ns?;
        let answer = self.answers.recv_timeout(LAST_PATIENCE).ok()?;
        Some(self.take(answer))
    }

    /// NAND bytes over host bytes written between the first reading and the latest.
    fn write_amplification(&self) -> Option<f64> {
        self.latest.as_ref()?.amplification_since(self.first.as_ref()?)
    }

    /// Why there is no write amplification.
    fn reason(&self) -> &'static str {
        match &self.latest {
            None => "not known on this device: it shows no counters",
            Some(latest) if latest.host_bytes_written.is_none() => {
                "not known on this device: it does not count the \
                 host's writes"
            }
            Some(latest) if latest.nand_bytes_written.is_none() => {
                "not known on this device: it shows no counter of \
                 NAND writes that is known"
            }
            Some(latest) if self.first.as_ref().is_some_and(|first| latest.moved_since(first)) => {
                "too little was written to tell: one of its counters moved by fewer than 20 of its steps"
            }
            Some(_) => "its counters did not move between two readings",
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
            return self.hear(answer, t_ns);
        }
        if t_ns >= self.next_ns {
            self.next_ns = t_ns.saturating_add(READ_EVERY_NS);
            self.ask(t_ns);
        }
        Vec::new()
    }

    fn phase_boundary(&mut self, t_ns: u64, _: PhaseBoundary) -> Vec<Event> {
        self.again |= self.asked_ns.is_some_and(|asked_ns| asked_ns < t_ns);
        self.ask(t_ns);
        Vec::new()
    }

    fn last_sample(&mut self, t_ns: u64) -> Vec<Option<f64>> {
        // What was asked for before the last phase ended is not its end.
        if std::mem::take(&mut self.again) {
            if self.wait().is_none() {
                return Vec::new();
            }
            self.ask(t_ns);
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
    fn a_row_comes_only_when_read_and_the_amplification_is_what_grew() {
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
        assert_eq!(health.last_sample(1), [], "nothing was asked");
        assert!(!read(&mut health).is_empty());
        assert_eq!(health.sample(1), [], "it asks, and has no answer yet");
        assert!(!health.last_sample(1).is_empty());
        assert_eq!(health.sample(2), [], "half a minute has not passed");
        let facts = health.device_facts().unwrap().1;
        assert_eq!(facts["write_amplification_reason"], "its counters did not move between two readings");
        script.now_prints(&text(64, 5), 0);
        read(&mut health);
        let facts = health.device_facts().unwrap().1;
        assert_eq!(facts["write_amplification"], Value::Null, "3 steps of 1 GiB");
        let reason = "too little was written to tell: one of its counters moved by fewer than 20 of its steps";
        assert_eq!(facts["write_amplification_reason"], reason);
        script.now_prints(&text(672, 62), 0);
        read(&mut health);
        let facts = health.device_facts().unwrap().1;
        assert_eq!(facts["write_amplification"], 3.0, "20 GiB of the host, 60 GiB of flash");
        assert_eq!(facts["read_by"], json!(["smartctl"]));
    }

    /// The moment that the next row stands for, which comes at `t_ns`.
    fn next_row_ns(health: &mut Health, t_ns: u64) -> u64 {
        let answer = health.answers.recv_timeout(LAST_PATIENCE).unwrap();
        assert!(!health.hear(answer, t_ns).is_empty());
        health.sample_time_ns().unwrap()
    }

    #[test]
    fn a_row_stands_for_the_moment_that_it_was_asked_for_and_a_border_has_its_own() {
        let text = json!({
            "smartctl": {"exit_status": 0},
            "temperature": {"current": 40},
        });
        let script = Script::printing(&text.to_string(), 0);
        let mut health = health(&script);
        health.phase_boundary(5, PhaseBoundary::Begin);
        assert_eq!(next_row_ns(&mut health, 7), 5);
        assert_eq!(health.sample(30), [], "it is time to ask");
        health.phase_boundary(30, PhaseBoundary::End);
        assert!(!health.again, "it was asked at that very moment");
        health.phase_boundary(31, PhaseBoundary::Begin);
        assert_eq!(next_row_ns(&mut health, 33), 30);
        assert_eq!(next_row_ns(&mut health, 35), 33, "it was asked again for the begin");
        assert_eq!((health.asked_ns, script.runs()), (None, 3));
        health.phase_boundary(40, PhaseBoundary::Begin);
        health.phase_boundary(50, PhaseBoundary::End);
        assert!(!health.last_sample(51).is_empty());
        assert_eq!((health.sample_time_ns(), script.runs()), (Some(51), 5), "the row asked for at 40 is no end");
    }

    #[test]
    fn a_device_that_is_refused_is_not_asked_again() {
        let script = Script::printing(include_str!("samples/smartctl_refused.json"), 1);
        let mut health = health(&script);
        assert_eq!(read(&mut health), []);
        let facts = health.device_facts().unwrap().1;
        assert_eq!(facts["refused"], json!(["smartctl: /dev/vda: Unable to detect device type"]));
        assert_eq!(facts["write_amplification"], Value::Null);
        assert_eq!(facts["write_amplification_reason"], "not known on this device: it shows no counters");
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
    fn a_slow_tool_is_ended_and_asked_again() {
        let script = Script::hanging();
        let mut health = Health::new(script.hurried_tools(), vec![sata("/dev/sda")]);
        assert_eq!(read(&mut health), []);
        let facts = health.device_facts().unwrap().1;
        assert_eq!(facts["refused"], json!(["smartctl did not answer within 20 ms"]));
        health.phase_boundary(2, PhaseBoundary::End);
        assert_eq!(health.asked_ns, Some(2), "it may answer the next time");
    }

    #[test]
    fn the_tools_of_this_host_tell_counters_or_why_not() {
        let device = crate::host::device_of(std::path::Path::new("."));
        let Some(mut health) = device.and_then(|device| Health::of(&layers_of(&device))) else {
            skip(Cause::BlockDevice, "none holds this folder");
            return;
        };
        let row = read(&mut health);
        let facts = health.device_facts().unwrap().1;
        println!("{facts}");
        assert_eq!(row.is_empty(), facts["read_by"].as_array().unwrap().is_empty());
        assert!(!row.is_empty() || !facts["refused"].as_array().unwrap().is_empty());
    }
}
