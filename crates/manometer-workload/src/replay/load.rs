//! Loads the keys that a trace requires: each once, with its recorded size, in key order.

use std::ops::ControlFlow;

use manometer_target::engine::{Engine, SortedRecords};

use super::error::ReplayError;
use super::plan::ReplayPlan;
use super::survey::RequiredKey;
use super::values::ReplayValues;
use crate::interface::Progress;

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
    values: ReplayValues,
    progress: &'a mut Progress<'p>,
}

impl<'a, 'p> SortedLoader<'a, 'p> {
    fn new(plan: &'a ReplayPlan, seed: u64, required: &[RequiredKey], progress: &'a mut Progress<'p>) -> Self {
        let values = ReplayValues::new(plan, seed, 0);
        let (left, total) = (sorted(required).into_iter(), required.len() as u64);
        Self { plan, left, total, key: Vec::new(), values, progress }
    }
}

impl SortedRecords for SortedLoader<'_, '_> {
    fn next(&mut self) -> Option<(&[u8], &[u8])> {
        let required = self.left.next()?;
        required.write(&mut self.key);
        let bytes = self.plan.value_bytes(required.value_bytes);
        Some((&self.key, self.values.make(bytes, &self.key)))
    }

    fn keep_going(&mut self) -> ControlFlow<()> {
        self.progress.report(self.total - self.left.len() as u64, self.total)
    }
}

/// The same keys in the order in which they are written.
fn sorted(required: &[RequiredKey]) -> Vec<RequiredKey> {
    let mut sorted = required.to_vec();
    let are_ids_of_one_length = sorted.iter().all(|one| one.text.is_none() && one.key_bytes == sorted[0].key_bytes);
    if are_ids_of_one_length {
        sorted.sort_unstable_by_key(|one| one.key);
    } else {
        let (mut first, mut second) = (Vec::new(), Vec::new());
        sorted.sort_unstable_by(|one, other| {
            one.write(&mut first);
            other.write(&mut second);
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
        let required =
            |key, key_bytes| RequiredKey { key, key_bytes, text: None, value_bytes: None, by_command: false };
        for lengths in [[11, 11, 11], [11, 20, 15]] {
            let text = RequiredKey { text: Some((*b"M").into()), ..required(7, 1) };
            let keys = [required(u64::MAX, lengths[0]), required(5, lengths[1]), required(1 << 40, lengths[2]), text];
            let mut written: Vec<Vec<u8>> = Vec::new();
            for one in sorted(&keys) {
                let mut key = Vec::new();
                one.write(&mut key);
                written.push(key);
            }
            assert!(written.is_sorted(), "{written:?}");
        }
    }
}
