//! Carry-over: whether the performance of a block depends on the setting of the block before it.
//!
//! An LSM tree pays for a neighbour's writes after they were made, flash collects its garbage later, and the page cache is
//! written back. What is left of a block after the next one's washout is then measured as a part of the next one.

use super::block::RoundTable;
use super::preceding::preceding_effect;
use crate::estimate::IntervalEstimate;

/// The carry-over of a recording.
#[derive(Debug, Clone, PartialEq)]
pub struct CarryOver {
    /// The p-value of no carry-over.
    pub p_value: f64,
    /// By phase: by which share the criterion is higher in a block after one of that phase than after one of `w0`, with its
    /// 95 % interval.
    pub effects: Vec<(String, IntervalEstimate)>,
}

impl CarryOver {
    /// The carry-over in `table`, from the logarithms of the block means: effects are shares. `None` where the blocks do not
    /// determine it; blocks without work are left out.
    pub fn of(table: &RoundTable) -> Option<Self> {
        let logarithm = |mean: f64| (mean > 0.0).then(|| mean.ln());
        let effect = preceding_effect(table, |_, entry| entry.mean.and_then(logarithm))?;
        let estimate = |(value, (low, high)): &(f64, (f64, f64))| {
            IntervalEstimate::of(value.exp_m1(), Some((low.exp_m1(), high.exp_m1())), "")
        };
        let effects = table.phases.iter().skip(1).cloned().zip(effect.differences.iter().map(estimate)).collect();
        Some(Self { p_value: effect.p_value, effects })
    }

    /// The largest effect among those whose interval excludes 0, else the largest of all.
    pub fn largest(&self) -> Option<&(String, IntervalEstimate)> {
        let size = |one: &&(String, IntervalEstimate)| {
            let estimate = &one.1;
            (estimate.excludes_0(), estimate.value.map_or(0.0, f64::abs))
        };
        self.effects.iter().max_by(|one, other| {
            let ((one_excludes, one), (other_excludes, other)) = (size(one), size(other));
            one_excludes.cmp(&other_excludes).then(one.total_cmp(&other))
        })
    }
}
