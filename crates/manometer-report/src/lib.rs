//! Recordings and charts become one page.
//!
//! [`page()`] writes one HTML file that holds all it needs: text, tables, data, the charts of the folder
//! `charts/` and the libraries that draw them. What the numbers mean was decided by
//! `manometer-analysis`; the page shows it, and shows what was not measured as not measured.

mod charts;
mod page;
mod phases;
mod source;
mod table;
mod text;
mod thin;
mod time;
mod vendor;

#[cfg(test)]
#[path = "../tests/common/mod.rs"]
mod example;

use std::path::PathBuf;

use manometer_analysis::summary::Summary;
use manometer_measure::Recording;
use manometer_measure::plan::Settings;

pub use page::{
    CacheCurves, CachePoint, CachePolicy, RatePoint, RateSearch, WorkingSetStrip, cache_advice, cache_curves, page,
    rate_search, real_vs_synthetic,
};

/// One recording and what the analysis says of it.
#[derive(Debug, Clone)]
pub struct Recorded {
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
    /// A path that cannot be made absolute, so that no link can lead there.
    #[error("{}: {source}", path.display())]
    Path {
        /// The path.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}
