//! The report's charts: their definitions and their data.

use manometer_report::{AnalysedRecording, ChartSource, ColumnInfo, ReportError};
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::error::ChartError;
use crate::recording::Recording;

/// Every chart, as one JSON array.
#[pyfunction]
pub(crate) fn charts() -> String {
    let all = manometer_report::charts().into_iter().map(|chart| {
        let scope = match chart.scope {
            ChartSource::OneRecording => "one",
            ChartSource::ManyRecordings => "many",
            ChartSource::Figures => "figures",
        };
        let column = |column: &ColumnInfo| json!({"name": column.name, "unit": column.unit, "meaning": column.meaning});
        let columns: Vec<Value> = chart.columns.iter().map(column).collect();
        json!({
            "name": chart.name, "title": chart.title, "origin": chart.origin, "caption": chart.caption,
            "scope": scope, "columns": columns,
        })
    });
    Value::from_iter(all).to_string()
}

/// The colours of all charts, as JSON.
#[pyfunction]
pub(crate) fn colours() -> &'static str {
    manometer_report::COLOURS
}

/// The data of a chart for recordings, as one JSON object.
#[pyfunction]
pub(crate) fn draw(py: Python<'_>, name: &str, recordings: Vec<Py<Recording>>) -> PyResult<String> {
    let recorded: Vec<&AnalysedRecording> = recordings.iter().map(|one| one.get().recorded(py)).collect();
    let drawn = py.detach(|| manometer_report::draw(name, recorded));
    let drawn = drawn.map_err(refused)?;
    Ok(json!({ "rows": drawn.rows, "alt_text": drawn.alt_text, "notes": drawn.notes }).to_string())
}

/// The Vega-Lite specification of a chart with `rows` rows; without any, one that shows the reasons `why`.
#[pyfunction]
pub(crate) fn chart_spec(name: &str, rows: usize, why: Vec<String>) -> PyResult<String> {
    manometer_report::spec(name, rows, &why).map(|spec| spec.to_string()).map_err(refused)
}

fn refused(error: ReportError) -> PyErr {
    ChartError::new_err(error.to_string())
}
