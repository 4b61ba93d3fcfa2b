//! Every chart for those who draw it elsewhere than on the page: what there is, and the rows that fill it.

use manometer_measure::suggest::similar;
use serde_json::{Map, Value};

use crate::charts::{CHARTS, Chart, Draw, Drawing};
use crate::source::Source;
use crate::{Recorded, ReportError};

/// The colours of text, axes and series on a light and on a dark ground, as JSON: `ground`, `ink`, `soft` (secondary
/// text), `line` (axes), `series` in order, told apart by colour-blind readers too, and `shades`, a scale of Vega's for
/// what is more than these.
pub const COLOURS: &str = include_str!("../../../charts/colours.json");

/// What a chart is made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// One recording.
    OneRecording,
    /// Recordings: several, or one where that tells something.
    ManyRecordings,
    /// Figures that are no recording's, such as curves of caches or costs.
    Figures,
}

/// A column that a chart of figures reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ColumnInfo {
    /// Its name in the rows.
    pub name: &'static str,
    /// The unit of its numbers; empty for a text, a flag or a bare number.
    pub unit: &'static str,
    /// What it means.
    pub meaning: &'static str,
}

impl ColumnInfo {
    /// A column: its name, its unit, what it means.
    pub(crate) const fn new(name: &'static str, unit: &'static str, meaning: &'static str) -> Self {
        Self { name, unit, meaning }
    }
}

/// A chart that there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChartInfo {
    /// Its name: that of its file, and of the dataset in it that its rows fill.
    pub name: &'static str,
    /// Its title.
    pub title: &'static str,
    /// The work that it comes from, with its figures; nothing where it is the field's or ours.
    pub origin: Option<&'static str>,
    /// How to read it.
    pub reading: &'static str,
    /// Its Vega-Lite file.
    pub spec: &'static str,
    /// What it is made from.
    pub scope: Scope,
    /// The columns that its rows need, for a chart of figures; empty for others, whose rows [`draw`] makes.
    pub columns: &'static [ColumnInfo],
}

/// What fills a chart.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Drawn {
    /// Its rows, for the dataset of its name. Numbers have six significant digits; null is a gap. Empty where there is
    /// nothing to draw.
    pub rows: Vec<Map<String, Value>>,
    /// The chart in words, for those who do not see it.
    pub in_words: String,
    /// What a reader must know: what is missing, and why. Without rows there is a note at least.
    pub notes: Vec<String>,
}

/// Every chart, in the order of the gallery.
pub fn charts() -> Vec<ChartInfo> {
    CHARTS.iter().map(info).collect()
}

fn info(chart: &Chart) -> ChartInfo {
    const NONE: &[ColumnInfo] = &[];
    let (scope, columns) = match chart.draw {
        Draw::One(_) => (Scope::OneRecording, NONE),
        Draw::Any(_) | Draw::Joined(_) => (Scope::ManyRecordings, NONE),
        Draw::Figures(columns) => (Scope::Figures, columns),
    };
    let &Chart { name, title, origin, reading, spec, .. } = chart;
    ChartInfo { name, title, origin, reading, spec, scope, columns }
}

/// What the chart `name` shows of `recorded`.
///
/// # Errors
/// There is no such chart, it is drawn from figures, or it shows one recording and there are several.
pub fn draw<'a>(name: &str, recorded: impl IntoIterator<Item = &'a Recorded>) -> Result<Drawn, ReportError> {
    let chart = find(name)?;
    let sources: Vec<Source> = recorded.into_iter().map(Source::new).collect();
    let drawing = match (chart.draw, &sources[..]) {
        (Draw::Figures(columns), _) => {
            let columns = columns.iter().map(|column| column.name).collect();
            return Err(ReportError::ChartOfFigures { name: chart.name, columns });
        }
        (_, []) => Drawing::left_out("No recording was chosen."),
        (Draw::One(draw), [source]) => draw(source),
        (Draw::One(_), several) => return Err(ReportError::OneRecordingOnly { name: chart.name, got: several.len() }),
        (Draw::Any(draw) | Draw::Joined(draw), sources) => draw(sources),
    };
    let mut notes = drawing.notes;
    if drawing.table.is_empty() && notes.is_empty() {
        notes.push("The recordings hold nothing that this chart shows.".to_owned());
    }
    let unreadable = sources.iter().flat_map(Source::unreadable);
    notes.extend(unreadable.map(|what| format!("Not all could be read: {what}.")));
    Ok(Drawn { rows: drawing.table.into_rows(), in_words: drawing.in_words, notes })
}

/// The Vega-Lite specification of the chart `name` as it is to be drawn with so many `rows`: its file, or, without
/// rows, one whose text says that there is nothing to draw, and `why`. The rows themselves fill the dataset of its name.
///
/// # Errors
/// There is no such chart.
pub fn spec(name: &str, rows: usize, why: &[String]) -> Result<Value, ReportError> {
    Ok(find(name)?.spec_of(rows, why))
}

fn find(name: &str) -> Result<&'static Chart, ReportError> {
    CHARTS.iter().find(|chart| chart.name == name).ok_or_else(|| {
        let similar = similar(name, CHARTS.iter().map(|chart| chart.name));
        ReportError::UnknownChart { name: name.to_owned(), similar }
    })
}

#[cfg(test)]
#[path = "gallery_tests.rs"]
mod tests;
