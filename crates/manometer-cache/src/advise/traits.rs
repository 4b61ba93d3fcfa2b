//! The properties of a trace that matter for caches.

use manometer_trace::TraceOperation;
use manometer_trace::character::Report;
use serde::Serialize;

/// The properties of a trace. What the trace does not contain is null.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TraceTraits {
    /// The number of requests.
    pub requests: u64,
    /// The number of different keys; an estimate if they are sampled.
    pub keys: f64,
    /// The size of all requested objects in bytes.
    pub footprint_bytes: u64,
    /// The share of reads.
    pub reads_share: f64,
    /// The share of writes.
    pub writes_share: f64,
    /// The share of deletes and discards.
    pub drops_share: f64,
    /// The exponent of the best fit of Zipf's law to the head, the most popular keys: the tail is not fitted.
    pub zipf_exponent: Option<f64>,
    /// Its standard error.
    pub zipf_error: Option<f64>,
    /// The number of keys of the head: those of ten requests and more, at most 10,000.
    pub zipf_keys: Option<usize>,
    /// Why there is no exponent.
    pub zipf_reason: Option<String>,
    /// The share of keys requested once.
    pub one_hit_keys_share: Option<f64>,
    /// The share of the requests for those keys.
    pub one_hit_requests_share: Option<f64>,
    /// The share of first requests for a key, which no cache can hit.
    pub first_uses_share: f64,
    /// The time from the earliest request to the latest.
    pub span_s: Option<f64>,
    /// The mean request rate.
    pub requests_per_s: Option<f64>,
}

impl TraceTraits {
    pub(super) fn of(report: &Report, footprint_bytes: u64) -> Self {
        let share = |wanted: fn(TraceOperation) -> bool| -> f64 {
            let is_wanted = |name: &str| name.parse::<TraceOperation>().is_ok_and(wanted);
            let wanted = report.operations.iter().filter(|(name, _)| is_wanted(name));
            // An empty sum would be -0.
            wanted.fold(0.0, |sum, (_, operation)| sum + operation.share)
        };
        let zipf = report.popularity.as_ref().and_then(|popularity| popularity.zipf.as_ref());
        let wonders = report.popularity.as_ref().map(|popularity| popularity.one_hit_wonders);
        let (writes_share, drops_share) = (share(TraceOperation::stores), share(drops));
        Self {
            requests: report.requests,
            keys: report.keys,
            footprint_bytes,
            reads_share: share(reads),
            writes_share,
            drops_share,
            zipf_exponent: zipf.map(|zipf| zipf.exponent),
            zipf_error: zipf.map(|zipf| zipf.standard_error),
            zipf_keys: zipf.map(|zipf| zipf.ranks),
            zipf_reason: report.popularity.as_ref().and_then(|popularity| popularity.zipf_reason.clone()),
            one_hit_keys_share: wonders.map(|wonders| wonders.keys_share),
            one_hit_requests_share: wonders.map(|wonders| wonders.requests_share),
            first_uses_share: report.reuse_distance.cold_share,
            span_s: report.span_s,
            requests_per_s: report.span_s.filter(|span| *span > 0.0).map(|span| report.requests as f64 / span),
        }
    }
}

fn drops(operation: TraceOperation) -> bool {
    matches!(operation, TraceOperation::Delete | TraceOperation::Discard)
}

fn reads(operation: TraceOperation) -> bool {
    !operation.stores() && !drops(operation)
}
