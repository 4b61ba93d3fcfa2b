//! A region's file after power cuts of a real Linux ([`manometer_testing::power`]): what `sync` returned for is in it.
//!
//! The kernel under user-mode-linux cannot place pages (its userfaultfd lacks write protection), so the regions are pinned; those
//! that are mapped write and sync by the same code.
//!
//! `RECYCLE_POWER_CUTS` sets the number of cuts of each way (default: 16), `RECYCLE_POWER_SEED` their first seed.

use std::io::{self, IoSlice, IoSliceMut};
use std::path::Path;
use std::sync::Arc;

use manometer_testing::power::{self, Checked, Cut, DEVICES_MAX, Machine, MarkerWriter, Recording, UnflushedFate};
use recycle::Region;
use recycle::storage::{FileStorage, Storage};

use crate::support::rounds::{changed, content, is_allowed};
use crate::support::{Chance, PAGE, open, pages, setting};

/// The first process of a guest.
const INIT: &str = "power::init";

/// Variables of the guest: whether the file is synced when the region asks for it, and the mount options of ext4.
const SYNCS: &str = "RECYCLE_POWER_SYNCS";
const MOUNT: &str = "RECYCLE_POWER_MOUNT";

/// Rounds until the power cut.
const ROUNDS: u64 = 60;

const SECTOR: usize = 512;

/// Not a test.
#[test]
#[ignore = "run by a guest's kernel"]
fn init() {
    power::run_guest(|task, mount| match task {
        "record" => write_until_cut(mount),
        "check" => power::look_at_devices(mount, |mount| Ok(shown(&mount.join("file")))),
        other => panic!("`{other}` is no task"),
    });
}

fn write_until_cut(mount: &Path) -> String {
    let syncs = power::variable(SYNCS) == "true";
    power::work_until_cut(mount, &power::variable(MOUNT), |markers| write(&mount.join("file"), syncs, markers));
    String::new()
}

/// Writes rounds through a region of a file that grows.
fn write(path: &Path, syncs: bool, markers: &MarkerWriter) -> Region {
    let storage = FileStorage::new(&open(path)).unwrap();
    let storage: Arc<dyn Storage> = if syncs { Arc::new(storage) } else { Arc::new(Unsynced(storage)) };
    let mut region = Region::on(storage, true, &pages(8)).unwrap();
    for round in 1..=ROUNDS {
        for page in changed(round) {
            if region.len() <= page * PAGE {
                region.resize((page + 1) * PAGE).unwrap();
            }
            region.write_at(page * PAGE, &content(round)).unwrap();
        }
        region.sync().unwrap();
        markers.acknowledged(round);
    }
    region
}

/// The round that each sector of a file shows, by pages; `?` where it shows several.
fn shown(path: &Path) -> String {
    let bytes = std::fs::read(path).unwrap_or_default();
    let sector = |sector: &[u8]| {
        let round = &sector[..8];
        let is_whole = sector.chunks(8).all(|word| word == round);
        if is_whole { u64::from_le_bytes(round.try_into().unwrap()).to_string() } else { "?".to_owned() }
    };
    let page = |page: &[u8]| page.chunks(SECTOR).map(sector).collect::<Vec<_>>().join(",");
    bytes.chunks(PAGE as usize).map(page).collect::<Vec<_>>().join(" ")
}

/// What is wrong with a file after a power cut.
fn problem(Checked { acknowledged, line, file_system }: &Checked) -> Option<String> {
    if let Err(error) = file_system {
        return Some(error.clone());
    }
    let found: Vec<&str> = line.split_whitespace().collect();
    let needed = (1..=*acknowledged).flat_map(changed).max().map_or(0, |page| page + 1);
    if (found.len() as u64) < needed {
        return Some(format!("{} of {needed} pages", found.len()));
    }
    (0..).zip(found).find_map(|(page, sectors)| {
        let is_right = |shown: &str| shown.parse().is_ok_and(|shown| is_allowed(page, shown, *acknowledged));
        (!sectors.split(',').all(is_right)).then(|| format!("page {page} shows {sectors} after round {acknowledged}"))
    })
}

/// Files after power cuts anywhere in the rounds.
fn after_cuts(syncs: bool, mount: &str, count: u64) -> Option<Vec<Checked>> {
    let machine = Machine::new(INIT)?;
    let image = power::with_file_system(&machine);
    let recording = power::record(&machine, &image, &[(SYNCS, &syncs.to_string()), (MOUNT, mount)]);
    let mut chance = Chance::new(setting("RECYCLE_POWER_SEED", 1));
    let mut cuts: Vec<Cut> = (0..count).map(|_| cut(&recording, &mut chance)).collect();
    cuts.sort_by_key(|cut| cut.after);
    let of_devices = |cuts: &[Cut]| power::check(&machine, &image, &recording, (cuts, 0), &[]);
    Some(cuts.chunks(DEVICES_MAX).flat_map(of_devices).collect())
}

fn cut(recording: &Recording, chance: &mut Chance) -> Cut {
    let fates = [UnflushedFate::Done, UnflushedFate::Lost, UnflushedFate::Any, UnflushedFate::Any];
    let after = chance.below(recording.entries.len() as u64 + 1) as usize;
    Cut { after, fate: fates[chance.below(4) as usize], seed: chance.below(u64::MAX) }
}

#[test]
fn what_was_synced_outlives_a_power_cut() {
    let count = setting("RECYCLE_POWER_CUTS", 16);
    for mount in ["data=ordered", "data=writeback,nodelalloc"] {
        let Some(checked) = after_cuts(true, mount, count) else { return };
        let problems: Vec<String> = checked.iter().filter_map(problem).collect();
        assert!(problems.is_empty(), "{mount}: {problems:#?}");
        assert!(checked.iter().any(|one| one.acknowledged > ROUNDS / 2), "{mount}: no late cut");
    }
}

#[test]
fn a_sync_that_does_nothing_is_detected() {
    let Some(checked) = after_cuts(false, "data=ordered", 16) else { return };
    assert!(checked.iter().any(|one| problem(one).is_some()), "{checked:#?}");
}

/// A file whose syncs do nothing.
struct Unsynced(FileStorage);

impl Storage for Unsynced {
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }

    fn read(&self, offset: u64, buffers: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        self.0.read(offset, buffers)
    }

    fn write(&self, offset: u64, buffers: &[IoSlice<'_>]) -> io::Result<()> {
        self.0.write(offset, buffers)
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }
}
