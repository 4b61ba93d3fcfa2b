//! The cumulative distributions of the criterion, a panel for each run.

use serde::Serialize;

use super::criterion_distribution::{self as distribution, describe};
use crate::charts::chart::{Chart, ChartContent, ChartInput};
use crate::charts::phase_rows::{PhaseRun, runs};
use crate::recording_reader::RecordingReader;

pub(crate) const CHART: Chart = Chart {
    name: "distribution-grid",
    title: "Distributions of the criterion, run by run",
    origin: Some("Lange 2023, Figures 4.8 and 4.17"),
    caption: "The cumulative distribution of the criterion over a phase's sample intervals, a panel for each run, all \
              on the same scale; the dashed line is w0. A steep line is a steady phase.",
    spec: include_str!("../../../charts/distribution-grid.vl.json"),
    input: ChartInput::SeveralRecordings(draw),
};

/// Steps of one line: panels are small.
const LIMIT: usize = 60;
/// Panels at most; a note counts the rest.
const PANELS: usize = 48;

/// One step of one phase in the panel of its run.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct PanelStep {
    /// The run, and on a second line what is across.
    panel: String,
    run: String,
    run_order: usize,
    #[serde(flatten)]
    step: distribution::DistributionStep,
}

fn draw(readers: &[RecordingReader]) -> ChartContent {
    let (mut rows, mut words) = (Vec::new(), Vec::new());
    let runs = runs(readers);
    let more = runs.len().saturating_sub(PANELS);
    for PhaseRun { reader, name, order } in runs.into_iter().take(PANELS) {
        let steps = distribution::rows(reader, LIMIT);
        words.extend(describe(&steps).into_iter().map(|phase| format!("{name}, {phase}")));
        rows.extend(steps.into_iter().map(|step| PanelStep {
            panel: format!("{name}\n{}", step.criterion),
            run: name.clone(),
            run_order: order,
            step,
        }));
    }
    if rows.is_empty() {
        return ChartContent::empty("No run has samples of the criterion: this chart is left out.");
    }
    let notes = if more == 0 { Vec::new() } else { vec![format!("{more} more runs are not shown: choose fewer.")] };
    ChartContent::of(&rows, &words, notes)
}
