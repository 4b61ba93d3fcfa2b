//! What rules are evaluated on: a recording, the series that were read from it, and the results of its phases.

use manometer_measure::{Event, PhaseKind, Recording, Samples};
use serde_json::{Map, Value};

use crate::phase_result::PhaseResult;
use crate::pressure::Performance;
use crate::recording_data::RecordingData;
use crate::statistics::moments::mean;
use crate::time_series::TimeWindow;

/// A reading requested at the end of a phase arrives within this time.
const MAX_READING_DELAY_NS: u64 = 15_000_000_000;

/// What rules are evaluated on.
pub(super) struct Evidence<'a> {
    pub(super) recording: &'a Recording,
    pub(super) data: &'a RecordingData,
    pub(super) results: &'a [PhaseResult<'a>],
}

impl<'a> Evidence<'a> {
    /// Whether the recording was imported: nobody can sample less often then.
    pub(super) fn is_imported(&self) -> bool {
        self.recording.environment.get("imported").is_some()
    }

    /// What the result rests on in a phase: the primary's performance, or that of every workload where there is no primary.
    pub(super) fn judged_performances(&self, result: &'a PhaseResult<'a>) -> Vec<&'a Performance> {
        match self.recording.plan.primary() {
            Some(_) => vec![&result.performance],
            None => result.neighbours.values().collect(),
        }
    }

    /// The measured phases, each with the intervals in which it was measured.
    pub(super) fn measured_phases(&self) -> impl Iterator<Item = (&'a PhaseResult<'a>, &'a [TimeWindow])> {
        self.results.iter().filter_map(|result| Some((result, result.outcome.time().ok()?.windows())))
    }

    /// The measured phases in which the primary ran.
    pub(super) fn primary_phases(&self) -> impl Iterator<Item = (&'a PhaseResult<'a>, &'a [TimeWindow])> {
        self.measured_phases().filter(|(result, _)| result.phase.kind != PhaseKind::Solo)
    }

    /// From the start of the first measured phase, readings at that moment included, to the end of the last.
    pub(super) fn measured_time(&self) -> Option<TimeWindow> {
        let windows = || self.measured_phases().flat_map(|(_, windows)| windows);
        let begin_ns = windows().map(|window| window.begin_ns).min()?;
        let end_ns = windows().map(|window| window.end_ns).max()?;
        Some(TimeWindow { begin_ns: begin_ns.saturating_sub(1), end_ns })
    }

    /// The largest change that neighbours made, in either direction, and whether its interval excludes 0: among those whose
    /// interval does, if any.
    pub(super) fn largest_pressure(&self) -> (f64, bool) {
        let under_pressure = self.results.iter().filter(|one| one.is_under_pressure());
        let sizes =
            under_pressure.filter_map(|result| Some((result.pressure.value?.abs(), result.pressure.excludes_0())));
        let by_evidence = |one: &(f64, bool), other: &(f64, bool)| one.1.cmp(&other.1).then(one.0.total_cmp(&other.0));
        sizes.max_by(by_evidence).unwrap_or((0.0, false))
    }

    /// The sample series `source`.
    pub(super) fn series(&self, source: &str) -> Option<&'a Samples> {
        self.data.samples(source)
    }

    /// The statistics of the primary's engine.
    pub(super) fn engine(&self) -> Option<&'a Samples> {
        self.series(&format!("{}.engine", self.recording.plan.primary()?.name))
    }

    /// What the primary reported when it was ready.
    pub(super) fn primary_facts(&self) -> Option<&'a Map<String, Value>> {
        self.facts_of(&self.recording.plan.primary()?.name)
    }

    /// What the workload `name` reported when it was ready.
    pub(super) fn facts_of(&self, name: &str) -> Option<&'a Map<String, Value>> {
        self.recording.events.iter().rev().find_map(|line| match &line.event {
            Event::Ready { workload, facts } if workload == name => Some(facts),
            _ => None,
        })
    }

    /// The measured device; `None` where none was recorded.
    pub(super) fn device(&self) -> Option<&'a Map<String, Value>> {
        self.recording.environment.get("device")?.as_object()
    }

    /// The measured device if it can be flash: neither virtual nor rotating.
    pub(super) fn flash(&self) -> Option<&'a Map<String, Value>> {
        let is_set = |device: &Map<String, Value>, key: &str| device.get(key) == Some(&Value::Bool(true));
        self.device().filter(|device| !is_set(device, "virtual") && !is_set(device, "rotational"))
    }

    /// The state of the device as prepared.
    pub(super) fn device_state(&self) -> Option<&'a Map<String, Value>> {
        self.recording.environment.get("device_state")?.as_object()
    }
}

/// The values of a column in `windows`, each with the end of its interval.
pub(super) fn values(samples: &Samples, column: &str, windows: &[TimeWindow]) -> Vec<(u64, f64)> {
    let Some(values) = samples.column(column) else { return Vec::new() };
    let is_inside = |t_ns: u64| windows.iter().any(|window| t_ns > window.begin_ns && t_ns <= window.end_ns);
    let inside = samples.t_ns.iter().zip(values).filter(|(t_ns, _)| is_inside(**t_ns));
    inside.filter_map(|(t_ns, value)| Some((*t_ns, (*value).filter(|value| value.is_finite())?))).collect()
}

/// The readings of a column that is read rarely: those from the start of `window` to its end, and without one at the end
/// the first after it, which was requested there and arrived late.
pub(super) fn readings(samples: &Samples, column: &str, window: TimeWindow) -> Vec<(u64, f64)> {
    let extended = TimeWindow {
        begin_ns: window.begin_ns.saturating_sub(1),
        end_ns: window.end_ns.saturating_add(MAX_READING_DELAY_NS),
    };
    let mut readings = values(samples, column, &[extended]);
    let end = readings.iter().position(|(t_ns, _)| *t_ns >= window.end_ns);
    readings.truncate(end.map_or(readings.len(), |end| end + 1));
    readings
}

/// The first and the last reading of a column in `window`; `None` for fewer than two.
pub(super) fn first_and_last(samples: &Samples, column: &str, window: TimeWindow) -> Option<(f64, f64)> {
    match readings(samples, column, window).as_slice() {
        [first, .., last] => Some((first.1, last.1)),
        _ => None,
    }
}

/// The growth of a counter in `window`; `None` where it was not read twice.
pub(super) fn growth(samples: &Samples, column: &str, window: TimeWindow) -> Option<f64> {
    first_and_last(samples, column, window).map(|(first, last)| last - first)
}

/// The mean of a column in `windows`.
pub(super) fn mean_of(samples: &Samples, column: &str, windows: &[TimeWindow]) -> Option<f64> {
    mean(&values(samples, column, windows).into_iter().map(|(_, value)| value).collect::<Vec<_>>())
}

/// The total of a rate per second over `windows`; `None` where it was not sampled.
pub(super) fn total_of_rate(samples: &Samples, column: &str, windows: &[TimeWindow]) -> Option<f64> {
    Some(mean_of(samples, column, windows)? * windows.iter().map(TimeWindow::seconds).sum::<f64>())
}

#[cfg(test)]
mod tests {
    use manometer_measure::Column;

    use super::*;

    #[test]
    fn the_last_reading_is_the_first_at_or_shortly_after_the_end() {
        const SECOND: u64 = 1_000_000_000;
        let of = |seconds: &[u64]| {
            let samples = Samples {
                t_ns: seconds.iter().map(|second| second * SECOND).collect(),
                columns: vec![Column::new("temperature", "°C")],
                values: vec![seconds.iter().map(|second| Some(*second as f64)).collect()],
                truncated: false,
                damaged: false,
            };
            let window = TimeWindow { begin_ns: 10 * SECOND, end_ns: 60 * SECOND };
            readings(&samples, "temperature", window).into_iter().map(|(_, value)| value).collect::<Vec<_>>()
        };
        assert_eq!(of(&[9, 10, 40, 60, 61]), [10.0, 40.0, 60.0]);
        assert_eq!(of(&[11, 40, 63, 64]), [11.0, 40.0, 63.0], "it arrived late");
        assert_eq!(of(&[11, 40, 76]), [11.0, 40.0], "that is another reading");
        assert_eq!(of(&[]), [] as [f64; 0]);
    }
}
