//! The values that a thread of a replay puts.

use super::plan::ReplayPlan;
use crate::kv::ValueLengths;
use crate::kv::distribution::{Random, stream};
use crate::kv::values::{ValueForm, ValueGenerator};

/// Values of recorded sizes with random bytes, the same for the same seed and stream.
pub(super) struct ReplayValues {
    generator: ValueGenerator,
    random: Random,
}

impl ReplayValues {
    /// The values of `plan` from the random stream `number` of `seed`.
    pub(super) fn new(plan: &ReplayPlan, seed: u64, number: u32) -> Self {
        let mut random = stream(seed, number);
        let form = ValueForm::random(ValueLengths::Constant(plan.value_bytes_max));
        Self { generator: ValueGenerator::new(&form, &mut random), random }
    }

    /// Makes a value of `bytes` bytes for `key`.
    #[inline]
    pub(super) fn make(&mut self, bytes: u32, key: &[u8]) -> &[u8] {
        self.generator.make_of(bytes as usize, key, &mut self.random)
    }

    /// The first `bytes` bytes of the value that was made last.
    #[inline]
    pub(super) fn made(&self, bytes: u32) -> &[u8] {
        self.generator.made(bytes as usize)
    }
}
