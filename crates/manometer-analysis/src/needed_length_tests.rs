//! Whether advised lengths keep their promise: runs of the advised length are simulated, and much shorter ones.

use rand::SeedableRng as _;
use rand_distr::{Distribution as _, StandardNormal};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::*;
use crate::statistics::memory::sample_means;

const HIGHER: BetterDirection = BetterDirection::Higher;

/// Runs that are measured, advised, and measured again.
const RUNS: u64 = 200;

/// How often the intervals of advised runs were narrow enough, and those of runs a fourth as long.
#[derive(Debug, Default)]
struct Kept {
    advised: u32,
    narrow: u32,
    narrow_if_shorter: u32,
}

impl Kept {
    /// Measures a run of `length`, then one as long as it advises and one a fourth as long; `run` gives the phases of a run
    /// of a length and a seed, `advised` the length that they advise.
    fn count<R>(
        length: usize,
        run: impl Fn(usize, u64) -> R,
        advised: impl Fn(&R) -> Option<usize>,
        width: impl Fn(&R) -> Option<f64>,
    ) -> Self {
        let mut kept = Self::default();
        for seed in 0..RUNS {
            let Some(needed) = advised(&run(length, seed)) else { continue };
            let is_narrow =
                |length: usize, seed: u64| width(&run(length, seed)).is_some_and(|width| width <= GREATEST_WIDTH);
            kept.advised += 1;
            kept.narrow += u32::from(is_narrow(needed, 1_000_000 + seed));
            kept.narrow_if_shorter += u32::from(is_narrow(needed / 4, 2_000_000 + seed));
        }
        kept
    }

    /// Most advised runs are narrow enough, and most that are much shorter are not.
    #[track_caller]
    fn check(&self, what: &str) {
        println!("{what}: {self:?}");
        let share = |count: u32| f64::from(count) / f64::from(self.advised);
        assert!(self.advised > RUNS as u32 / 2, "{what}: {self:?}");
        assert!(share(self.narrow) >= 0.7, "{what}: {self:?}");
        assert!(share(self.narrow_if_shorter) <= 0.5, "{what}: {self:?}");
    }
}

/// `samples` samples around `level` with noise of `spread` of it and a lag-1 autocorrelation of `coefficient`.
fn noisy(samples: usize, level: f64, spread: f64, coefficient: f64, random: &mut Xoshiro256PlusPlus) -> Vec<f64> {
    let mut draw = || -> f64 { StandardNormal.sample(random) };
    let mut state = draw();
    let mut next = || {
        state = coefficient * state + (1.0 - coefficient * coefficient).sqrt() * draw();
        level * (1.0 + spread * state)
    };
    (0..samples).map(|_| next()).collect()
}

/// `w0` and a phase that keeps three fifths of it.
fn ladder(samples: usize, coefficient: f64, spread: f64, seed: u64) -> [Performance; 2] {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let phases = [1_000.0, 600.0].map(|level| noisy(samples, level, spread, coefficient, &mut random));
    let means = sample_means(&[&phases[0], &phases[1]]);
    [0, 1].map(|phase| Performance::with(&phases[phase], means[phase], "ops/s"))
}

fn compared(phases: &[Performance; 2]) -> ComparedPhases<'_> {
    let seconds = |phase: usize| phases[phase].estimate.samples as f64;
    ComparedPhases::Ladder { baseline: (&phases[0], seconds(0)), phase: (&phases[1], seconds(1)) }
}

#[test]
fn phases_as_long_as_advised_have_narrow_intervals() {
    for (coefficient, spread) in [(0.0, 0.4), (0.5, 0.25), (0.8, 0.15)] {
        let kept = Kept::count(
            60,
            |samples, seed| ladder(samples, coefficient, spread, seed),
            |phases| Some(compared(phases).needed(GREATEST_WIDTH, HIGHER, "")?.phase_s.ceil() as usize),
            |phases| compared(phases).expected_width(1.0, HIGHER),
        );
        kept.check(&format!("a ladder with an autocorrelation of {coefficient}"));
    }
}

/// Rounds on a host whose speed wanders from round to round, with a phase that keeps three fifths.
fn rounds(count: usize, spread: f64, seed: u64) -> Vec<(f64, f64)> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut level = 1_000.0;
    let mut round = || {
        let mut draw = || -> f64 { StandardNormal.sample(&mut random) };
        level *= 1.0 + 0.05 * draw();
        (level * (1.0 + spread * draw()), 0.6 * level * (1.0 + spread * draw()))
    };
    (0..count).map(|_| round()).collect()
}

fn compared_rounds(rounds: &[(f64, f64)]) -> ComparedPhases<'static> {
    ComparedPhases::Rounds { rounds: rounds.to_vec(), block_s: 1.0, balanced: 4 }
}

#[test]
fn as_many_rounds_as_advised_have_narrow_intervals() {
    for (count, spread) in [(8, 0.15), (20, 0.25), (40, 0.4)] {
        let kept = Kept::count(
            count,
            |count, seed| rounds(count, spread, seed),
            |rounds| compared_rounds(rounds).needed(GREATEST_WIDTH, HIGHER, "")?.rounds,
            |rounds| compared_rounds(rounds).expected_width(1.0, HIGHER),
        );
        kept.check(&format!("{count} rounds"));
    }
}
