//! Pressure by two settings.

use super::heat::Heat;
use super::points::pressures;
use super::{Chart, Draw, Drawing};
use crate::source::Source;

pub(super) const CHART: Chart = Chart {
    name: "pressure-heat-map",
    title: "Pressure by settings",
    origin: None,
    reading: "Each cell is the pressure under one combination of settings: orange costs the primary, blue helps it. \
              Where there is room, the 95 % interval stands beneath; a number is bold where that is on one side of 0; \
              one without an interval, of a phase that is too short for one, never is. An empty cell was not measured.",
    spec: include_str!("../../../../charts/pressure-heat-map.vl.json"),
    draw: Draw::Any(draw),
};

fn draw(sources: &[Source]) -> Drawing {
    let points = pressures(sources);
    let mut heat = Heat::new();
    heat.add("", &points, None);
    let (cells, words, notes) = heat.finish();
    if cells.iter().all(|cell| cell.value.is_none()) {
        return Drawing::left_out("No two phases with a pressure differ by a setting: this chart is left out.");
    }
    Drawing::of(&cells, &words, notes)
}
