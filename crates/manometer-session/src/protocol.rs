//! The protocol between a worker and its controller: one JSON document or control line each line.
//!
//! Standard input begins with one [`Job`]; control lines follow, plain words that a person can type:
//!
//! ```text
//! go
//! set iodepth=16 write_ratio=0.5
//! wait
//! stop
//! ```
//!
//! The worker first prepares its files or its database, sends [`Message::Ready`], and waits. The end of standard
//! input is `stop`: a worker does not outlive its parent.

use std::str::FromStr;

use manometer_measure::ReplayOutcome;
use manometer_measure::clock::WallAnchor;
use manometer_measure::clock_offset::ClockSync;
use manometer_measure::plan::Settings;
pub use manometer_target::engine::directory::DatabaseReuse;
use manometer_workload::interface::ClientShare;
use manometer_workload::sample::Sample;
use manometer_workload::script::parse_settings;
use manometer_workload::settings::WorkloadSettings;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The work of one worker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// The workload's name; its files lie in a directory of that name.
    pub name: String,
    /// The directory below which the worker may write, and nowhere else.
    pub directory: std::path::PathBuf,
    /// What may be done with its own existing data.
    #[serde(default)]
    pub existing: DatabaseReuse,
    /// The sample interval in milliseconds; samples end on multiples of it of the monotonic clock.
    pub interval_ms: u64,
    /// The seed of every random choice.
    pub seed: u64,
    /// Whether the worker removes its prepared data once it is stopped. It waits for the stop even after its workload
    /// has ended, since others may still use the data.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub removes: bool,
    /// Whether the worker waits for the stop after its workload has ended, so that its clocks can be read again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub waits: bool,
    /// The clients that share the workload, each a worker of its own; without them it is one worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clients: Option<ClientGroup>,
    /// The share of this worker, where it is one of several clients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<ClientShare>,
    /// The workload itself.
    #[serde(flatten)]
    pub workload: WorkloadSettings,
}

impl Job {
    /// The work of the only worker of `workload`, which keeps its data and ends with it.
    pub fn alone(
        name: &str,
        directory: &std::path::Path,
        existing: DatabaseReuse,
        interval_ms: u64,
        seed: u64,
        workload: WorkloadSettings,
    ) -> Self {
        Self {
            name: name.to_owned(),
            directory: directory.to_owned(),
            existing,
            interval_ms,
            seed,
            removes: false,
            waits: false,
            clients: None,
            share: None,
            workload,
        }
    }
}

/// Clients that share one workload.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientGroup {
    /// Their number.
    pub count: u32,
    /// Where they run, in turn: commands that lead to `manometer` on another host, or `local`; none for here.
    #[serde(default)]
    pub hosts: Vec<String>,
    /// What the others do when one is lost.
    #[serde(default)]
    pub on_lost: OnLost,
}

/// What the others do when one of a group is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OnLost {
    /// They stop.
    #[default]
    Stop,
    /// They go on; the result says who was lost.
    Continue,
}

/// A control line.
#[derive(Debug, Clone, PartialEq)]
pub enum Control {
    /// Send requests.
    Go,
    /// Send requests from this time on, in nanoseconds of `CLOCK_MONOTONIC`.
    GoAt(u64),
    /// Pause: send no requests until the next `go`.
    Wait,
    /// Change settings.
    Set(Settings),
    /// End.
    Stop,
}

/// An invalid control line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a control line: write `go`, `go at NANOSECONDS`, `wait`, `stop` or `set name=value …`")]
pub struct ControlError(String);

impl FromStr for Control {
    type Err = ControlError;

    fn from_str(line: &str) -> Result<Self, ControlError> {
        let error = || ControlError(line.to_owned());
        match line.trim() {
            "go" => Ok(Self::Go),
            "wait" => Ok(Self::Wait),
            "stop" => Ok(Self::Stop),
            other if other.starts_with("go ") => {
                other.strip_prefix("go at ").and_then(|text| text.parse().ok()).map(Self::GoAt).ok_or_else(error)
            }
            other => {
                let text = other.strip_prefix("set").filter(|rest| rest.starts_with(char::is_whitespace));
                let settings = text.and_then(parse_settings).filter(|settings| !settings.is_empty());
                settings.map(Self::Set).ok_or_else(error)
            }
        }
    }
}

impl std::fmt::Display for Control {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Go => f.write_str("go"),
            Self::GoAt(t_ns) => write!(f, "go at {t_ns}"),
            Self::Wait => f.write_str("wait"),
            Self::Stop => f.write_str("stop"),
            Self::Set(settings) => {
                f.write_str("set")?;
                settings.iter().try_for_each(|(name, value)| match value {
                    Value::String(text) if !text.contains(char::is_whitespace) => write!(f, " {name}={text}"),
                    other => write!(f, " {name}={other}"),
                })
            }
        }
    }
}

/// The line that requests a worker's clocks. It is answered at once, at any time, and does not affect the workload.
pub const CLOCK: &str = "clock";
/// As [`CLOCK`], and also requests the synchronisation of the wall clock; takes as long as asking the time service.
pub const CLOCK_AND_SYNC: &str = "clock sync";
/// The former name of [`CLOCK_AND_SYNC`].
pub(crate) const CLOCK_IN_STEP: &str = "clock in-step";

/// A message of a worker. Times are nanoseconds of `CLOCK_MONOTONIC`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "message", rename_all = "snake_case")]
pub enum Message {
    /// Progress of the preparation.
    Progress {
        /// The activity, such as `loading`.
        what: String,
        /// The amount done.
        done: u64,
        /// The total amount.
        total: u64,
    },
    /// The worker is prepared and waits for `go`.
    Ready {
        /// Facts: the I/O engine, the engine's version and options.
        facts: Settings,
    },
    /// The counts of one interval.
    Sample(Sample),
    /// New settings are in force.
    Setting {
        /// The time.
        t_ns: u64,
        /// The settings that changed, with their new values.
        settings: Settings,
    },
    /// A note for the recording.
    Note {
        /// The time.
        t_ns: u64,
        /// The text, for the user.
        text: String,
    },
    /// One of several clients was lost, and the load goes on without it.
    ClientLost {
        /// What happened, for the user.
        text: String,
    },
    /// The worker's clocks, in answer to [`CLOCK`] or [`CLOCK_AND_SYNC`].
    Clock {
        /// Both clocks of its host.
        now: WallAnchor,
        /// The synchronisation of its wall clock, if requested and known.
        #[serde(alias = "in_step")]
        sync: Option<ClockSync>,
        /// What its monotonic clock is: processes with the same one share it.
        #[serde(default)]
        id: Option<String>,
    },
    /// The outcome of a replay.
    Replayed {
        /// The time.
        t_ns: u64,
        /// The outcome.
        replayed: Box<ReplayOutcome>,
    },
    /// A control line was refused; nothing has changed.
    Refused {
        /// The line.
        line: String,
        /// The reason.
        reason: String,
    },
    /// The worker failed and ends.
    Error {
        /// The message.
        text: String,
    },
    /// The worker ended as requested.
    Done,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_lines_are_what_a_person_would_type() {
        assert_eq!("go".parse(), Ok(Control::Go));
        assert_eq!("go at 5000".parse(), Ok(Control::GoAt(5000)));
        assert_eq!(Control::GoAt(7).to_string().parse(), Ok(Control::GoAt(7)));
        assert_eq!(" wait ".parse(), Ok(Control::Wait));
        let set: Control = "set iodepth=16 block_size=4KiB direct=false".parse().unwrap();
        let Control::Set(settings) = &set else { panic!("{set:?}") };
        assert_eq!(settings["iodepth"], 16);
        assert_eq!(settings["block_size"], "4KiB");
        assert_eq!(settings["direct"], false);
        assert_eq!(set.to_string().parse(), Ok(set));
    }

    #[test]
    fn a_value_of_several_words_stands_in_quotes() {
        let set: Control = r#"set rate="1000..5000 in 10m" script="say \"a b\"" threads=2"#.parse().unwrap();
        let Control::Set(settings) = &set else { panic!("{set:?}") };
        assert_eq!(settings["rate"], "1000..5000 in 10m");
        assert_eq!(settings["script"], "say \"a b\"");
        assert_eq!(settings["threads"], 2);
        assert_eq!(set.to_string().parse(), Ok(set));
    }

    #[test]
    fn the_former_name_of_a_clocks_synchronisation_is_read() {
        let now = WallAnchor { monotonic_ns: 5, unix_ns: 7 };
        let clock = Message::Clock { now, sync: None, id: None };
        let former = serde_json::to_string(&clock).unwrap().replace("\"sync\"", "\"in_step\"");
        assert!(former.contains("in_step"), "{former}");
        assert_eq!(serde_json::from_str::<Message>(&former).unwrap(), clock);
    }

    #[test]
    fn nonsense_is_refused_with_what_would_be_right() {
        for line in ["", "run", "go now", "go at", "go at noon", "set", "set iodepth", "set =4", "stop it"] {
            let error = line.parse::<Control>().unwrap_err();
            assert!(error.to_string().contains("set name=value"), "{error}");
        }
    }
}
