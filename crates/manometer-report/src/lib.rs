//! Recordings and charts become one page.
//!
//! [`page()`] writes one HTML file that holds all it needs: text, tables, data, the charts of the folder
//! `charts/` and the libraries that draw them. What the numbers mean was decided by
//! `manometer-analysis`; the page shows it, and shows what was not measured as not measured.
//!
//! [`charts()`] lists every chart, [`draw()`] makes its rows of recordings and [`spec()`] its Vega-Lite specification:
//! whoever draws them elsewhere draws the same.

mod charts;
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

use std::path::PathBuf;

use manometer_analysis::summary::Summary;
use manometer_measure::Recording;
use manometer_measure::plan::Settings;
use manometer_measure::suggest::did_you_mean;

pub use charts::ColumnInfo;
pub use gallery::{COLOURS, ChartData, ChartInfo, Scope, charts, draw, spec};
pub use page::{
    CacheCurves, CachePoint, CachePolicy, RatePoint, RateSearch, WorkingSetStrip, cache_advice, cache_curves, page,
    rate_search, real_vs_synthetic,
};
pub use run_names::distinct_path_ends;

/// One recording and what the analysis says of it.
#[derive(Debug, Clone)]
pub struct AnalysedRecording {
    /// The recording.
    pub recording: Recording,
    /// What the analysis says of it.
    pub summary: Summary,
    /// What the sweep set for this run; empty without a sweep.
    pub settings: Settings,
}

/// A page that cannot be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// Nothing to show.
    #[error("a report needs at least one recording")]
    NoRecording,
    /// A chart that there is not.
    #[error("there is no chart `{name}`{}", did_you_mean(*similar))]
    UnknownChart {
        /// The name as given.
        name: String,
        /// The chart whose name is most like it.
        similar: Option<&'static str>,
    },
    /// A chart that no recording fills.
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
        /// How many there were.
        got: usize,
    },
    /// A path that cannot be made absolute, so that no link can lead there.
    #[error("{}: {source}", path.display())]
    Path {
        /// The path.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}
