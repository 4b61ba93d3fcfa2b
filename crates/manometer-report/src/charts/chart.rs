//! A chart: its texts, its Vega-Lite file, and the function that fills it.

use serde::Serialize;
use serde_json::Value;

use super::placeholder;
use crate::phase_spans::PhaseSpan;
use crate::recording_reader::RecordingReader;
use crate::strips::{self, Strip};
use crate::table::Table;

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

/// A chart: a file of the folder `charts/`, and what fills it.
pub(crate) struct Chart {
    /// Its name: that of its file and of the dataset in it.
    pub(crate) name: &'static str,
    /// Its title on the page.
    pub(crate) title: &'static str,
    /// The work that introduced it.
    pub(crate) origin: Option<&'static str>,
    /// How to read it.
    pub(crate) caption: &'static str,
    /// The Vega-Lite file.
    pub(crate) spec: &'static str,
    /// What fills it.
    pub(crate) input: ChartInput,
}

/// What fills a chart.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ChartInput {
    /// One recording.
    OneRecording(fn(&RecordingReader) -> ChartContent),
    /// One recording or several.
    Recordings(fn(&[RecordingReader]) -> ChartContent),
    /// Several recordings in one chart. Of a single recording other charts show the same.
    SeveralRecordings(fn(&[RecordingReader]) -> ChartContent),
    /// Figures that come from no recording, in these columns.
    Columns(&'static [ColumnInfo]),
}

impl Chart {
    /// The chart as the page or a notebook draws it: its file. Without rows it is a text with the `reasons`.
    pub(crate) fn spec_of(&self, rows: usize, reasons: &[String]) -> Value {
        let spec: Value = serde_json::from_str(self.spec).unwrap_or(Value::Null);
        if rows > 0 { spec } else { placeholder::spec(self.name, self.title, &spec, reasons) }
    }
}

/// The rows of one chart, with its description and its notes.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct ChartContent {
    /// Its data; empty where there is nothing to draw.
    pub(crate) table: Table,
    /// The chart in words, for readers who do not see it.
    pub(crate) alt_text: String,
    /// What is missing, and why. Without data and notes, the recording has nothing that this chart shows.
    pub(crate) notes: Vec<String>,
}

impl ChartContent {
    /// The chart of `rows`, each a struct of plain fields.
    pub(super) fn of<T: Serialize>(rows: &[T], words: &[String], notes: Vec<String>) -> Self {
        Self { table: Table::of(rows), alt_text: words.join(". "), notes }
    }

    /// A chart without data, and why.
    pub(crate) fn empty(reason: &str) -> Self {
        Self { notes: vec![reason.to_owned()], ..Self::default() }
    }

    /// A chart of `strips` over time. Those that are zero throughout are a note.
    pub(super) fn of_strips(strips: Vec<Strip>, phases: &[PhaseSpan], mut notes: Vec<String>) -> Self {
        let (zero, strips): (Vec<Strip>, Vec<Strip>) = strips.into_iter().partition(Strip::is_zero);
        if !zero.is_empty() {
            let titles: Vec<&str> = zero.iter().map(|strip| strip.title.as_str()).collect();
            notes.push(format!("Zero throughout, and not drawn: {}.", titles.join("; ")));
        }
        let words: Vec<String> = strips.iter().map(Strip::describe).collect();
        Self { table: Table::of(&strips::rows(&strips, phases)), alt_text: words.join(". "), notes }
    }
}

/// The name of a phase in charts: its id and its label.
pub(super) fn phase_name(id: &str, label: &str) -> String {
    if label.is_empty() { id.to_owned() } else { format!("{id} · {label}") }
}
