//! Progress of a run and of its preparation, for a user interface.

use manometer_measure::event::Finding;
use serde::Serialize;

/// One update. Serialised, it is a line of `--progress json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum ProgressUpdate<'a> {
    /// A worker prepares its database or files.
    Preparing {
        /// The workload.
        workload: &'a str,
        /// The step, such as `loading`.
        what: &'a str,
        /// The amount done.
        done: u64,
        /// The total amount.
        total: u64,
    },
    /// A workload is prepared.
    Ready {
        /// The workload.
        workload: &'a str,
    },
    /// A phase starts, with its settle time.
    Phase {
        /// Its id.
        id: &'a str,
        /// Its label.
        label: &'a str,
        /// Its length in seconds, including the settle time.
        seconds: f64,
    },
    /// The performance of a workload in the last sample interval.
    Rate {
        /// The workload.
        workload: &'a str,
        /// Its performance, in `unit`.
        rate: f64,
        /// The unit.
        unit: &'a str,
        /// The 99th percentile of the latencies of all its operations, in microseconds.
        p99_us: Option<f64>,
    },
    /// A sample interval has ended.
    #[serde(rename = "beat")]
    Tick {
        /// Seconds left in the phase.
        phase_left_s: f64,
        /// Seconds left in the run.
        run_left_s: f64,
    },
    /// A finding about the run.
    Finding(&'a Finding),
    /// A workload ended by itself before the plan did.
    Ended {
        /// The workload.
        workload: &'a str,
        /// Why.
        text: &'a str,
    },
    /// A workload failed.
    Failed {
        /// The workload.
        workload: &'a str,
        /// The error.
        text: &'a str,
    },
}
