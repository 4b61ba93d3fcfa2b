//! How sure an estimate from a sample of the keys is, from how far groups of them differ.

/// Into how many groups the keys of a sample are divided, by hash.
pub(crate) const KEY_GROUPS: usize = 16;
/// Student's t at 97.5 % for one degree of freedom less than there are groups.
const STUDENT: f64 = 2.131;

/// Half of the 95 % interval of a sum over groups of which each is off so far from its expected share, where `rate` of
/// all keys were seen.
pub(crate) fn interval_half_width(off: &[f64; KEY_GROUPS], rate: f64) -> f64 {
    let groups = KEY_GROUPS as f64;
    let squares: f64 = off.iter().map(|off| off * off).sum();
    STUDENT * (groups / (groups - 1.0) * squares * (1.0 - rate)).sqrt()
}
