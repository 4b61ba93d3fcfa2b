//! The charts for other programs than the page: the list, the rows, the specifications.

use manometer_measure::suggest::similar;
use serde_json::{Map, Value};

use crate::charts::{CHARTS, Chart, ChartContent, ChartInput, ColumnInfo};
use crate::recording_reader::RecordingReader;
use crate::{AnalysedRecording, ReportError};

/// The colours of text, axes and series on a light and on a dark ground, as JSON: `ground`, `ink`, `soft` (secondary
/// text), `line` (axes), `series` in order, distinct for colour-blind readers too, and `shades`, a scale of Vega's for
/// more series than these.
pub const COLOURS: &str = include_str!("../charts/colours.json");

/// What a chart is drawn from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChartSource {
    /// One recording.
    OneRecording,
    /// Several recordings, or one.
    ManyRecordings,
    /// Figures that come from no recording, such as curves of caches or costs.
    Figures,
}

/// A chart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChartInfo {
    /// Its name: that of its file, and of the dataset in it that its rows fill.
    pub name: &'static str,
    /// Its title.
    pub title: &'static str,
    /// The work that introduced it, with its figures; nothing where it is common or new.
    pub origin: Option<&'static str>,
    /// How to read it.
    pub caption: &'static str,
    /// Its Vega-Lite file.
    pub spec: &'static str,
    /// What it is drawn from.
    pub scope: ChartSource,
    /// The columns that its rows need, for a chart of figures; empty for others, whose rows come from [`draw`].
    pub columns: &'static [ColumnInfo],
}

/// What fills a chart.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ChartData {
    /// Its rows, for the dataset of its name. Numbers have six significant digits; null is a gap. Empty where there is
    /// nothing to draw.
    pub rows: Vec<Map<String, Value>>,
    /// The chart in words, for readers who do not see it.
    pub alt_text: String,
    /// What is missing, and why. Without rows there is at least one note.
    pub notes: Vec<String>,
}

/// Every chart, in the order of the gallery.
pub fn charts() -> Vec<ChartInfo> {
    CHARTS.iter().map(info).collect()
}

fn info(chart: &Chart) -> ChartInfo {
    const NONE: &[ColumnInfo] = &[];
    let (scope, columns) = match chart.input {
        ChartInput::OneRecording(_) => (ChartSource::OneRecording, NONE),
        ChartInput::Recordings(_) | ChartInput::SeveralRecordings(_) => (ChartSource::ManyRecordings, NONE),
        ChartInput::Columns(columns) => (ChartSource::Figures, columns),
    };
    let &Chart { name, title, origin, caption, spec, .. } = chart;
    ChartInfo { name, title, origin, caption, spec, scope, columns }
}

/// The rows of the chart `name` for `recorded`.
///
/// # Errors
/// There is no such chart, it is drawn from figures, or it shows one recording and there are several.
pub fn draw<'a>(
    name: &str,
    recorded: impl IntoIterator<Item = &'a AnalysedRecording>,
) -> Result<ChartData, ReportError> {
    let chart = find(name)?;
    let readers: Vec<RecordingReader> = recorded.into_iter().map(RecordingReader::new).collect();
    let drawing = match (chart.input, &readers[..]) {
        (ChartInput::Columns(columns), _) => {
            let columns = columns.iter().map(|column| column.name).collect();
            return Err(ReportError::ChartOfFigures { name: chart.name, columns });
        }
        (_, []) => ChartContent::empty("No recording was chosen."),
        (ChartInput::OneRecording(draw), [reader]) => draw(reader),
        (ChartInput::OneRecording(_), several) => {
            return Err(ReportError::OneRecordingOnly { name: chart.name, got: several.len() });
        }
        (ChartInput::Recordings(draw) | ChartInput::SeveralRecordings(draw), readers) => draw(readers),
    };
    let mut notes = drawing.notes;
    if drawing.table.is_empty() && notes.is_empty() {
        notes.push("The recordings have no data for this chart.".to_owned());
    }
    let unreadable = readers.iter().flat_map(RecordingReader::unreadable);
    notes.extend(unreadable.map(|what| format!("Not all could be read: {what}.")));
    Ok(ChartData { rows: drawing.table.into_rows(), alt_text: drawing.alt_text, notes })
}

/// The Vega-Lite specification of the chart `name` for `rows` rows: its file; without rows a text with the
/// reasons `why`. The rows themselves fill the dataset of its name.
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
