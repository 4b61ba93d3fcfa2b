//! How often the 95 % intervals of means and of ratios hold the true value, and how often a scale has a false step, on
//! simulated runs of equal phases: by length and number of phases, for each of 36 noises.
//!
//! `cargo run --example coverage -- RUNS SAMPLES PHASES` prints a line of tab-separated values for each noise, then the least
//! and the greatest share. `docs/analysis.md` has the results.

#[path = "../tests/integration/synthetic/simulated.rs"]
mod simulated;

use std::io::Write as _;

use manometer_analysis::scale::{PressureScale, ScalePoint};
use manometer_analysis::statistics::SampleMean;
use manometer_analysis::statistics::fieller::ratio_interval;
use manometer_analysis::statistics::memory::sample_means;
use rand::SeedableRng as _;
use rand_xoshiro::Xoshiro256PlusPlus;
use simulated::{COEFFICIENTS, SAWS, Saw, series};

const SEED: u64 = 20_262;

/// The true mean of every phase, and the standard deviation of its AR(1) part.
const LEVEL: f64 = 1_000.0;
const SPREAD: f64 = 50.0;

/// What was counted over the runs of one noise.
#[derive(Debug, Default)]
struct Counts {
    phases: usize,
    with_interval: usize,
    covered: usize,
    ratios: usize,
    ratios_covered: usize,
    runs: usize,
    runs_with_false_steps: usize,
}

impl Counts {
    fn add(&mut self, means: &[Option<SampleMean>]) {
        self.phases += means.len();
        let intervals = means.iter().flatten().filter_map(SampleMean::interval);
        for (low, high) in intervals {
            self.with_interval += 1;
            self.covered += usize::from((low..=high).contains(&LEVEL));
        }
        let (Some(Some(first)), rest) = (means.first(), means.iter().skip(1).flatten()) else { return };
        for (low, high) in rest.filter_map(|mean| ratio_interval(mean, first)) {
            self.ratios += 1;
            self.ratios_covered += usize::from((low..=high).contains(&1.0));
        }
        self.runs += 1;
        self.runs_with_false_steps += usize::from(steps(means) > 1);
    }
}

fn steps(means: &[Option<SampleMean>]) -> usize {
    let measured = means.iter().flatten().enumerate();
    let points = measured.map(|(phase, mean)| ScalePoint {
        id: format!("w{phase}"),
        pressure: 1.0 - mean.mean / LEVEL,
        performance: Ok(*mean),
    });
    PressureScale::of(&points.collect::<Vec<_>>()).steps.len()
}

fn simulated(runs: usize, samples: usize, phases: usize, coefficient: f64, saw: Saw) -> Counts {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(SEED);
    let mut counts = Counts::default();
    for _ in 0..runs {
        let mut phase = || -> Vec<f64> {
            let noise = series(&mut random, samples, coefficient, saw);
            noise.iter().map(|value| LEVEL + SPREAD * value).collect()
        };
        let run: Vec<Vec<f64>> = (0..phases).map(|_| phase()).collect();
        counts.add(&sample_means(&run.iter().map(Vec::as_slice).collect::<Vec<_>>()));
    }
    counts
}

fn main() -> std::io::Result<()> {
    let numbers: Vec<usize> = std::env::args().skip(1).filter_map(|argument| argument.parse().ok()).collect();
    let [runs, samples, phases] = numbers[..] else {
        return Err(std::io::Error::other("give the number of runs, of samples in a phase and of phases in a run"));
    };
    let mut out = std::io::stdout();
    let mut shares: Vec<(f64, f64, f64)> = Vec::new();
    writeln!(out, "coefficient\theight\tperiod\tjitter\tgiven\tmeans\tratios\tfalse_steps")?;
    for coefficient in COEFFICIENTS {
        for saw in SAWS {
            let counts = simulated(runs, samples, phases, coefficient, saw);
            let share = |part: usize, whole: usize| part as f64 / whole as f64;
            let given = share(counts.with_interval, counts.phases);
            let means = share(counts.covered, counts.with_interval);
            let ratios = share(counts.ratios_covered, counts.ratios);
            let steps = share(counts.runs_with_false_steps, counts.runs);
            let Saw { height, period, jitter } = saw;
            writeln!(
                out,
                "{coefficient}\t{height}\t{period}\t{jitter}\t{given:.3}\t{means:.3}\t{ratios:.3}\t{steps:.3}"
            )?;
            shares.push((means, ratios, steps));
        }
    }
    let ends = |of: fn(&(f64, f64, f64)) -> f64| {
        let all = shares.iter().map(of).filter(|share| share.is_finite());
        all.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), share| (low.min(share), high.max(share)))
    };
    let (means, ratios) = (ends(|share| share.0), ends(|share| share.1));
    let within = shares.iter().filter(|share| (0.93..=0.97).contains(&share.0)).count();
    let steps = shares.iter().map(|share| share.2).sum::<f64>() / shares.len() as f64;
    writeln!(
        out,
        "{samples} samples, {phases} phases: means {:.3} to {:.3} ({within} of {} within 93 to 97 %), ratios {:.3} to {:.3}, \
         false steps {steps:.3}",
        means.0,
        means.1,
        shares.len(),
        ratios.0,
        ratios.1
    )
}
