//! Samples: what a workload counted in one interval.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The counts of one interval. Times are nanoseconds of `CLOCK_MONOTONIC`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// The interval's end.
    pub t_ns: u64,
    /// The interval's length.
    pub length_ns: u64,
    /// The counts of each operation: `read`, `write`, `update`, `read_modify_write` …
    pub operations: BTreeMap<String, OperationSample>,
    /// Requests of an open loop that came due and found the queue full.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub dropped: u64,
    /// The engine's own state, by column name; `Ready`'s fact `state_units` has the units.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub state: BTreeMap<String, f64>,
    /// When the engine reported its state, where that is not the interval's end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state_t_ns: Option<u64>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The counts of one operation in one interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OperationSample {
    /// Requests answered.
    pub requests: u64,
    /// Bytes moved for the user.
    pub bytes: u64,
    /// Requests that were repeated, such as a short read or write.
    #[serde(default)]
    pub retries: u64,
    /// Requested records that did not exist, where that is no error.
    #[serde(default)]
    pub missing: u64,
    /// Service times, counted from when a request was sent: base64 HdrHistogram V2 of nanoseconds; empty without
    /// requests.
    pub latency: String,
    /// Response times, counted from when a request was due, in the same form; empty where a request is due when it is
    /// sent.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub response: String,
}

/// The counts since they were last read: a [`Sample`] without its times.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SampleCounts {
    /// See [`Sample::operations`].
    pub operations: BTreeMap<String, OperationSample>,
    /// See [`Sample::dropped`].
    pub dropped: u64,
    /// See [`Sample::state`].
    pub state: BTreeMap<String, f64>,
}
