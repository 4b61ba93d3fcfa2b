//! Whether something about a block depends on the setting of the block before it.
//!
//! The response of a block is explained by its round, its place in it, its own phase and the phase of the block before it. An F test says
//! whether the last explains anything (the model of first-order carry-over of crossover trials: Williams 1949; Jones &
//! Kenward 2014, chapter 4). Its predecessors being random within a balanced design, drift of the host is in the noise.

use super::block::{RoundEntry, RoundTable};
use super::linear_model::{LinearModel, Observation};

/// The fitted effect of the preceding block.
#[derive(Debug, Clone, PartialEq)]
pub struct PrecedingEffect {
    /// The p-value of no effect.
    pub p_value: f64,
    /// By how much the response differs after each phase but `w0`, against after `w0`: the estimate and its 95 % interval, in
    /// the order of the table.
    pub differences: Vec<(f64, (f64, f64))>,
}

/// The effect of the preceding block on `response`; `None` where the blocks do not determine it.
pub(super) fn preceding_effect(
    table: &RoundTable,
    response: impl Fn(usize, &RoundEntry) -> Option<f64>,
) -> Option<PrecedingEffect> {
    let others = table.phases.len().checked_sub(1)?;
    let indicators = |phase: usize| (1..=others).map(move |other| f64::from(u8::from(phase == other)));
    let observation = |(index, entry): (usize, &RoundEntry)| {
        let own = indicators(entry.position).chain(indicators(entry.phase));
        let columns = own.chain(indicators(entry.preceding?)).collect();
        Some(Observation { group: entry.round, response: response(index, entry)?, columns })
    };
    let observations: Vec<Observation> = table.entries.iter().enumerate().filter_map(observation).collect();
    let own: Vec<Observation> = observations
        .iter()
        .map(|one| Observation { columns: one.columns[..2 * others].to_vec(), ..one.clone() })
        .collect();
    let full = LinearModel::fit(&observations)?;
    let p_value = full.p_value_against(&LinearModel::fit(&own)?)?;
    let differences = (2 * others..3 * others).map(|column| full.coefficient(column)).collect::<Option<_>>()?;
    Some(PrecedingEffect { p_value, differences })
}
