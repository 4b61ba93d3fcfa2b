//! Random reads and writes of one size, bypassing the page cache: the micro-workloads of section 6.2 of the cache
//! thesis.

use manometer_measure::ByteSize;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::Deserialize;

use super::{IoRange, StepAction, StepGenerator, THREADS_MAX, WorkloadStep, too_large, too_many_threads};
use crate::CacheError;
use crate::tier::host::Host;

/// The settings of random reads and writes.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RandomSettings {
    /// The working set.
    pub working_set: ByteSize,
    /// The size of a request.
    pub block_size: ByteSize,
    /// The share of writes.
    pub writes: f64,
    /// How many times the working set is requested, once measured, before it ends.
    #[serde(default)]
    pub loops: Option<u64>,
    /// The number of requests in flight.
    #[serde(default = "one")]
    pub threads: u32,
}

fn one() -> u32 {
    1
}

/// Random reads and writes.
#[derive(Debug)]
pub struct RandomIo {
    blocks: u64,
    block_size: u64,
    writes: f64,
    threads: u32,
    loops: Option<u64>,
    left: u64,
    random: Xoshiro256PlusPlus,
}

impl RandomIo {
    /// Creates the workload on a host's storage.
    ///
    /// # Errors
    /// The settings are invalid, or do not fit it.
    pub fn new(settings: &RandomSettings, host: &Host<'_>, scale: u64, seed: u64) -> Result<Self, CacheError> {
        let (bytes, block_size) = (settings.working_set.0 / scale, settings.block_size.0);
        if block_size == 0 || !block_size.is_multiple_of(512) || bytes < block_size || settings.threads == 0 {
            return Err(CacheError::Invalid(
                "`block_size` has to be a multiple of 512 and below `working_set`, `threads` above 0".to_owned(),
            ));
        }
        if u64::from(settings.threads) > THREADS_MAX {
            return Err(too_many_threads());
        }
        if !(0.0..=1.0).contains(&settings.writes) {
            return Err(CacheError::Invalid("`writes` is not from 0 to 1".to_owned()));
        }
        if bytes > host.bytes() {
            return Err(too_large("the working set", bytes, host.bytes()));
        }
        let random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let blocks = bytes / block_size;
        Ok(Self {
            blocks,
            block_size,
            writes: settings.writes,
            threads: settings.threads,
            loops: settings.loops,
            left: u64::MAX,
            random,
        })
    }
}

impl RandomIo {
    /// The number of requests to measure.
    fn all(&self) -> u64 {
        self.loops.map_or(u64::MAX, |loops| self.blocks.saturating_mul(loops))
    }
}

impl StepGenerator for RandomIo {
    fn threads(&self) -> u32 {
        self.threads
    }

    fn progress(&self) -> f64 {
        let all = self.all();
        all.saturating_sub(self.left) as f64 / all.max(1) as f64
    }

    fn measured(&mut self) {
        self.left = self.all();
    }

    fn next(&mut self, _thread: u32) -> WorkloadStep {
        if self.left == 0 {
            return WorkloadStep::plain(StepAction::End);
        }
        self.left -= 1;
        let offset = self.random.random_range(0..self.blocks) * self.block_size;
        let range = IoRange { is_direct: true, ..IoRange::new(offset, self.block_size) };
        let writes = self.writes > 0.0 && self.random.random_range(0.0..1.0) < self.writes;
        WorkloadStep::plain(if writes { StepAction::Write(range) } else { StepAction::Read(range) })
    }
}
