//! Performance and pressure by phase, the runs as lines.

use super::joined::{greatest, performances, pressures, runs};
use super::{Chart, Draw, Drawing};
use crate::source::Source;

pub(super) const CHART: Chart = Chart {
    name: "pressure-lines",
    title: "The runs, phase by phase",
    origin: Some("Lange 2023 (seed 000), Figures 4.11 and 4.13"),
    reading: "The performance of the primary in each phase above, its pressure against the w0 of its own run beneath, \
              a line for each run; whiskers are 95 % intervals, where there is one. Where lines part, what the runs \
              differ by matters.",
    spec: include_str!("../../../../charts/pressure-lines.vl.json"),
    draw: Draw::Joined(draw),
};

fn draw(sources: &[Source]) -> Drawing {
    let runs = runs(sources);
    let pressures = pressures(&runs, 1);
    let words = greatest(&pressures);
    if words.is_empty() {
        return Drawing::left_out("No phase has a pressure: this chart is left out.");
    }
    let rows: Vec<_> = performances(&runs, 0).into_iter().chain(pressures).collect();
    Drawing::of(&rows, &words, Vec::new())
}
