//! The character of a trace, as far as caches care.

use manometer_trace::Operation;
use manometer_trace::character::Report;
use serde::Serialize;

/// The character of a trace. What it does not hold is null.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TraceTraits {
    /// Requests.
    pub requests: u64,
    /// Different keys; an estimate where they are sampled.
    pub keys: f64,
    /// The size of all objects that are requested of a cache.
    pub footprint_bytes: u64,
    /// The share of the requests that read.
    pub reads_share: f64,
    /// The share that store.
    pub writes_share: f64,
    /// The share that drop: deletes and discards.
    pub drops_share: f64,
    /// The exponent of Zipf's law as it fits best.
    pub zipf_exponent: Option<f64>,
    /// Its standard error.
    pub zipf_error: Option<f64>,
    /// Why there is none.
    pub zipf_reason: Option<String>,
    /// The share of the keys that are requested once.
    pub one_hit_keys_share: Option<f64>,
    /// The share of the requests that are for those.
    pub one_hit_requests_share: Option<f64>,
    /// The share of the requests that are the first for their key: no cache can answer them.
    pub first_uses_share: f64,
    /// From the earliest request to the latest.
    pub span_s: Option<f64>,
    /// Requests a second over that.
    pub requests_per_s: Option<f64>,
}

impl TraceTraits {
    pub(super) fn of(report: &Report, footprint_bytes: u64) -> Self {
        let share = |wanted: fn(Operation) -> bool| -> f64 {
            let is_wanted = |name: &str| name.parse::<Operation>().is_ok_and(wanted);
            let wanted = report.operations.iter().filter(|(name, _)| is_wanted(name));
            // A sum of nothing would be -0.
            wanted.fold(0.0, |sum, (_, operation)| sum + operation.share)
        };
        let zipf = report.popularity.as_ref().and_then(|popularity| popularity.zipf.as_ref());
        let wonders = report.popularity.as_ref().map(|popularity| popularity.one_hit_wonders);
        let (writes_share, drops_share) = (share(Operation::stores), share(drops));
        Self {
            requests: report.requests,
            keys: report.keys,
            footprint_bytes,
            reads_share: share(reads),
            writes_share,
            drops_share,
            zipf_exponent: zipf.map(|zipf| zipf.exponent),
            zipf_error: zipf.map(|zipf| zipf.standard_error),
            zipf_reason: report.popularity.as_ref().and_then(|popularity| popularity.zipf_reason.clone()),
            one_hit_keys_share: wonders.map(|wonders| wonders.keys_share),
            one_hit_requests_share: wonders.map(|wonders| wonders.requests_share),
            first_uses_share: report.reuse_distance.cold_share,
            span_s: report.span_s,
            requests_per_s: report.span_s.filter(|span| *span > 0.0).map(|span| report.requests as f64 / span),
        }
    }
}

fn drops(operation: Operation) -> bool {
    matches!(operation, Operation::Delete | Operation::Discard)
}

fn reads(operation: Operation) -> bool {
    !operation.stores() && !drops(operation)
}
