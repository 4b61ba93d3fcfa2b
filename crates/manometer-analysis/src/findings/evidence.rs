//! What findings are judged by: a recording, what was read of it, and what was computed.

use manometer_measure::{Event, PhaseKind, Recording, Samples};
use serde_json::Value;

use crate::series::Window;
use crate::sources::Sources;
use crate::statistics::moments::mean;
use crate::summarise::Judged;

/// No reading that was asked for at the end of a phase comes later than this.
const LATE_NS: u64 = 15_000_000_000;

/// What findings are judged by.
pub(super) struct Evidence<'a> {
    pub(super) recording: &'a Recording,
    pub(super) sources: &'a Sources,
    pub(super) judged: &'a [Judged<'a>],
}

impl<'a> Evidence<'a> {
    /// The phases that were measured, with when.
    pub(super) fn measured(&self) -> impl Iterator<Item = (&'a Judged<'a>, Window)> {
        self.judged.iter().filter_map(|one| Some((one, one.fate.window().ok()?)))
    }

    /// The measured phases in which the primary ran.
    pub(super) fn with_primary(&self) -> impl Iterator<Item = (&'a Judged<'a>, Window)> {
        self.measured().filter(|(one, _)| one.phase.kind != PhaseKind::Solo)
    }

    /// From the begin of the first measured phase to the end of the last; what was read at its very begin counts too.
    pub(super) fn whole(&self) -> Option<Window> {
        let begin_ns = self.measured().map(|(_, window)| window.begin_ns).min()?;
        let end_ns = self.measured().map(|(_, window)| window.end_ns).max()?;
        Some(Window { begin_ns: begin_ns.saturating_sub(1), end_ns })
    }

    /// The sample series `source`.
    pub(super) fn series(&self, source: &str) -> Option<&'a Samples> {
        self.sources.samples(source)
    }

    /// The state of the primary's engine.
    pub(super) fn engine(&self) -> Option<&'a Samples> {
        self.series(&format!("{}.engine", self.recording.plan.primary()?.name))
    }

    /// What the primary told when it was ready.
    pub(super) fn facts(&self) -> Option<&'a serde_json::Map<String, Value>> {
        let primary = &self.recording.plan.primary()?.name;
        self.recording.events.iter().rev().find_map(|line| match &line.event {
            Event::Ready { workload, facts } if workload == primary => Some(facts),
            _ => None,
        })
    }

    /// What is known of the measured device; nothing where none was recorded.
    pub(super) fn device(&self) -> Option<&'a serde_json::Map<String, Value>> {
        self.recording.environment.get("device")?.as_object()
    }

    /// The measured device where it can be flash that we see: neither a hypervisor's nor rotating.
    pub(super) fn flash(&self) -> Option<&'a serde_json::Map<String, Value>> {
        let says = |device: &serde_json::Map<String, Value>, key: &str| device.get(key) == Some(&Value::Bool(true));
        self.device().filter(|device| !says(device, "virtual") && !says(device, "rotational"))
    }

    /// The state of the device as prepared.
    pub(super) fn device_state(&self) -> Option<&'a serde_json::Map<String, Value>> {
        self.recording.environment.get("device_state")?.as_object()
    }
}

/// The numbers of a column in `window`, with when each interval ended.
pub(super) fn rows(samples: &Samples, column: &str, window: Window) -> Vec<(u64, f64)> {
    let Some(values) = samples.column(column) else { return Vec::new() };
    let inside =
        samples.t_ns.iter().zip(values).filter(|(t_ns, _)| **t_ns > window.begin_ns && **t_ns <= window.end_ns);
    let rows = inside.filter_map(|(t_ns, value)| Some((*t_ns, (*value).filter(|value| value.is_finite())?)));
    rows.collect()
}

/// The numbers of a column that is read rarely, with when: those from the begin of `window` to its end, and where none
/// stands at the end the first behind it, which was asked for there and came late.
pub(super) fn states(samples: &Samples, column: &str, window: Window) -> Vec<(u64, f64)> {
    let late = Window { begin_ns: window.begin_ns.saturating_sub(1), end_ns: window.end_ns.saturating_add(LATE_NS) };
    let mut rows = rows(samples, column, late);
    let end = rows.iter().position(|(t_ns, _)| *t_ns >= window.end_ns);
    rows.truncate(end.map_or(rows.len(), |end| end + 1));
    rows
}

/// The mean of a column in `window`.
pub(super) fn mean_of(samples: &Samples, column: &str, window: Window) -> Option<f64> {
    mean(&rows(samples, column, window).into_iter().map(|(_, value)| value).collect::<Vec<_>>())
}

/// What a rate per second amounts to over `window`; nothing where it was not seen.
pub(super) fn amount(samples: &Samples, column: &str, window: Window) -> Option<f64> {
    Some(mean_of(samples, column, window)? * window.seconds())
}

#[cfg(test)]
mod tests {
    use manometer_measure::Column;

    use super::*;

    #[test]
    fn the_state_at_the_end_is_the_first_that_stands_there_or_behind() {
        const SECOND: u64 = 1_000_000_000;
        let of = |seconds: &[u64]| {
            let samples = Samples {
                t_ns: seconds.iter().map(|second| second * SECOND).collect(),
                columns: vec![Column::new("temperature", "°C")],
                values: vec![seconds.iter().map(|second| Some(*second as f64)).collect()],
                cut: false,
            };
            let rows = states(&samples, "temperature", Window { begin_ns: 10 * SECOND, end_ns: 60 * SECOND });
            rows.into_iter().map(|(_, value)| value).collect::<Vec<_>>()
        };
        assert_eq!(of(&[9, 10, 40, 60, 61]), [10.0, 40.0, 60.0]);
        assert_eq!(of(&[11, 40, 63, 64]), [11.0, 40.0, 63.0], "it came late");
        assert_eq!(of(&[11, 40, 76]), [11.0, 40.0], "that is another reading");
        assert_eq!(of(&[]), [] as [f64; 0]);
    }
}
