//! What a thread asks for next: one family of workloads a file.

mod db_bench;
mod ycsb;

use super::distribution::Random;
use super::operation_mix::OperationMix;
use super::plan::KvPlan;
use super::population::Population;
use super::request::Request;

/// Decides one thread's requests, one after the other. All chance comes from the generator handed in, so
/// that a stream can be repeated from its seed.
pub trait RequestGenerator: Send {
    /// The next request.
    fn next(&mut self, random: &mut Random) -> Request;

    /// Whether requests may be chosen before those in front of them are answered, and forgotten when settings
    /// change: none claims a record or goes through them in order.
    fn ahead(&self) -> bool {
        false
    }

    /// One more record of the same popularity, for requests that take several.
    fn record(&mut self, random: &mut Random) -> u64;
}

/// The asker of thread `thread` of `plan`; `seed` decides which records are popular.
pub fn generator<'a>(
    plan: &'a KvPlan,
    seed: u64,
    thread: u32,
    population: &'a Population,
) -> Box<dyn RequestGenerator + 'a> {
    if let Some(background) = plan.background_of(thread) {
        return Box::new(db_bench::BackgroundGenerator::new(background));
    }
    match &plan.spec.mix {
        OperationMix::Ycsb(mix) => Box::new(ycsb::YcsbGenerator::new(mix, plan, seed, thread, population)),
        OperationMix::DbBench(bench) => db_bench::generator(bench, plan, thread),
    }
}
