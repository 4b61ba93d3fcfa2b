//! The settings by which an `io` workload follows a recorded trace instead of a pattern.

use std::path::PathBuf;

use manometer_trace::TraceForm;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::IoSettings;
use crate::replay::rules::check_times;
use crate::replay::{Model, ReplayError, Timing, TraceFile};
use crate::setting_error::SettingError;

/// A recorded trace of a device; without `trace` there is none.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RecordedSettings {
    /// A recorded trace of a device, plain or compressed, whose requests are sent instead of a pattern's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<PathBuf>,
    /// How the trace is read.
    #[serde(flatten)]
    pub form: TraceForm,
    /// Which of the trace's requests wait for which; `open` unless said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<Model>,
    /// When the trace's requests are sent; `original` unless said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<Timing>,
    /// How much faster than recorded, with `time = "scaled"`: 2 halves the span.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub factor: Option<f64>,
}

impl RecordedSettings {
    /// The trace and how it is read.
    pub(super) fn file(&self) -> Option<TraceFile> {
        Some(TraceFile { trace: self.trace.clone()?, form: self.form.clone() })
    }

    pub(super) fn model(&self) -> Model {
        self.model.unwrap_or_default()
    }

    pub(super) fn time(&self) -> Timing {
        self.time.unwrap_or_default()
    }

    /// Checks what `settings` say of a trace beside what they say of a pattern.
    pub(in crate::io) fn check(settings: &IoSettings) -> Result<(), SettingError> {
        let recorded = &settings.recorded;
        if recorded.trace.is_none() {
            if *recorded == Self::default() {
                return Ok(());
            }
            return Err(SettingError::new("trace", "nothing", "name the trace that the other settings are of"));
        }
        check_times(recorded.model(), recorded.time(), recorded.factor).map_err(as_setting)?;
        let pattern = IoSettings::default();
        let of_a_pattern = "a trace says itself where its requests go and when: leave it out";
        if settings.write_ratio != pattern.write_ratio {
            return Err(SettingError::new("write_ratio", settings.write_ratio, of_a_pattern));
        }
        if settings.random_ratio != pattern.random_ratio {
            return Err(SettingError::new("random_ratio", settings.random_ratio, of_a_pattern));
        }
        if let Some(rate) = settings.rate {
            return Err(SettingError::new("rate", rate, format!("{of_a_pattern}, or write a `factor`")));
        }
        match recorded.model() {
            Model::ClosedPerClient => {
                let wanted =
                    "requests of a device tell no clients: write open, closed-conservative or closed-unordered";
                Err(SettingError::new("model", recorded.model().name(), wanted))
            }
            Model::ClosedConservative if settings.iodepth > 1 => {
                let wanted = "in the model closed-conservative each request waits for all before it: write 1, or \
                              choose another model";
                Err(SettingError::new("iodepth", settings.iodepth, wanted))
            }
            _ => Ok(()),
        }
    }
}

fn as_setting(error: ReplayError) -> SettingError {
    match error {
        ReplayError::BadSetting { name, got, wanted } => SettingError { name: name.to_owned(), got, wanted },
        other => SettingError::new("trace", other, "name another trace"),
    }
}

#[cfg(test)]
mod tests {
    use manometer_measure::Rate;

    use super::*;

    #[test]
    fn what_does_not_go_with_a_trace_is_refused_with_what_does() {
        let recorded = RecordedSettings { trace: Some("t".into()), ..RecordedSettings::default() };
        let good = IoSettings { recorded: recorded.clone(), ..IoSettings::default() };
        let with = |change: RecordedSettings| IoSettings { recorded: change, ..good.clone() };
        assert_eq!(RecordedSettings::check(&good), Ok(()));
        let unordered = Some(Model::ClosedUnordered);
        let conservative = Some(Model::ClosedConservative);
        let cases = [
            (with(RecordedSettings { trace: None, factor: Some(2.0), ..recorded.clone() }), "trace", "name the trace"),
            (with(RecordedSettings { factor: Some(2.0), ..recorded.clone() }), "factor", "only `scaled`"),
            (with(RecordedSettings { time: Some(Timing::Full), ..recorded.clone() }), "time", "all of them at once"),
            (with(RecordedSettings { model: unordered, ..recorded.clone() }), "time", "write `full`"),
            (
                with(RecordedSettings { model: Some(Model::ClosedPerClient), ..recorded.clone() }),
                "model",
                "tell no clients",
            ),
            (
                IoSettings {
                    iodepth: 2,
                    ..with(RecordedSettings { model: conservative, time: Some(Timing::Full), ..recorded })
                },
                "iodepth",
                "write 1",
            ),
            (IoSettings { write_ratio: 0.5, ..good.clone() }, "write_ratio", "leave it out"),
            (IoSettings { random_ratio: 0.5, ..good.clone() }, "random_ratio", "leave it out"),
            (IoSettings { rate: Some(Rate::Requests(1.0)), ..good.clone() }, "rate", "`factor`"),
        ];
        for (settings, name, wanted) in cases {
            let error = RecordedSettings::check(&settings).unwrap_err();
            assert_eq!(error.name, name, "{error}");
            assert!(error.wanted.contains(wanted), "{error}");
        }
    }
}
