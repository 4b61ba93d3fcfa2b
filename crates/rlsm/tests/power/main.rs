//! Power cuts of a real Linux: a kernel under user-mode-linux has a database on ext4, on a device that records every
//! write and every flush (dm-log-writes). The device as a power cut leaves it is made from that at many points: all
//! that was flushed, and any of the rest, torn at sectors. A second kernel mounts what is left and opens the database:
//! every acknowledged batch is there, no batch is half there, all files are sound, and it can be written to.
//!
//! `RLSM_POWER_CUTS` says how many cuts there are (96 if it does not), `RLSM_POWER_SEED` begins with another seed.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says what it skips and how far it is"
)]

mod aim;
mod check;
mod cut;
mod device;
mod guest;
#[expect(dead_code, reason = "its other half is for machines that go on in memory")]
#[path = "../crash/history.rs"]
mod history;
mod lives;
mod machine;
#[path = "../crash/points.rs"]
mod points;
mod record;
mod recording;
mod settings;
#[path = "../support/mod.rs"]
mod support;
mod watched;
#[path = "../crash/work.rs"]
mod work;

use std::path::Path;

use aim::Aim;
use check::{DEVICES_MAX, Found, Problem};
use cut::Replay;
use lives::Lives;
use machine::Machine;
use rand::{RngExt as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;
use settings::{EARLY, LIVES, Settings, WITHOUT_RUNS};

#[test]
fn nothing_acknowledged_is_lost_in_a_power_cut() {
    let Some(machine) = Machine::new() else { return };
    let first_seed = from_environment("RLSM_POWER_SEED").unwrap_or(16);
    let devices = from_environment("RLSM_POWER_CUTS").unwrap_or(96).div_ceil((DEVICES_MAX * LIVES.len()) as u64);
    let mut aim = Aim::default();
    let mut all = Vec::new();
    for seed in (first_seed..).take(devices as usize) {
        all.extend(use_a_device(&machine, seed, &mut aim));
    }
    // A life this short seldom comes to one of them; `tests/crash` crashes there.
    let wanted = points::in_source()
        .into_iter()
        .filter(|point| point != "rebalance: before a range is rewritten that was put off");
    let never: Vec<_> = wanted.filter(|point| aim.cuts_at(point) == 0).collect();
    assert!(never.is_empty(), "the power was never cut at {never:#?}");
    let torn = all.iter().filter(|found| found.torn_bytes > 0).count();
    let unfinished = all.iter().filter(|found| found.unfinished > 0).count();
    println!("{} power cuts: {torn} left a torn log, {unfinished} left unfinished files", all.len());
}

/// A new device's lives; what was found after each cut.
fn use_a_device(machine: &Machine, seed: u64, aim: &mut Aim) -> Vec<Found> {
    let mut chance = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut image = device::with_file_system(machine);
    let mut lives = Lives::default();
    let mut all = Vec::new();
    for (life, settings) in (0..).zip(LIVES) {
        lives.begin(seed * 100 + life);
        let recording = record::record(machine, &image, &lives, settings);
        let cuts = aim.choose(&recording, DEVICES_MAX, &mut chance);
        let checked = check::all(machine, &image, &recording, &cuts, &lives);
        for (cut, verdict) in cuts.iter().zip(checked) {
            let keep = |problem| {
                let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join("power-cut.img");
                device::write(&Replay::new(&recording, image.clone(), 0).cut(cut).0, &kept).unwrap();
                let (entries, place) = (recording.entries.len(), kept.display());
                panic!(
                    "RLSM_POWER_SEED={seed}, {settings:?}, {cut:?} of {entries}: {problem}; the device is in {place}"
                );
            };
            all.push(verdict.unwrap_or_else(keep));
        }
        let next = chance.random_range(0..cuts.len());
        lives = lives.left(all[all.len() - cuts.len() + next].last);
        image = Replay::new(&recording, image, 0).cut(&cuts[next]).0;
    }
    all
}

#[test]
fn batches_acknowledged_too_early_are_found_missing() {
    let Some(checked) = one_life(EARLY) else { return };
    let is_lost = |verdict: &Result<Found, Problem>| matches!(verdict, Err(Problem::Lost { .. }));
    assert!(checked.iter().any(is_lost), "{checked:#?}");
    assert!(checked.iter().all(|verdict| verdict.is_ok() || is_lost(verdict)), "{checked:#?}");
}

#[test]
fn runs_that_were_not_synced_are_found_missing() {
    let Some(checked) = one_life(WITHOUT_RUNS) else { return };
    assert!(checked.iter().any(|verdict| matches!(verdict, Err(Problem::Wrong(_)))), "{checked:#?}");
}

/// What cuts in one life of a new device leave.
fn one_life(settings: Settings) -> Option<Vec<Result<Found, Problem>>> {
    let machine = Machine::new()?;
    let image = device::with_file_system(&machine);
    let mut lives = Lives::default();
    lives.begin(1);
    let recording = record::record(&machine, &image, &lives, settings);
    let cuts = Aim::default().choose(&recording, DEVICES_MAX, &mut Xoshiro256PlusPlus::seed_from_u64(1));
    Some(check::all(&machine, &image, &recording, &cuts, &lives))
}

/// A number that the environment gives.
fn from_environment(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is `{text}`; it takes a whole number")))
}
