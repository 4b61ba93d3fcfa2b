//! What a thread asks for next: one family of workloads a file.

mod db_bench;
mod ycsb;

use super::distribution::Random;
use super::plan::{Asks, KvPlan};
use super::population::Population;
use super::request::Request;

pub use ycsb::YcsbMix;

/// Decides one thread's requests, one after the other. All chance comes from the generator handed in, so
/// that a stream can be repeated from its seed.
pub trait Asker: Send {
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
pub fn asker<'a>(plan: &'a KvPlan, seed: u64, thread: u32, population: &'a Population) -> Box<dyn Asker + 'a> {
    if let Some(background) = plan.background_of(thread) {
        return Box::new(db_bench::Beside::new(background));
    }
    match &plan.work.asks {
        Asks::Ycsb(mix) => Box::new(ycsb::Ycsb::new(mix, plan, seed, thread, population)),
        Asks::DbBench(bench) => db_bench::asker(bench, plan, thread),
    }
}
