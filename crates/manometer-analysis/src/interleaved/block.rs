//! The blocks of a recording: when each was measured, in which round, after which other block.

use std::collections::BTreeMap;

use manometer_measure::{Event, InterleavedRounds, Phase, Recording};

use crate::measured_time::MeasuredTime;
use crate::statistics::moments::mean;
use crate::time_series::{TimeSeries, TimeWindow};

/// A measured block.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    /// Its round, from 1.
    pub round: u32,
    /// When it was measured.
    pub window: TimeWindow,
    /// The mean of the criterion; `None` where no sample interval lies in it.
    pub mean: Option<f64>,
}

/// The round and the measured time of each block of `phase` that ran to its end, in order. If a round ran more than once, the
/// last time counts.
pub(crate) fn block_windows(recording: &Recording, phase: &Phase) -> Vec<(u32, TimeWindow)> {
    let mut windows: BTreeMap<u32, TimeWindow> = BTreeMap::new();
    let mut begun: Option<(u32, u64)> = None;
    for line in &recording.events {
        match &line.event {
            Event::BlockStarted { phase: id, round } => {
                begun = (*id == phase.id).then_some((*round, line.t_ns));
            }
            Event::BlockEnded { phase: id, round } if *id == phase.id => {
                if let Some((_, begin_ns)) = begun.take().filter(|(begun, _)| begun == round) {
                    windows.insert(*round, TimeWindow { begin_ns, end_ns: line.t_ns });
                }
            }
            _ => {}
        }
    }
    windows.into_iter().collect()
}

/// The blocks of `phase`, measured in `time`, with the criterion in each of them; none where it is not made of blocks.
pub(crate) fn blocks_of(
    recording: &Recording,
    phase: &Phase,
    time: &MeasuredTime,
    series: &[TimeSeries],
) -> Vec<Block> {
    if !recording.plan.interleaved.as_ref().is_some_and(|rounds| rounds.has(&phase.id)) {
        return Vec::new();
    }
    let rounds = block_windows(recording, phase).into_iter().map(|(round, _)| round);
    let block = |((round, window), series): ((u32, &TimeWindow), &TimeSeries)| Block {
        round,
        window: *window,
        mean: mean(&series.values),
    };
    rounds.zip(time.windows()).zip(series).map(block).collect()
}

/// The means of `blocks` as a series, with the times since the start of the first block; a block without a sample is a gap.
pub(crate) fn block_series(blocks: &[Block]) -> TimeSeries {
    let mut series = TimeSeries::default();
    let start_ns = blocks.first().map_or(0, |first| first.window.begin_ns);
    for (block, mean) in blocks.iter().filter_map(|block| Some((block, block.mean?))) {
        series.end_s.push(block.window.end_ns.saturating_sub(start_ns) as f64 / 1e9);
        series.values.push(mean);
    }
    series
}

/// The means of `baseline` and `phase` in the rounds in which both were measured.
pub(crate) fn paired(baseline: &[Block], phase: &[Block]) -> Vec<(f64, f64)> {
    let by_round: BTreeMap<u32, f64> = baseline.iter().filter_map(|block| Some((block.round, block.mean?))).collect();
    let pair = |block: &Block| Some((*by_round.get(&block.round)?, block.mean?));
    phase.iter().filter_map(pair).collect()
}

/// One measured block among those of all phases.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RoundEntry {
    /// Its round, from 1.
    pub round: u32,
    /// The phase, as an index into [`RoundTable::phases`].
    pub phase: usize,
    /// Its place in its round, from 0.
    pub position: usize,
    /// The phase of the block before it; `None` for the first block.
    pub preceding: Option<usize>,
    /// When it was measured.
    pub window: TimeWindow,
    /// The mean of the criterion.
    pub mean: Option<f64>,
}

/// All blocks of a recording.
#[derive(Debug, Clone, PartialEq)]
pub struct RoundTable {
    /// The ids of the phases, `w0` first.
    pub phases: Vec<String>,
    /// The blocks, in no particular order.
    pub entries: Vec<RoundEntry>,
}

impl RoundTable {
    /// The table of `phases` with their blocks, in the order of `rounds`.
    pub fn new(rounds: &InterleavedRounds, phases: &[(&str, &[Block])]) -> Self {
        let index = |id: &str| phases.iter().position(|(known, _)| *known == id);
        let entry = |phase: usize, id: &str, block: &Block| RoundEntry {
            round: block.round,
            phase,
            position: rounds.position(id, block.round).map_or(0, |position| position - 1),
            preceding: rounds.preceding(id, block.round).and_then(index),
            window: block.window,
            mean: block.mean,
        };
        let of_phase = |(phase, (id, blocks)): (usize, &(&str, &[Block]))| {
            blocks.iter().map(|block| entry(phase, id, block)).collect::<Vec<_>>()
        };
        Self {
            phases: phases.iter().map(|(id, _)| (*id).to_owned()).collect(),
            entries: phases.iter().enumerate().flat_map(of_phase).collect(),
        }
    }
}
