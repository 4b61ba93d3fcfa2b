//! Loads the keys that a trace requires: each once, with its recorded size, in key order.

use std::ops::ControlFlow;

use manometer_target::engine::{Engine, SortedRecords};

use super::error::ReplayError;
use super::plan::ReplayPlan;
use super::request::write_key;
use super::survey::RequiredKey;
use crate::interface::Progress;
use crate::kv::ValueLengths;
use crate::kv::distribution::{Random, stream};
use crate::kv::values::{ValueForm, ValueGenerator};

/// Loads `required`. Stops early when `progress` is stopped.
pub(super) fn load(
    plan: &ReplayPlan,
    seed: u64,
    required: &[RequiredKey],
    engine: &dyn Engine,
    progress: &mut Progress<'_>,
) -> Result<(), ReplayError> {
    if !required.is_empty() {
        engine.load_sorted(&mut SortedLoader::new(plan, seed, required, progress))?;
    }
    Ok(())
}

struct SortedLoader<'a, 'p> {
    plan: &'a ReplayPlan,
    left: std::vec::IntoIter<RequiredKey>,
    total: u64,
    key: Vec<u8>,
    values: ValueGenerator,
    random: Random,
    progress: &'a mut Progress<'p>,
}

impl<'a, 'p> SortedLoader<'a, 'p> {
    fn new(plan: &'a ReplayPlan, seed: u64, required: &[RequiredKey], progress: &'a mut Progress<'p>) -> Self {
        let mut random = stream(seed, 0);
        let form = ValueForm::random(ValueLengths::Constant(plan.value_bytes_max));
        let values = ValueGenerator::new(&form, &mut random);
        let (left, total) = (sorted(required).into_iter(), required.len() as u64);
        Self { plan, left, total, key: Vec::new(), values, random, progress }
    }
}

impl SortedRecords for SortedLoader<'_, '_> {
    fn next(&mut self) -> Option<(&[u8], &[u8])> {
        let required = self.left.next()?;
        write_key(required.key, required.key_bytes, &mut self.key);
        let bytes = self.plan.value_bytes(required.value_bytes) as usize;
        Some((&self.key, self.values.make_of(bytes, &self.key, &mut self.random)))
    }

    fn keep_going(&mut self) -> ControlFlow<()> {
        self.progress.report(self.total - self.left.len() as u64, self.total)
    }
}

/// The same keys in the order in which they are written.
fn sorted(required: &[RequiredKey]) -> Vec<RequiredKey> {
    let mut sorted = required.to_vec();
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
        let required = |key, key_bytes| RequiredKey { key, key_bytes, value_bytes: None };
        for lengths in [[11, 11, 11], [11, 20, 15]] {
            let keys = [required(u64::MAX, lengths[0]), required(5, lengths[1]), required(1 << 40, lengths[2])];
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
