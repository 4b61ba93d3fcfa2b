//! The timetable of changes: `"20m: iodepth = 2; 25m: write_ratio = 0.5"`.

use manometer_measure::Span;
use manometer_measure::plan::Settings;
use serde_json::Value;

/// Changes that take effect together.
#[derive(Debug, Clone, PartialEq)]
pub struct ScriptStep {
    /// When, in nanoseconds since the first `go`.
    pub at_ns: u64,
    /// The new values.
    pub settings: Settings,
}

/// An invalid timetable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("script, step {step} (`{text}`): {reason}")]
pub struct ScriptError {
    /// The step, from 1.
    pub step: usize,
    /// The step as it was written.
    pub text: String,
    /// What is wrong, and what to write.
    pub reason: String,
}

/// Parses a timetable. `attempt` tries each step in turn on the settings that the steps before it left. Steps at the same time become one.
///
/// # Errors
/// The first invalid step.
pub fn parse_script(
    text: &str,
    mut attempt: impl FnMut(&Settings) -> Result<(), String>,
) -> Result<Vec<ScriptStep>, ScriptError> {
    let written = text.split(';').map(str::trim).enumerate().filter(|(_, text)| !text.is_empty());
    let mut steps: Vec<((usize, &str), ScriptStep)> = Vec::new();
    for (index, text) in written {
        let error = |reason: String| ScriptError { step: index + 1, text: text.to_owned(), reason };
        let (at_ns, (name, value)) = parse_step(text).map_err(error)?;
        if name == "script" {
            return Err(error("a script cannot change the script".to_owned()));
        }
        match steps.last_mut() {
            Some((_, last)) if last.at_ns > at_ns => {
                return Err(error("its time is earlier than that of the previous step".to_owned()));
            }
            Some((_, last)) if last.at_ns == at_ns => drop(last.settings.insert(name, value)),
            _ => steps.push(((index, text), ScriptStep { at_ns, settings: [(name, value)].into_iter().collect() })),
        }
    }
    for ((index, text), step) in &steps {
        attempt(&step.settings).map_err(|reason| ScriptError { step: index + 1, text: (*text).to_owned(), reason })?;
    }
    Ok(steps.into_iter().map(|(_, step)| step).collect())
}

/// Parses `name=value`; a value that is not a number, a flag or null is text.
fn parse_setting(text: &str) -> Option<(String, Value)> {
    let (name, value) = text.split_once('=')?;
    let (name, value) = (name.trim(), value.trim());
    if name.is_empty() || value.is_empty() {
        return None;
    }
    let value = serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.to_owned()));
    Some((name.to_owned(), value))
}

/// Parses `name=value name=value …`; a value of several words is in quotes.
pub fn parse_settings(text: &str) -> Option<Settings> {
    words(text).map(parse_setting).collect()
}

/// The words of `text`: white space separates them, except between quotes.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let (mut quoted, mut escaped) = (false, false);
    let words = text.split(move |character: char| {
        let ends = !quoted && character.is_whitespace();
        if character == '"' && !escaped {
            quoted = !quoted;
        }
        escaped = quoted && character == '\\' && !escaped;
        ends
    });
    words.filter(|word| !word.is_empty())
}

fn parse_step(text: &str) -> Result<(u64, (String, Value)), String> {
    const WANTED: &str = "write `time: setting = value`, such as `20m: iodepth = 2`";
    let (time, change) = text.split_once(':').ok_or(WANTED)?;
    let at: Span = time.trim().parse().map_err(|error| format!("{error}"))?;
    let change = parse_setting(change).ok_or(WANTED)?;
    Ok((at.nanoseconds(), change))
}
