//! Recordings as one HTML page, and as charts.
//!
//! [`page()`] writes one self-contained HTML file: text, tables, data, the charts of the folder `charts/` and the
//! libraries that draw them. `manometer-analysis` computes the numbers; the page shows them, and shows a missing number as
//! missing.
//!
//! [`charts()`] lists every chart, [`draw()`] makes the rows from recordings and [`spec()`] its Vega-Lite specification:
//! other programs draw the same charts.
//!
//! ```
//! use manometer_report::{charts, spec};
//!
//! # fn main() -> Result<(), manometer_report::ReportError> {
//! for chart in charts() {
//!     let vega_lite = spec(chart.name, 0, &["nothing was measured".to_owned()])?;
//!     assert!(vega_lite.is_object(), "{}", chart.title);
//! }
//! # Ok(())
//! # }
//! ```

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests make the files that they damage"))]

mod charts;
mod demo;
mod downsample;
mod gallery;
mod page;
mod phase_spans;
mod recording_reader;
mod run_names;
mod strips;
mod table;
mod text;
mod vendor;

#[cfg(test)]
#[path = "../tests/integration/example/mod.rs"]
mod example;

use std::path::{Path, PathBuf};

use manometer_analysis::runs_verdict::RunWithSummary;
use manometer_analysis::summary::RunSummary;
use manometer_measure::plan::Settings;
use manometer_measure::suggest::did_you_mean;
use manometer_measure::{Recording, RecordingError};

pub use charts::ColumnInfo;
pub use demo::write_demo;
pub use gallery::{COLOURS, ChartData, ChartInfo, ChartSource, charts, draw, spec};
pub use page::{
    CacheCurves, CachePoint, CachePolicy, RUNS_MAX, RatePoint, RateSearch, RunPages, WorkingSetStrip, cache_advice,
    cache_curves, cache_tiers, page, rate_search, real_vs_synthetic, stale_pages,
};
pub use run_names::distinct_path_ends;

/// One recording with its analysis.
#[derive(Debug, Clone)]
pub struct AnalysedRecording {
    /// The recording.
    pub recording: Recording,
    /// Its analysis.
    pub summary: RunSummary,
    /// What the sweep set for this run; empty without a sweep.
    pub settings: Settings,
}

impl AnalysedRecording {
    /// Reads and analyses the recording in `folder`.
    ///
    /// # Errors
    /// There is none, or its plan cannot be read.
    pub fn open(folder: &Path) -> Result<Self, RecordingError> {
        Recording::open(folder).map(Self::of)
    }

    /// Analyses `recording`.
    pub fn of(recording: Recording) -> Self {
        let summary = manometer_analysis::summarise(&recording);
        let settings = recording.plan.sweep.clone();
        Self { recording, summary, settings }
    }

    /// As one of several runs that are judged together.
    pub fn judged(&self) -> RunWithSummary<'_> {
        RunWithSummary { recording: &self.recording, summary: &self.summary }
    }
}

/// A page that cannot be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// There is no recording.
    #[error("a report needs at least one recording")]
    NoRecording,
    /// No such chart.
    #[error("there is no chart `{name}`{}", did_you_mean(*similar))]
    UnknownChart {
        /// The name as given.
        name: String,
        /// The chart whose name is most like it.
        similar: Option<&'static str>,
    },
    /// A chart of figures has no rows from recordings.
    #[error(
        "the chart `{name}` is drawn from figures, not from recordings: give it rows with the columns {}",
        columns.join(", ")
    )]
    ChartOfFigures {
        /// The chart.
        name: &'static str,
        /// The columns that its rows need.
        columns: Vec<&'static str>,
    },
    /// Several recordings for a chart that shows one.
    #[error("the chart `{name}` shows one recording, got {got}: draw one chart for each")]
    OneRecordingOnly {
        /// The chart.
        name: &'static str,
        /// The number of recordings.
        got: usize,
    },
    /// A path that cannot be made absolute, so that no link can lead there.
    #[error("{}: {source}", path.display())]
    Path {
        /// The path.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
}
