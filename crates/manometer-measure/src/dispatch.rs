//! How a schedule was kept: when requests were due, and when they were sent.
//!
//! What is kept grows with the schedule's span in windows, not with its requests. What it says of a replay is left to
//! `manometer-analysis`.

use serde::{Deserialize, Serialize};

use crate::cells::{cell_of, nearest_cell, value_of};
use crate::histogram::{LatencyHistogram, MAX_LATENCY_NS};

/// How exactly two gaps are told apart: by a microsecond, and beyond 2 ms by a thousandth.
pub const GAP_UNIT_NS: u64 = 1_000;
/// A request that is sent later than this after it was due is late.
pub const LATE_NS: u64 = 100_000;
/// Windows that a schedule is counted in, where it has so many: fewer say little of bursts.
const WINDOWS_WANTED: u64 = 256;
/// The windows that there are, the longest first.
const WINDOWS_NS: [u64; 4] = [1_000_000_000, 100_000_000, 10_000_000, 1_000_000];
/// The most windows that are kept: where there would be more, each becomes twice as long.
const WINDOWS_MAX: u64 = 1 << 20;
/// What is made room for beyond the span, as a replay that falls behind takes longer, and at most beforehand.
const WINDOWS_BEYOND: u64 = 1024;
const WINDOWS_ROOM_MAX: u64 = 1 << 16;

/// How finely a schedule is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grain {
    /// How exactly two gaps are told apart, in nanoseconds.
    pub gap_ns: u64,
    /// From when on a request is late, in nanoseconds after it was due.
    pub late_ns: u64,
    /// The length of a window, in nanoseconds.
    pub window_ns: u64,
    /// How long the schedule is.
    pub span_ns: u64,
}

impl Grain {
    /// The grain of a schedule of `span_ns` whose own clock goes in steps of `step_ns`: what happens between two
    /// steps it does not know.
    pub fn new(span_ns: u64, step_ns: u64) -> Self {
        let enough = |window_ns: &u64| span_ns / window_ns >= WINDOWS_WANTED;
        let shortest = WINDOWS_NS[WINDOWS_NS.len() - 1];
        let mut window_ns = WINDOWS_NS.into_iter().find(enough).unwrap_or(shortest).max(step_ns);
        // Half of them are for a replay that takes longer.
        while span_ns / window_ns >= WINDOWS_MAX / 2 {
            window_ns = window_ns.saturating_mul(2);
        }
        Self { gap_ns: GAP_UNIT_NS.max(step_ns), late_ns: LATE_NS.max(step_ns), window_ns, span_ns }
    }
}

/// What became of a replay, whole or one thread's or process's share of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Replayed {
    /// The model's name.
    pub model: String,
    /// Whether the model keeps an order: then requests out of it are errors.
    pub ordered: bool,
    /// From its begin to its last answer, pauses taken out, in nanoseconds.
    pub length_ns: u64,
    /// Whether somebody ended it before the trace ended.
    pub cut: bool,
    /// Requests that the trace has.
    pub requests: u64,
    /// Requests that were sent.
    pub sent: u64,
    /// Requests that the engine did not answer as it should.
    pub errors: u64,
    /// What was wrong with the first of them.
    pub error: Option<String>,
    /// Requests that were sent after one that the trace has behind them, where the model says which must not.
    pub order_violations: u64,
    /// How the schedule was kept; nothing where requests are sent as fast as they are answered.
    pub dispatch: Option<Dispatch>,
}

impl Replayed {
    /// Adds what became of another share of the same replay.
    pub fn add(&mut self, other: &Self) {
        self.length_ns = self.length_ns.max(other.length_ns);
        self.cut |= other.cut;
        self.requests += other.requests;
        self.sent += other.sent;
        self.errors += other.errors;
        self.error = self.error.take().or_else(|| other.error.clone());
        self.order_violations += other.order_violations;
        match (&mut self.dispatch, &other.dispatch) {
            (Some(dispatch), Some(more)) => dispatch.add(more),
            (dispatch, more) => *dispatch = dispatch.take().or_else(|| more.clone()),
        }
    }

    /// Requests that should have been sent and were not; those behind a cut should not.
    pub fn dropped(&self) -> u64 {
        if self.cut { 0 } else { self.requests.saturating_sub(self.sent) }
    }
}

/// What was kept of a schedule and of what became of it. Times count from the schedule's zero.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Dispatch {
    /// How finely it was looked at.
    pub grain: Grain,
    /// How long after they were due requests were sent.
    pub error: LatencyHistogram,
    /// Requests that were late.
    pub late: u64,
    /// When requests were due.
    pub due: Course,
    /// When they were sent.
    pub sent: Course,
}

impl Dispatch {
    /// Nothing yet.
    pub fn new(grain: Grain) -> Self {
        Self { grain, error: LatencyHistogram::new(), late: 0, due: Course::new(grain), sent: Course::new(grain) }
    }

    /// Counts a request. Requests come in the order in which they are due and sent.
    #[inline]
    pub fn count(&mut self, due_ns: u64, sent_ns: u64) {
        let error_ns = sent_ns.saturating_sub(due_ns);
        self.error.record(error_ns);
        self.late += u64::from(error_ns > self.grain.late_ns);
        self.due.count(due_ns);
        self.sent.count(sent_ns);
        if self.due.windows.window_ns != self.sent.windows.window_ns {
            self.align();
        }
    }

    /// Has the windows of both be equally long, so that they can be laid over one another.
    #[cold]
    fn align(&mut self) {
        let window_ns = self.due.windows.window_ns.max(self.sent.windows.window_ns);
        self.due.windows.widen_to(window_ns);
        self.sent.windows.widen_to(window_ns);
    }

    /// Adds what another thread or process kept of its share of the same schedule.
    pub fn add(&mut self, other: &Self) {
        self.error.add(&other.error);
        self.late += other.late;
        self.due.add(&other.due);
        self.sent.add(&other.sent);
        self.align();
    }
}

/// When requests came.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Course {
    /// When the first came, in nanoseconds since the schedule's zero; nothing before the first.
    pub first_ns: Option<u64>,
    /// When the last came.
    pub last_ns: u64,
    /// How far they were apart.
    pub gaps: Gaps,
    /// How many came in each window.
    pub windows: Windows,
}

impl Course {
    fn new(grain: Grain) -> Self {
        let windows = Windows::new(grain.window_ns, grain.span_ns);
        Self { first_ns: None, last_ns: 0, gaps: Gaps::new(grain.gap_ns), windows }
    }

    #[inline]
    fn count(&mut self, t_ns: u64) {
        match self.first_ns {
            None => self.first_ns = Some(t_ns),
            Some(_) => self.gaps.count(t_ns.saturating_sub(self.last_ns)),
        }
        self.last_ns = t_ns;
        self.windows.count(t_ns);
    }

    fn add(&mut self, other: &Self) {
        let first = [self.first_ns, other.first_ns].into_iter().flatten().min();
        self.first_ns = first;
        self.last_ns = self.last_ns.max(other.last_ns);
        self.gaps.add(&other.gaps);
        self.windows.add(&other.windows);
    }
}

/// How far requests were apart, each gap in the cell that is nearest to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(into = "GapsForm", from = "GapsForm")]
pub struct Gaps {
    unit_ns: u64,
    counts: Vec<u64>,
}

/// The machine form of [`Gaps`]: the cells that are not empty.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct GapsForm {
    unit_ns: u64,
    cells: Vec<(usize, u64)>,
}

const CELLS: usize = cell_of(MAX_LATENCY_NS) + 2;

impl Gaps {
    fn new(unit_ns: u64) -> Self {
        Self { unit_ns, counts: vec![0; CELLS] }
    }

    #[inline]
    fn count(&mut self, gap_ns: u64) {
        let units = gap_ns.saturating_add(self.unit_ns / 2) / self.unit_ns;
        self.counts[nearest_cell(units.min(MAX_LATENCY_NS))] += 1;
    }

    fn add(&mut self, other: &Self) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(count, more)| *count += more);
    }

    /// How many gaps each cell counted, from the shortest.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// The gap in nanoseconds that the share `quantile` (0 to 1) of gaps does not exceed; nothing without any.
    pub fn quantile_ns(&self, quantile: f64) -> Option<u64> {
        let all: u64 = self.counts.iter().sum();
        let wanted = ((all as f64 * quantile).ceil() as u64).max(1);
        let mut seen = 0;
        let cell = self.counts.iter().position(|count| {
            seen += count;
            seen >= wanted
        })?;
        Some(value_of(cell).saturating_mul(self.unit_ns))
    }
}

impl From<Gaps> for GapsForm {
    fn from(gaps: Gaps) -> Self {
        let cells = gaps.counts.into_iter().enumerate().filter(|(_, count)| *count > 0).collect();
        Self { unit_ns: gaps.unit_ns, cells }
    }
}

impl From<GapsForm> for Gaps {
    fn from(form: GapsForm) -> Self {
        let mut gaps = Self::new(form.unit_ns.max(1));
        for (cell, count) in form.cells {
            gaps.counts[cell.min(CELLS - 1)] += count;
        }
        gaps
    }
}

/// How many requests came in each window, from the schedule's zero on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Windows {
    window_ns: u64,
    counts: Vec<u64>,
    end_ns: u64,
}

impl Windows {
    fn new(window_ns: u64, span_ns: u64) -> Self {
        let room = (span_ns / window_ns).saturating_add(WINDOWS_BEYOND).min(WINDOWS_ROOM_MAX);
        Self { window_ns, counts: Vec::with_capacity(room as usize), end_ns: 0 }
    }

    /// A request at `t_ns`, which is not before the one before it.
    #[inline]
    fn count(&mut self, t_ns: u64) {
        if t_ns >= self.end_ns {
            self.reach(t_ns);
        }
        if let Some(last) = self.counts.last_mut() {
            *last += 1;
        }
    }

    /// Goes on to the window of `t_ns`.
    fn reach(&mut self, t_ns: u64) {
        while t_ns / self.window_ns >= WINDOWS_MAX {
            self.double();
        }
        let windows = (t_ns / self.window_ns) as usize + 1;
        self.counts.resize(windows.max(self.counts.len()), 0);
        self.end_ns = self.end();
    }

    fn double(&mut self) {
        for at in 0..self.counts.len().div_ceil(2) {
            self.counts[at] = self.counts[2 * at] + self.counts.get(2 * at + 1).unwrap_or(&0);
        }
        self.counts.truncate(self.counts.len().div_ceil(2));
        self.window_ns = self.window_ns.max(1).saturating_mul(2);
        self.end_ns = self.end();
    }

    fn end(&self) -> u64 {
        self.window_ns.saturating_mul(self.counts.len() as u64)
    }

    fn widen_to(&mut self, window_ns: u64) {
        while self.window_ns < window_ns {
            self.double();
        }
    }

    fn add(&mut self, other: &Self) {
        self.widen_to(other.window_ns);
        let mut other = other.clone();
        other.widen_to(self.window_ns);
        self.counts.resize(self.counts.len().max(other.counts.len()), 0);
        self.end_ns = self.end();
        self.counts.iter_mut().zip(&other.counts).for_each(|(count, more)| *count += more);
    }

    /// The length of a window in nanoseconds.
    pub fn window_ns(&self) -> u64 {
        self.window_ns
    }

    /// How many requests came in each.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dispatch(times: &[(u64, u64)]) -> Dispatch {
        let mut dispatch = Dispatch::new(Grain::new(10_000_000_000, 1));
        times.iter().for_each(|(due_ns, sent_ns)| dispatch.count(*due_ns, *sent_ns));
        dispatch
    }

    #[test]
    fn what_is_kept_tells_errors_gaps_and_windows() {
        let kept = dispatch(&[(0, 100), (10_000_000, 10_000_000), (30_000_000, 30_200_000)]);
        assert_eq!((kept.error.len(), kept.late, kept.error.max_ns()), (3, 1, Some(200_063)));
        assert_eq!((kept.due.first_ns, kept.due.last_ns, kept.sent.last_ns), (Some(0), 30_000_000, 30_200_000));
        assert_eq!(kept.due.gaps.quantile_ns(0.5), Some(10_000_000));
        assert_eq!(kept.due.gaps.quantile_ns(1.0), Some(20_000_000));
        assert_eq!((kept.due.windows.window_ns(), kept.due.windows.counts()), (10_000_000, &[1, 1, 0, 1][..]));
    }

    #[test]
    fn parts_make_the_whole() {
        let mut whole = dispatch(&[(0, 0), (2_000_000, 2_000_000)]);
        whole.add(&dispatch(&[(12_000_000, 12_300_000)]));
        assert_eq!((whole.error.len(), whole.late), (3, 1));
        assert_eq!((whole.sent.first_ns, whole.sent.last_ns), (Some(0), 12_300_000));
        assert_eq!(whole.sent.windows.counts(), [2, 1]);
    }

    #[test]
    fn the_clock_of_a_trace_says_how_finely_it_is_looked_at() {
        let second = 1_000_000_000;
        let coarse = Grain::new(1_000 * second, second);
        assert_eq!((coarse.gap_ns, coarse.late_ns, coarse.window_ns), (second, second, second));
        let short = Grain::new(second, 1);
        assert_eq!((short.gap_ns, short.late_ns, short.window_ns), (GAP_UNIT_NS, LATE_NS, 1_000_000));
    }

    #[test]
    fn no_window_is_shorter_than_a_step_of_the_trace_s_clock() {
        let second = 1_000_000_000;
        assert_eq!(Grain::new(10 * second, second).window_ns, second);
    }

    #[test]
    fn what_is_kept_is_bounded_whatever_the_span() {
        let span_ns = 18_000_000_000_000_000_000;
        let grain = Grain::new(span_ns, 1);
        assert!(span_ns / grain.window_ns < WINDOWS_MAX);
        let mut kept = Dispatch::new(grain);
        [0, span_ns, u64::MAX].into_iter().for_each(|t_ns| kept.count(t_ns, t_ns));
        assert!(kept.due.windows.counts().len() as u64 <= WINDOWS_MAX);
        assert_eq!(kept.due.windows.counts().iter().sum::<u64>(), 3);
    }

    #[test]
    fn windows_of_a_replay_that_takes_far_longer_stay_those_of_its_trace() {
        let mut kept = Dispatch::new(Grain::new(1_000_000, 1));
        kept.count(0, 0);
        kept.count(1_000_000, 4_000_000_000_000);
        let windows_ns = [&kept.due, &kept.sent].map(|course| course.windows.window_ns());
        assert_eq!(windows_ns, [4_000_000; 2]);
        assert_eq!(kept.due.windows.counts(), [2]);
        assert_eq!(kept.sent.windows.counts().len(), 1_000_001);
        let mut short = Dispatch::new(Grain::new(1_000_000, 1));
        short.count(0, 5_000_000);
        short.add(&kept);
        assert_eq!((short.due.windows.counts(), short.sent.windows.window_ns()), (&[3][..], 4_000_000));
        assert_eq!(short.sent.windows.counts()[..2], [1, 1]);
    }

    #[test]
    fn what_is_kept_survives_its_machine_form() {
        let kept = dispatch(&[(0, 100), (10_000_000, 10_000_000)]);
        let text = serde_json::to_string(&kept).unwrap();
        assert!(text.len() < 2_000, "{text}");
        assert_eq!(serde_json::from_str::<Dispatch>(&text).unwrap(), kept);
    }

    #[test]
    fn no_gap_is_too_long() {
        let kept = dispatch(&[(0, 0), (4_000_000_000_000, 4_000_000_000_000)]);
        assert_eq!(kept.due.gaps.counts().iter().sum::<u64>(), 1);
        let mut gaps = Gaps::new(1_000);
        gaps.count(u64::MAX - 1_000);
        assert_eq!(gaps.counts().iter().sum::<u64>(), 1);
    }
}
