//! Pressure by two settings.

use crate::charts::chart::{Chart, ChartInput, Drawing};
use crate::charts::heat_map::HeatMap;
use crate::charts::phase_points::pressures;
use crate::recording_reader::RecordingReader;

pub(crate) const CHART: Chart = Chart {
    name: "pressure-heat-map",
    title: "Pressure by settings",
    origin: None,
    caption: "Each cell is the pressure under one combination of settings: orange costs the primary, blue helps it. \
              Where there is room, the 95 % interval stands beneath; a number is bold where that is on one side of 0; \
              one without an interval, of a phase that is too short for one, never is. An empty cell was not measured.",
    spec: include_str!("../../../../../charts/pressure-heat-map.vl.json"),
    input: ChartInput::Recordings(draw),
};

fn draw(readers: &[RecordingReader]) -> Drawing {
    let points = pressures(readers);
    let mut heat = HeatMap::new();
    heat.add("", &points, None);
    let (cells, words, notes) = heat.finish();
    if cells.iter().all(|cell| cell.value.is_none()) {
        return Drawing::empty("No two phases with a pressure differ by a setting: this chart is left out.");
    }
    Drawing::of(&cells, &words, notes)
}
