//! Fits Zipf's law to the request counts of keys and tests the fit.
//!
//! The k-th most popular key is requested in proportion to k^-s. The tail is discarded (Motwani and Vassilvitskii
//! 2006), because the ranks of keys with few requests are due to chance. s is the maximum-likelihood estimate over the
//! keys with at least [`REQUESTS_MIN`] requests (more where fewer cannot be counted exactly), at most [`RANKS_MAX`].
//! Ordering keys by noisy counts still steepens the curve. So the fit is repeated on traces drawn from the fitted law
//! (parametric bootstrap): their bias is subtracted, their spread is the standard error, and their distances from their
//! own fits show whether the real distance is too large (Clauset, Shalizi and Newman 2009).

use rand_distr::{Distribution as _, Poisson};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng as _;
use serde::Serialize;

/// The fewest requests of a fitted key.
pub const REQUESTS_MIN: u64 = 10;
/// The most fitted keys.
pub const RANKS_MAX: usize = 10_000;
/// The fewest fitted keys.
pub const RANKS_MIN: usize = 20;
/// The number of traces drawn from the fitted law in each round.
const DRAWS: [usize; 5] = [20, 20, 20, 20, 100];
/// The largest ratio of drawn to fitted ranks.
const REACH: usize = 20;
/// The law is rejected below this p-value.
const PLAUSIBLE: f64 = 0.1;
/// A distance of the distributions below which a difference does not matter.
const NEAR: f64 = 0.05;

/// The best fit of Zipf's law.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ZipfFit {
    /// The exponent s.
    pub exponent: f64,
    /// Its standard error.
    pub standard_error: f64,
    /// The number of fitted keys, the most popular ones.
    pub ranks: usize,
    /// The number of discarded keys in the tail.
    pub discarded_keys: usize,
    /// The share of all requests for the fitted keys.
    pub requests_share: f64,
    /// The Kolmogorov-Smirnov distance: the largest difference between the fitted and the observed share of the first k
    /// keys.
    pub distance: f64,
    /// The p-value: the share of traces drawn from the fitted law with at least this distance.
    pub p_value: f64,
    /// The verdict.
    pub verdict: ZipfFitQuality,
}

/// Whether a popularity follows Zipf's law.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ZipfFitQuality {
    /// It is indistinguishable from Zipf's law.
    Zipf,
    /// It differs from Zipf's law, but no share of requests by more than 0.05.
    NearlyZipf,
    /// It does not follow Zipf's law.
    NotZipf,
}

/// The input of the fit: the most requested keys, and the number of others.
#[derive(Debug, Clone, Copy)]
pub struct RankedKeys<'a> {
    /// The counts of the most requested keys, descending.
    pub requests: &'a [u64],
    /// The list contains every key with at least this many requests.
    pub least: u64,
    /// The number of all keys.
    pub keys: usize,
    /// The number of all requests.
    pub all_requests: u64,
}

/// Fits the law to the counts of all keys, descending; `None` if too few keys have enough requests.
pub fn fit(requests: &[u64]) -> Option<ZipfFit> {
    fit_known(&RankedKeys { requests, least: 1, keys: requests.len(), all_requests: requests.iter().sum() })
}

/// Fits the law to the counts of the most requested keys; `None` if too few keys have enough requests.
pub fn fit_known(known: &RankedKeys) -> Option<ZipfFit> {
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
        // Counts in descending order cannot rise.
        exponent = (exponent + found - mean).max(0.0);
    }
    let mean = drawn.iter().map(|(exponent, _)| exponent).sum::<f64>() / drawn.len() as f64;
    let variance = drawn.iter().map(|(exponent, _)| (exponent - mean).powi(2)).sum::<f64>() / drawn.len() as f64;
    let as_far = drawn.iter().filter(|(_, other)| *other >= distance).count();
    let p_value = (1.0 + as_far as f64) / (1.0 + drawn.len() as f64);
    let verdict = match () {
        () if p_value >= PLAUSIBLE => ZipfFitQuality::Zipf,
        () if distance <= NEAR => ZipfFitQuality::NearlyZipf,
        () => ZipfFitQuality::NotZipf,
    };
    exponent.is_finite().then(|| ZipfFit {
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

/// The fitted keys.
fn head(requests: &[u64], least: u64) -> &[u64] {
    let enough = requests.partition_point(|requests| *requests >= least);
    &requests[..enough.min(RANKS_MAX)]
}

/// The maximum-likelihood exponent: its mean logarithm of the rank equals the observed one.
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

/// Mean and variance of the logarithm of the rank for an exponent.
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

/// The largest difference between observed and fitted cumulative shares.
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

/// Draws counts from a Zipf distribution.
struct ZipfSampler {
    exponent: f64,
    ranks: usize,
    /// The requests for the first ranks together.
    requests: f64,
    /// The number of all keys.
    keys: usize,
    /// The fewest requests of a fitted key; `None` if the number of fitted keys is at its limit.
    least: Option<u64>,
}

impl ZipfSampler {
    /// Draws the counts of all keys and fits the law to them. Returns the exponent and the distance.
    fn draw(&self, random: &mut Xoshiro256PlusPlus) -> Option<(f64, f64)> {
        let weight: f64 = (1..=self.ranks).map(|rank| (rank as f64).powf(-self.exponent)).sum();
        let mean = |rank: usize| self.requests / weight * (rank as f64).powf(-self.exponent);
        let last = mean(self.ranks);
        // Less popular keys may by chance have as many requests as the last fitted key.
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
