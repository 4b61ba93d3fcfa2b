//! Zipf's law fitted to how often keys are requested, and whether it is one at all.
//!
//! The k-th of the keys by popularity is requested in proportion to k^-s. The tail is discarded (Motwani and
//! Vassilvitskii 2006), as the ranks of keys with few requests are those of chance: s is that of the keys with
//! [`REQUESTS_MIN`] requests or more (more where fewer cannot be counted exactly), at most [`RANKS_MAX`], by maximum
//! likelihood. Putting keys in order by what is partly chance still steepens the curve, so the fit is done again on
//! traces drawn from the fitted law (parametric bootstrap): what it is wrong by there is taken off, how it scatters
//! there is the standard error, and how far they are from their own fits says whether the real one is too far (Clauset,
//! Shalizi and Newman 2009).

use rand_distr::{Distribution as _, Poisson};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng as _;
use serde::Serialize;

/// A key in the fit has so many requests.
pub const REQUESTS_MIN: u64 = 10;
/// The most keys in the fit.
pub const RANKS_MAX: usize = 10_000;
/// The fewest keys that are fitted.
pub const RANKS_MIN: usize = 20;
/// How often a trace is drawn from the fitted law, in one round after the other.
const DRAWS: [usize; 5] = [20, 20, 20, 20, 100];
/// How many times more ranks are drawn at most than are fitted.
const REACH: usize = 20;
/// The law is refused where fewer of the drawn traces are as far from their fits.
const PLAUSIBLE: f64 = 0.1;
/// A difference of the distributions that is small enough not to matter.
const NEAR: f64 = 0.05;

/// Zipf's law as it fits best.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Zipf {
    /// The exponent s.
    pub exponent: f64,
    /// Its standard error.
    pub standard_error: f64,
    /// How many keys were fitted, the most popular ones.
    pub ranks: usize,
    /// The keys left out: the tail.
    pub discarded_keys: usize,
    /// The share of all requests that are for the fitted keys.
    pub requests_share: f64,
    /// The greatest difference between the fitted and the found share of the requests for the first k keys.
    pub distance: f64,
    /// The share of the traces drawn from the fitted law that are as far from it.
    pub p_value: f64,
    /// Whether it is Zipf's law.
    pub verdict: Verdict,
}

/// Whether it is Zipf's law.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It is indistinguishable from it.
    Zipf,
    /// It is distinguishable from it, but no share of requests is wrong by more than 0.05.
    NearlyZipf,
    /// It is another one.
    NotZipf,
}

/// What is fitted: the most requested keys, and how many others there are.
#[derive(Debug, Clone, Copy)]
pub struct RankedKeys<'a> {
    /// The requests of the most requested keys, most first.
    pub requests: &'a [u64],
    /// All keys that were requested as often or more are among them.
    pub least: u64,
    /// All keys.
    pub keys: usize,
    /// The requests of all keys.
    pub all_requests: u64,
}

/// Fits the law to the requests of each key, most first; nothing where too few keys have enough requests.
pub fn fit(requests: &[u64]) -> Option<Zipf> {
    fit_known(&RankedKeys { requests, least: 1, keys: requests.len(), all_requests: requests.iter().sum() })
}

/// Fits the law where not every key's requests are known; nothing where too few keys have enough requests.
pub fn fit_known(known: &RankedKeys) -> Option<Zipf> {
    let least = known.least.max(REQUESTS_MIN);
    let head = head(known.requests, least);
    if head.len() < RANKS_MIN {
        return None;
    }
    let found = likeliest(head);
    let distance = distance(head, found);
    let is_capped = head.len() == RANKS_MAX && known.keys > RANKS_MAX;
    let mut random = Xoshiro256PlusPlus::seed_from_u64(head.len() as u64);
    let mut exponent = found;
    let mut drawn = Vec::new();
    for draws in DRAWS {
        let law = ZipfSampler {
            exponent,
            ranks: head.len(),
            requests: head.iter().sum::<u64>() as f64,
            keys: known.keys,
            least: if is_capped { None } else { Some(least) },
        };
        drawn = (0..draws).filter_map(|_| law.draw(&mut random)).collect::<Vec<_>>();
        let mean = drawn.iter().map(|(exponent, _)| exponent).sum::<f64>() / drawn.len() as f64;
        // Keys in order of their requests cannot rise.
        exponent = (exponent + found - mean).max(0.0);
    }
    let mean = drawn.iter().map(|(exponent, _)| exponent).sum::<f64>() / drawn.len() as f64;
    let variance = drawn.iter().map(|(exponent, _)| (exponent - mean).powi(2)).sum::<f64>() / drawn.len() as f64;
    let as_far = drawn.iter().filter(|(_, other)| *other >= distance).count();
    let p_value = (1.0 + as_far as f64) / (1.0 + drawn.len() as f64);
    let verdict = match () {
        () if p_value >= PLAUSIBLE => Verdict::Zipf,
        () if distance <= NEAR => Verdict::NearlyZipf,
        () => Verdict::NotZipf,
    };
    exponent.is_finite().then(|| Zipf {
        exponent,
        standard_error: variance.sqrt(),
        ranks: head.len(),
        discarded_keys: known.keys.saturating_sub(head.len()),
        requests_share: head.iter().sum::<u64>() as f64 / known.all_requests as f64,
        distance,
        p_value,
        verdict,
    })
}

/// The keys that are fitted.
fn head(requests: &[u64], least: u64) -> &[u64] {
    let enough = requests.partition_point(|requests| *requests >= least);
    &requests[..enough.min(RANKS_MAX)]
}

/// The exponent of maximum likelihood: with it the mean logarithm of the rank is the one found.
fn likeliest(requests: &[u64]) -> f64 {
    let logs: Vec<f64> = (1..=requests.len()).map(|rank| (rank as f64).ln()).collect();
    let total: f64 = requests.iter().map(|requests| *requests as f64).sum();
    let wanted = requests.iter().zip(&logs).map(|(requests, log)| *requests as f64 * log).sum::<f64>() / total;
    let mut exponent: f64 = 1.0;
    for _ in 0..100 {
        let (mean, variance) = log_rank(&logs, exponent);
        let step = ((mean - wanted) / variance).clamp(-1.0, 1.0);
        exponent = (exponent + step).clamp(-2.0, 30.0);
        if step.abs() < 1e-10 {
            break;
        }
    }
    exponent
}

/// Mean and variance of the logarithm of the rank under an exponent.
fn log_rank(logs: &[f64], exponent: f64) -> (f64, f64) {
    let (mut weight, mut sum, mut squares) = (0.0, 0.0, 0.0);
    for log in logs {
        let share = (-exponent * log).exp();
        weight += share;
        sum += share * log;
        squares += share * log * log;
    }
    let mean = sum / weight;
    (mean, (squares / weight - mean * mean).max(f64::MIN_POSITIVE))
}

/// The greatest difference between the cumulated shares found and fitted.
fn distance(requests: &[u64], exponent: f64) -> f64 {
    let total: f64 = requests.iter().map(|requests| *requests as f64).sum();
    let shares: Vec<f64> = (1..=requests.len()).map(|rank| (rank as f64).powf(-exponent)).collect();
    let weight: f64 = shares.iter().sum();
    let (mut difference, mut greatest) = (0.0_f64, 0.0_f64);
    for (requests, share) in requests.iter().zip(&shares) {
        difference += *requests as f64 / total - share / weight;
        greatest = greatest.max(difference.abs());
    }
    greatest
}

/// A law to draw from.
struct ZipfSampler {
    exponent: f64,
    ranks: usize,
    /// The requests that its first ranks have together.
    requests: f64,
    /// All keys.
    keys: usize,
    /// The fewest requests of a key that is fitted; nothing where as many keys are fitted as there may be.
    least: Option<u64>,
}

impl ZipfSampler {
    /// Draws the requests of each key, and fits the law to them: the exponent found, and the distance from it.
    fn draw(&self, random: &mut Xoshiro256PlusPlus) -> Option<(f64, f64)> {
        let weight: f64 = (1..=self.ranks).map(|rank| (rank as f64).powf(-self.exponent)).sum();
        let mean = |rank: usize| self.requests / weight * (rank as f64).powf(-self.exponent);
        let last = mean(self.ranks);
        // Keys of ranks behind may by chance have as many requests as the last one that is fitted.
        let floor = (last / 4.0).max(last - 6.0 * last.sqrt());
        let mut drawn: Vec<u64> = Vec::with_capacity(2 * self.ranks);
        for rank in 1..=self.keys.min(REACH * self.ranks) {
            let mean = mean(rank);
            if rank > self.ranks && mean < floor {
                break;
            }
            drawn.push(Poisson::new(mean).ok()?.sample(random) as u64);
        }
        drawn.sort_unstable_by(|one, other| other.cmp(one));
        let drawn = match self.least {
            None => &drawn[..self.ranks.min(drawn.len())],
            Some(least) => head(&drawn, least),
        };
        if drawn.len() < RANKS_MIN / 2 {
            return None;
        }
        let exponent = likeliest(drawn);
        Some((exponent, distance(drawn, exponent)))
    }
}
