//! Request generators, one file for each family of workloads.

mod db_bench;
mod ycsb;

use super::distribution::Random;
use super::operation_mix::OperationMix;
use super::plan::KvPlan;
use super::population::Population;
use super::request::KvRequest;

/// Generates one thread's requests. All randomness comes from the argument, so that a stream can be repeated from its
/// seed.
pub trait RequestGenerator: Send {
    /// The next request.
    fn next(&mut self, random: &mut Random) -> KvRequest;

    /// Whether requests may be chosen ahead and dropped when settings change: none claims a record or depends on order.
    fn ahead(&self) -> bool {
        false
    }

    /// Another record of the same distribution, for requests of several records.
    fn record(&mut self, random: &mut Random) -> u64;
}

/// The generator of thread `thread` of `plan`; `seed` decides which records are popular.
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
