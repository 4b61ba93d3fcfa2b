//! The popularity of the most popular records: computed, not sampled.

use serde::Serialize;

use super::distribution::{PopularityDistribution, YcsbZipfian, harmonic, hot_records, rate};
use super::error::KvError;
use super::operation_mix::OperationMix;
use super::plan::KvPlan;
use super::settings::KeyDistribution;

/// The shares of the records to describe.
const SHARES: [f64; 6] = [0.0, 0.0001, 0.001, 0.01, 0.1, 0.5];

/// Exact, by formula.
const BY_FORMULA: &str = "exactly, by formula";
/// The method of [`folded`].
const BY_ITEM: &str = "item by item, as YCSB folds them onto the records; the least popular items, of which every \
                       record gets thousands, are taken as spread evenly";

/// The most records whose popularity is computed one by one: 8 bytes each.
const ONE_BY_ONE_MAX: u64 = 1 << 24;
/// YCSB's items that are folded one by one, at least and at most.
const ITEMS: [u64; 2] = [1 << 22, 1 << 26];
/// As many for each record in between.
const ITEMS_PER_RECORD: u64 = 16;

/// The popularity of records.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PopularityDescription {
    /// The distribution.
    pub distribution: KeyDistribution,
    /// Its exponent, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exponent: Option<f64>,
    /// How many records there are.
    pub records: u64,
    /// The shares of the most popular records.
    pub top: Vec<TopRecordsShare>,
    /// The fewest records that get half of the requests.
    pub records_of_half: u64,
    /// How this was computed.
    pub computed: &'static str,
}

/// The share of the most popular records.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TopRecordsShare {
    /// How many.
    pub records: u64,
    /// Their share of all records.
    pub share_of_records: f64,
    /// Their share of all requests.
    pub share_of_requests: f64,
}

/// How popular the records of `plan` are, at the start where their number grows.
///
/// # Errors
/// There are too many to compute it.
pub fn describe(plan: &KvPlan) -> Result<PopularityDescription, KvError> {
    if !matches!(plan.spec.mix, OperationMix::Ycsb(_)) {
        return Err(KvError::PopularityUnavailable {
            distribution: plan.workload.clone(),
            records: plan.spec.records,
            reason: "the manual of db_bench's workloads describes how they draw".to_owned(),
        });
    }
    let popularity = plan.spec.distribution;
    let records = match popularity {
        PopularityDistribution::Zipfian { .. } | PopularityDistribution::YcsbZipfian => plan.expected_records(),
        _ => plan.spec.loaded,
    };
    let shares = Shares::of(popularity, records)?;
    let top = |share: f64| {
        let top = ((records as f64 * share).round() as u64).clamp(1, records);
        TopRecordsShare {
            records: top,
            share_of_records: top as f64 / records as f64,
            share_of_requests: shares.of_top(top),
        }
    };
    let mut tops: Vec<TopRecordsShare> = SHARES.into_iter().map(top).collect();
    tops.dedup_by_key(|top| top.records);
    Ok(PopularityDescription {
        distribution: popularity.kind(),
        exponent: popularity.exponent(),
        records,
        top: tops,
        records_of_half: shares.fewest_of_half(records),
        computed: if popularity == PopularityDistribution::YcsbZipfian { BY_ITEM } else { BY_FORMULA },
    })
}

/// The share of the most popular records.
enum Shares {
    /// As many for each.
    Even { records: u64 },
    /// By rank.
    Zipf { exponent: f64, sum: f64 },
    /// First the records of one popularity, then those of another.
    Steps { first_records: u64, first: f64, records: u64 },
    /// By age.
    Exponential { rate: f64, all: f64 },
    /// Up to every rank.
    UpTo(Vec<f64>),
}

impl Shares {
    fn of(popularity: PopularityDistribution, records: u64) -> Result<Self, KvError> {
        Ok(match popularity {
            PopularityDistribution::Uniform | PopularityDistribution::Sequential => Self::Even { records },
            PopularityDistribution::Zipfian { exponent } | PopularityDistribution::Latest { exponent } => {
                Self::Zipf { exponent, sum: harmonic(records, exponent) }
            }
            PopularityDistribution::Hotspot { records: hot, requests } => {
                let hot = hot_records(records, hot);
                let hot_is_first = requests * (records - hot) as f64 >= (1.0 - requests) * hot as f64;
                let (first_records, first) =
                    if hot_is_first { (hot, requests) } else { (records - hot, 1.0 - requests) };
                Self::Steps { first_records, first, records }
            }
            PopularityDistribution::Exponential { percentile, fraction } => {
                let rate = rate(records, percentile, fraction);
                Self::Exponential { rate, all: -(-rate * records as f64).exp_m1() }
            }
            PopularityDistribution::YcsbZipfian if records > ONE_BY_ONE_MAX => {
                return Err(KvError::PopularityUnavailable {
                    distribution: "ycsb-zipfian".to_owned(),
                    records,
                    reason: format!("each record is computed individually; use {ONE_BY_ONE_MAX} records at most"),
                });
            }
            PopularityDistribution::YcsbZipfian => Self::UpTo(folded(records)),
        })
    }

    /// The share of the `top` most popular records.
    fn of_top(&self, top: u64) -> f64 {
        match self {
            Self::Even { records } => top as f64 / *records as f64,
            Self::Zipf { exponent, sum } => harmonic(top, *exponent) / sum,
            Self::Steps { first_records, first, .. } if top <= *first_records => {
                first * top as f64 / *first_records as f64
            }
            Self::Steps { first_records, first, records } => {
                first + (1.0 - first) * (top - first_records) as f64 / (records - first_records) as f64
            }
            Self::Exponential { rate, all } => -(-rate * top as f64).exp_m1() / all,
            Self::UpTo(shares) => shares[top as usize - 1],
        }
    }

    /// How many of `records` records get half of the requests at least.
    fn fewest_of_half(&self, records: u64) -> u64 {
        /// Rounding must not cost a record where the half is met exactly.
        const HALF: f64 = 0.5 - 1e-12;
        let (mut below, mut enough) = (0, records);
        while enough - below > 1 {
            let middle = below + (enough - below) / 2;
            if self.of_top(middle) < HALF { below = middle } else { enough = middle }
        }
        enough
    }
}

/// The cumulative shares of `records` records under YCSB's scrambled zipfian, by rank.
fn folded(records: u64) -> Vec<f64> {
    let zipf = YcsbZipfian::new(records);
    let items = (records * ITEMS_PER_RECORD).clamp(ITEMS[0], ITEMS[1]);
    let mut shares = vec![0.0; records as usize];
    let (mut summed, mut drawn_again) = (0.0, 0.0);
    for (item, share) in (0..items).zip(zipf.shares_of_items()) {
        summed += share;
        match zipf.record_of(item) {
            Some(record) => shares[record as usize] += share,
            None => drawn_again += share,
        }
    }
    let rest = (1.0 - summed) / (records + 1) as f64;
    let all = 1.0 - drawn_again - rest;
    shares.iter_mut().for_each(|share| *share = (*share + rest) / all);
    shares.sort_unstable_by(|one, other| other.total_cmp(one));
    let mut sum = 0.0;
    shares.iter_mut().for_each(|share| {
        sum += *share;
        *share = sum;
    });
    shares
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::kv::KvSettings;
    use crate::kv::distribution::{KeyChooser, KeySpace, stream};

    fn plan(distribution: KeyDistribution, records: u64, exponent: Option<f64>) -> KvPlan {
        let mut settings =
            KvSettings { engine: "null".to_owned(), workload: "ycsb-c".to_owned(), ..Default::default() };
        settings.records = Some(records);
        settings.distribution = Some(distribution);
        settings.exponent = exponent;
        KvPlan::new(&settings).unwrap()
    }

    fn described(distribution: KeyDistribution, records: u64, exponent: Option<f64>) -> PopularityDescription {
        describe(&plan(distribution, records, exponent)).unwrap()
    }

    fn share(description: &PopularityDescription, records: u64) -> f64 {
        description.top.iter().find(|top| top.records == records).unwrap().share_of_requests
    }

    #[test]
    fn the_top_hundredth_of_a_million_gets_more_under_zipf_than_under_ycsbs() {
        let zipf = described(KeyDistribution::Zipfian, 1_000_000, None);
        assert!((100.0 * share(&zipf, 10_000) - 66.4).abs() < 0.1, "{zipf:?}");
        let ycsb = described(KeyDistribution::YcsbZipfian, 1_000_000, None);
        assert!((100.0 * share(&ycsb, 10_000) - 39.9).abs() < 0.1, "{ycsb:?}");
    }

    #[test]
    fn each_requested_top_appears_once() {
        let records =
            |description: PopularityDescription| description.top.iter().map(|top| top.records).collect::<Vec<_>>();
        assert_eq!(
            records(described(KeyDistribution::Uniform, 1_000_000, None)),
            [1, 100, 1000, 10_000, 100_000, 500_000]
        );
        assert_eq!(records(described(KeyDistribution::Uniform, 100, None)), [1, 10, 50]);
        assert_eq!(records(described(KeyDistribution::Uniform, 1, None)), [1]);
    }

    #[test]
    fn the_records_of_half_of_the_requests_are_counted() {
        assert_eq!(described(KeyDistribution::Uniform, 1000, None).records_of_half, 500);
        assert_eq!(described(KeyDistribution::Sequential, 1, None).records_of_half, 1);
        // Of 20 % hot records with 80 % of the requests, five eighths get half.
        assert_eq!(described(KeyDistribution::Hotspot, 1000, None).records_of_half, 125);
        // 1 / (1 + 1/4 + 1/9 + …) is more than half.
        assert_eq!(described(KeyDistribution::Zipfian, 1000, Some(2.0)).records_of_half, 1);
    }

    #[test]
    fn a_popularity_that_would_take_a_table_is_refused_beyond_its_limit() {
        let error = describe(&plan(KeyDistribution::YcsbZipfian, 1 << 25, None)).unwrap_err().to_string();
        assert!(error.contains("16777216 records at most"), "{error}");
        described(KeyDistribution::Zipfian, 1_000_000_000, Some(1.2));
    }

    /// Computed and sampled shares agree.
    #[test]
    fn draws_are_as_described() {
        const RECORDS: u64 = 10_000;
        const DRAWS: u64 = 1_000_000;
        for distribution in [
            KeyDistribution::Uniform,
            KeyDistribution::Zipfian,
            KeyDistribution::YcsbZipfian,
            KeyDistribution::Latest,
            KeyDistribution::Hotspot,
            KeyDistribution::Exponential,
            KeyDistribution::Sequential,
        ] {
            let plan = plan(distribution, RECORDS, None);
            let space = KeySpace { records: RECORDS, expected: RECORDS, thread: 0, threads: 1 };
            let mut records = KeyChooser::new(plan.spec.distribution, space, 1);
            let mut random = stream(3, 0);
            let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
            (0..DRAWS).for_each(|_| *counts.entry(records.draw(RECORDS, &mut random)).or_default() += 1);
            let mut counts: Vec<u64> = counts.into_values().collect();
            counts.sort_unstable_by(|one, other| other.cmp(one));
            for top in describe(&plan).unwrap().top.into_iter().filter(|top| top.records >= 100) {
                let drawn = counts.iter().take(top.records as usize).sum::<u64>() as f64 / DRAWS as f64;
                // The most popular by chance get a little more than the most popular by right.
                let off = drawn - top.share_of_requests;
                assert!((-0.003..0.05).contains(&off), "{distribution:?}: {drawn}, described as {top:?}");
            }
        }
    }
}
