//! What a worker is told and what it tells: one JSON document a line.
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
//! The worker first prepares its files or its database, says [`Message::Ready`], and waits. The end of
//! standard input is `stop`: a worker does not outlive whoever started it.

use std::collections::BTreeMap;
use std::str::FromStr;

use manometer_measure::Replayed;
use manometer_measure::clock::WallAnchor;
use manometer_measure::clock_offset::InStep;
use manometer_measure::plan::Settings;
pub use manometer_target::engine::directory::Existing;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::settings::WorkloadSettings;

/// What a worker shall do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// The workload's name; its files lie in a folder of that name.
    pub name: String,
    /// The folder below which the worker may write, and nowhere else.
    pub directory: std::path::PathBuf,
    /// What may be done with data of ours that is there already.
    #[serde(default)]
    pub existing: Existing,
    /// The sample interval in milliseconds; samples end on multiples of it of the monotonic clock.
    pub interval_ms: u64,
    /// The seed of every random choice.
    pub seed: u64,
    /// Whether the worker, once it has been told to stop, removes the data that it prepared; it waits for that word even
    /// where its workload has come to its end, because others may use them still.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub removes: bool,
    /// The workload itself.
    #[serde(flatten)]
    pub workload: WorkloadSettings,
}

/// A control line.
#[derive(Debug, Clone, PartialEq)]
pub enum Control {
    /// Send requests.
    Go,
    /// Send none until the next `go`.
    Wait,
    /// Change settings.
    Set(Settings),
    /// End.
    Stop,
}

/// A control line that makes no sense.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no control line: write `go`, `wait`, `stop` or `set name=value …`")]
pub struct ControlError(String);

impl FromStr for Control {
    type Err = ControlError;

    fn from_str(line: &str) -> Result<Self, ControlError> {
        let error = || ControlError(line.to_owned());
        let mut words = words(line);
        match words.next() {
            Some("go") if words.next().is_none() => Ok(Self::Go),
            Some("wait") if words.next().is_none() => Ok(Self::Wait),
            Some("stop") if words.next().is_none() => Ok(Self::Stop),
            Some("set") => {
                let settings: Settings =
                    words.map(|word| parse_setting(word).ok_or_else(error)).collect::<Result<_, _>>()?;
                (!settings.is_empty()).then_some(Self::Set(settings)).ok_or_else(error)
            }
            _ => Err(error()),
        }
    }
}

impl std::fmt::Display for Control {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Go => f.write_str("go"),
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

/// The words of a control line: white space parts them, but for that between quotes.
fn words(line: &str) -> impl Iterator<Item = &str> {
    let (mut quoted, mut escaped) = (false, false);
    let words = line.split(move |character: char| {
        let ends = !quoted && character.is_whitespace();
        if character == '"' && !escaped {
            quoted = !quoted;
        }
        escaped = quoted && character == '\\' && !escaped;
        ends
    });
    words.filter(|word| !word.is_empty())
}

/// Reads `name=value`; a value that is no number, flag or null is a text.
pub fn parse_setting(text: &str) -> Option<(String, Value)> {
    let (name, value) = text.split_once('=')?;
    let (name, value) = (name.trim(), value.trim());
    if name.is_empty() || value.is_empty() {
        return None;
    }
    let value = serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.to_owned()));
    Some((name.to_owned(), value))
}

/// The line that asks a worker for its clocks, at any time; it is answered at once and no control of the workload.
pub const CLOCK: &str = "clock";
/// The line that asks as well who keeps its calendar in step; that takes as long as asking them.
pub const IN_STEP: &str = "clock in-step";

/// What a worker tells. Times are nanoseconds of `CLOCK_MONOTONIC`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "message", rename_all = "snake_case")]
pub enum Message {
    /// Preparation goes on: for a progress bar.
    Progress {
        /// What is being done, such as `loading`.
        what: String,
        /// How much is done.
        done: u64,
        /// Of how much.
        total: u64,
    },
    /// Everything is prepared; the worker waits for `go`.
    Ready {
        /// What it found and chose: its I/O engine, the engine's version and options.
        facts: Settings,
    },
    /// What happened in one interval.
    Sample(Sample),
    /// New settings are in force.
    Setting {
        /// When.
        t_ns: u64,
        /// The settings that changed, with their new values.
        settings: Settings,
    },
    /// Something happened that belongs into the recording.
    Note {
        /// When.
        t_ns: u64,
        /// What, for people.
        text: String,
    },
    /// What the worker's clocks show, in answer to the line [`CLOCK`] or [`IN_STEP`].
    Clock {
        /// Both clocks of its host.
        now: WallAnchor,
        /// Who keeps its calendar in step, where that was asked for and somebody does.
        in_step: Option<InStep>,
    },
    /// What became of a replay: how its schedule was kept.
    Replayed {
        /// When.
        t_ns: u64,
        /// What.
        replayed: Box<Replayed>,
    },
    /// A control line was refused; everything stays as it was.
    Refused {
        /// The line.
        line: String,
        /// Why.
        reason: String,
    },
    /// The worker failed and ends.
    Error {
        /// What was wrong.
        text: String,
    },
    /// The worker ends as it was told.
    Done,
}

/// What happened in one interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// The interval's end.
    pub t_ns: u64,
    /// The interval's length in nanoseconds.
    pub length_ns: u64,
    /// What each operation did: `read`, `write`, `update`, `read_modify_write` …
    pub operations: BTreeMap<String, OperationSample>,
    /// Requests of an open loop that came due and found no place in the queue.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub dropped: u64,
    /// The engine's own state, by column name; see `Ready`'s fact `state_units` for the units.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub state: BTreeMap<String, f64>,
    /// When the engine told it, where that is another moment than the interval's end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state_t_ns: Option<u64>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks by reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// What one operation did in one interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OperationSample {
    /// Requests answered.
    pub requests: u64,
    /// Bytes moved for the user.
    pub bytes: u64,
    /// Requests that had to be repeated, a short read or write, say.
    #[serde(default)]
    pub retries: u64,
    /// Records that were asked for and not there, where that is no error.
    #[serde(default)]
    pub missing: u64,
    /// Their latencies from when they were sent (service time): base64 HdrHistogram V2 of nanoseconds; empty
    /// without requests.
    pub latency: String,
    /// Their latencies from when they were due (response time), in the same form; empty where a request is
    /// due when it is sent.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub response: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_lines_are_what_a_person_would_type() {
        assert_eq!("go".parse(), Ok(Control::Go));
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
    fn nonsense_is_refused_with_what_would_be_right() {
        for line in ["", "run", "go now", "set", "set iodepth", "set =4", "stop it"] {
            let error = line.parse::<Control>().unwrap_err();
            assert!(error.to_string().contains("set name=value"), "{error}");
        }
    }
}
