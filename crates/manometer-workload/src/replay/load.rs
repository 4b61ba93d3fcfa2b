//! Loading what the trace finds there: each key once, with the size that the trace tells, in the order of the keys.

use std::ops::ControlFlow;

use manometer_target::engine::{Engine, SortedRecords};

use super::error::ReplayError;
use super::plan::ReplayPlan;
use super::request::write_key;
use super::survey::Needed;
use crate::kv::Lengths;
use crate::kv::distribution::{Random, stream};
use crate::kv::values::{ValueForm, Values};
use crate::workload::Progress;

/// Loads `needed`, unless `progress` is stopped.
pub(super) fn load(
    plan: &ReplayPlan,
    seed: u64,
    needed: &[Needed],
    engine: &dyn Engine,
    progress: &mut Progress<'_>,
) -> Result<(), ReplayError> {
    if !needed.is_empty() {
        engine.load_sorted(&mut Sorted::new(plan, seed, needed, progress))?;
    }
    Ok(())
}

struct Sorted<'a, 'p> {
    plan: &'a ReplayPlan,
    left: std::vec::IntoIter<Needed>,
    total: u64,
    key: Vec<u8>,
    values: Values,
    random: Random,
    progress: &'a mut Progress<'p>,
}

impl<'a, 'p> Sorted<'a, 'p> {
    fn new(plan: &'a ReplayPlan, seed: u64, needed: &[Needed], progress: &'a mut Progress<'p>) -> Self {
        let mut random = stream(seed, 0);
        let form = ValueForm::random(Lengths::Constant(plan.value_bytes_max));
        let values = Values::new(&form, &mut random);
        let (left, total) = (sorted(needed).into_iter(), needed.len() as u64);
        Self { plan, left, total, key: Vec::new(), values, random, progress }
    }
}

impl SortedRecords for Sorted<'_, '_> {
    fn next(&mut self) -> Option<(&[u8], &[u8])> {
        let needed = self.left.next()?;
        write_key(needed.key, needed.key_bytes, &mut self.key);
        let bytes = self.plan.value_bytes(needed.value_bytes) as usize;
        Some((&self.key, self.values.make_of(bytes, &self.key, &mut self.random)))
    }

    fn keep_going(&mut self) -> ControlFlow<()> {
        self.progress.report(self.total - self.left.len() as u64, self.total)
    }
}

/// The same keys in the order in which they are written.
fn sorted(needed: &[Needed]) -> Vec<Needed> {
    let mut sorted = needed.to_vec();
    let same_length = sorted.iter().all(|one| one.key_bytes == sorted[0].key_bytes);
    if same_length {
        sorted.sort_unstable_by_key(|one| one.key);
    } else {
        let (mut first, mut second) = (Vec::new(), Vec::new());
        sorted.sort_unstable_by(|one, other| {
            write_key(one.key, one.key_bytes, &mut first);
            write_key(other.key, other.key_bytes, &mut second);
            first.cmp(&second)
        });
    }
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_loaded_in_the_order_of_their_bytes() {
        let needed = |key, key_bytes| Needed { key, key_bytes, value_bytes: None };
        for lengths in [[11, 11, 11], [11, 20, 15]] {
            let keys = [needed(u64::MAX, lengths[0]), needed(5, lengths[1]), needed(1 << 40, lengths[2])];
            let mut written: Vec<Vec<u8>> = Vec::new();
            for one in sorted(&keys) {
                let mut key = Vec::new();
                write_key(one.key, one.key_bytes, &mut key);
                written.push(key);
            }
            assert!(written.is_sorted(), "{written:?}");
        }
    }
}
