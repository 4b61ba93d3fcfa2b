use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::definition::Precondition;
use crate::prepare::settle::SettleResult;
use crate::prepare::space::Space;

const MIB: u64 = 1 << 20;
const RUN: PrepareScope = PrepareScope::Run;
const ALL_DATA: PrepareScope = PrepareScope::AllData;

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

fn empty_state() -> DirectoryState {
    let (free_bytes, size_bytes) = (100 * MIB, 200 * MIB);
    let space = Space { free_bytes, size_bytes, device_bytes: None, disk_bytes: None };
    DirectoryState {
        precondition: None,
        prepared: Vec::new(),
        snapshots: Vec::new(),
        existing: BTreeMap::new(),
        reuse: false,
        created: BTreeSet::new(),
        space: Some(space),
    }
}

/// The bytes that the workers of a run of `experiment` write to create their data.
fn bytes_by_workers(experiment: &Experiment, state: &DirectoryState) -> u64 {
    created_by_workers(experiment, state, &[]).map(|workload| workload.settings.bytes_to_prepare()).sum()
}

/// `experiment` with `records` records in the primary's database.
fn with_records(experiment: &Experiment, records: u64) -> Experiment {
    let mut other = experiment.clone();
    let primary = other.primary.as_mut().unwrap();
    primary.settings = primary.settings.with("records", &serde_json::json!(records)).unwrap();
    other
}

#[test]
fn without_preparation_only_the_scope_of_all_data_has_steps() {
    let plain = experiment("", "ycsb-b");
    assert_eq!(plan_steps(&plain, &empty_state(), RUN), []);
    let all = plan_steps(&plain, &empty_state(), ALL_DATA);
    assert!(
        matches!(&all[..], [PrepareStep::Data { bytes: MIB, .. }, PrepareStep::Data { settle_s: None, .. }]),
        "{all:?}"
    );
    let after = empty_state().after_run(&plain, &all);
    assert_eq!(plan_steps(&plain, &after, ALL_DATA), []);
    assert_eq!(bytes_by_workers(&plain, &after), 0);
    assert!(bytes_by_workers(&plain, &empty_state()) > MIB);
}

#[test]
fn existing_data_are_not_created_again_where_they_may_be_used() {
    let plain = experiment("", "ycsb-b");
    let foreign = DirectoryState { created: BTreeSet::new(), ..empty_state().after_run(&plain, &[]) };
    assert!(bytes_by_workers(&plain, &foreign) > MIB, "equal data of another command are replaced");
    let reusing = DirectoryState { reuse: true, ..foreign.clone() };
    assert_eq!(bytes_by_workers(&plain, &reusing), 0);
    let ours = empty_state().after_run(&plain, &[]);
    assert_eq!(bytes_by_workers(&plain, &ours), 0);
    let larger = with_records(&plain, 2000);
    for state in [&reusing, &ours] {
        assert_eq!(bytes_by_workers(&larger, state), larger.primary.as_ref().unwrap().settings.bytes_to_prepare());
    }
}

#[test]
fn free_space_is_filled_first_and_once() {
    let asked = experiment("precondition = \"random\"\nover_provisioning = 0.25", "ycsb-b");
    let first = plan_steps(&asked, &empty_state(), RUN);
    let filled = PrepareStep::Precondition { kind: Precondition::Random, file_bytes: 48 * MIB, bytes: 96 * MIB };
    assert_eq!(first, [filled]);
    assert_eq!(plan_steps(&asked, &empty_state().after_run(&asked, &first), RUN), []);
    let other = experiment("precondition = \"sequential\"", "ycsb-b");
    assert_eq!(plan_steps(&other, &empty_state().after_run(&asked, &first), RUN).len(), 1);
}

#[test]
fn a_snapshot_is_created_once_and_restored_for_every_run() {
    let asked = experiment("settle = \"30m\"\nsnapshot = true\nrewrite_files = true", "ycsb-b");
    let first = plan_steps(&asked, &empty_state(), RUN);
    let kinds = [
        matches!(first[0], PrepareStep::Data { rewrite: true, bytes, .. } if bytes == 2 * MIB),
        matches!(first[1], PrepareStep::Data { settle_s: Some(1800.0), .. }),
        matches!(first[2], PrepareStep::Snapshot { bytes: 0, .. }),
        matches!(first[3], PrepareStep::Restore { bytes: 0, .. }),
    ];
    assert_eq!((kinds, first.len()), ([true; 4], 4), "{first:?}");
    let again = plan_steps(&asked, &empty_state().after_run(&asked, &first), RUN);
    assert!(matches!(again[..], [PrepareStep::Restore { .. }]), "{again:?}");
    let state = empty_state().after_run(&asked, &first);
    assert_eq!(plan_steps(&with_records(&asked, 2000), &state, RUN).len(), 3, "other data");
}

#[test]
fn data_settled_under_another_workload_settle_again() {
    let reads = experiment("settle = \"30m\"\nsnapshot = true", "ycsb-b");
    let writes = experiment("settle = \"30m\"\nsnapshot = true", "ycsb-a");
    let state = empty_state().after_run(&reads, &plan_steps(&reads, &empty_state(), RUN));
    assert!(matches!(plan_steps(&writes, &state, RUN)[..], [PrepareStep::Data { settle_s: Some(_), .. }, ..]));
    let loaded = experiment("snapshot = true", "ycsb-a");
    assert!(matches!(plan_steps(&loaded, &state, RUN)[..], [PrepareStep::Restore { .. }]), "the data are the same");
}

#[test]
fn unsettled_data_are_used_until_more_time_is_allowed() {
    let asked = experiment("settle = \"30m\"\nsnapshot = true", "ycsb-b");
    let mut state = empty_state().after_run(&asked, &plan_steps(&asked, &empty_state(), RUN));
    let unsteady = SettleResult { steady: false, seconds: 1800.5 };
    state.snapshots[0].0.settled = Some(unsteady);
    state.prepared.iter_mut().for_each(|one| one.settled = Some(unsteady));
    assert!(matches!(plan_steps(&asked, &state, RUN)[..], [PrepareStep::Restore { .. }]));
    let longer = experiment("settle = \"45m\"\nsnapshot = true", "ycsb-b");
    let again = plan_steps(&longer, &state, RUN);
    assert!(
        matches!(again[..], [PrepareStep::Data { .. }, PrepareStep::Snapshot { .. }, PrepareStep::Restore { .. }]),
        "{again:?}"
    );
    let steady = DirectoryState { snapshots: vec![], ..state.clone() }.after_run(&longer, &again).snapshots;
    state.snapshots.extend(steady);
    let primary = asked.primary.as_ref().unwrap();
    let first = state.best_snapshot(&asked, primary).unwrap();
    assert!(first.0.settled.unwrap().steady, "the steady one of two");
    let unsettled = experiment("settle = \"45m\"", "ycsb-b");
    assert_eq!(plan_steps(&unsettled, &state, RUN).len(), 1);
}

#[test]
fn data_of_another_seed_are_used_only_with_reuse() {
    let asked = experiment("snapshot = true", "ycsb-b");
    let state = empty_state().after_run(&asked, &plan_steps(&asked, &empty_state(), RUN));
    let seeded = Experiment { seed: 2, ..asked.clone() };
    assert!(matches!(plan_steps(&seeded, &state, RUN)[0], PrepareStep::Data { .. }));
    let state = DirectoryState { reuse: true, ..state };
    assert!(matches!(plan_steps(&seeded, &state, RUN)[..], [PrepareStep::Restore { .. }]));
}

#[test]
fn data_that_a_run_changes_are_created_by_the_run() {
    let inserting = experiment("", "ycsb-d");
    let all = plan_steps(&inserting, &empty_state(), ALL_DATA);
    assert!(matches!(&all[..], [PrepareStep::Data { workload, .. }] if workload == "n"), "{all:?}");
}

#[test]
fn settling_is_required_only_where_it_is_configured() {
    let plain = experiment("", "ycsb-b");
    let state = empty_state().after_run(&plain, &plan_steps(&plain, &empty_state(), ALL_DATA));
    let settling = experiment("settle = \"10m\"", "ycsb-b");
    assert_eq!(plan_steps(&settling, &state, RUN).len(), 1);
}
