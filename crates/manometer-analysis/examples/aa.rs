//! An A/A test by simulation: of pairs of like phases, how many have a pressure whose interval holds 0.
//!
//! Prints one JSON document. `benches/aa.py` runs it beside the same on real recordings.

#[path = "../tests/integration/synthetic/simulated.rs"]
mod simulated;

use std::io::Write as _;

use manometer_analysis::pressure::pressure_of;
use manometer_measure::plan::BetterDirection;
use rand::SeedableRng as _;
use rand_xoshiro::Xoshiro256PlusPlus;
use simulated::{COEFFICIENTS, SAWS, series};

const PAIRS: usize = 1_000;
const SAMPLES: usize = 600;
const SEED: u64 = 20_231;

fn main() -> std::io::Result<()> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(SEED);
    let (mut given, mut hold) = (0, 0);
    for pair in 0..PAIRS {
        let coefficient = COEFFICIENTS[pair % COEFFICIENTS.len()];
        let saw = SAWS[pair / COEFFICIENTS.len() % SAWS.len()];
        let mut phase = || {
            let noise = series(&mut random, SAMPLES, coefficient, saw);
            noise.iter().map(|value| 1_000.0 + 50.0 * value).collect::<Vec<_>>()
        };
        let pressure = pressure_of(&phase(), &phase(), "ops/s", BetterDirection::Higher);
        if let Some((low, high)) = pressure.ci_low.zip(pressure.ci_high) {
            given += 1;
            hold += usize::from((low..=high).contains(&0.0));
        }
    }
    let document = serde_json::json!({"pairs": PAIRS, "samples": SAMPLES, "with_interval": given, "hold_zero": hold});
    writeln!(std::io::stdout(), "{document}")
}
