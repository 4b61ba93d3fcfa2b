//! The pressure of each phase as bars, a panel for each run.

use super::joined::{greatest, pressures, runs};
use super::{Chart, Draw, Drawing};
use crate::source::Source;

pub(super) const CHART: Chart = Chart {
    name: "pressure-bars",
    title: "Pressure, run by run",
    origin: None,
    reading: "What each phase costs the primary against the w0 of its own run: orange is harm, blue is help, whiskers \
              are 95 % intervals, where there is one. All panels have the same scale.",
    spec: include_str!("../../../../charts/pressure-bars.vl.json"),
    draw: Draw::Joined(draw),
};

fn draw(sources: &[Source]) -> Drawing {
    let rows = pressures(&runs(sources), 0);
    let words = greatest(&rows);
    if words.is_empty() {
        return Drawing::left_out("No phase has a pressure: this chart is left out.");
    }
    Drawing::of(&rows, &words, Vec::new())
}
