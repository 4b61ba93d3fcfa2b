//! The verdict on a device that is watched and not measured: whether a measurement that began now could be trusted.

use std::collections::BTreeMap;

use manometer_measure::event::{Finding, Severity, ThreatStrength, ThreatTarget};
use manometer_measure::human;
use manometer_measure::live::StorageSnapshot;

use super::Grade;
use super::grade::{Conclusion, Verdict};
use crate::findings::foreign_processes::{FATAL_SHARE, SERIOUS_SHARE};
use crate::findings::{Rule, serious, with_strength};

/// A device that is busy for a smaller share of the time is idle.
const IDLE_SHARE: f64 = 0.01;

/// The most commands that are kept.
const MAX_COMMANDS: usize = 1_000;

pub(crate) const DEVICE_IN_USE: Rule = Rule {
    id: "device-in-use",
    severity: Severity::Warning,
    threat: serious(ThreatTarget::Result, "the device was in use"),
    source: "Storiks 3.4.1 (WR2)",
    meaning: "while `watch` ran, the device was busy for 1 % of the time or more: a minor threat to a measurement below 10 %, a \
        fatal one from a third on",
    remedy: "Stop what uses it before you measure here.",
};

/// What was seen of a watched device.
#[derive(Debug, Clone, Default)]
pub struct WatchedDevice {
    name: String,
    /// The seconds of all intervals, and the busy ones among them.
    seconds: f64,
    busy_s: f64,
    /// By command: bytes read and written.
    commands: BTreeMap<String, f64>,
}

impl WatchedDevice {
    /// Adds an interval of `seconds`; one whose activity is unknown, such as the first, is left out.
    pub fn add(&mut self, snapshot: &StorageSnapshot, seconds: f64) {
        let Some((layer, busy)) = snapshot.layers.first().and_then(|layer| Some((layer, layer.activity.busy?))) else {
            return;
        };
        self.name.clone_from(&layer.layer.name);
        self.seconds += seconds;
        self.busy_s += busy * seconds;
        for process in &snapshot.processes {
            if self.commands.len() < MAX_COMMANDS || self.commands.contains_key(&process.command) {
                *self.commands.entry(process.command.clone()).or_default() += process.bytes_per_s() * seconds;
            }
        }
    }

    /// The share of the time in which the device was busy; `None` before the first interval.
    fn busy_share(&self) -> Option<f64> {
        (self.seconds > 0.0).then(|| self.busy_s / self.seconds)
    }

    /// What was seen, in a sentence.
    pub fn sentence(&self) -> String {
        let Some(share) = self.busy_share() else { return "Nothing was seen of the device.".to_owned() };
        let most = self.commands.iter().max_by(|one, other| one.1.total_cmp(other.1));
        let most = most.map_or_else(String::new, |(command, bytes)| {
            format!("; of all processes, {command} read and wrote most: {}", human::bytes(*bytes as u64))
        });
        format!("{} was busy for {:.1} % of {:.0} s{most}.", self.name, 100.0 * share, self.seconds)
    }

    /// What threatens a measurement that begins now.
    pub fn findings(&self) -> Vec<Finding> {
        let Some(share) = self.busy_share().filter(|share| *share >= IDLE_SHARE) else { return Vec::new() };
        let strength = match share {
            _ if share >= FATAL_SHARE => ThreatStrength::Fatal,
            _ if share >= SERIOUS_SHARE => ThreatStrength::Serious,
            _ => ThreatStrength::Minor,
        };
        vec![with_strength(DEVICE_IN_USE.finding(None, &self.sentence()), strength)]
    }

    /// Whether a measurement that begins now could be trusted.
    pub fn verdict(&self) -> Verdict {
        let verdict = Verdict::of(&self.findings(), &[&DEVICE_IN_USE], |threat, _| match threat.strength {
            ThreatStrength::Minor => Grade::Sound,
            ThreatStrength::Serious => Grade::Indicative,
            ThreatStrength::Fatal => Grade::Void,
        });
        match self.busy_share() {
            Some(_) => Verdict { about: Conclusion::Device, ..verdict },
            None => Verdict { about: Conclusion::Nothing, grade: Grade::Void, ..verdict },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use manometer_measure::host::BlockDevice;
    use manometer_measure::host::layers::{Layer, LayerKind};
    use manometer_measure::live::{Activity, LayerActivity, ProcessActivity, Stalls};

    use super::*;

    fn snapshot(busy: Option<f64>) -> StorageSnapshot {
        let device = BlockDevice { major: 8, minor: 0, name: "sda".to_owned(), sysfs: PathBuf::new() };
        let layer = Layer { name: "sda".to_owned(), kind: LayerKind::Disk, maps_to: Vec::new(), label: None, device };
        let process = |command: &str, read: f64| ProcessActivity {
            pid: 1,
            command: command.to_owned(),
            read_bytes_per_s: read,
            write_bytes_per_s: 0.0,
        };
        StorageSnapshot {
            layers: vec![LayerActivity { layer, activity: Activity { busy, ..Activity::default() } }],
            processes: vec![process("backup", 1_048_576.0), process("shell", 10.0)],
            hidden_processes: 0,
            stalls: Stalls { io: None, memory: None, cpu: None },
        }
    }

    fn watched(busy: &[f64]) -> WatchedDevice {
        let mut watched = WatchedDevice::default();
        watched.add(&snapshot(None), 1.0);
        busy.iter().for_each(|busy| watched.add(&snapshot(Some(*busy)), 2.0));
        watched
    }

    #[test]
    fn a_device_counts_as_much_as_it_was_busy() {
        let of = |busy: &[f64]| {
            let verdict = watched(busy).verdict();
            (verdict.title(), verdict.reasons.len())
        };
        assert_eq!(of(&[0.0, 0.01]), ("Verdict on measuring here: sound".to_owned(), 0));
        assert_eq!(of(&[0.0, 0.1]), ("Verdict on measuring here: sound".to_owned(), 1));
        assert_eq!(of(&[0.0, 0.3]), ("Verdict on measuring here: indicative".to_owned(), 1));
        assert_eq!(of(&[0.2, 0.6]), ("Verdict on measuring here: void".to_owned(), 1));
        assert_eq!(of(&[]), ("No verdict: nothing was measured".to_owned(), 0));
    }

    #[test]
    fn the_sentence_names_who_used_most() {
        let sentence = watched(&[0.2, 0.6]).sentence();
        assert_eq!(sentence, "sda was busy for 40.0 % of 4 s; of all processes, backup read and wrote most: 4 MiB.");
        assert_eq!(watched(&[]).sentence(), "Nothing was seen of the device.");
        let finding = &watched(&[0.2]).findings()[0];
        assert!(finding.text.ends_with("Stop what uses it before you measure here."), "{}", finding.text);
    }
}
