//! The cumulative distributions of the criterion, a panel for each run.

use serde::Serialize;

use super::criterion_distribution::{self as distribution, in_words};
use super::joined::{Run, runs};
use super::{Chart, Draw, Drawing};
use crate::source::Source;

pub(super) const CHART: Chart = Chart {
    name: "distribution-grid",
    title: "Distributions of the criterion, run by run",
    origin: Some("Lange 2023 (seed 000), Figures 4.8 and 4.17"),
    reading: "The share of a phase's sample intervals (upwards) in which the criterion was at most so much (across), a \
              panel for each run, all on the same scale; the dashed line is w0. A steep line is a steady phase.",
    spec: include_str!("../../../../charts/distribution-grid.vl.json"),
    draw: Draw::Joined(draw),
};

/// Steps of one line: panels are small.
const LIMIT: usize = 60;
/// Panels at most: more are told of, not shown.
const PANELS: usize = 48;

/// One step of one phase in the panel of its run.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Row {
    /// The run, and on a second line what is across.
    panel: String,
    run: String,
    run_order: usize,
    #[serde(flatten)]
    step: distribution::Row,
}

fn draw(sources: &[Source]) -> Drawing {
    let (mut rows, mut words) = (Vec::new(), Vec::new());
    let runs = runs(sources);
    let more = runs.len().saturating_sub(PANELS);
    for Run { source, name, order } in runs.into_iter().take(PANELS) {
        let steps = distribution::rows(source, LIMIT);
        words.extend(in_words(&steps).into_iter().map(|phase| format!("{name}, {phase}")));
        rows.extend(steps.into_iter().map(|step| Row {
            panel: format!("{name}\n{}", step.criterion),
            run: name.clone(),
            run_order: order,
            step,
        }));
    }
    if rows.is_empty() {
        return Drawing::left_out("No run has samples of the criterion: this chart is left out.");
    }
    let notes = if more == 0 { Vec::new() } else { vec![format!("{more} more runs are not shown: choose fewer.")] };
    Drawing::of(&rows, &words, notes)
}
