//! The worked example of Song 2018, Figure 3.4, step by step. The numbers of the figure are not in the text; the keys
//! below have the ranges, densities and appended keys that it states.

use super::*;

const MANY: u64 = 100;

fn span(keys: &[u8]) -> KeySpan {
    let low = *keys.iter().min().unwrap();
    let high = *keys.iter().max().unwrap();
    KeySpan { low: [low].into(), high: [high].into() }
}

fn flushed(keys: &[u8]) -> Level0Run {
    Level0Run { bytes: keys.len() as u64, entries: keys.len() as u64, span: span(keys) }
}

fn level0() -> Vec<Level0Run> {
    [&[1, 5, 7][..], &[8, 4, 6], &[17, 10, 14], &[15, 11, 4, 7]].map(flushed).into()
}

#[test]
fn the_densities_are_those_of_the_text() {
    // A key of one byte is the highest of eight.
    let unit = 2_f64.powi(56);
    let densities = level0().iter().map(|run| density(run.entries, &run.span) * unit).collect::<Vec<_>>();
    for (got, expected) in densities.iter().zip([0.5, 0.75, 0.429, 4.0 / 11.0]) {
        assert!((got - expected).abs() < 0.001, "{got} instead of {expected}");
    }
}

#[test]
fn an_empty_level_1_takes_the_two_densest_runs_as_one_range() {
    let runs = level0();
    assert_eq!(choose_compaction(&runs, &[], |_| false, 1), CompactionChoice::Append(vec![0, 1]));
    assert_eq!(plan_gap(&[], 0, 6, 2), GapAction::New);
}

#[test]
fn a_run_that_overlaps_no_range_is_moved_trivially() {
    let runs = &level0()[2..];
    assert_eq!(choose_compaction(runs, &[span(&[1, 8])], |_| false, 1), CompactionChoice::TrivialMove(0));
}

#[test]
fn the_last_run_is_distributed_between_both_ranges() {
    let ranges = [span(&[1, 8]), span(&[10, 17])];
    assert_eq!(choose_compaction(&level0()[3..], &ranges, |_| false, 1), CompactionChoice::Append(vec![0]));
    let placed = |key: u8| place_key(&ranges, |span| span, &[key]);
    assert_eq!([15, 11].map(placed), [KeyPlacement::Range(1); 2]);
    assert_eq!([4, 7].map(placed), [KeyPlacement::Range(0); 2]);
}

#[test]
fn one_key_in_a_gap_extends_a_range_and_two_make_one() {
    let ranges = [span(&[1, 8]), span(&[10, 17])];
    assert_eq!(
        choose_compaction(&[flushed(&[9, 23, 18])], &ranges, |_| false, MANY),
        CompactionChoice::Append(vec![0])
    );
    assert_eq!(place_key(&ranges, |span| span, &[9]), KeyPlacement::Gap(1));
    assert_eq!([23, 18].map(|key| place_key(&ranges, |span| span, &[key])), [KeyPlacement::Gap(2); 2]);
    let range_bytes = [8, 5];
    assert_eq!(plan_gap(&range_bytes, 1, 1, 2), GapAction::Extend(1));
    assert_eq!(plan_gap(&range_bytes, 2, 2, 2), GapAction::New);
}

#[test]
fn a_union_set_is_linked_unless_its_range_is_full() {
    let ranges = [span(&[1, 8]), span(&[10, 17])];
    let run = [flushed(&[11, 16])];
    assert_eq!(choose_compaction(&run, &ranges, |_| false, 1), CompactionChoice::Link { run: 0, range: 1 });
    assert_eq!(choose_compaction(&run, &ranges, |_| true, 1), CompactionChoice::Append(vec![0]));
}

#[test]
fn a_union_set_waits_for_older_overlapping_runs() {
    let ranges = [span(&[1, 8]), span(&[10, 17])];
    let runs = [flushed(&[4, 15]), flushed(&[11, 16])];
    assert_eq!(choose_compaction(&runs, &ranges, |_| false, 1), CompactionChoice::Append(vec![0, 1]));
}

#[test]
fn small_ranges_are_merged_with_the_lighter_neighbour() {
    // Figure 3.5: [33-35] is merged with [36-42], which is lighter than [1-29].
    let settings = CompactionSettings { memtable_bytes: 64, range_bytes: 100, split_ratio: 1.2, stale_ratio: 0.5 };
    assert_eq!(merge_partner(&settings, &[90, 3, 20], 1), Some(2));
    assert_eq!(merge_partner(&settings, &[90, 3, 80], 1), None);
    assert_eq!(merge_partner(&settings, &[90, 20, 30], 1), None);
    assert_eq!(merge_partner(&settings, &[3], 0), None);
}
