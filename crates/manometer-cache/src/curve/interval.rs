//! The confidence interval of an estimate from a sample of keys, by the differences between groups of keys.

/// The number of groups that the sampled keys are divided into by hash.
pub(crate) const KEY_GROUPS: usize = 16;
/// The 97.5 % quantile of Student's t for one degree of freedom less than there are groups.
const STUDENT: f64 = 2.131;
/// The 97.5 % quantile of the normal distribution.
pub(crate) const NORMAL: f64 = 1.96;

/// Half the width of the 95 % confidence interval of a sum over groups, given the deviation of each from its expected
/// share, if `rate` of all keys were seen.
pub(crate) fn interval_half_width(off: &[f64; KEY_GROUPS], rate: f64) -> f64 {
    let groups = KEY_GROUPS as f64;
    let squares: f64 = off.iter().map(|off| off * off).sum();
    STUDENT * (groups / (groups - 1.0) * squares * (1.0 - rate)).sqrt()
}
