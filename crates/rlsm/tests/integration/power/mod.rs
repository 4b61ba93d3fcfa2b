//! A database after power cuts of a real Linux ([`manometer_testing::power`]): every acknowledged batch is there, no batch
//! in part, all files are sound, and it accepts writes.
//!
//! `RLSM_POWER_CUTS` sets the number of cuts (default: 96), `RLSM_POWER_SEED` the first seed.

mod check;
mod cut_planner;
mod marked_storage;
mod power_cycles;
mod record;
mod settings;

use check::{Found, Problem};
use cut_planner::CutPlanner;
use manometer_testing::power::{self, DEVICES_MAX, Machine, Replay};
use manometer_testing::scratch_directory;
use power_cycles::PowerCycles;
use rand::{RngExt as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;
use settings::{CYCLES, EARLY, Settings, WITHOUT_RUNS};

use crate::support::{from_environment, points};

/// The first process of a guest.
const INIT: &str = "power::init";

/// Not a test.
#[test]
#[ignore = "run by a guest's kernel"]
fn init() {
    power::run_guest(|task, mount| match task {
        "record" => record::live(mount),
        "check" => check::run_in_guest(mount),
        other => panic!("`{other}` is no task"),
    });
}

#[test]
fn nothing_acknowledged_is_lost_in_a_power_cut() {
    let Some(machine) = Machine::new(INIT) else { return };
    let first_seed = from_environment("RLSM_POWER_SEED").unwrap_or(16);
    let devices = from_environment("RLSM_POWER_CUTS").unwrap_or(96).div_ceil((DEVICES_MAX * CYCLES.len()) as u64);
    let mut planner = CutPlanner::default();
    let mut all = Vec::new();
    for seed in (first_seed..).take(devices as usize) {
        all.extend(use_a_device(&machine, seed, &mut planner));
    }
    // So short a power cycle rarely reaches this one; the `crash` tests do.
    let wanted =
        points::in_source().into_iter().filter(|point| point != "rebalance: before a postponed range is rewritten");
    let never: Vec<_> = wanted.filter(|point| planner.cuts_at(point) == 0).collect();
    assert!(never.is_empty(), "the power was never cut at {never:#?}");
    let torn = all.iter().filter(|found| found.torn_bytes > 0).count();
    let unfinished = all.iter().filter(|found| found.unfinished > 0).count();
    println!("{} power cuts: {torn} left a torn log, {unfinished} left unfinished files", all.len());
}

/// The power cycles of a new device. Returns what was found after each cut.
fn use_a_device(machine: &Machine, seed: u64, planner: &mut CutPlanner) -> Vec<Found> {
    let mut chance = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut image = power::with_file_system(machine);
    let mut cycles = PowerCycles::default();
    let mut all = Vec::new();
    for (cycle, settings) in (0..).zip(CYCLES) {
        cycles.begin(seed * 100 + cycle);
        let recording = record::record(machine, &image, &cycles, settings);
        let cuts = planner.choose(&recording, DEVICES_MAX, &mut chance);
        let checked = check::all(machine, &image, &recording, &cuts, &cycles);
        for (cut, verdict) in cuts.iter().zip(checked) {
            let keep = |problem| {
                let kept = scratch_directory().join("power-cut.img");
                power::write(&Replay::new(&recording, image.clone(), 0).cut(cut).0, &kept).unwrap();
                let (entries, place) = (recording.entries.len(), kept.display());
                panic!(
                    "RLSM_POWER_SEED={seed}, {settings:?}, {cut:?} of {entries}: {problem}; the device is in {place}"
                );
            };
            all.push(verdict.unwrap_or_else(keep));
        }
        let next = chance.random_range(0..cuts.len());
        cycles = cycles.left(all[all.len() - cuts.len() + next].last);
        image = Replay::new(&recording, image, 0).cut(&cuts[next]).0;
    }
    all
}

#[test]
fn batches_acknowledged_too_early_are_detected() {
    let Some(checked) = one_cycle(EARLY) else { return };
    let is_lost = |verdict: &Result<Found, Problem>| matches!(verdict, Err(Problem::Lost { .. }));
    assert!(checked.iter().any(is_lost), "{checked:#?}");
    assert!(checked.iter().all(|verdict| verdict.is_ok() || is_lost(verdict)), "{checked:#?}");
}

#[test]
fn runs_that_were_not_synced_are_detected() {
    let Some(checked) = one_cycle(WITHOUT_RUNS) else { return };
    assert!(checked.iter().any(|verdict| matches!(verdict, Err(Problem::Wrong(_)))), "{checked:#?}");
}

/// What power cuts in the first power cycle of a new device leave.
fn one_cycle(settings: Settings) -> Option<Vec<Result<Found, Problem>>> {
    let machine = Machine::new(INIT)?;
    let image = power::with_file_system(&machine);
    let mut cycles = PowerCycles::default();
    cycles.begin(1);
    let recording = record::record(&machine, &image, &cycles, settings);
    let cuts = CutPlanner::default().choose(&recording, DEVICES_MAX, &mut Xoshiro256PlusPlus::seed_from_u64(1));
    Some(check::all(&machine, &image, &recording, &cuts, &cycles))
}
