//! The results of all rounds of an interleaved plan together: significance, carry-over, the states in which blocks begin.

use manometer_measure::{PhaseKind, Recording};

use crate::interleaved::block_states::BlockStateTest;
use crate::interleaved::carry_over::CarryOver;
use crate::interleaved::{Block, RoundTable, difference_p_value, paired};
use crate::phase_result::PhaseResult;
use crate::recording_data::RecordingData;
use crate::statistics::holm::adjusted;

/// A state in which blocks may begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StateKind {
    /// What compaction still has to rewrite, in bytes.
    CompactionDebt,
    /// The share of time in which the device had requests in flight.
    DeviceBusy,
    /// Pages of the page cache that are not written back yet, in bytes.
    DirtyMemory,
}

impl StateKind {
    const ALL: [Self; 3] = [Self::CompactionDebt, Self::DeviceBusy, Self::DirtyMemory];

    /// The series, which is that of the engine where there is none, and the column.
    pub(crate) fn column(self) -> (Option<&'static str>, &'static str) {
        match self {
            Self::CompactionDebt => (None, "pending_compaction_bytes"),
            Self::DeviceBusy => (Some("device"), "busy"),
            Self::DirtyMemory => (Some("memory"), "dirty"),
        }
    }
}

/// The results of all rounds together.
pub(crate) struct RoundsResult {
    /// All blocks.
    pub(crate) table: RoundTable,
    /// The number of rounds in which every phase was measured.
    pub(crate) whole_rounds: usize,
    /// By phase but `w0`: the p-value of the same performance as `w0` (paired t over rounds), corrected over phases (Holm).
    pub(crate) p_values: Vec<(String, Option<f64>)>,
    /// The carry-over; `None` where the blocks do not determine it.
    pub(crate) carry_over: Option<CarryOver>,
    /// The states that were recorded, their p-values corrected over them (Holm).
    pub(crate) states: Vec<(StateKind, BlockStateTest)>,
}

impl RoundsResult {
    /// The results of the rounds of `recording`; `None` for a ladder, or where no block of `w0` was measured.
    pub(crate) fn of(recording: &Recording, data: &RecordingData, results: &[PhaseResult<'_>]) -> Option<Self> {
        let rounds = recording.plan.interleaved.as_ref()?;
        let mut phases: Vec<(&str, &[Block])> = results
            .iter()
            .filter(|result| !result.blocks.is_empty())
            .map(|result| (result.id(), result.blocks.as_slice()))
            .collect();
        let is_baseline =
            |id: &str| results.iter().any(|result| result.id() == id && result.phase.kind == PhaseKind::Baseline);
        phases.sort_by_key(|(id, _)| !is_baseline(id));
        let (first, baseline) = *phases.first()?;
        let table = RoundTable::new(rounds, &phases);
        is_baseline(first).then(|| Self {
            whole_rounds: phases.iter().map(|(_, blocks)| blocks.len()).min().unwrap_or(0),
            p_values: p_values(baseline, &phases[1..]),
            carry_over: CarryOver::of(&table),
            states: states(recording, data, &table),
            table,
        })
    }
}

fn p_values(baseline: &[Block], others: &[(&str, &[Block])]) -> Vec<(String, Option<f64>)> {
    let tests: Vec<(String, Option<f64>)> =
        others.iter().map(|(id, blocks)| ((*id).to_owned(), difference_p_value(&paired(baseline, blocks)))).collect();
    let known: Vec<f64> = tests.iter().filter_map(|(_, p_value)| *p_value).collect();
    let mut corrected = adjusted(&known).into_iter();
    tests.into_iter().map(|(id, p_value)| (id, p_value.and_then(|_| corrected.next()))).collect()
}

fn states(recording: &Recording, data: &RecordingData, table: &RoundTable) -> Vec<(StateKind, BlockStateTest)> {
    let engine = recording.plan.primary().map(|primary| format!("{}.engine", primary.name)).unwrap_or_default();
    let state = |kind: StateKind| {
        let (series, column) = kind.column();
        let samples = data.samples(series.unwrap_or(&engine))?;
        Some((kind, BlockStateTest::of(table, samples, column, recording.plan.interval_s)?))
    };
    let mut states: Vec<(StateKind, BlockStateTest)> = StateKind::ALL.into_iter().filter_map(state).collect();
    let corrected = adjusted(&states.iter().map(|(_, state)| state.p_value).collect::<Vec<_>>());
    states.iter_mut().zip(corrected).for_each(|((_, state), p_value)| state.p_value = p_value);
    states
}
