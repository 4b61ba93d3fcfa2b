//! The pressure of each phase as bars, a panel for each run.

use crate::charts::chart::{Chart, ChartContent, ChartInput};
use crate::charts::phase_rows::{greatest, pressures, runs};
use crate::recording_reader::RecordingReader;

pub(crate) const CHART: Chart = Chart {
    name: "pressure-bars",
    title: "Pressure, run by run",
    origin: None,
    caption: "The pressure of each phase against the w0 of its own run: orange is harm, blue is help, whiskers are 95 \
              % intervals, where there is one. All panels have the same scale.",
    spec: include_str!("../../../charts/pressure-bars.vl.json"),
    input: ChartInput::SeveralRecordings(draw),
};

fn draw(readers: &[RecordingReader]) -> ChartContent {
    let rows = pressures(&runs(readers), 0);
    let words = greatest(&rows);
    if words.is_empty() {
        return ChartContent::empty("No phase has a pressure: this chart is left out.");
    }
    ChartContent::of(&rows, &words, Vec::new())
}
