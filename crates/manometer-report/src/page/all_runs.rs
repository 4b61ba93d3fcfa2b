//! Several recordings in the same charts, before each is shown alone.

use super::figure::{figure, omitted_charts};
use crate::AnalysedRecording;
use crate::charts::{CHARTS, Chart, ChartContent, ChartInput};
use crate::recording_reader::RecordingReader;

/// A section for each chart that joins recordings, and why others are left out; adds the names of the charts to `drawn`.
pub(super) fn sections(recordings: &[AnalysedRecording], drawn: &mut Vec<&'static str>) -> String {
    let readers: Vec<RecordingReader> = recordings.iter().map(RecordingReader::new).collect();
    let drawings = CHARTS.iter().filter_map(|chart| Some((chart, draw(chart, &readers)?)));
    let drawings: Vec<(&Chart, ChartContent)> = drawings.collect();
    let (shown, left_out): (Vec<_>, Vec<_>) = drawings.iter().partition(|(_, drawing)| !drawing.table.is_empty());
    let mut html = String::new();
    for (chart, drawing) in shown {
        drawn.push(chart.name);
        html.push_str(&figure([chart.name, chart.title, chart.caption], drawing, 0, 2));
    }
    html + &omitted_charts(&left_out, 2)
}

/// What a chart makes of all of them; nothing of one that shows each alone.
fn draw(chart: &Chart, readers: &[RecordingReader]) -> Option<ChartContent> {
    match chart.input {
        ChartInput::Recordings(draw) | ChartInput::SeveralRecordings(draw) => Some(draw(readers)),
        ChartInput::OneRecording(_) | ChartInput::Columns(_) => None,
    }
}
