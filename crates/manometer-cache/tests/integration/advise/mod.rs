//! What `cache advise` says, against exact simulation at the size that it names.

mod model;
mod real;
mod synthetic;

use manometer_cache::advise::{
    AdviceInputs, AdviceSentence, CacheAnalysis, NamedPrices, SMALL_MACHINE_MEMORY, read_character, recommend,
};
use manometer_cache::policy::POLICIES;
use manometer_cache::simulate::simulate;
use manometer_cache::{CacheError, PolicySpec, RequestSequence};
use manometer_trace::{Record, TraceError, TraceReader};

/// How a test opens its trace.
type OpenTest<'a> = &'a (dyn Fn() -> Box<dyn TraceReader> + Sync);

/// A part of a trace: so many requests after so many others.
struct Part {
    reader: Box<dyn TraceReader>,
    skipped: usize,
    left: usize,
}

impl TraceReader for Part {
    fn read(&mut self, batch: &mut Vec<Record>) -> Result<usize, TraceError> {
        batch.clear();
        while batch.is_empty() && self.left > 0 && self.reader.read(batch)? > 0 {
            let skipped = self.skipped.min(batch.len());
            batch.drain(..skipped);
            batch.truncate(self.left);
            self.skipped -= skipped;
            self.left -= batch.len();
        }
        Ok(batch.len())
    }
}

fn analyse(opens: OpenTest<'_>) -> CacheAnalysis {
    let opens = || -> Result<Box<dyn TraceReader>, CacheError> { Ok(opens()) };
    let (report, _) = read_character(&opens).unwrap();
    CacheAnalysis::of(&opens, &report, 4096).unwrap()
}

/// The sentences, without tiers.
fn sentences(found: &CacheAnalysis) -> Vec<AdviceSentence> {
    let inputs = AdviceInputs {
        has_reads: true,
        is_whole: true,
        is_lru_sampled: found.basis.is_lru_sampled,
        ranking: &found.ranking,
        policy: &found.policy,
        memory: &found.memory,
        footprint_bytes: SMALL_MACHINE_MEMORY,
        storage_bytes: SMALL_MACHINE_MEMORY,
        tiers: &[],
        varied: &[],
        prices: NamedPrices { currency: "USD", dates: "2026", old_years: None },
    };
    recommend(&inputs).sentences
}

fn about<'a>(sentences: &'a [AdviceSentence], about: &str) -> &'a str {
    &sentences.iter().find(|sentence| sentence.about == about).unwrap().text
}

/// The misses of every policy with a capacity, by a simulation that knows nothing of advice.
struct ExactMisses {
    requests: usize,
    misses: Vec<(String, u64)>,
}

impl ExactMisses {
    fn of(opens: OpenTest<'_>, found: &CacheAnalysis, capacity: u64) -> Self {
        let specs: Vec<PolicySpec> = POLICIES.iter().map(|kind| kind.name.parse().unwrap()).collect();
        let by_size = found.basis.by_size;
        let requests = RequestSequence::read(&mut *opens(), PolicySpec::fields(&specs, by_size)).unwrap();
        let results = simulate(&requests, &specs, &[capacity], by_size, found.basis.seed);
        let misses = results.iter().map(|result| (specs[result.policy].to_string(), result.counters.misses));
        Self { requests: requests.len(), misses: misses.collect() }
    }

    fn misses(&self, policy: &str) -> u64 {
        self.misses.iter().find(|(name, _)| name == policy).unwrap().1
    }

    fn ratio(&self, policy: &str) -> f64 {
        self.misses(policy) as f64 / self.requests as f64
    }

    /// The misses divided by LRU's, minus 1.
    fn relative(&self, policy: &str) -> f64 {
        self.misses(policy) as f64 / self.misses("lru") as f64 - 1.0
    }
}
