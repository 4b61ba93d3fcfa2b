//! The device from within: what its own counters say, read by `nvme` or `smartctl` on a thread of its own, so that
//! a slow tool never holds up the beat.

mod disk;
mod nand;
mod nvme;
mod reading;
mod smartctl;
mod tool;

use std::collections::BTreeSet;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use disk::{Answer, Disk};
use reading::Reading;
use serde_json::{Value, json};
use tool::Tools;

use super::{Border, Layer, LayerKind, Observer};
use crate::event::Event;
use crate::samples::Column;

/// How often the counters are read between the borders of phases.
const READ_EVERY_NS: u64 = 30_000_000_000;

/// How long the last reading is waited for when the run ends.
const LAST_PATIENCE: Duration = Duration::from_secs(15);

/// More disks under one file system than this are not looked into.
const MAX_DISKS: usize = 32;

pub(super) use reading::columns;

#[derive(Debug)]
pub(super) struct Health {
    asks: Sender<()>,
    answers: Receiver<Answer>,
    /// Whether an answer is on its way.
    waiting: bool,
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
            waiting: false,
            silent: false,
            next_ns: 0,
            first: None,
            latest: None,
            read_by: BTreeSet::new(),
            refused: BTreeSet::new(),
        }
    }

    fn ask(&mut self) {
        if !self.waiting && !self.silent {
            self.waiting = self.asks.send(()).is_ok();
        }
    }

    /// Takes an answer in; its row, or none where it tells nothing.
    fn take(&mut self, answer: Answer) -> Vec<Option<f64>> {
        self.waiting = false;
        self.read_by.extend(answer.read_by);
        self.refused.extend(answer.refused);
        self.silent = answer.hopeless;
        let Some(reading) = answer.reading else { return Vec::new() };
        self.first.get_or_insert_with(|| reading.clone());
        let row = reading.row();
        self.latest = Some(reading);
        row
    }

    /// NAND bytes over host bytes written between the first reading and the latest.
    fn write_amplification(&self) -> Option<f64> {
        let (first, latest) = (self.first.as_ref()?, self.latest.as_ref()?);
        let host = latest.host_bytes_written? - first.host_bytes_written?;
        let nand = latest.nand_bytes_written? - first.nand_bytes_written?;
        (host > 0.0 && nand >= 0.0).then(|| nand / host)
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
            Some(_) => "its counters did not move between two readings",
        }
    }
}

impl Observer for Health {
    fn source(&self) -> &str {
        "health"
    }

    fn columns(&self) -> Vec<Column> {
        columns()
    }

    fn sample(&mut self, t_ns: u64) -> Vec<Option<f64>> {
        if let Ok(answer) = self.answers.try_recv() {
            return self.take(answer);
        }
        if t_ns >= self.next_ns {
            self.next_ns = t_ns.saturating_add(READ_EVERY_NS);
            self.ask();
        }
        Vec::new()
    }

    fn border(&mut self, _: Border) -> Vec<Event> {
        self.ask();
        Vec::new()
    }

    fn last(&mut self) -> Vec<Option<f64>> {
        if !self.waiting {
            return Vec::new();
        }
        self.answers.recv_timeout(LAST_PATIENCE).map(|answer| self.take(answer)).unwrap_or_default()
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
    use super::tool::tests::{Script, sata};
    use super::*;

    fn health(script: &Script) -> Health {
        Health::new(script.tools(), vec![sata("/dev/sda")])
    }

    fn read(health: &mut Health) -> Vec<Option<f64>> {
        health.border(Border::Begin);
        health.last()
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
        assert_eq!(health.last(), [], "nothing was asked");
        assert!(!read(&mut health).is_empty());
        assert_eq!(health.sample(1), [], "it asks, and has no answer yet");
        assert!(!health.last().is_empty());
        assert_eq!(health.sample(2), [], "half a minute has not passed");
        let facts = health.device_facts().unwrap().1;
        assert_eq!(facts["write_amplification_reason"], "its counters did not move between two readings");
        script.now_prints(&text(64, 5), 0);
        read(&mut health);
        let facts = health.device_facts().unwrap().1;
        assert_eq!(facts["write_amplification"], 3.0);
        assert_eq!(facts["read_by"], json!(["smartctl"]));
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
        health.border(Border::End);
        assert!(health.waiting, "it may answer the next time");
    }

    #[test]
    fn the_tools_of_this_host_tell_counters_or_why_not() {
        let device = crate::host::device_of(std::path::Path::new("."));
        let Some(mut health) = device.and_then(|device| Health::of(&crate::host::chain(&device))) else {
            println!("skipped: no block device under this folder");
            return;
        };
        let row = read(&mut health);
        let facts = health.device_facts().unwrap().1;
        println!("{facts}");
        assert_eq!(row.is_empty(), facts["read_by"].as_array().unwrap().is_empty());
        assert!(!row.is_empty() || !facts["refused"].as_array().unwrap().is_empty());
    }
}
