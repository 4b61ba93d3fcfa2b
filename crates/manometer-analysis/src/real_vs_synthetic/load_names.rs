//! The names of loads.

/// The trace itself.
pub const TRACE: &str = "trace";
/// The requests of the trace in random order.
pub const SHUFFLED: &str = "shuffled";
/// The keys of the trace in random order, its operations in theirs: each key gets the mix of operations of the whole trace.
pub const SHUFFLED_OPERATIONS: &str = "shuffled-operations";
/// Zipf-distributed keys, fitted to the popularity of all keys of the trace.
pub const ZIPF: &str = "zipf";
/// Zipf-distributed keys, fitted to the miss-ratio curve of the trace.
pub const ZIPF_CURVE: &str = "zipf-curve";
/// Uniformly distributed keys.
pub const UNIFORM: &str = "uniform";
/// The newest keys most often.
pub const LATEST: &str = "latest";

/// The load with values of one size, the mean over the keys of the trace.
pub fn one_size(load: &str) -> String {
    format!("{load}, one size")
}

const SHUFFLED_WITHIN: &str = "shuffled-within-";

/// The trace shuffled within each window of `requests` requests.
pub fn shuffled_within(requests: usize) -> String {
    format!("{SHUFFLED_WITHIN}{requests}")
}

/// Whether `load` is the trace shuffled within windows.
pub fn is_shuffled_within(load: &str) -> bool {
    load.starts_with(SHUFFLED_WITHIN)
}
