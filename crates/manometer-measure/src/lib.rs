//! Measurements and their recording.
//!
//! Clocks, units, latency histograms, sample series, observers of the host, checks of the host, and the recording: the folder
//! that one run leaves behind (`docs/recording.md`). `manometer-analysis` analyses it.
//!
//! ```
//! use manometer_measure::LatencyHistogram;
//!
//! let mut latencies = LatencyHistogram::new();
//! for latency_ns in [80_000, 90_000, 2_000_000] {
//!     latencies.record(latency_ns);
//! }
//! assert_eq!(latencies.len(), 3);
//! assert!(latencies.quantile_ns(0.99).is_some_and(|p99_ns| p99_ns >= 2_000_000));
//! ```

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests make the files that they damage"))]

pub mod autocorrelation;
pub mod capture;
mod catch_panic;
pub mod clock;
pub mod clock_offset;
pub mod directory;
pub mod dispatch;
pub mod doctor;
mod encoded_counts;
pub mod engine;
pub mod event;
mod event_log;
pub mod file_lock;
mod grade;
pub mod histogram;
pub mod histogram_bins;
pub mod host;
pub mod human;
pub mod json_line;
pub mod latency_log;
pub mod live;
mod monotonic;
pub mod operation;
pub mod plan;
mod plan_check;
pub mod process_mark;
mod program;
pub mod recording;
pub mod regular_file;
pub mod samples;
pub mod secrets;
pub mod series;
pub mod stopwatch;
pub mod suggest;
pub mod units;

pub use clock::{Clock, ManualClock, MonotonicClock};
pub use directory::Directory;
pub use dispatch::{Dispatch, ReplayOutcome, SentAs};
pub use event::{Event, EventLine, Severity};
pub use file_lock::FileLock;
pub use grade::Grade;
pub use histogram::LatencyHistogram;
pub use plan::{Criterion, InterleavedRounds, Phase, PhaseKind, Plan, PlannedWorkload, Role};
pub use recording::{Recording, RecordingError, RecordingWriter};
pub use samples::{Column, Samples};
pub use units::{ByteSize, Rate, Ratio, Share, Span};
