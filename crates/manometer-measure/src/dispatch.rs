//! How closely a replay kept its schedule: when requests were due and when they were sent.
//!
//! Memory grows with the number of windows in the schedule's span, not with the number of requests.
//! `manometer-analysis` judges the result.

use serde::{Deserialize, Serialize};

use crate::histogram::{LatencyHistogram, MAX_LATENCY_NS};
use crate::histogram_bins::{bin_of, lowest_value_of, nearest_bin};

/// The resolution of gaps between requests: 1 µs, and one thousandth of a gap above 2 ms.
pub const GAP_UNIT_NS: u64 = 1_000;
/// A request is late when it is sent more than this after it was due.
pub const LATE_NS: u64 = 100_000;
/// The least number of windows that shows bursts. A shorter span uses the shortest window.
const WINDOWS_MIN: u64 = 256;
/// The window lengths, longest first.
const WINDOWS_NS: [u64; 4] = [1_000_000_000, 100_000_000, 10_000_000, 1_000_000];
/// The most windows that are kept. Beyond it, every window doubles in length.
const WINDOWS_MAX: u64 = 1 << 20;
/// Windows reserved beyond the span, since a replay that falls behind takes longer, and the most that are reserved.
const WINDOWS_RESERVE: u64 = 1024;
const WINDOWS_RESERVE_MAX: u64 = 1 << 16;

/// The resolution at which a schedule is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DispatchResolution {
    /// The resolution of gaps between requests, in nanoseconds.
    pub gap_ns: u64,
    /// The delay beyond which a request is late, in nanoseconds.
    pub late_ns: u64,
    /// The length of a window, in nanoseconds.
    pub window_ns: u64,
    /// The length of the schedule, in nanoseconds.
    pub span_ns: u64,
    /// The step of the trace's clock, in the schedule's time, in nanoseconds; 0 in recordings that do not hold it.
    #[serde(default)]
    pub step_ns: u64,
    /// Whether requests that share a time are spread over the step: their due times within it are chosen, not recorded.
    #[serde(default)]
    pub is_spread: bool,
}

impl DispatchResolution {
    /// The resolution for a schedule of `span_ns` whose timestamps have a granularity of `step_ns`. No figure is finer
    /// than the granularity.
    pub fn new(span_ns: u64, step_ns: u64) -> Self {
        let enough = |window_ns: &u64| span_ns / window_ns >= WINDOWS_MIN;
        let shortest = WINDOWS_NS[WINDOWS_NS.len() - 1];
        let mut window_ns = WINDOWS_NS.into_iter().find(enough).unwrap_or(shortest).max(step_ns);
        // The other half is left for a replay that takes longer.
        while span_ns / window_ns >= WINDOWS_MAX / 2 {
            window_ns = window_ns.saturating_mul(2);
        }
        let (gap_ns, late_ns) = (GAP_UNIT_NS.max(step_ns), LATE_NS.max(step_ns));
        Self { gap_ns, late_ns, window_ns, span_ns, step_ns, is_spread: false }
    }

    /// The resolution for a schedule that spreads requests over the steps of the trace's clock. Due times are as fine as
    /// the replay's own clock, and requests are compared with them.
    pub fn spread(span_ns: u64, step_ns: u64) -> Self {
        Self { step_ns, is_spread: true, ..Self::new(span_ns.saturating_add(step_ns), 1) }
    }

    /// Whether the trace's clock is coarser than the limit of lateness.
    pub fn is_coarse(&self) -> bool {
        self.step_ns.max(if self.is_spread { 0 } else { self.late_ns }) > LATE_NS
    }
}

/// The outcome of a replay, or of one thread's or process's share of it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ReplayOutcome {
    /// The model's name.
    pub model: String,
    /// Whether the model guarantees an order, so that a request out of order is an error.
    pub ordered: bool,
    /// The time from its start to its last response without pauses, in nanoseconds.
    pub length_ns: u64,
    /// Whether it was stopped before the trace ended.
    #[serde(alias = "cut")]
    pub interrupted: bool,
    /// Requests in the trace.
    pub requests: u64,
    /// Requests sent.
    pub sent: u64,
    /// Requests that failed.
    pub errors: u64,
    /// The message of the first failure.
    pub error: Option<String>,
    /// Requests sent after a request that follows them in the trace, where the model forbids that.
    pub order_violations: u64,
    /// Requests without an answer within the limit of time; they count as failed.
    #[serde(default)]
    pub given_up: u64,
    /// The most requests in flight at a time; 0 where each waits for an answer before it.
    #[serde(default)]
    pub in_flight_max: u64,
    /// Where the trace is damaged and how: what follows was not replayed.
    #[serde(default)]
    pub damage: Option<String>,
    /// Recorded requests that the trace's reader does not hold: the recorder lost them, or no operation expresses them.
    #[serde(default)]
    pub lost: u64,
    /// What of the recorded requests was sent as recorded, and what otherwise.
    #[serde(default)]
    pub sent_as: Vec<SentAs>,
    /// When requests were due and sent; `None` where requests are sent as fast as possible.
    pub dispatch: Option<Dispatch>,
}

/// How one property of the recorded requests was sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentAs {
    /// The property: keys, values, times to live.
    pub what: String,
    /// Requests of which it was sent as recorded.
    pub as_recorded: u64,
    /// Requests of which it was sent in another form.
    pub otherwise: u64,
    /// Requests of which it was left out.
    pub left_out: u64,
    /// The other form, and why it was left out; empty where all was sent as recorded.
    pub how: String,
}

impl SentAs {
    /// Adds the same property of another share of the replay.
    fn add(&mut self, other: &Self) {
        self.as_recorded += other.as_recorded;
        self.otherwise += other.otherwise;
        self.left_out += other.left_out;
        if self.how.is_empty() {
            self.how.clone_from(&other.how);
        }
    }
}

impl ReplayOutcome {
    /// Adds the outcome of another share of the same replay.
    pub fn add(&mut self, other: &Self) {
        self.length_ns = self.length_ns.max(other.length_ns);
        self.interrupted |= other.interrupted;
        self.requests += other.requests;
        self.sent += other.sent;
        self.errors += other.errors;
        self.error = self.error.take().or_else(|| other.error.clone());
        self.order_violations += other.order_violations;
        self.given_up += other.given_up;
        self.in_flight_max += other.in_flight_max;
        self.damage = self.damage.take().or_else(|| other.damage.clone());
        // Every process reads the whole trace.
        self.lost = self.lost.max(other.lost);
        for more in &other.sent_as {
            match self.sent_as.iter_mut().find(|one| one.what == more.what) {
                Some(one) => one.add(more),
                None => self.sent_as.push(more.clone()),
            }
        }
        match (&mut self.dispatch, &other.dispatch) {
            (Some(dispatch), Some(more)) => dispatch.add(more),
            (dispatch, more) => *dispatch = dispatch.take().or_else(|| more.clone()),
        }
    }

    /// Requests that should have been sent and were not. An interrupted replay drops none.
    pub fn dropped(&self) -> u64 {
        if self.interrupted { 0 } else { self.requests.saturating_sub(self.sent) }
    }
}

/// When requests were due and when they were sent, relative to the start of the schedule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Dispatch {
    /// The resolution of the figures below.
    #[serde(alias = "grain")]
    pub resolution: DispatchResolution,
    /// The delay between due time and send time.
    pub error: LatencyHistogram,
    /// Late requests.
    pub late: u64,
    /// When requests were due.
    pub due: DispatchTimes,
    /// When requests were sent.
    pub sent: DispatchTimes,
}

impl Dispatch {
    /// An empty record.
    pub fn new(resolution: DispatchResolution) -> Self {
        let times = DispatchTimes::new(resolution);
        Self { resolution, error: LatencyHistogram::new(), late: 0, due: times.clone(), sent: times }
    }

    /// Counts a request. Both times never decrease from one call to the next.
    #[inline]
    pub fn count(&mut self, due_ns: u64, sent_ns: u64) {
        let error_ns = sent_ns.saturating_sub(due_ns);
        self.error.record(error_ns);
        self.late += u64::from(error_ns > self.resolution.late_ns);
        self.due.count(due_ns);
        self.sent.count(sent_ns);
        if self.due.windows.window_ns != self.sent.windows.window_ns {
            self.align();
        }
    }

    /// Makes the windows of both equally long, so that they can be compared.
    #[cold]
    fn align(&mut self) {
        let window_ns = self.due.windows.window_ns.max(self.sent.windows.window_ns);
        self.due.windows.widen_to(window_ns);
        self.sent.windows.widen_to(window_ns);
    }

    /// Adds the record of another thread or process for its share of the same schedule.
    pub fn add(&mut self, other: &Self) {
        self.error.add(&other.error);
        self.late += other.late;
        self.due.add(&other.due);
        self.sent.add(&other.sent);
        self.align();
    }
}

/// The due times or the send times of requests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DispatchTimes {
    /// The first request, in nanoseconds since the start of the schedule; `None` before the first.
    pub first_ns: Option<u64>,
    /// The last request, in nanoseconds since the start of the schedule.
    pub last_ns: u64,
    /// The gaps between consecutive requests.
    pub gaps: GapHistogram,
    /// The requests in each window.
    pub windows: WindowCounts,
}

impl DispatchTimes {
    fn new(resolution: DispatchResolution) -> Self {
        let windows = WindowCounts::new(resolution.window_ns, resolution.span_ns);
        Self { first_ns: None, last_ns: 0, gaps: GapHistogram::new(resolution.gap_ns), windows }
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

/// The gaps between consecutive requests, each counted in the nearest bin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(into = "EncodedGaps", from = "EncodedGaps")]
pub struct GapHistogram {
    unit_ns: u64,
    counts: Vec<u64>,
}

/// The serialised form of [`GapHistogram`]: the bins that are not empty.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct EncodedGaps {
    unit_ns: u64,
    #[serde(alias = "cells")]
    bins: Vec<(usize, u64)>,
}

const BINS: usize = bin_of(MAX_LATENCY_NS) + 2;

impl GapHistogram {
    fn new(unit_ns: u64) -> Self {
        Self { unit_ns, counts: vec![0; BINS] }
    }

    #[inline]
    fn count(&mut self, gap_ns: u64) {
        let units = gap_ns.saturating_add(self.unit_ns / 2) / self.unit_ns;
        self.counts[nearest_bin(units.min(MAX_LATENCY_NS))] += 1;
    }

    fn add(&mut self, other: &Self) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(count, more)| *count += more);
    }

    /// The number of gaps in each bin, shortest first.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// The gap in nanoseconds at `quantile` (0 to 1); `None` without any gap.
    pub fn quantile_ns(&self, quantile: f64) -> Option<u64> {
        let all: u64 = self.counts.iter().sum();
        let rank = ((all as f64 * quantile).ceil() as u64).max(1);
        let mut passed = 0;
        let bin = self.counts.iter().position(|count| {
            passed += count;
            passed >= rank
        })?;
        Some(lowest_value_of(bin).saturating_mul(self.unit_ns))
    }
}

impl From<GapHistogram> for EncodedGaps {
    fn from(gaps: GapHistogram) -> Self {
        let bins = gaps.counts.into_iter().enumerate().filter(|(_, count)| *count > 0).collect();
        Self { unit_ns: gaps.unit_ns, bins }
    }
}

impl From<EncodedGaps> for GapHistogram {
    fn from(encoded: EncodedGaps) -> Self {
        let mut gaps = Self::new(encoded.unit_ns.max(1));
        for (bin, count) in encoded.bins {
            gaps.counts[bin.min(BINS - 1)] += count;
        }
        gaps
    }
}

/// The number of requests in each window since the start of the schedule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WindowCounts {
    window_ns: u64,
    counts: Vec<u64>,
    end_ns: u64,
}

impl WindowCounts {
    fn new(window_ns: u64, span_ns: u64) -> Self {
        let capacity = (span_ns / window_ns).saturating_add(WINDOWS_RESERVE).min(WINDOWS_RESERVE_MAX);
        Self { window_ns, counts: Vec::with_capacity(capacity as usize), end_ns: 0 }
    }

    /// Counts a request at `t_ns`, which is not before the previous one.
    #[inline]
    fn count(&mut self, t_ns: u64) {
        if t_ns >= self.end_ns {
            self.extend_to(t_ns);
        }
        if let Some(last) = self.counts.last_mut() {
            *last += 1;
        }
    }

    /// Extends the windows up to `t_ns`.
    fn extend_to(&mut self, t_ns: u64) {
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

    /// The length of a window, in nanoseconds.
    pub fn window_ns(&self) -> u64 {
        self.window_ns
    }

    /// The number of requests in each window.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dispatch(times: &[(u64, u64)]) -> Dispatch {
        let mut dispatch = Dispatch::new(DispatchResolution::new(10_000_000_000, 1));
        times.iter().for_each(|(due_ns, sent_ns)| dispatch.count(*due_ns, *sent_ns));
        dispatch
    }

    #[test]
    fn a_dispatch_counts_errors_gaps_and_windows() {
        let recorded = dispatch(&[(0, 100), (10_000_000, 10_000_000), (30_000_000, 30_200_000)]);
        assert_eq!((recorded.error.len(), recorded.late, recorded.error.max_ns()), (3, 1, Some(200_063)));
        assert_eq!(
            (recorded.due.first_ns, recorded.due.last_ns, recorded.sent.last_ns),
            (Some(0), 30_000_000, 30_200_000)
        );
        assert_eq!(recorded.due.gaps.quantile_ns(0.5), Some(10_000_000));
        assert_eq!(recorded.due.gaps.quantile_ns(1.0), Some(20_000_000));
        assert_eq!((recorded.due.windows.window_ns(), recorded.due.windows.counts()), (10_000_000, &[1, 1, 0, 1][..]));
    }

    #[test]
    fn the_shares_of_a_replay_add_up() {
        let mut whole = dispatch(&[(0, 0), (2_000_000, 2_000_000)]);
        whole.add(&dispatch(&[(12_000_000, 12_300_000)]));
        assert_eq!((whole.error.len(), whole.late), (3, 1));
        assert_eq!((whole.sent.first_ns, whole.sent.last_ns), (Some(0), 12_300_000));
        assert_eq!(whole.sent.windows.counts(), [2, 1]);
    }

    #[test]
    fn the_resolution_is_no_finer_than_the_trace_s_clock() {
        let second = 1_000_000_000;
        let coarse = DispatchResolution::new(1_000 * second, second);
        assert_eq!((coarse.gap_ns, coarse.late_ns, coarse.window_ns), (second, second, second));
        let short = DispatchResolution::new(second, 1);
        assert_eq!((short.gap_ns, short.late_ns, short.window_ns), (GAP_UNIT_NS, LATE_NS, 1_000_000));
    }

    #[test]
    fn a_spread_schedule_is_as_fine_as_the_replays_own_clock() {
        let second = 1_000_000_000;
        let spread = DispatchResolution::spread(1_000 * second, second);
        assert_eq!((spread.gap_ns, spread.late_ns, spread.step_ns), (GAP_UNIT_NS, LATE_NS, second));
        assert!(spread.is_coarse() && DispatchResolution::new(second, second).is_coarse());
        assert!(!DispatchResolution::new(second, LATE_NS).is_coarse());
        let former = r#"{"gap_ns":1000000000,"late_ns":1000000000,"window_ns":1000000000,"span_ns":5}"#;
        let former: DispatchResolution = serde_json::from_str(former).unwrap();
        assert!(former.is_coarse() && former.step_ns == 0, "a recording that does not hold the step");
    }

    #[test]
    fn shares_of_a_replay_add_up_what_was_sent_as_recorded() {
        let keys = |as_recorded, otherwise, how: &str| SentAs {
            what: "keys".to_owned(),
            as_recorded,
            otherwise,
            left_out: 0,
            how: how.to_owned(),
        };
        let outcome = |sent_as| ReplayOutcome { sent_as: vec![sent_as], lost: 7, ..ReplayOutcome::default() };
        let mut whole = outcome(keys(3, 0, ""));
        whole.add(&outcome(keys(1, 2, "ids")));
        assert_eq!((whole.sent_as, whole.lost), (vec![keys(4, 2, "ids")], 7));
    }

    #[test]
    fn no_window_is_shorter_than_the_trace_s_clock_granularity() {
        let second = 1_000_000_000;
        assert_eq!(DispatchResolution::new(10 * second, second).window_ns, second);
    }

    #[test]
    fn memory_is_bounded_for_any_span() {
        let span_ns = 18_000_000_000_000_000_000;
        let resolution = DispatchResolution::new(span_ns, 1);
        assert!(span_ns / resolution.window_ns < WINDOWS_MAX);
        let mut recorded = Dispatch::new(resolution);
        [0, span_ns, u64::MAX].into_iter().for_each(|t_ns| recorded.count(t_ns, t_ns));
        assert!(recorded.due.windows.counts().len() as u64 <= WINDOWS_MAX);
        assert_eq!(recorded.due.windows.counts().iter().sum::<u64>(), 3);
    }

    #[test]
    fn due_and_sent_windows_stay_equal_in_a_replay_that_takes_far_longer() {
        let mut recorded = Dispatch::new(DispatchResolution::new(1_000_000, 1));
        recorded.count(0, 0);
        recorded.count(1_000_000, 4_000_000_000_000);
        let windows_ns = [&recorded.due, &recorded.sent].map(|times| times.windows.window_ns());
        assert_eq!(windows_ns, [4_000_000; 2]);
        assert_eq!(recorded.due.windows.counts(), [2]);
        assert_eq!(recorded.sent.windows.counts().len(), 1_000_001);
        let mut short = Dispatch::new(DispatchResolution::new(1_000_000, 1));
        short.count(0, 5_000_000);
        short.add(&recorded);
        assert_eq!((short.due.windows.counts(), short.sent.windows.window_ns()), (&[3][..], 4_000_000));
        assert_eq!(short.sent.windows.counts()[..2], [1, 1]);
    }

    #[test]
    fn a_dispatch_survives_serialisation() {
        let recorded = dispatch(&[(0, 100), (10_000_000, 10_000_000)]);
        let text = serde_json::to_string(&recorded).unwrap();
        assert!(text.len() < 2_000, "{text}");
        assert_eq!(serde_json::from_str::<Dispatch>(&text).unwrap(), recorded);
        let former = text.replace("\"resolution\"", "\"grain\"").replace("\"bins\"", "\"cells\"");
        assert_eq!(serde_json::from_str::<Dispatch>(&former).unwrap(), recorded, "the keys of earlier recordings");
    }

    #[test]
    fn the_longest_gap_is_counted() {
        let recorded = dispatch(&[(0, 0), (4_000_000_000_000, 4_000_000_000_000)]);
        assert_eq!(recorded.due.gaps.counts().iter().sum::<u64>(), 1);
        let mut gaps = GapHistogram::new(1_000);
        gaps.count(u64::MAX - 1_000);
        assert_eq!(gaps.counts().iter().sum::<u64>(), 1);
    }
}
