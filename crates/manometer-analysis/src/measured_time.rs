//! When a phase was measured: in one interval, or, in an interleaved plan, in one for each of its blocks.

use crate::time_series::{TimeSeries, TimeWindow};

/// The intervals in which a phase was measured, in order and disjoint; at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MeasuredTime(Vec<TimeWindow>);

impl MeasuredTime {
    /// The time of `windows`; `None` for none.
    pub(crate) fn of(windows: Vec<TimeWindow>) -> Option<Self> {
        (!windows.is_empty()).then_some(Self(windows))
    }

    /// Its intervals.
    pub(crate) fn windows(&self) -> &[TimeWindow] {
        &self.0
    }

    /// Its length in seconds, without the time between its intervals.
    pub(crate) fn seconds(&self) -> f64 {
        self.0.iter().map(TimeWindow::seconds).sum()
    }

    /// From the start of its first interval to the end of its last.
    pub(crate) fn span(&self) -> TimeWindow {
        let begin_ns = self.0.first().map_or(0, |first| first.begin_ns);
        TimeWindow { begin_ns, end_ns: self.0.last().map_or(begin_ns, |last| last.end_ns) }
    }

    /// The series of its intervals as one, with the times since its start.
    pub(crate) fn joined(&self, stretches: Vec<TimeSeries>) -> TimeSeries {
        let mut joined = TimeSeries::default();
        let start_ns = self.span().begin_ns;
        for (window, series) in self.0.iter().zip(stretches) {
            let offset_s = window.begin_ns.saturating_sub(start_ns) as f64 / 1e9;
            joined.end_s.extend(series.end_s.iter().map(|end_s| offset_s + end_s));
            joined.values.extend(series.values);
        }
        joined
    }
}

impl From<TimeWindow> for MeasuredTime {
    fn from(window: TimeWindow) -> Self {
        Self(vec![window])
    }
}
