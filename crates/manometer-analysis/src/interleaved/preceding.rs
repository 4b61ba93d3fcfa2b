//! Whether something about a block depends on the setting of the block before it.
//!
//! The response of a block is explained by its round, its place in it, its own phase and the phase of the block before it
//! (the model of first-order carry-over of crossover trials: Williams 1949; Jones & Kenward 2014, chapter 4). Least squares
//! estimate how much the last explains. Whether that is more than chance is not left to the F distribution, which takes
//! blocks to be independent: the speed of a host is autocorrelated, and a saw-tooth of about a round makes the F test
//! significant twice as often as it should be. What the plan drew by lot is drawn again instead (a randomisation test:
//! Fisher 1935; with estimated effects of the phases: Freedman & Lane 1983). The residuals stay where they are in time, with
//! whatever the host did; the rounds are put in another order and the phases exchanged.

use std::collections::BTreeMap;

use rand::SeedableRng as _;
use rand::seq::SliceRandom as _;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::block::{RoundEntry, RoundTable};
use super::linear_model::{LinearModel, Observation};

/// The most orders that are drawn: the least p-value is about a thousandth.
const MOST_DRAWS: usize = 999;

/// After so many orders that explain as much as the real one, the p-value is known well enough (Besag & Clifford 1991).
const ENOUGH_EXCEEDING: usize = 40;

/// Orders are drawn from this seed: the same recording has the same p-value.
const SEED: u64 = 12;

/// The effect of the preceding block.
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
    let responses: Vec<Option<f64>> =
        table.entries.iter().enumerate().map(|(index, entry)| response(index, entry)).collect();
    let observation = |(entry, response): (&RoundEntry, &Option<f64>)| {
        let own = indicators(entry.position).chain(indicators(entry.phase));
        let columns = own.chain(indicators(entry.preceding?)).collect();
        Some(Observation { group: entry.round, response: (*response)?, columns })
    };
    let observations: Vec<Observation> = table.entries.iter().zip(&responses).filter_map(observation).collect();
    let full = LinearModel::fit(&observations)?;
    let differences = (2 * others..3 * others).map(|column| full.coefficient(column)).collect::<Option<_>>()?;
    let p_value = RandomisationTest::of(table, &responses)?.p_value();
    Some(PrecedingEffect { p_value, differences })
}

/// The blocks in the order of time, and what the host did in them.
struct RandomisationTest {
    /// The phase of each block, round by round.
    orders: Vec<Vec<usize>>,
    /// By round and place: the response without the means of its round, its place and its phase; `None` where it was not
    /// measured.
    residuals: Vec<Vec<Option<f64>>>,
    phases: usize,
}

impl RandomisationTest {
    /// `None` where a round is not whole, or nothing was measured in it.
    fn of(table: &RoundTable, responses: &[Option<f64>]) -> Option<Self> {
        let phases = table.phases.len();
        // By the rounds that there are: their numbers are a recording's, and may be anything.
        let mut rounds = BTreeMap::new();
        for (entry, response) in table.entries.iter().zip(responses) {
            let (order, values) = rounds.entry(entry.round).or_insert_with(|| (vec![None; phases], vec![None; phases]));
            *order.get_mut(entry.position)? = Some(entry.phase);
            *values.get_mut(entry.position)? = *response;
        }
        let whole = rounds.into_values().filter(|(order, _)| order.iter().all(Option::is_some));
        let (orders, values): (Vec<Vec<usize>>, Vec<Vec<Option<f64>>>) =
            whole.map(|(order, values)| (order.into_iter().flatten().collect(), values)).unzip();
        let residuals = without_means(&values, &orders);
        (orders.len() > 1).then_some(Self { orders, residuals, phases })
    }

    /// The share of orders, as the plan might have drawn them, in which the preceding block explains as much as in the real
    /// one.
    fn p_value(&self) -> f64 {
        let real = self.explained(&self.orders);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(SEED);
        let mut exceeding = 0;
        for draw in 1..=MOST_DRAWS {
            exceeding += usize::from(self.explained(&self.drawn(&mut random)) >= real);
            if exceeding >= ENOUGH_EXCEEDING {
                return exceeding as f64 / draw as f64;
            }
        }
        (exceeding + 1) as f64 / (MOST_DRAWS + 1) as f64
    }

    /// An order that the plan might have drawn as well: the rounds shuffled, and the phases exchanged for each other.
    fn drawn(&self, random: &mut Xoshiro256PlusPlus) -> Vec<Vec<usize>> {
        let mut labels: Vec<usize> = (0..self.phases).collect();
        labels.shuffle(random);
        let mut orders: Vec<Vec<usize>> =
            self.orders.iter().map(|order| order.iter().map(|phase| labels[*phase]).collect()).collect();
        orders.shuffle(random);
        orders
    }

    /// How much of the residuals the preceding block explains in `orders`: the variance between the phases of preceding
    /// blocks against that within them, both after the mean of the block's own phase.
    fn explained(&self, orders: &[Vec<usize>]) -> f64 {
        let mut own = Means::of(self.phases);
        self.each_block(orders, |phase, _, residual| own.add(phase, residual));
        let mut preceding = Means::of(self.phases);
        let mut total = 0.0;
        self.each_block(orders, |phase, before, residual| {
            let Some(before) = before else { return };
            let rest = residual - own.mean(phase);
            preceding.add(before, rest);
            total += rest * rest;
        });
        let between = preceding.squares();
        // Without any difference there is nothing to explain.
        if between <= f64::EPSILON * total { 0.0 } else { between / (total - between) }
    }

    /// Calls `with` the phase of each measured block, that of the block before it, and its residual.
    fn each_block(&self, orders: &[Vec<usize>], mut with: impl FnMut(usize, Option<usize>, f64)) {
        let mut before = None;
        for (order, residuals) in orders.iter().zip(&self.residuals) {
            for (phase, residual) in order.iter().zip(residuals) {
                if let Some(residual) = residual {
                    with(*phase, before, *residual);
                }
                before = Some(*phase);
            }
        }
    }
}

/// The mean of each group.
struct Means {
    sums: Vec<(f64, f64)>,
}

impl Means {
    fn of(groups: usize) -> Self {
        Self { sums: vec![(0.0, 0.0); groups] }
    }

    fn add(&mut self, group: usize, value: f64) {
        let sum = &mut self.sums[group];
        *sum = (sum.0 + value, sum.1 + 1.0);
    }

    fn mean(&self, group: usize) -> f64 {
        let (sum, count) = self.sums[group];
        if count > 0.0 { sum / count } else { 0.0 }
    }

    /// The sum of squares of the groups about the mean of all.
    fn squares(&self) -> f64 {
        let (sum, count) = self.sums.iter().fold((0.0, 0.0), |all, one| (all.0 + one.0, all.1 + one.1));
        let of_groups: f64 = self.sums.iter().filter(|one| one.1 > 0.0).map(|(sum, count)| sum * sum / count).sum();
        if count > 0.0 { of_groups - sum * sum / count } else { 0.0 }
    }
}

/// The passes in which means are taken away in turn: by then they no longer change.
const PASSES: usize = 20;

/// `values` by round and place, without the means of their round, their place and their phase.
fn without_means(values: &[Vec<Option<f64>>], orders: &[Vec<usize>]) -> Vec<Vec<Option<f64>>> {
    let mut rest = values.to_vec();
    for _ in 0..PASSES {
        take_means(&mut rest, |round, _| round);
        take_means(&mut rest, |_, place| place);
        take_means(&mut rest, |round, place| orders[round][place]);
    }
    rest
}

/// Takes the mean of its group from each value.
fn take_means(values: &mut [Vec<Option<f64>>], group: impl Fn(usize, usize) -> usize) {
    let places = values.first().map_or(0, Vec::len);
    let mut means = Means::of(values.len().max(places));
    for (round, values) in values.iter().enumerate() {
        values.iter().enumerate().for_each(|(place, value)| {
            value.iter().for_each(|value| means.add(group(round, place), *value));
        });
    }
    for (round, values) in values.iter_mut().enumerate() {
        values.iter_mut().enumerate().for_each(|(place, value)| {
            value.iter_mut().for_each(|value| *value -= means.mean(group(round, place)));
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time_series::TimeWindow;

    const PHASES: usize = 4;

    /// The rows of a Williams design of four phases, in an order without a pattern.
    const ROWS: [[usize; PHASES]; PHASES] = [[0, 1, 3, 2], [2, 3, 1, 0], [1, 2, 0, 3], [3, 0, 2, 1]];

    /// A table of 20 rounds.
    fn table() -> RoundTable {
        let mut entries = Vec::new();
        let mut preceding = None;
        for round in 0..20_u32 {
            for (position, phase) in ROWS[(round * 7 % 5 % 4) as usize].into_iter().enumerate() {
                let window = TimeWindow { begin_ns: 0, end_ns: 1 };
                entries.push(RoundEntry { round: round + 1, phase, position, preceding, window, mean: None });
                preceding = Some(phase);
            }
        }
        RoundTable { phases: (0..PHASES).map(|phase| format!("w{phase}")).collect(), entries }
    }

    fn noise(index: usize) -> f64 {
        ((index * 7919) % 13) as f64 - 6.0
    }

    #[test]
    fn an_effect_is_found_with_its_size_whatever_rounds_and_phases_do() {
        let response = |index: usize, entry: &RoundEntry| {
            let of_others = 10.0 * f64::from(entry.round) + 100.0 * entry.phase as f64 + 5.0 * entry.position as f64;
            let carried = if entry.preceding == Some(3) { -20.0 } else { 0.0 };
            Some(of_others + carried + noise(index))
        };
        let effect = preceding_effect(&table(), response).unwrap();
        assert!(effect.p_value <= 0.002, "{effect:?}");
        let (value, (low, high)) = effect.differences[2];
        assert!((value + 20.0).abs() < 5.0 && low < value && value < high, "{effect:?}");
    }

    #[test]
    fn what_rounds_places_and_phases_do_is_no_effect() {
        let response = |index: usize, entry: &RoundEntry| {
            Some(10.0 * f64::from(entry.round) + 100.0 * entry.phase as f64 + entry.position as f64 + noise(index))
        };
        let effect = preceding_effect(&table(), response).unwrap();
        assert!(effect.p_value > 0.05, "{effect:?}");
        assert_eq!(preceding_effect(&table(), response).unwrap(), effect, "the same recording has the same p-value");
        let constant = preceding_effect(&table(), |_, _| Some(7.0)).unwrap();
        assert_eq!(constant.p_value, 1.0);
    }

    #[test]
    fn blocks_without_a_response_are_left_out_and_too_few_determine_nothing() {
        let some = |index: usize, _: &RoundEntry| (!index.is_multiple_of(9)).then(|| noise(index));
        assert!(preceding_effect(&table(), some).is_some());
        assert_eq!(preceding_effect(&table(), |index, _| (index < 8).then_some(1.0)), None);
        let mut damaged = table();
        damaged.entries[79].round = u32::MAX;
        assert!(preceding_effect(&damaged, |index, _| Some(noise(index))).is_some());
        let empty = RoundTable { phases: Vec::new(), entries: Vec::new() };
        assert_eq!(preceding_effect(&empty, |_, _| Some(1.0)), None);
    }
}
