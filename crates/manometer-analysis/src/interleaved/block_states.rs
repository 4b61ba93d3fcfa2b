//! The state in which blocks begin: whether it depends on the setting of the block before.

use manometer_measure::Samples;

use super::block::{RoundEntry, RoundTable};
use super::preceding::preceding_effect;
use crate::statistics::moments::mean;

/// The test of one state.
#[derive(Debug, Clone, PartialEq)]
pub struct BlockStateTest {
    /// The p-value of no dependence.
    pub p_value: f64,
    /// The mean state at the start of blocks after each phase, in the order of the table; `None` where no block follows
    /// it.
    pub after: Vec<Option<f64>>,
}

impl BlockStateTest {
    /// Tests the state that `column` of `samples` holds at the start of each block. The test is on ranks, because a
    /// state such as compaction debt is mostly near 0 and sometimes large. `None` where the blocks do not determine it.
    pub fn of(table: &RoundTable, samples: &Samples, column: &str, interval_s: f64) -> Option<Self> {
        let values: Vec<Option<f64>> =
            table.entries.iter().map(|entry| value_at_begin(samples, column, entry, interval_s)).collect();
        let ranks = ranks(&values);
        let effect = preceding_effect(table, |index, _| ranks[index])?;
        let after = |phase: usize| {
            let entries = table.entries.iter().zip(&values).filter(|(entry, _)| entry.preceding == Some(phase));
            mean(&entries.filter_map(|(_, value)| *value).collect::<Vec<_>>())
        };
        Some(Self { p_value: effect.p_value, after: (0..table.phases.len()).map(after).collect() })
    }
}

/// The value of the sample whose interval ends as the measurement of the block begins.
fn value_at_begin(samples: &Samples, column: &str, entry: &RoundEntry, interval_s: f64) -> Option<f64> {
    let values = samples.column(column)?;
    let tolerance_ns = (interval_s * 1e9 / 2.0) as u64;
    let begin_ns = entry.window.begin_ns;
    let first = samples.t_ns.partition_point(|t_ns| *t_ns < begin_ns.saturating_sub(tolerance_ns));
    let candidates =
        samples.t_ns.iter().enumerate().skip(first).take_while(|(_, t_ns)| **t_ns <= begin_ns + tolerance_ns);
    let nearest = candidates.min_by_key(|(_, t_ns)| t_ns.abs_diff(begin_ns))?;
    values.get(nearest.0).copied().flatten().filter(|value| value.is_finite())
}

/// The ranks of `values`, ties sharing their mean rank.
fn ranks(values: &[Option<f64>]) -> Vec<Option<f64>> {
    let mut sorted: Vec<f64> = values.iter().flatten().copied().collect();
    sorted.sort_by(f64::total_cmp);
    let rank = |value: &f64| {
        let below = sorted.partition_point(|other| other < value);
        let up_to = sorted.partition_point(|other| other <= value);
        (below + up_to) as f64 / 2.0
    };
    values.iter().map(|value| value.as_ref().map(rank)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_share_a_rank() {
        let values = [Some(5.0), None, Some(1.0), Some(5.0), Some(9.0)];
        assert_eq!(ranks(&values), [Some(2.0), None, Some(0.5), Some(2.0), Some(3.5)]);
    }
}
