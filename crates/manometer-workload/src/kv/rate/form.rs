//! The text form of rates.
//!
//! | written | meaning |
//! | --- | --- |
//! | `5000`, `5000/s` | that many requests per second |
//! | `0s: 1000, 10m: 5000` | steps: from each time on that rate, 0 before the first |
//! | `1000..5000 in 10m` | a ramp, and its end from then on |
//! | `sine mean=5000 amplitude=2000 period=60s phase=0.25` | a wave; the phase in turns, default 0 |
//! | `csv:rates.csv#ops` | steps from a table: column `t_s` in seconds, column `ops` in requests per second |

use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use manometer_measure::Span;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::RateCurve;
use super::table::read_steps;
use crate::kv::error::KvError;

const FORMS: &str = "`5000`, `0s: 1000, 10m: 5000`, `1000..5000 in 10m`, `sine mean=5000 amplitude=2000 period=60s`, or \
                     `csv:rates.csv#column`";
const A_RATE: &str = "requests per second from 0, such as `5000`";
const A_TIME: &str = "a duration such as `90s` or `10m`";

/// A rate over time, as written.
#[derive(Debug, Clone, PartialEq)]
pub enum RateForm {
    /// A constant rate.
    Constant(f64),
    /// A rate from each time on; 0 before the first.
    Steps(Vec<(Span, f64)>),
    /// A linear ramp.
    Ramp {
        /// The initial rate.
        from: f64,
        /// The final rate.
        to: f64,
        /// The length of the ramp.
        within: Span,
    },
    /// A sine wave around a mean.
    Sine {
        /// The mean.
        mean: f64,
        /// The amplitude; at most the mean.
        amplitude: f64,
        /// The period.
        period: Span,
        /// The phase at the start, in turns.
        phase: f64,
    },
    /// Steps from a table.
    Table {
        /// The table: comma-separated values, the first line names the columns.
        file: PathBuf,
        /// The column of rates.
        column: String,
    },
}

/// An invalid rate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{got}` ({place}) is not part of a rate: write {wanted}")]
pub struct RateError {
    /// The part that cannot be read.
    pub got: String,
    /// Its place.
    pub place: String,
    /// What to write instead.
    pub wanted: &'static str,
}

impl RateError {
    fn new(got: &str, place: impl Into<String>, wanted: &'static str) -> Self {
        Self { got: got.trim().to_owned(), place: place.into(), wanted }
    }
}

impl RateForm {
    /// The rate times `share`; `None` for a table, whose rates stand in a file.
    pub fn times(&self, share: f64) -> Option<Self> {
        Some(match self.clone() {
            Self::Constant(rate) => Self::Constant(rate * share),
            Self::Steps(steps) => Self::Steps(steps.into_iter().map(|(from, rate)| (from, rate * share)).collect()),
            Self::Ramp { from, to, within } => Self::Ramp { from: from * share, to: to * share, within },
            Self::Sine { mean, amplitude, period, phase } => {
                Self::Sine { mean: mean * share, amplitude: amplitude * share, period, phase }
            }
            Self::Table { .. } => return None,
        })
    }

    /// Its curve; reads the table, if any.
    ///
    /// # Errors
    /// The table cannot be read.
    pub fn curve(&self) -> Result<RateCurve, KvError> {
        Ok(match self {
            Self::Constant(rate) => RateCurve::constant(*rate),
            Self::Steps(steps) => {
                RateCurve::steps(&steps.iter().map(|(at, rate)| (at.seconds(), *rate)).collect::<Vec<_>>())
            }
            Self::Ramp { from, to, within } => RateCurve::ramp(*from, *to, within.seconds()),
            Self::Sine { mean, amplitude, period, phase } => {
                RateCurve::sine(*mean, *amplitude, period.seconds(), *phase)
            }
            Self::Table { file, column } => RateCurve::steps(&read_steps(file, column)?),
        })
    }
}

impl FromStr for RateForm {
    type Err = RateError;

    fn from_str(text: &str) -> Result<Self, RateError> {
        let text = text.trim();
        if let Some(table) = text.strip_prefix("csv:") {
            return read_table(table);
        }
        if let Some(sine) = text.strip_prefix("sine") {
            return read_sine(sine);
        }
        if text.contains("..") {
            return read_ramp(text);
        }
        if text.contains(':') {
            return read_steps_of(text);
        }
        rate(text).map(Self::Constant).ok_or_else(|| RateError::new(text, "the whole", FORMS))
    }
}

/// Requests per second, with or without `/s`.
fn rate(text: &str) -> Option<f64> {
    let text = text.trim();
    let number = text.strip_suffix("/s").unwrap_or(text).trim_end();
    number.parse().ok().filter(|rate: &f64| rate.is_finite() && *rate >= 0.0)
}

fn time(text: &str) -> Option<Span> {
    text.trim().parse().ok()
}

fn read_table(text: &str) -> Result<RateForm, RateError> {
    let error = || RateError::new(text, "behind `csv:`", "a file and a column, such as `csv:rates.csv#ops`");
    let (file, column) = text.rsplit_once('#').ok_or_else(error)?;
    let (file, column) = (file.trim(), column.trim());
    if file.is_empty() || column.is_empty() {
        return Err(error());
    }
    Ok(RateForm::Table { file: file.into(), column: column.to_owned() })
}

fn read_ramp(text: &str) -> Result<RateForm, RateError> {
    let (rates, within) = text
        .split_once(" in ")
        .ok_or_else(|| RateError::new(text, "a ramp", "how long it takes as well: `1000..5000 in 10m`"))?;
    let (from, to) = rates.split_once("..").unwrap_or((rates, ""));
    let at = |text, place: &str| rate(text).ok_or_else(|| RateError::new(text, place, A_RATE));
    let span = time(within).filter(|span| !span.0.is_zero());
    Ok(RateForm::Ramp {
        from: at(from, "before `..`")?,
        to: at(to, "behind `..`")?,
        within: span.ok_or_else(|| RateError::new(within, "behind `in`", A_TIME))?,
    })
}

fn read_steps_of(text: &str) -> Result<RateForm, RateError> {
    let mut steps: Vec<(Span, f64)> = Vec::new();
    let written = text.split(',').filter(|step| !step.trim().is_empty());
    for (number, step) in (1..).zip(written) {
        let place = || format!("step {number}");
        let (at, then) =
            step.split_once(':').ok_or_else(|| RateError::new(step, place(), "a time and a rate: `10m: 5000`"))?;
        let at = time(at).ok_or_else(|| RateError::new(at, place(), A_TIME))?;
        let then = rate(then).ok_or_else(|| RateError::new(then, place(), A_RATE))?;
        if steps.last().is_some_and(|(before, _)| *before >= at) {
            return Err(RateError::new(step, place(), "times that ascend"));
        }
        steps.push((at, then));
    }
    Ok(RateForm::Steps(steps))
}

fn read_sine(text: &str) -> Result<RateForm, RateError> {
    let (mut mean, mut amplitude, mut period, mut phase) = (None, None, None, Some(0.0));
    for word in text.split_whitespace() {
        let (name, value) = word
            .split_once('=')
            .ok_or_else(|| RateError::new(word, "a sine", "`mean=…`, `amplitude=…`, `period=…` and `phase=…`"))?;
        match name {
            "mean" => mean = Some(rate(value).ok_or_else(|| RateError::new(value, "mean", A_RATE))?),
            "amplitude" => amplitude = Some(rate(value).ok_or_else(|| RateError::new(value, "amplitude", A_RATE))?),
            "period" => period = Some(time(value).ok_or_else(|| RateError::new(value, "period", A_TIME))?),
            "phase" => phase = value.parse().ok().filter(|phase: &f64| phase.is_finite()),
            _ => return Err(RateError::new(name, "a sine", "`mean`, `amplitude`, `period` or `phase`")),
        }
    }
    let missing = |wanted| RateError::new(text, "a sine", wanted);
    let mean = mean.filter(|mean| *mean > 0.0).ok_or_else(|| missing("a mean above 0, such as `mean=5000`"))?;
    let amplitude = amplitude
        .filter(|amplitude| *amplitude <= mean)
        .ok_or_else(|| missing("an amplitude of at most the mean, such as `amplitude=2000`"))?;
    let period = period
        .filter(|period| !period.0.is_zero())
        .ok_or_else(|| missing("how long a turn takes, such as `period=60s`"))?;
    let phase = phase.ok_or_else(|| missing("the phase in turns, such as `phase=0.25`"))?;
    Ok(RateForm::Sine { mean, amplitude, period, phase })
}

impl fmt::Display for RateForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constant(rate) => write!(f, "{rate}"),
            Self::Steps(steps) => steps.iter().enumerate().try_for_each(|(number, (at, rate))| {
                let comma = if number == 0 { "" } else { ", " };
                write!(f, "{comma}{at}: {rate}")
            }),
            Self::Ramp { from, to, within } => write!(f, "{from}..{to} in {within}"),
            Self::Sine { mean, amplitude, period, phase } => {
                let period: String = period.to_string().split_whitespace().collect();
                write!(f, "sine mean={mean} amplitude={amplitude} period={period} phase={phase}")
            }
            Self::Table { file, column } => write!(f, "csv:{}#{column}", file.display()),
        }
    }
}

impl Serialize for RateForm {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Constant(rate) => serializer.serialize_f64(*rate),
            other => serializer.collect_str(other),
        }
    }
}

impl<'de> Deserialize<'de> for RateForm {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct RateVisitor;

        impl Visitor<'_> for RateVisitor {
            type Value = RateForm;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a rate: {FORMS}")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<RateForm, E> {
                text.parse().map_err(E::custom)
            }

            fn visit_f64<E: de::Error>(self, rate: f64) -> Result<RateForm, E> {
                self.visit_str(&rate.to_string())
            }

            fn visit_u64<E: de::Error>(self, rate: u64) -> Result<RateForm, E> {
                self.visit_f64(rate as f64)
            }

            fn visit_i64<E: de::Error>(self, rate: i64) -> Result<RateForm, E> {
                self.visit_f64(rate as f64)
            }
        }

        deserializer.deserialize_any(RateVisitor)
    }
}

impl JsonSchema for RateForm {
    fn schema_name() -> Cow<'static, str> {
        "RateForm".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": ["number", "string"],
            "description": "Requests per second: a number, steps such as `0s: 1000, 10m: 5000`, a ramp such as \
                            `1000..5000 in 10m`, `sine mean=5000 amplitude=2000 period=60s`, or `csv:rates.csv#ops`.",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_reads_back_as_written() {
        for text in [
            "5000",
            "0.5",
            "0s: 1000, 10m: 5000",
            "1000..5000 in 1h 30m",
            "sine mean=5000 amplitude=2000 period=1m30s phase=0.25",
            "csv:a folder/rates.csv#ops",
        ] {
            let form: RateForm = text.parse().unwrap();
            assert_eq!(form.to_string().parse(), Ok(form.clone()), "{text}");
            let json = serde_json::to_value(&form).unwrap();
            assert_eq!(serde_json::from_value::<RateForm>(json).unwrap(), form);
        }
        assert_eq!(serde_json::from_value::<RateForm>(5000.into()).unwrap(), RateForm::Constant(5000.0));
        assert_eq!("5000/s".parse(), Ok(RateForm::Constant(5000.0)));
    }

    #[test]
    fn a_form_means_its_curve() {
        let curve = |text: &str| text.parse::<RateForm>().unwrap().curve().unwrap();
        assert_eq!(curve("5s: 100, 10s: 7"), RateCurve::steps(&[(5.0, 100.0), (10.0, 7.0)]));
        assert_eq!(curve("10..20 in 1m"), RateCurve::ramp(10.0, 20.0, 60.0));
        assert!((curve("sine mean=10 amplitude=5 period=4s phase=0.25").rate_at(0.0) - 15.0).abs() < 1e-9);
    }

    #[test]
    fn errors_name_the_place_and_the_right_form() {
        for (text, got, place, wanted) in [
            ("fast", "fast", "whole", "1000..5000 in 10m"),
            ("-5", "-5", "whole", "5000"),
            ("1000..5000", "1000..5000", "ramp", "in 10m"),
            ("1000..much in 10m", "much", "behind `..`", "per second"),
            ("1000..5000 in 0s", "0s", "behind `in`", "90s"),
            ("0s: 1, soon: 2", "soon", "step 2", "10m"),
            ("0s: 1, 5", "5", "step 2", "10m: 5000"),
            ("1m: 1, 1m: 2", "1m: 2", "step 2", "ascend"),
            ("sine mean=5 amplitude=6 period=1s", "mean=5 amplitude=6 period=1s", "sine", "at most the mean"),
            ("sine mean=5 frequency=6", "frequency", "sine", "`period`"),
            ("csv:rates.csv", "rates.csv", "csv:", "#ops"),
        ] {
            let error = text.parse::<RateForm>().unwrap_err();
            assert_eq!(error.got, got, "{error}");
            assert!(error.place.contains(place) && error.wanted.contains(wanted), "{error}");
        }
    }
}
