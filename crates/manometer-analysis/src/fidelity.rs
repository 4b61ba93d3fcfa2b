//! The fidelity of a replay to its trace: dispatch error, inter-arrival times, bursts and order of the requests.

use manometer_measure::dispatch::LATE_NS;
use manometer_measure::{Dispatch, ReplayOutcome};
use manometer_trace::character::hurst::rescaled_range;
use serde::{Deserialize, Serialize};

use crate::statistics::kolmogorov_smirnov::distance;

/// The tolerance of the span: a share of itself, or this many times the lateness limit.
const SPAN_TOLERANCE: f64 = 0.0005;
const SPAN_TOLERANCE_LATE_LIMITS: f64 = 2.0;
/// The tolerance of the Kolmogorov-Smirnov distance of the inter-arrival times: a share, or this many gaps.
const KS_TOLERANCE: f64 = 0.01;
const KS_TOLERANCE_GAPS: f64 = 3.0;
/// The share of requests that may be late.
const LATE_SHARE: f64 = 0.01;
/// The share of requests that may fail.
const FAILED_SHARE: f64 = 0.01;
/// The share of recorded requests that the trace's reader may lack.
const LOST_SHARE: f64 = 0.01;
/// The most windows reported: adjacent windows are merged until there are no more.
const MAX_WINDOWS: usize = 600;
/// The shares of all gaps at which the inter-arrival times are reported.
const SHARES: [f64; 13] = [0.001, 0.01, 0.05, 0.1, 0.25, 0.4, 0.5, 0.6, 0.75, 0.9, 0.95, 0.99, 0.999];

/// The fidelity of a replay to its trace. What was not measured is null, and `reason` says why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fidelity {
    /// Whether the verdict is [`FidelityVerdict::Faithful`].
    pub faithful: bool,
    /// How faithful the replay is, in three values.
    #[serde(default)]
    pub verdict: FidelityVerdict,
    /// Why the replay is not faithful, or only to the step of the trace's clock; empty if it is faithful.
    #[serde(default)]
    pub why: Vec<String>,
    /// The step of the trace's clock in the replay's time, in microseconds, where it is coarser than the limit of
    /// lateness.
    #[serde(default)]
    pub clock_step_us: Option<f64>,
    /// The dispatch error: the time from when a request was due until it was sent, in microseconds.
    pub error_us: Option<DispatchErrorQuantiles>,
    /// The time from the first request to the last, replayed divided by recorded, without the time scale.
    pub span_ratio: Option<f64>,
    /// The Kolmogorov-Smirnov distance between the inter-arrival times of trace and replay.
    pub ks: Option<f64>,
    /// The Hurst exponents of both, by rescaled range as in `trace characterise`.
    pub hurst: TraceAndReplay<Option<f64>>,
    /// Requests sent late.
    pub late: Option<u64>,
    /// The lateness limit: a request sent later than this, in microseconds after it was due, is late.
    pub late_after_us: Option<f64>,
    /// Requests not sent.
    pub dropped: u64,
    /// Requests sent out of the order of the trace.
    pub order_violations: u64,
    /// Requests that failed.
    pub errors: u64,
    /// Of these, the requests without an answer within the limit of time.
    #[serde(default)]
    pub given_up: u64,
    /// Recorded requests that the trace's reader does not hold.
    #[serde(default)]
    pub lost: u64,
    /// Quantiles of the inter-arrival times, in microseconds.
    pub interarrival_us: Option<InterarrivalQuantiles>,
    /// Requests per window of time.
    pub windows: Option<FidelityWindows>,
    /// Why something is null.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// How faithful a replay is to its trace.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FidelityVerdict {
    /// Every request left at its recorded time, within the tolerances.
    Faithful,
    /// Every request left within the step of the trace's clock in which it was recorded. Where within the step, the trace
    /// does not say.
    FaithfulToClockStep,
    /// A tolerance is exceeded, or the replay is incomplete.
    #[default]
    NotFaithful,
}

impl FidelityVerdict {
    /// The verdict in words.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Faithful => "faithful",
            Self::FaithfulToClockStep => "faithful to the step of the trace's clock",
            Self::NotFaithful => "not faithful",
        }
    }
}

/// A value of the trace and the same value of the replay.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TraceAndReplay<T> {
    /// Of the trace.
    pub trace: T,
    /// Of the replay.
    pub replay: T,
}

/// Quantiles of the dispatch error, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct DispatchErrorQuantiles {
    /// The first percentile.
    pub p1: f64,
    /// The lower quartile.
    pub p25: f64,
    /// The median.
    pub p50: f64,
    /// The upper quartile.
    pub p75: f64,
    /// The 90th percentile.
    pub p90: f64,
    /// The 99th percentile.
    pub p99: f64,
    /// The maximum.
    pub max: f64,
    /// The number of requests.
    pub samples: u64,
}

/// The distributions of inter-arrival times of trace and replay.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InterarrivalQuantiles {
    /// The shares of all gaps.
    pub share: Vec<f64>,
    /// The trace's gap at each share, in microseconds.
    pub trace: Vec<f64>,
    /// The replay's gap at each share, in microseconds.
    pub replay: Vec<f64>,
}

/// Requests per window of time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FidelityWindows {
    /// The length of a window, in seconds.
    pub window_s: f64,
    /// Requests of the trace, per window.
    pub trace: Vec<u64>,
    /// Requests of the replay, per window.
    pub replay: Vec<u64>,
}

impl Fidelity {
    /// The fidelity of a finished replay.
    pub fn of(replayed: &ReplayOutcome) -> Self {
        let dispatch = replayed.dispatch.as_ref();
        let mut fidelity = Self {
            faithful: false,
            verdict: FidelityVerdict::NotFaithful,
            why: Vec::new(),
            clock_step_us: dispatch.and_then(clock_step_us),
            error_us: dispatch.and_then(dispatch_error),
            span_ratio: dispatch.and_then(span_ratio),
            ks: dispatch.and_then(|dispatch| distance(dispatch.due.gaps.counts(), dispatch.sent.gaps.counts())),
            hurst: TraceAndReplay {
                trace: dispatch.and_then(|dispatch| hurst(dispatch.due.windows.counts())),
                replay: dispatch.and_then(|dispatch| hurst(dispatch.sent.windows.counts())),
            },
            late: dispatch.map(|dispatch| dispatch.late),
            late_after_us: dispatch.map(|dispatch| microseconds(dispatch.resolution.late_ns)),
            dropped: replayed.dropped(),
            order_violations: replayed.order_violations,
            errors: replayed.errors,
            given_up: replayed.given_up,
            lost: replayed.lost,
            interarrival_us: dispatch.and_then(interarrivals),
            windows: dispatch.map(windows),
            reason: None,
        };
        fidelity.reason = fidelity.missing_reason(dispatch.is_some()).map(str::to_owned);
        (fidelity.verdict, fidelity.why) = fidelity.judge(replayed);
        fidelity.faithful = fidelity.verdict == FidelityVerdict::Faithful;
        fidelity
    }

    /// The verdict and its reasons.
    fn judge(&self, replayed: &ReplayOutcome) -> (FidelityVerdict, Vec<String>) {
        let mut faults = self.faults(replayed);
        if replayed.interrupted {
            faults.push("it was stopped before the end of its trace".to_owned());
        }
        if !faults.is_empty() {
            return (FidelityVerdict::NotFaithful, faults);
        }
        match replayed.dispatch.as_ref().and_then(coarseness) {
            Some(why) => (FidelityVerdict::FaithfulToClockStep, vec![why]),
            None => (FidelityVerdict::Faithful, Vec::new()),
        }
    }

    fn missing_reason(&self, is_scheduled: bool) -> Option<&'static str> {
        if !is_scheduled {
            return Some("a replay at full speed has no schedule");
        }
        if self.error_us.is_none() {
            return Some("no request was sent");
        }
        if self.span_ratio.is_none() || self.ks.is_none() {
            return Some("all requests have the same timestamp");
        }
        let short = self.hurst.trace.is_none() || self.hurst.replay.is_none();
        short.then_some("the trace is too short or too regular for a Hurst exponent")
    }

    /// Each tolerance that the replay exceeds, as text.
    pub(crate) fn faults(&self, replayed: &ReplayOutcome) -> Vec<String> {
        let mut faults = Vec::new();
        if let Some(damage) = &replayed.damage {
            faults.push(format!("the trace is damaged, and what follows the damage was not replayed ({damage})"));
        }
        let recorded = replayed.requests.saturating_add(replayed.lost);
        if replayed.lost as f64 > LOST_SHARE * recorded as f64 {
            let share = 100.0 * replayed.lost as f64 / recorded.max(1) as f64;
            faults.push(format!("{share:.1} % of the recorded requests cannot be replayed"));
        }
        if self.dropped > 0 {
            faults.push(format!("{} of {} requests were not sent", self.dropped, replayed.requests));
        }
        if replayed.ordered && self.order_violations > 0 {
            faults.push(format!("{} requests were sent out of order", self.order_violations));
        }
        if self.errors as f64 > FAILED_SHARE * replayed.sent as f64 {
            let share = 100.0 * self.errors as f64 / replayed.sent.max(1) as f64;
            faults.push(format!("{share:.1} % of the requests failed"));
        }
        let Some(dispatch) = &replayed.dispatch else { return faults };
        let sent = dispatch.error.len() as f64;
        if dispatch.late as f64 > LATE_SHARE * sent {
            let share = 100.0 * dispatch.late as f64 / sent;
            let after = microseconds(dispatch.resolution.late_ns);
            faults.push(format!("{share:.1} % of the requests were sent more than {after} µs late"));
        }
        let late_share =
            SPAN_TOLERANCE_LATE_LIMITS * dispatch.resolution.late_ns as f64 / dispatch.resolution.span_ns.max(1) as f64;
        let span_tolerance = SPAN_TOLERANCE.max(late_share);
        if let Some(ratio) = self.span_ratio.filter(|ratio| (ratio - 1.0).abs() > span_tolerance) {
            faults.push(format!("it took {ratio:.4} times its scheduled duration"));
        }
        let ks_tolerance = KS_TOLERANCE.max(KS_TOLERANCE_GAPS / sent.max(1.0));
        if let Some(ks) = self.ks.filter(|ks| *ks > ks_tolerance) {
            faults.push(format!("the inter-arrival times differ (Kolmogorov-Smirnov distance {ks:.4})"));
        }
        faults
    }
}

/// The step of the trace's clock in microseconds, where it is coarser than the limit of lateness.
fn clock_step_us(dispatch: &Dispatch) -> Option<f64> {
    let resolution = &dispatch.resolution;
    let step_ns = if resolution.step_ns > 0 { resolution.step_ns } else { resolution.late_ns };
    resolution.is_coarse().then(|| microseconds(step_ns))
}

/// Why requests are known to have left in the right step of the trace's clock only: times within a step were chosen,
/// several requests share a recorded time, or more than a few left later than a finer clock would allow.
fn coarseness(dispatch: &Dispatch) -> Option<String> {
    let step_s = clock_step_us(dispatch)? / 1e6;
    let shared = dispatch.due.gaps.counts().first().copied().unwrap_or(0);
    let late = dispatch.error.quantile_ns(1.0 - LATE_SHARE).is_some_and(|error_ns| error_ns > LATE_NS);
    if dispatch.resolution.is_spread {
        return Some(format!("times within a step of {step_s} s are chosen, not recorded"));
    }
    if shared > 0 {
        return Some(format!(
            "the trace's clock goes in steps of {step_s} s, and {shared} requests left in one burst with the request before \
             them"
        ));
    }
    late.then(|| {
        format!(
            "the trace's clock goes in steps of {step_s} s, and more than {:.0} % of the requests left more than {:.0} µs late \
             within a step",
            100.0 * LATE_SHARE,
            microseconds(LATE_NS)
        )
    })
}

fn dispatch_error(dispatch: &Dispatch) -> Option<DispatchErrorQuantiles> {
    let at = |quantile| dispatch.error.quantile_ns(quantile).map(microseconds);
    Some(DispatchErrorQuantiles {
        p1: at(0.01)?,
        p25: at(0.25)?,
        p50: at(0.5)?,
        p75: at(0.75)?,
        p90: at(0.9)?,
        p99: at(0.99)?,
        max: microseconds(dispatch.error.max_ns()?),
        samples: dispatch.error.len(),
    })
}

fn span_ratio(dispatch: &Dispatch) -> Option<f64> {
    let [due, sent] = [&dispatch.due, &dispatch.sent]
        .map(|arrivals| Some(arrivals.last_ns.saturating_sub(arrivals.first_ns?) as f64));
    due.filter(|due| *due > 0.0).zip(sent).map(|(due, sent)| sent / due)
}

fn interarrivals(dispatch: &Dispatch) -> Option<InterarrivalQuantiles> {
    let [trace, replay] = [&dispatch.due, &dispatch.sent].map(|arrivals| {
        let at = |share| arrivals.gaps.quantile_ns(share).map(microseconds);
        SHARES.into_iter().map(at).collect::<Option<Vec<_>>>()
    });
    Some(InterarrivalQuantiles { share: SHARES.to_vec(), trace: trace?, replay: replay? })
}

fn windows(dispatch: &Dispatch) -> FidelityWindows {
    let (due, sent) = (dispatch.due.windows.counts(), dispatch.sent.windows.counts());
    let merged = due.len().max(sent.len()).div_ceil(MAX_WINDOWS).max(1);
    let merge = |counts: &[u64]| counts.chunks(merged).map(|chunk| chunk.iter().sum()).collect();
    let window_s = dispatch.due.windows.window_ns() as f64 * merged as f64 / 1e9;
    FidelityWindows { window_s, trace: merge(due), replay: merge(sent) }
}

/// The Hurst exponent of `counts` per window of time.
fn hurst(counts: &[u64]) -> Option<f64> {
    let series: Vec<f64> = counts.iter().map(|count| *count as f64).collect();
    Some(rescaled_range(&series)?.value)
}

fn microseconds(ns: u64) -> f64 {
    ns as f64 / 1e3
}

/// A finished replay of `requests`, one per millisecond, each sent `error_ns` after it was due.
#[cfg(test)]
pub(crate) fn synthetic_replay(requests: u64, error_ns: impl Fn(u64) -> u64) -> ReplayOutcome {
    let resolution = manometer_measure::dispatch::DispatchResolution::new(requests * 1_000_000, 1);
    let mut dispatch = Dispatch::new(resolution);
    for number in 0..requests {
        let due_ns = number * 1_000_000;
        dispatch.count(due_ns, due_ns + error_ns(number));
    }
    ReplayOutcome {
        model: "open".to_owned(),
        length_ns: requests * 1_000_000,
        requests,
        sent: requests,
        dispatch: Some(dispatch),
        ..ReplayOutcome::default()
    }
}

#[cfg(test)]
mod tests {
    use manometer_measure::dispatch::DispatchResolution;

    use super::*;

    #[test]
    fn an_exact_replay_is_faithful() {
        let exact = synthetic_replay(1_000, |_| 200);
        let fidelity = Fidelity::of(&exact);
        assert!(fidelity.faithful && fidelity.faults(&exact).is_empty());
        assert_eq!((fidelity.span_ratio, fidelity.ks, fidelity.late), (Some(1.0), Some(0.0), Some(0)));
        assert_eq!(fidelity.error_us.unwrap().p50, 0.2);
        assert!(fidelity.reason.unwrap().contains("Hurst exponent"));
    }

    #[test]
    fn the_hurst_exponent_is_that_of_the_trace_character() {
        let bursty = synthetic_replay(100_000, |number| if number % 7 == 0 { 400_000_000 * (number % 3) } else { 0 });
        let dispatch = bursty.dispatch.as_ref().unwrap();
        let series: Vec<f64> = dispatch.sent.windows.counts().iter().map(|count| *count as f64).collect();
        let hurst = Fidelity::of(&bursty).hurst;
        assert_eq!((hurst.trace, hurst.replay), (None, rescaled_range(&series).map(|exponent| exponent.value)));
        assert!(hurst.replay.is_some());
    }

    #[test]
    fn each_fault_is_named() {
        let faults = |replayed: &ReplayOutcome| Fidelity::of(replayed).faults(replayed).join("; ");
        let late = faults(&synthetic_replay(1_000, |number| if number % 50 == 0 { 300_000 } else { 0 }));
        assert!(late.contains("2.0 % of the requests were sent more than 100 µs late"), "{late}");
        assert!(late.contains("Kolmogorov-Smirnov distance"), "{late}");
        let slow = faults(&synthetic_replay(1_000, |number| number * 1_000));
        assert!(slow.contains("it took 1.0010 times its scheduled duration"), "{slow}");
        let dropped = faults(&ReplayOutcome { requests: 1_001, ..synthetic_replay(1_000, |_| 0) });
        assert!(dropped.contains("1 of 1001 requests were not sent"), "{dropped}");
        let reordered = ReplayOutcome { ordered: true, order_violations: 3, ..synthetic_replay(1_000, |_| 0) };
        assert!(faults(&reordered).contains("3 requests were sent out of order"));
    }

    #[test]
    fn a_replay_at_full_speed_has_no_dispatch_error() {
        let full_speed = ReplayOutcome { dispatch: None, order_violations: 5, ..synthetic_replay(10, |_| 0) };
        let fidelity = Fidelity::of(&full_speed);
        assert!(fidelity.faithful && fidelity.error_us.is_none() && fidelity.late.is_none());
        assert_eq!(fidelity.order_violations, 5);
        assert_eq!(fidelity.reason.as_deref(), Some("a replay at full speed has no schedule"));
    }

    #[test]
    fn an_interrupted_replay_is_not_faithful() {
        let interrupted = ReplayOutcome { interrupted: true, requests: 2_000, ..synthetic_replay(1_000, |_| 0) };
        let fidelity = Fidelity::of(&interrupted);
        assert!(!fidelity.faithful && fidelity.dropped == 0, "it does not represent its trace");
        assert_eq!(fidelity.why, ["it was stopped before the end of its trace"]);
    }

    /// A replay of 100 bursts of ten requests, one burst each second, on a schedule with `resolution`.
    fn bursts(resolution: DispatchResolution, due_ns: impl Fn(u64) -> u64, error_ns: u64) -> ReplayOutcome {
        let mut dispatch = Dispatch::new(resolution);
        (0..1_000).map(due_ns).for_each(|due_ns| dispatch.count(due_ns, due_ns + error_ns));
        ReplayOutcome { dispatch: Some(dispatch), ..synthetic_replay(1_000, |_| 0) }
    }

    const SECOND_NS: u64 = 1_000_000_000;

    #[test]
    fn bursts_at_each_step_of_a_coarse_clock_are_faithful_to_the_step_only() {
        let coarse = DispatchResolution::new(99 * SECOND_NS, SECOND_NS);
        let burst = Fidelity::of(&bursts(coarse, |number| number / 10 * SECOND_NS, 30_000_000));
        assert_eq!((burst.verdict, burst.faithful), (FidelityVerdict::FaithfulToClockStep, false));
        assert_eq!(burst.clock_step_us, Some(1e6));
        assert!(burst.why[0].contains("steps of 1 s, and 900 requests left in one burst"), "{:?}", burst.why);
        let spread = DispatchResolution::spread(99 * SECOND_NS, SECOND_NS);
        let spread = Fidelity::of(&bursts(spread, |number| number * SECOND_NS / 10, 10_000));
        assert_eq!(spread.verdict, FidelityVerdict::FaithfulToClockStep);
        assert!(spread.why[0].contains("chosen, not recorded"), "{:?}", spread.why);
    }

    #[test]
    fn who_shares_no_time_and_leaves_at_once_is_faithful_whatever_the_clock() {
        let coarse = DispatchResolution::new(999 * SECOND_NS, SECOND_NS);
        let verdict = |error_ns| Fidelity::of(&bursts(coarse, |number| number * SECOND_NS, error_ns)).verdict;
        assert_eq!(verdict(50_000), FidelityVerdict::Faithful);
        assert_eq!(verdict(900_000), FidelityVerdict::FaithfulToClockStep);
    }

    #[test]
    fn a_spread_replay_that_falls_behind_is_not_faithful() {
        let spread = DispatchResolution::spread(99 * SECOND_NS, SECOND_NS);
        let fidelity = Fidelity::of(&bursts(spread, |number| number * SECOND_NS / 10, 300_000));
        assert_eq!(fidelity.verdict, FidelityVerdict::NotFaithful);
    }

    #[test]
    fn damage_and_many_lost_requests_are_not_faithful() {
        let damaged = ReplayOutcome { damage: Some("in line 7".to_owned()), ..synthetic_replay(1_000, |_| 0) };
        let fidelity = Fidelity::of(&damaged);
        assert_eq!(fidelity.verdict, FidelityVerdict::NotFaithful);
        assert!(fidelity.why[0].contains("damaged") && fidelity.why[0].contains("in line 7"), "{:?}", fidelity.why);
        let lossy = |lost| Fidelity::of(&ReplayOutcome { lost, ..synthetic_replay(1_000, |_| 0) });
        assert!(lossy(10).faithful, "one in a hundred");
        assert_eq!(lossy(11).why, ["1.1 % of the recorded requests cannot be replayed"]);
    }

    #[test]
    fn a_few_failed_requests_are_tolerated_and_many_are_not() {
        let replay = |errors| ReplayOutcome { errors, ..synthetic_replay(1_000, |_| 0) };
        assert!(Fidelity::of(&replay(2)).faithful);
        let failed = replay(990);
        let fidelity = Fidelity::of(&failed);
        assert!(!fidelity.faithful);
        assert_eq!(fidelity.faults(&failed), ["99.0 % of the requests failed"]);
    }
}
