use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::file::Precondition;
use crate::prepare::space::Space;

const MIB: u64 = 1 << 20;

fn experiment(prepare: &str, workload: &str) -> Experiment {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("e.toml");
    let text = format!(
        "name = \"a test\"\n[device]\ndirectory = \"/var/tmp/manometer-none\"\n[prepare]\n{prepare}\n[primary]\n\
         workload = \"{workload}\"\nrecords = 1000\n[[neighbour]]\nname = \"n\"\nkind = \"io\"\nfile_size = \"1MiB\"\n\
         [plan]\nphase = \"1s\"\n"
    );
    std::fs::write(&path, text).unwrap();
    crate::file::load(&path, &[]).unwrap()
}

fn nothing() -> Found {
    let (free_bytes, size_bytes) = (100 * MIB, 200 * MIB);
    let space = Space { free_bytes, size_bytes, device_bytes: None, disk_bytes: None };
    Found {
        precondition: None,
        prepared: Vec::new(),
        snapshots: Vec::new(),
        there: BTreeMap::new(),
        reuse: false,
        made: BTreeSet::new(),
        space: Some(space),
    }
}

/// What the workers of a run of `experiment` write to make their data.
fn left_bytes(experiment: &Experiment, found: &Found) -> u64 {
    left_to_workers(experiment, found, &[]).map(|workload| workload.settings.bytes_to_prepare()).sum()
}

/// As `experiment`, with `records` in its primary's database.
fn of_records(experiment: &Experiment, records: u64) -> Experiment {
    let mut other = experiment.clone();
    let primary = other.primary.as_mut().unwrap();
    primary.settings = primary.settings.with("records", &serde_json::json!(records)).unwrap();
    other
}

#[test]
fn nothing_asked_is_nothing_done_unless_all_is_wanted() {
    let plain = experiment("", "ycsb-b");
    assert_eq!(steps(&plain, &nothing(), false), []);
    let all = steps(&plain, &nothing(), true);
    assert!(matches!(&all[..], [Step::Data { bytes: MIB, .. }, Step::Data { settle_s: None, .. }]), "{all:?}");
    let after = nothing().after(&plain, &all);
    assert_eq!(steps(&plain, &after, true), []);
    assert_eq!(left_bytes(&plain, &after), 0);
    assert!(left_bytes(&plain, &nothing()) > MIB);
}

#[test]
fn data_count_unless_they_are_there_and_may_be_used() {
    let plain = experiment("", "ycsb-b");
    let there = Found { made: BTreeSet::new(), ..nothing().after(&plain, &[]) };
    assert!(left_bytes(&plain, &there) > MIB, "equal ones of another command are made anew");
    let reusing = Found { reuse: true, ..there.clone() };
    assert_eq!(left_bytes(&plain, &reusing), 0);
    let ours = nothing().after(&plain, &[]);
    assert_eq!(left_bytes(&plain, &ours), 0);
    let larger = of_records(&plain, 2000);
    for found in [&reusing, &ours] {
        assert_eq!(left_bytes(&larger, found), larger.primary.as_ref().unwrap().settings.bytes_to_prepare());
    }
}

#[test]
fn space_is_filled_first_and_only_once() {
    let asked = experiment("precondition = \"random\"\nover_provisioning = 0.25", "ycsb-b");
    let first = steps(&asked, &nothing(), false);
    let filled = Step::Precondition { kind: Precondition::Random, file_bytes: 48 * MIB, bytes: 96 * MIB };
    assert_eq!(first, [filled]);
    assert_eq!(steps(&asked, &nothing().after(&asked, &first), false), []);
    let other = experiment("precondition = \"sequential\"", "ycsb-b");
    assert_eq!(steps(&other, &nothing().after(&asked, &first), false).len(), 1);
}

#[test]
fn a_snapshot_is_made_once_and_every_later_run_begins_from_it() {
    let asked = experiment("settle = \"30m\"\nsnapshot = true\nrewrite_files = true", "ycsb-b");
    let first = steps(&asked, &nothing(), false);
    let kinds = [
        matches!(first[0], Step::Data { rewrite: true, bytes, .. } if bytes == 2 * MIB),
        matches!(first[1], Step::Data { settle_s: Some(1800.0), .. }),
        matches!(first[2], Step::Snapshot { bytes: 0, .. }),
        matches!(first[3], Step::Restore { bytes: 0, .. }),
    ];
    assert_eq!((kinds, first.len()), ([true; 4], 4), "{first:?}");
    let again = steps(&asked, &nothing().after(&asked, &first), false);
    assert!(matches!(again[..], [Step::Restore { .. }]), "{again:?}");
    let found = nothing().after(&asked, &first);
    assert_eq!(steps(&of_records(&asked, 2000), &found, false).len(), 3, "other data");
}

#[test]
fn what_settled_under_another_workload_settles_again() {
    let reads = experiment("settle = \"30m\"\nsnapshot = true", "ycsb-b");
    let writes = experiment("settle = \"30m\"\nsnapshot = true", "ycsb-a");
    let found = nothing().after(&reads, &steps(&reads, &nothing(), false));
    assert!(matches!(steps(&writes, &found, false)[..], [Step::Data { settle_s: Some(_), .. }, ..]));
    let loaded = experiment("snapshot = true", "ycsb-a");
    assert!(matches!(steps(&loaded, &found, false)[..], [Step::Restore { .. }]), "the data are the same");
}

#[test]
fn what_did_not_settle_serves_until_more_time_is_allowed() {
    let asked = experiment("settle = \"30m\"\nsnapshot = true", "ycsb-b");
    let mut found = nothing().after(&asked, &steps(&asked, &nothing(), false));
    let unsteady = crate::prepare::settle::Settled { steady: false, seconds: 1800.5 };
    found.snapshots[0].0.settled = Some(unsteady);
    found.prepared.iter_mut().for_each(|one| one.settled = Some(unsteady));
    assert!(matches!(steps(&asked, &found, false)[..], [Step::Restore { .. }]));
    let longer = experiment("settle = \"45m\"\nsnapshot = true", "ycsb-b");
    let again = steps(&longer, &found, false);
    assert!(matches!(again[..], [Step::Data { .. }, Step::Snapshot { .. }, Step::Restore { .. }]), "{again:?}");
    let steady = Found { snapshots: vec![], ..found.clone() }.after(&longer, &again).snapshots;
    found.snapshots.extend(steady);
    let primary = asked.primary.as_ref().unwrap();
    let first = found.snapshot(&asked, primary).unwrap();
    assert!(first.0.settled.unwrap().steady, "of two the one that became steady");
    let unsettled = experiment("settle = \"45m\"", "ycsb-b");
    assert_eq!(steps(&unsettled, &found, false).len(), 1);
}

#[test]
fn only_with_reuse_another_seed_serves() {
    let asked = experiment("snapshot = true", "ycsb-b");
    let found = nothing().after(&asked, &steps(&asked, &nothing(), false));
    let seeded = Experiment { seed: 2, ..asked.clone() };
    assert!(matches!(steps(&seeded, &found, false)[0], Step::Data { .. }));
    let found = Found { reuse: true, ..found };
    assert!(matches!(steps(&seeded, &found, false)[..], [Step::Restore { .. }]));
}

#[test]
fn what_a_run_would_not_find_as_it_was_made_is_left_to_the_run() {
    let inserting = experiment("", "ycsb-d");
    let all = steps(&inserting, &nothing(), true);
    assert!(matches!(&all[..], [Step::Data { workload, .. }] if workload == "n"), "{all:?}");
}

#[test]
fn what_was_settled_is_asked_only_where_settling_is() {
    let plain = experiment("", "ycsb-b");
    let found = nothing().after(&plain, &steps(&plain, &nothing(), true));
    let settling = experiment("settle = \"10m\"", "ycsb-b");
    assert_eq!(steps(&settling, &found, false).len(), 1);
}
