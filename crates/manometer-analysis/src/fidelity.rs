//! Whether a replay was what its trace is: how exactly requests were sent, how far apart, in which bursts and order.

use manometer_measure::event::Finding;
use manometer_measure::{Dispatch, Replayed};
use manometer_trace::character::hurst::rescaled_range;
use serde::{Deserialize, Serialize};

use crate::findings::replay::{CUT, FAILED, NOT_FAITHFUL};
use crate::statistics::kolmogorov_smirnov::distance;

/// By how much of itself the span may differ, and by how many requests' lateness.
const SPAN_TOLERANCE: f64 = 0.0005;
const SPAN_TOLERANCE_LATE: f64 = 2.0;
/// How far the distributions of inter-arrivals may lie apart, and how many gaps may.
const KS_TOLERANCE: f64 = 0.01;
const KS_TOLERANCE_GAPS: f64 = 3.0;
/// The share of requests that may be late.
const LATE_SHARE: f64 = 0.01;
/// The share of requests that may fail.
const FAILED_SHARE: f64 = 0.01;
/// Windows that are told: neighbours are added up until there are no more.
const WINDOWS_TOLD: usize = 600;
/// At which shares of all gaps the two distributions are told.
const SHARES: [f64; 13] = [0.001, 0.01, 0.05, 0.1, 0.25, 0.4, 0.5, 0.6, 0.75, 0.9, 0.95, 0.99, 0.999];

/// How like its trace a replay was. What was not measured is null, and `reason` says why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fidelity {
    /// Whether it may stand for the trace.
    pub faithful: bool,
    /// How long after they were due requests were sent, in microseconds.
    pub error_us: Option<ErrorBox>,
    /// The span from the first request to the last, replayed over recorded, scaling taken out.
    pub span_ratio: Option<f64>,
    /// The distance of Kolmogorov and Smirnov between the inter-arrivals of trace and replay.
    pub ks: Option<f64>,
    /// The Hurst exponents of both, by rescaled range as `trace characterise` finds them.
    pub hurst: Pair<Option<f64>>,
    /// Requests that were sent late.
    pub late: Option<u64>,
    /// From when on a request is late, in microseconds after it was due.
    pub late_after_us: Option<f64>,
    /// Requests that were not sent.
    pub dropped: u64,
    /// Requests that were sent out of the order of the trace.
    pub order_violations: u64,
    /// Requests that the engine did not answer as it should.
    pub errors: u64,
    /// How far requests were apart, in microseconds, at some shares of all.
    pub interarrival_us: Option<Interarrivals>,
    /// How many requests came in each window.
    pub windows: Option<WindowCounts>,
    /// Why what is null is null.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// One number of the trace and one of the replay.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Pair<T> {
    /// As the trace has it.
    pub trace: T,
    /// As it was replayed.
    pub replay: T,
}

/// The box plot of the dispatch error, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ErrorBox {
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
    /// The longest.
    pub max: f64,
    /// The requests that it is of.
    pub samples: u64,
}

/// Two distributions of inter-arrivals, laid over one another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Interarrivals {
    /// The shares of all gaps at which they are told.
    pub share: Vec<f64>,
    /// The trace's gaps, in microseconds.
    pub trace: Vec<f64>,
    /// The replay's.
    pub replay: Vec<f64>,
}

/// How many requests came in each window of time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WindowCounts {
    /// The length of a window, in seconds.
    pub window_s: f64,
    /// The trace's requests.
    pub trace: Vec<u64>,
    /// The replay's.
    pub replay: Vec<u64>,
}

impl Fidelity {
    /// Judges what became of a replay.
    pub fn of(replayed: &Replayed) -> Self {
        let dispatch = replayed.dispatch.as_ref();
        let mut fidelity = Self {
            faithful: false,
            error_us: dispatch.and_then(error_box),
            span_ratio: dispatch.and_then(span_ratio),
            ks: dispatch.and_then(|kept| distance(kept.due.gaps.counts(), kept.sent.gaps.counts())),
            hurst: Pair {
                trace: dispatch.and_then(|kept| hurst(kept.due.windows.counts())),
                replay: dispatch.and_then(|kept| hurst(kept.sent.windows.counts())),
            },
            late: dispatch.map(|kept| kept.late),
            late_after_us: dispatch.map(|kept| microseconds(kept.grain.late_ns)),
            dropped: replayed.dropped(),
            order_violations: replayed.order_violations,
            errors: replayed.errors,
            interarrival_us: dispatch.and_then(interarrivals),
            windows: dispatch.map(windows),
            reason: None,
        };
        fidelity.reason = fidelity.reason_for_gaps(dispatch.is_some()).map(str::to_owned);
        fidelity.faithful = !replayed.cut && fidelity.faults(replayed).is_empty();
        fidelity
    }

    fn reason_for_gaps(&self, scheduled: bool) -> Option<&'static str> {
        if !scheduled {
            return Some("at full speed there is no schedule to keep");
        }
        if self.error_us.is_none() {
            return Some("no request was sent");
        }
        if self.span_ratio.is_none() || self.ks.is_none() {
            return Some("all requests have one and the same time");
        }
        let short = self.hurst.trace.is_none() || self.hurst.replay.is_none();
        short.then_some("the trace is too short, or too even, for a Hurst exponent")
    }

    /// What is not as it should be, each in a few words.
    fn faults(&self, replayed: &Replayed) -> Vec<String> {
        let mut faults = Vec::new();
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
        let Some(kept) = &replayed.dispatch else { return faults };
        let sent = kept.error.len() as f64;
        if kept.late as f64 > LATE_SHARE * sent {
            let share = 100.0 * kept.late as f64 / sent;
            let after = microseconds(kept.grain.late_ns);
            faults.push(format!("{share:.1} % of the requests were sent more than {after} µs late"));
        }
        let late_share = SPAN_TOLERANCE_LATE * kept.grain.late_ns as f64 / kept.grain.span_ns.max(1) as f64;
        let span_tolerance = SPAN_TOLERANCE.max(late_share);
        if let Some(ratio) = self.span_ratio.filter(|ratio| (ratio - 1.0).abs() > span_tolerance) {
            faults.push(format!("it took {ratio:.4} of the time that it should have taken"));
        }
        let ks_tolerance = KS_TOLERANCE.max(KS_TOLERANCE_GAPS / sent.max(1.0));
        if let Some(ks) = self.ks.filter(|ks| *ks > ks_tolerance) {
            faults.push(format!("the inter-arrivals differ (Kolmogorov-Smirnov distance {ks:.4})"));
        }
        faults
    }

    /// What a reader must know first: that the replay was not faithful; that requests failed, or that it was cut.
    pub fn findings(&self, replayed: &Replayed) -> Vec<Finding> {
        let faults = self.faults(replayed);
        let sentence = || format!("The replay was not faithful: {}.", faults.join("; "));
        let unfaithful = (!faults.is_empty()).then(|| NOT_FAITHFUL.tell(None, &sentence()));
        let cut = replayed.cut.then(|| {
            let sentence = format!(
                "The replay does not stand for its whole trace: {} of the trace's {} requests were sent.",
                replayed.sent, replayed.requests
            );
            CUT.tell(None, &sentence)
        });
        let failed = (self.errors > 0).then(|| {
            let first = replayed.error.as_deref().unwrap_or("unknown");
            FAILED.tell(
                None,
                &format!("{} of {} requests failed, the first because: {first}.", self.errors, replayed.sent),
            )
        });
        unfaithful.into_iter().chain(failed).chain(cut).collect()
    }
}

fn error_box(kept: &Dispatch) -> Option<ErrorBox> {
    let at = |quantile| kept.error.quantile_ns(quantile).map(microseconds);
    Some(ErrorBox {
        p1: at(0.01)?,
        p25: at(0.25)?,
        p50: at(0.5)?,
        p75: at(0.75)?,
        p90: at(0.9)?,
        p99: at(0.99)?,
        max: microseconds(kept.error.max_ns()?),
        samples: kept.error.len(),
    })
}

fn span_ratio(kept: &Dispatch) -> Option<f64> {
    let [due, sent] =
        [&kept.due, &kept.sent].map(|course| Some(course.last_ns.saturating_sub(course.first_ns?) as f64));
    due.filter(|due| *due > 0.0).zip(sent).map(|(due, sent)| sent / due)
}

fn interarrivals(kept: &Dispatch) -> Option<Interarrivals> {
    let [trace, replay] = [&kept.due, &kept.sent].map(|course| {
        let at = |share| course.gaps.quantile_ns(share).map(microseconds);
        SHARES.into_iter().map(at).collect::<Option<Vec<_>>>()
    });
    Some(Interarrivals { share: SHARES.to_vec(), trace: trace?, replay: replay? })
}

fn windows(kept: &Dispatch) -> WindowCounts {
    let (due, sent) = (kept.due.windows.counts(), kept.sent.windows.counts());
    let together = due.len().max(sent.len()).div_ceil(WINDOWS_TOLD).max(1);
    let told = |counts: &[u64]| counts.chunks(together).map(|chunk| chunk.iter().sum()).collect();
    let window_s = kept.due.windows.window_ns() as f64 * together as f64 / 1e9;
    WindowCounts { window_s, trace: told(due), replay: told(sent) }
}

/// The exponent of `counts`, a number for each window of time.
fn hurst(counts: &[u64]) -> Option<f64> {
    let series: Vec<f64> = counts.iter().map(|count| *count as f64).collect();
    Some(rescaled_range(&series)?.value)
}

fn microseconds(ns: u64) -> f64 {
    ns as f64 / 1e3
}

#[cfg(test)]
mod tests {
    use manometer_measure::dispatch::Grain;

    use super::*;

    /// A replay of `requests`, one each millisecond, each sent as long after it was due as `error_ns` says.
    fn replayed(requests: u64, error_ns: impl Fn(u64) -> u64) -> Replayed {
        let mut dispatch = Dispatch::new(Grain::new(requests * 1_000_000, 1));
        for number in 0..requests {
            let due_ns = number * 1_000_000;
            dispatch.count(due_ns, due_ns + error_ns(number));
        }
        Replayed {
            model: "open".to_owned(),
            ordered: false,
            length_ns: requests * 1_000_000,
            cut: false,
            requests,
            sent: requests,
            errors: 0,
            error: None,
            order_violations: 0,
            dispatch: Some(dispatch),
        }
    }

    #[test]
    fn an_exact_replay_is_faithful() {
        let exact = replayed(1_000, |_| 200);
        let fidelity = Fidelity::of(&exact);
        assert!(fidelity.faithful && fidelity.findings(&exact).is_empty());
        assert_eq!((fidelity.span_ratio, fidelity.ks, fidelity.late), (Some(1.0), Some(0.0), Some(0)));
        assert_eq!(fidelity.error_us.unwrap().p50, 0.2);
        assert_eq!(fidelity.reason.as_deref(), Some("the trace is too short, or too even, for a Hurst exponent"));
    }

    #[test]
    fn bursts_have_the_exponent_that_the_character_of_the_trace_has() {
        let bursty = replayed(100_000, |number| if number % 7 == 0 { 400_000_000 * (number % 3) } else { 0 });
        let kept = bursty.dispatch.as_ref().unwrap();
        let series: Vec<f64> = kept.sent.windows.counts().iter().map(|count| *count as f64).collect();
        let hurst = Fidelity::of(&bursty).hurst;
        assert_eq!((hurst.trace, hurst.replay), (None, rescaled_range(&series).map(|exponent| exponent.value)));
        assert!(hurst.replay.is_some());
    }

    #[test]
    fn each_fault_is_named_in_the_first_finding() {
        let text = |replayed: &Replayed| Fidelity::of(replayed).findings(replayed)[0].text.clone();
        let late = replayed(1_000, |number| if number % 50 == 0 { 300_000 } else { 0 });
        assert!(text(&late).contains("2.0 % of the requests were sent more than 100 µs late"), "{}", text(&late));
        assert!(text(&late).contains("Kolmogorov-Smirnov distance"), "{}", text(&late));
        let slow = replayed(1_000, |number| number * 1_000);
        assert!(text(&slow).contains("it took 1.0010 of the time"), "{}", text(&slow));
        let cut = Replayed { requests: 1_001, ..replayed(1_000, |_| 0) };
        assert!(text(&cut).contains("1 of 1001 requests were not sent"), "{}", text(&cut));
        let mixed = Replayed { ordered: true, order_violations: 3, ..replayed(1_000, |_| 0) };
        assert!(text(&mixed).contains("3 requests were sent out of order"), "{}", text(&mixed));
    }

    #[test]
    fn at_full_speed_only_what_was_measured_is_told() {
        let full = Replayed { dispatch: None, order_violations: 5, ..replayed(10, |_| 0) };
        let fidelity = Fidelity::of(&full);
        assert!(fidelity.faithful && fidelity.error_us.is_none() && fidelity.late.is_none());
        assert_eq!(
            (fidelity.order_violations, fidelity.reason.as_deref()),
            (5, Some("at full speed there is no schedule to keep"))
        );
    }

    #[test]
    fn what_was_cut_is_told_and_nothing_was_dropped() {
        let cut = Replayed { cut: true, requests: 2_000, ..replayed(1_000, |_| 0) };
        let fidelity = Fidelity::of(&cut);
        assert!(!fidelity.faithful && fidelity.dropped == 0, "it does not stand for its trace");
        assert!(fidelity.findings(&cut)[0].text.contains("1000 of the trace's 2000 requests were sent"));
    }

    #[test]
    fn failed_requests_are_a_finding_of_their_own() {
        let failed = Replayed { errors: 2, error: Some("it went away".to_owned()), ..replayed(1_000, |_| 0) };
        let fidelity = Fidelity::of(&failed);
        assert!(fidelity.faithful);
        assert_eq!(fidelity.findings(&failed)[0].id, "requests-failed");
    }

    #[test]
    fn a_replay_most_of_which_failed_is_not_faithful() {
        let failed = Replayed { errors: 990, ..replayed(1_000, |_| 0) };
        let fidelity = Fidelity::of(&failed);
        assert!(!fidelity.faithful);
        let text = &fidelity.findings(&failed)[0].text;
        assert!(text.contains("not faithful: 99.0 % of the requests failed"), "{text}");
    }
}
