//! Pressure by two settings.

use crate::charts::chart::{Chart, ChartContent, ChartInput};
use crate::charts::heat_map::HeatMap;
use crate::charts::phase_points::pressures;
use crate::recording_reader::RecordingReader;

pub(crate) const CHART: Chart = Chart {
    name: "pressure-heat-map",
    title: "Pressure by settings",
    origin: None,
    caption: "Each cell is the pressure under one combination of settings: orange is harm, blue is help. Below a \
              number is its 95 % interval, where there is room; a bold number has it on one side of 0. A number \
              without an interval, of a phase too short for one, is never bold. An empty cell was not measured.",
    spec: include_str!("../../../charts/pressure-heat-map.vl.json"),
    input: ChartInput::Recordings(draw),
};

fn draw(readers: &[RecordingReader]) -> ChartContent {
    let points = pressures(readers);
    let mut heat = HeatMap::new();
    heat.add("", &points, None);
    let (cells, words, notes) = heat.finish();
    if cells.iter().all(|cell| cell.value.is_none()) {
        return ChartContent::empty("No two phases with a pressure differ by a setting: this chart is left out.");
    }
    ChartContent::of(&cells, &words, notes)
}
