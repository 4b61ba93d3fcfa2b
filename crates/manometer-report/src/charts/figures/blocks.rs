//! The blocks of an interleaved plan, by round: as measured, and as shares of `w0` in the same round.

use manometer_analysis::summary::{BlockSummary, PhaseSummary};
use manometer_measure::plan::PhaseKind;
use serde::Serialize;

use crate::charts::chart::{Chart, ChartContent, ChartInput, phase_name};
use crate::recording_reader::RecordingReader;
use crate::text;

pub(crate) const CHART: Chart = Chart {
    name: "blocks",
    title: "Blocks of an interleaved plan",
    origin: None,
    caption: "The mean of the criterion in each block, by round: above as measured, below as a share of w0 in the same \
              round. The dashed line is w0. What the host does to all blocks of a round moves the lines above together and \
              leaves those below where they are; the pressures come from the shares.",
    spec: include_str!("../../../charts/blocks.vl.json"),
    input: ChartInput::OneRecording(draw),
};

/// One block in one strip.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct BlockRow {
    strip: String,
    strip_order: usize,
    phase: String,
    order: usize,
    baseline: bool,
    round: u32,
    position: Option<usize>,
    after: Option<String>,
    value: Option<f64>,
}

fn draw(reader: &RecordingReader) -> ChartContent {
    let phases = &reader.summary.phases;
    let Some(baseline) = phases.iter().find(|phase| phase.kind == PhaseKind::Baseline && !phase.blocks.is_empty())
    else {
        return ChartContent::empty("The plan is not interleaved: it has no blocks, and this chart is left out.");
    };
    let criterion = &reader.summary.criterion;
    let measured = format!("{} by block ({})", criterion.metric, criterion.unit);
    let rows = |strip: &str, strip_order, value: &dyn Fn(u32, f64) -> Option<f64>| {
        let of_phase = |(order, phase)| block_rows((strip, strip_order), order, phase, value);
        phases.iter().enumerate().flat_map(of_phase).collect::<Vec<_>>()
    };
    let share = |round: u32, mean: f64| {
        let alone = baseline.blocks.iter().find(|block| block.round == round)?.mean?;
        (alone > 0.0).then(|| mean / alone)
    };
    let all = [rows(&measured, 0, &|_, mean| Some(mean)), rows("share of w0 in the same round", 1, &share)].concat();
    ChartContent::of(&all, &describe(phases), Vec::new())
}

/// The blocks of `phase`, each with what `value` makes of its round and its mean.
fn block_rows(
    (strip, strip_order): (&str, usize),
    order: usize,
    phase: &PhaseSummary,
    value: &dyn Fn(u32, f64) -> Option<f64>,
) -> Vec<BlockRow> {
    let row = |block: &BlockSummary| BlockRow {
        strip: strip.to_owned(),
        strip_order,
        phase: phase_name(&phase.id, &phase.label),
        order,
        baseline: phase.kind == PhaseKind::Baseline,
        round: block.round,
        position: block.position,
        after: block.after.clone(),
        value: block.mean.and_then(|mean| value(block.round, mean)),
    };
    phase.blocks.iter().map(row).collect()
}

/// The number and the mean of the blocks of each phase.
fn describe(phases: &[PhaseSummary]) -> Vec<String> {
    let in_blocks = phases.iter().filter(|phase| !phase.blocks.is_empty());
    let words = |phase: &PhaseSummary| {
        let mean =
            phase.performance.mean.map_or("not measured".to_owned(), |mean| format!("mean {}", text::number(mean)));
        format!("{}: {} blocks, {mean}", phase_name(&phase.id, &phase.label), phase.blocks.len())
    };
    in_blocks.map(words).collect()
}
