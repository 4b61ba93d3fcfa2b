use super::*;
use statrs::distribution::{ChiSquared, ContinuousCDF as _};

const SEEDS: [u64; 3] = [1, 42, 20_260_101];
const DRAWS: u64 = 400_000;
/// Below this a deviation is no longer chance; three seeds by five distributions stay well above.
const P_MIN: f64 = 0.001;

/// The probability of a deviation like this, or a larger one, from the expected shares.
fn chi_square_p(counts: &[u64], shares: &[f64]) -> f64 {
    let draws: u64 = counts.iter().sum();
    let terms = counts.iter().zip(shares).map(|(count, share)| {
        let expected = share * draws as f64;
        (*count as f64 - expected).powi(2) / expected
    });
    ChiSquared::new(shares.len() as f64 - 1.0).unwrap().sf(terms.sum())
}

fn counts(records: u64, seed: u64, mut draw: impl FnMut(&mut Random) -> u64) -> Vec<u64> {
    let mut random = stream(seed, 0);
    let mut counts = vec![0; records as usize];
    for _ in 0..DRAWS {
        counts[draw(&mut random) as usize] += 1;
    }
    counts
}

fn zipf_shares(count: u64, exponent: f64) -> Vec<f64> {
    let weights: Vec<f64> = (1..=count).map(|rank| (rank as f64).powf(-exponent)).collect();
    let sum: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / sum).collect()
}

#[test]
fn uniform_is_uniform() {
    for seed in SEEDS {
        let uniform = Uniform::new(1000);
        let counts = counts(1000, seed, |random| uniform.draw(random));
        let p = chi_square_p(&counts, &[0.001; 1000]);
        assert!(p > P_MIN, "seed {seed}: p = {p}");
    }
}

#[test]
fn zipf_is_exact_for_exponents_below_at_and_above_one() {
    for exponent in [0.5, 0.99, 1.0, 1.5] {
        let shares = zipf_shares(200, exponent);
        for seed in SEEDS {
            let zipf = Zipf::new(200, exponent);
            let p = chi_square_p(&counts(200, seed, |random| zipf.draw(random)), &shares);
            assert!(p > P_MIN, "exponent {exponent}, seed {seed}: p = {p}");
        }
    }
}

#[test]
fn scattering_moves_shares_and_changes_none() {
    let shares = zipf_shares(300, EXPONENT);
    for seed in SEEDS {
        let zipf = ScatteredZipf::new(300, EXPONENT, seed);
        let counts = counts(300, seed, |random| zipf.draw(random));
        let by_rank: Vec<u64> = (0..300).map(|rank| counts[zipf.record_of(rank) as usize]).collect();
        let p = chi_square_p(&by_rank, &shares);
        assert!(p > P_MIN, "seed {seed}: p = {p}");
    }
}

#[test]
fn latest_is_zipf_over_age() {
    let mut shares = zipf_shares(200, EXPONENT);
    shares.reverse();
    for seed in SEEDS {
        let latest = Latest::new(200, EXPONENT);
        let p = chi_square_p(&counts(200, seed, |random| latest.draw(random)), &shares);
        assert!(p > P_MIN, "seed {seed}: p = {p}");
    }
}

/// The share of each record follows from the closed form by cutting [0, 1) finely and evenly.
#[test]
fn ycsbs_zipfian_follows_its_closed_form() {
    const RECORDS: u64 = 50;
    const CUTS: u64 = 4_000_000;
    let zipf = YcsbZipfian::new(RECORDS);
    let mut exact = vec![0_u64; RECORDS as usize];
    (0..CUTS).filter_map(|cut| zipf.of((cut as f64 + 0.5) / CUTS as f64)).for_each(|of| exact[of as usize] += 1);
    let all: u64 = exact.iter().sum();
    let shares: Vec<f64> = exact.iter().map(|count| *count as f64 / all as f64).collect();
    for seed in SEEDS {
        let p = chi_square_p(&counts(RECORDS, seed, |random| zipf.draw(random)), &shares);
        assert!(p > P_MIN, "seed {seed}: p = {p}");
    }
}

/// Computed from the formulas of YCSB's `ZipfianGenerator`, `ScrambledZipfianGenerator` and `fnvhash64` by a
/// program of its own.
#[test]
fn ycsbs_zipfian_takes_the_records_that_ycsb_takes() {
    let thousand = [(0.0, 144), (0.05, 610), (0.1, 942), (0.25, 809), (0.5, 367), (0.75, 767), (0.9, 991)];
    let million = [(0.0, 801_320), (0.05, 216_074), (0.1, 293_804), (0.5, 686_676), (0.9, 736_200)];
    for (u, record) in thousand {
        assert_eq!(YcsbZipfian::new(1000).of(u), Some(record), "{u}");
    }
    for (u, record) in million {
        assert_eq!(YcsbZipfian::new(1_000_000).of(u), Some(record), "{u}");
    }
    assert_eq!(YcsbZipfian::new(50).of(0.18589), None, "YCSB draws again");
}

#[test]
fn the_top_hundredth_of_a_million_keys_gets_its_share() {
    let mut random = stream(7, 0);
    let zipf = Zipf::new(1_000_000, EXPONENT);
    let top = (0..DRAWS).filter(|_| zipf.draw(&mut random) < 10_000).count() as f64 / DRAWS as f64;
    assert!((top - 0.664).abs() < 0.005, "{top}");
}

#[test]
fn a_stream_can_be_repeated_and_threads_have_their_own() {
    for kind in
        [KeyDistribution::Uniform, KeyDistribution::Zipfian, KeyDistribution::YcsbZipfian, KeyDistribution::Latest]
    {
        let records = Records::new(kind, 1000, 9);
        let draw = |thread| {
            let mut random = stream(9, thread);
            (0..100).map(|_| records.draw(&mut random)).collect::<Vec<_>>()
        };
        assert_eq!(draw(0), draw(0));
        assert_ne!(draw(0), draw(1));
        assert!(draw(2).into_iter().all(|record| record < 1000));
    }
}
