//! Several recordings in the same charts.

use super::contents::Entry;
use super::figure::{anchor, figure, omitted_charts};
use crate::AnalysedRecording;
use crate::charts::{CHARTS, Chart, ChartContent, ChartInput};
use crate::recording_reader::RecordingReader;

/// The charts that stay readable however many recordings they show.
const OF_MANY: [&str; 4] = ["pressure-heat-map", "pressure-differences", "pressure-steps", "throughput-latency"];

/// The charts that join recordings.
pub(super) struct JoinedCharts {
    /// Their markup, and why others are left out.
    pub(super) html: String,
    /// Their places for the contents.
    pub(super) entries: Vec<Entry>,
    /// Their names.
    pub(super) drawn: Vec<&'static str>,
}

/// The charts that join `recordings`; where these are `many`, only those that stay readable.
pub(super) fn charts(recordings: &[AnalysedRecording], many: bool) -> JoinedCharts {
    let readers: Vec<RecordingReader> = recordings.iter().map(RecordingReader::new).collect();
    let is_readable = |chart: &&Chart| !many || OF_MANY.contains(&chart.name);
    let drawings = CHARTS.iter().filter(is_readable).filter_map(|chart| Some((chart, draw(chart, &readers)?)));
    let drawings: Vec<(&Chart, ChartContent)> = drawings.collect();
    let (shown, left_out): (Vec<_>, Vec<_>) = drawings.iter().partition(|(_, drawing)| !drawing.table.is_empty());
    let mut joined = JoinedCharts { html: String::new(), entries: Vec::new(), drawn: Vec::new() };
    for (chart, drawing) in shown {
        joined.drawn.push(chart.name);
        joined.entries.push(Entry::of(format!("#{}", anchor(chart.name, 0)), chart.title));
        joined.html.push_str(&figure([chart.name, chart.title, chart.caption], drawing, 0, 2));
    }
    joined.html.push_str(&omitted_charts(&left_out));
    joined
}

/// What a chart makes of all of them; nothing of one that shows each alone.
fn draw(chart: &Chart, readers: &[RecordingReader]) -> Option<ChartContent> {
    match chart.input {
        ChartInput::Recordings(draw) | ChartInput::SeveralRecordings(draw) => Some(draw(readers)),
        ChartInput::OneRecording(_) | ChartInput::Columns(_) => None,
    }
}
