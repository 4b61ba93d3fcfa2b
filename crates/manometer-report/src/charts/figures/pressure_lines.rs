//! Performance and pressure by phase, the runs as lines.

use crate::charts::chart::{Chart, ChartContent, ChartInput};
use crate::charts::phase_rows::{greatest, performances, pressures, runs};
use crate::recording_reader::RecordingReader;

pub(crate) const CHART: Chart = Chart {
    name: "pressure-lines",
    title: "Performance and pressure by phase",
    origin: Some("Lange 2023, Figures 4.11 and 4.13"),
    caption: "The primary's performance in each phase, above, and its pressure against the w0 of its own run, below; a \
              line for each run. Whiskers are 95 % intervals, where there is one. Lines diverge where the difference \
              between the runs matters.",
    spec: include_str!("../../../charts/pressure-lines.vl.json"),
    input: ChartInput::SeveralRecordings(draw),
};

fn draw(readers: &[RecordingReader]) -> ChartContent {
    let runs = runs(readers);
    let pressures = pressures(&runs, 1);
    let words = greatest(&pressures);
    if words.is_empty() {
        return ChartContent::empty("No phase has a pressure: this chart is left out.");
    }
    let rows: Vec<_> = performances(&runs, 0).into_iter().chain(pressures).collect();
    ChartContent::of(&rows, &words, Vec::new())
}
