//! The page: one HTML file of all its parts.

mod all_runs;
mod cache_advice;
mod cache_curves;
mod cache_tiers;
mod environment;
mod figure;
mod files;
mod findings;
mod html;
mod overview;
mod rates;
mod real_vs_synthetic;
mod results;
mod run;
mod run_status;
mod table;
mod verdict;

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Map, Value};

use crate::charts::{CHARTS, Chart};
use crate::gallery::COLOURS;
use crate::{AnalysedRecording, ReportError, vendor};

use html::{escape, fill, json};

pub use cache_advice::cache_advice;
pub use cache_curves::{CacheCurves, CachePoint, CachePolicy, WorkingSetStrip, cache_curves};
pub use cache_tiers::cache_tiers;
pub use rates::{RatePoint, RateSearch, rate_search};
pub use real_vs_synthetic::real_vs_synthetic;

const TEMPLATE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The page of `recordings`, as one HTML text that needs no other file. It is to lie in `folder`: from
/// there its links lead to the recordings' files.
///
/// # Errors
/// There is no recording, or a path cannot be made absolute.
pub fn page(recordings: &[AnalysedRecording], folder: &Path) -> Result<String, ReportError> {
    let Some(first) = recordings.first() else { return Err(ReportError::NoRecording) };
    let several = recordings.len() > 1;
    let mut main = if several { overview::section(recordings) } else { String::new() };
    let mut drawn = Vec::new();
    if several {
        main.push_str(&all_runs::sections(recordings, &mut drawn));
    }
    for (index, recorded) in recordings.iter().enumerate() {
        let place = run::RecordingPosition { number: index + 1, several, folder };
        main.push_str(&run::article(recorded, &place, &mut drawn)?);
    }
    let elsewhere = ["the data files are in the recording", "the recording has every digit"];
    Ok(whole(&first.summary.experiment, &main, &specs(&drawn), elsewhere))
}

/// The page called `title` around `main`; `elsewhere` says where the data are, for readers without JavaScript and
/// for readers who need every digit.
fn whole(title: &str, main: &str, specs: &Map<String, Value>, [data, digits]: [&str; 2]) -> String {
    fill(
        TEMPLATE,
        &[
            ("title", &escape(title)),
            ("version", &escape(env!("CARGO_PKG_VERSION"))),
            ("style", STYLE),
            ("script", SCRIPT),
            ("main", main),
            ("colours", COLOURS),
            ("data", data),
            ("digits", digits),
            ("specs", &json(specs)),
            ("libraries", &libraries()),
        ],
    )
}

/// The files of the charts that are `drawn`, by name; each is in the page once, however many recordings it draws.
fn specs(drawn: &[&'static str]) -> Map<String, Value> {
    let parsed = |chart: &Chart| serde_json::from_str(chart.spec).unwrap_or(Value::Null);
    let ours = CHARTS.iter().filter(|chart| drawn.contains(&chart.name));
    ours.map(|chart| (chart.name.to_owned(), parsed(chart))).collect()
}

fn libraries() -> String {
    let mut scripts = String::new();
    for library in vendor::scripts() {
        _ = writeln!(scripts, "<script nonce=\"manometer\">{library}</script>");
    }
    scripts
}
