//! The page: one HTML file of all its parts.

mod all_runs;
mod cache_advice;
mod cache_curves;
mod cache_tiers;
mod contents;
mod environment;
mod figure;
mod files;
mod findings;
mod groups;
mod html;
mod overview;
mod rates;
mod real_vs_synthetic;
mod results;
mod run;
mod run_pages;
mod run_status;
mod small_scales;
mod table;
mod verdict;

use std::path::Path;
use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use crate::charts::{CHARTS, Chart};
use crate::gallery::COLOURS;
use crate::run_names::names;
use crate::{AnalysedRecording, ReportError, vendor};

use contents::Entry;
use html::{escape, fill, json};

pub use cache_advice::cache_advice;
pub use cache_curves::{CacheCurves, CachePoint, CachePolicy, WorkingSetStrip, cache_curves};
pub use cache_tiers::cache_tiers;
pub use rates::{RatePoint, RateSearch, rate_search};
pub use real_vs_synthetic::real_vs_synthetic;
pub use run_pages::{RUNS_MAX, RunPages, stale_pages};

const TEMPLATE: &str = include_str!("page.html");
/// What every page of ours has in its head.
const GENERATOR: &str = "<meta name=\"generator\" content=\"Manometer ";
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = concat!(include_str!("interact.js"), include_str!("page.js"), include_str!("runs.js"));

/// The page of `recordings`, as one HTML text that needs no other file. It is to lie in `folder`: from
/// there its links lead to the recordings' files.
///
/// # Errors
/// There is no recording, or a path cannot be made absolute.
pub fn page(recordings: &[AnalysedRecording], folder: &Path) -> Result<String, ReportError> {
    let Some(first) = recordings.first() else { return Err(ReportError::NoRecording) };
    let several = recordings.len() > 1;
    let (mut main, mut entries, mut drawn) = if several { together(recordings) } else { Default::default() };
    for (index, recorded) in recordings.iter().enumerate() {
        let place = run::RecordingPosition { number: index + 1, several, folder };
        let article = run::article(recorded, &place)?;
        main.push_str(&article.html);
        drawn.extend(article.drawn);
        match several {
            true => {
                let run = format!("Run {}", index + 1);
                entries.push(Entry { within: article.entries, ..Entry::of(format!("#run-{}", index + 1), run) });
            }
            false => entries.extend(article.entries),
        }
    }
    let main = contents::nav(&entries) + "<main>\n" + &main + "</main>\n";
    Ok(document(&first.summary.experiment, &main, &specs(&drawn), IN_RECORDING))
}

/// What several recordings say together, the places of it for the contents, and the names of its charts.
fn together(recordings: &[AnalysedRecording]) -> (String, Vec<Entry>, Vec<&'static str>) {
    let links: Vec<String> = (1..=recordings.len()).map(|number| format!("#run-{number}")).collect();
    let joined = all_runs::charts(recordings, false);
    let html = overview::head(recordings) + &overview::table(recordings, &names(recordings), &links) + &joined.html;
    (html, std::iter::once(Entry::of("#runs", "All runs")).chain(joined.entries).collect(), joined.drawn)
}

/// Where a reader without JavaScript finds the data, and where every digit is.
const IN_RECORDING: [&str; 2] = ["the data files are in the recording", "the recording has every digit"];

/// The page called `title` with `main` as its only column.
fn whole(title: &str, main: &str, specs: &Map<String, Value>, elsewhere: [&str; 2]) -> String {
    document(title, &format!("<main>\n{main}\n</main>\n"), specs, elsewhere)
}

/// The page called `title` around its `columns`; `elsewhere` says where the data are, for readers without JavaScript and
/// for readers who need every digit.
fn document(title: &str, columns: &str, specs: &Map<String, Value>, [data, digits]: [&str; 2]) -> String {
    fill(
        TEMPLATE,
        &[
            ("title", &escape(title)),
            ("version", &escape(env!("CARGO_PKG_VERSION"))),
            ("style", STYLE),
            ("hashes", &LIBRARIES.hashes),
            ("script", SCRIPT),
            ("columns", columns),
            ("colours", COLOURS),
            ("data", data),
            ("digits", digits),
            ("specs", &json(specs)),
            ("libraries", &LIBRARIES.elements),
        ],
    )
}

/// The files of the charts that are `drawn`, by name; each is in the page once, however many recordings it draws.
fn specs(drawn: &[&'static str]) -> Map<String, Value> {
    let parsed = |chart: &Chart| serde_json::from_str(chart.spec).unwrap_or(Value::Null);
    let ours = CHARTS.iter().filter(|chart| drawn.contains(&chart.name));
    ours.map(|chart| (chart.name.to_owned(), parsed(chart))).collect()
}

/// The libraries of the charts.
struct Libraries {
    /// Their `script` elements.
    elements: String,
    /// The page's own script and they, each as a source of the content security policy: a browser runs no other script.
    hashes: String,
}

static LIBRARIES: LazyLock<Libraries> = LazyLock::new(|| {
    let libraries: Vec<String> = vendor::scripts().collect();
    let hash = |script: &str| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(script)));
    let hashes: Vec<String> = std::iter::once(SCRIPT).chain(libraries.iter().map(String::as_str)).map(hash).collect();
    let elements = libraries.iter().map(|library| format!("<script>{library}</script>\n")).collect();
    Libraries { elements, hashes: hashes.join(" ") }
});
