//! Processes that are killed while they write: what `sync` returned for is in the file.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use recycle::{Options, Policy, Region};

use crate::support::rounds::{FILE_PAGES, changed, content, is_allowed};
use crate::support::{Chance, PAGE, map, open, pages, setting};

/// The environment variables with a child's file, its door and the round from which it goes on.
const FILE: &str = "RECYCLE_KILL_FILE";
const DOOR: &str = "RECYCLE_KILL_DOOR";
const FROM: &str = "RECYCLE_KILL_FROM";

/// The prefix of the number of each round that the child has synced.
const SYNCED: &str = "synced ";

/// The child process: does nothing unless it is started as one.
#[test]
fn child() {
    let (Some(path), Ok(door), Ok(from)) = (std::env::var_os(FILE), std::env::var(DOOR), std::env::var(FROM)) else {
        return;
    };
    let (file, from) = (open(&PathBuf::from(path)), from.parse::<u64>().unwrap());
    let options = Options { policy: Policy::ALL[from as usize % 3], ..pages(8) };
    let acknowledge = |round: u64| writeln!(std::io::stdout().lock(), "\n{SYNCED}{round}").unwrap();
    if door == "map" {
        let mut mapping = map(&file, &options).unwrap();
        for round in from.. {
            for page in changed(round) {
                mapping.as_mut_slice().unwrap()[(page * PAGE) as usize..][..PAGE as usize]
                    .copy_from_slice(&content(round));
            }
            mapping.sync().unwrap();
            acknowledge(round);
        }
    }
    let region = Region::open(&file, &options).unwrap();
    for round in from.. {
        changed(round).into_iter().for_each(|page| region.write_at(page * PAGE, &content(round)).unwrap());
        region.sync().unwrap();
        acknowledge(round);
    }
}

/// Kills a child after so many syncs. Returns the last round that it acknowledged.
fn run_and_kill(path: &Path, door: &str, from: u64, syncs: u64) -> u64 {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["crash::child", "--exact", "--nocapture"])
        .envs([(FILE, path.as_os_str()), (DOOR, door.as_ref()), (FROM, from.to_string().as_ref())])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut rounds = lines.map_while(Result::ok).filter_map(|line| line.strip_prefix(SYNCED)?.parse().ok());
    let mut last = 0;
    for _ in 0..syncs {
        last = rounds.next().expect("the child writes until it is killed");
    }
    child.kill().unwrap();
    last = rounds.last().unwrap_or(last);
    child.wait().unwrap();
    last
}

#[test]
fn a_killed_process_loses_nothing_that_it_synced() {
    for door in ["pin", "map"] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        open(&path).set_len(FILE_PAGES * PAGE).unwrap();
        let (mut chance, mut synced) = (Chance::new(5), 0);
        for kill in 0..setting("RECYCLE_KILLS", 8) {
            let last = run_and_kill(&path, door, synced + 1, 1 + chance.below(30));
            assert!(last > synced);
            synced = last;
            let file = std::fs::read(&path).unwrap();
            for (page, bytes) in (0..).zip(file.chunks(PAGE as usize)) {
                let shown = u64::from_le_bytes(bytes[..8].try_into().unwrap());
                assert!(bytes == content(shown), "kill {kill}: page {page} is of several rounds");
                assert!(is_allowed(page, shown, synced), "kill {kill}: page {page} shows {shown} after {synced}");
            }
            // What the child wrote after its last sync is there or not: start from a known state.
            let region = Region::open(&open(&path), &pages(8)).unwrap();
            for round in 1..=synced {
                changed(round).into_iter().for_each(|page| region.write_at(page * PAGE, &content(round)).unwrap());
            }
        }
    }
}
