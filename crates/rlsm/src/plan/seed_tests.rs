//! The worked example of seed 002, Figure 3.4, step by step. The figure's numbers are lost; the keys below have the
//! ranges, the densities and the appended keys that its text tells.

use super::*;

const MANY: u64 = 100;

fn span(keys: &[u8]) -> Span {
    let low = *keys.iter().min().unwrap();
    let high = *keys.iter().max().unwrap();
    Span { low: [low].into(), high: [high].into() }
}

fn flushed(keys: &[u8]) -> Flushed {
    Flushed { bytes: keys.len() as u64, entries: keys.len() as u64, span: span(keys) }
}

fn level0() -> Vec<Flushed> {
    [&[1, 5, 7][..], &[8, 4, 6], &[17, 10, 14], &[15, 11, 4, 7]].map(flushed).into()
}

#[test]
fn the_densities_are_those_of_the_text() {
    // A key of one byte stands in the highest of eight.
    let unit = 2_f64.powi(56);
    let densities = level0().iter().map(|run| density(run.entries, &run.span) * unit).collect::<Vec<_>>();
    for (got, told) in densities.iter().zip([0.5, 0.75, 0.429, 4.0 / 11.0]) {
        assert!((got - told).abs() < 0.001, "{got} instead of {told}");
    }
}

#[test]
fn an_empty_level_1_takes_the_two_densest_runs_together() {
    let runs = level0();
    assert_eq!(choose(&runs, &[], |_| false, 1), Choice::Append(vec![0, 1]));
    assert_eq!(settle_gap(&[], 0, 6, 2), Gap::New);
}

#[test]
fn a_run_that_no_range_can_take_moves_down() {
    let runs = &level0()[2..];
    assert_eq!(choose(runs, &[span(&[1, 8])], |_| false, 1), Choice::MoveDown(0));
}

#[test]
fn the_last_run_is_divided_between_both_ranges() {
    let ranges = [span(&[1, 8]), span(&[10, 17])];
    assert_eq!(choose(&level0()[3..], &ranges, |_| false, 1), Choice::Append(vec![0]));
    let placed = |key: u8| place(&ranges, |span| span, &[key]);
    assert_eq!([15, 11].map(placed), [Place::Range(1); 2]);
    assert_eq!([4, 7].map(placed), [Place::Range(0); 2]);
}

#[test]
fn one_key_extends_a_range_and_two_make_one() {
    let ranges = [span(&[1, 8]), span(&[10, 17])];
    assert_eq!(choose(&[flushed(&[9, 23, 18])], &ranges, |_| false, MANY), Choice::Append(vec![0]));
    assert_eq!(place(&ranges, |span| span, &[9]), Place::Gap(1));
    assert_eq!([23, 18].map(|key| place(&ranges, |span| span, &[key])), [Place::Gap(2); 2]);
    let range_bytes = [8, 5];
    assert_eq!(settle_gap(&range_bytes, 1, 1, 2), Gap::Extend(1));
    assert_eq!(settle_gap(&range_bytes, 2, 2, 2), Gap::New);
}

#[test]
fn a_union_set_is_linked_unless_its_range_is_full() {
    let ranges = [span(&[1, 8]), span(&[10, 17])];
    let run = [flushed(&[11, 16])];
    assert_eq!(choose(&run, &ranges, |_| false, 1), Choice::Link { run: 0, range: 1 });
    assert_eq!(choose(&run, &ranges, |_| true, 1), Choice::Append(vec![0]));
}

#[test]
fn a_union_set_waits_for_older_runs_with_its_keys() {
    let ranges = [span(&[1, 8]), span(&[10, 17])];
    let runs = [flushed(&[4, 15]), flushed(&[11, 16])];
    assert_eq!(choose(&runs, &ranges, |_| false, 1), Choice::Append(vec![0, 1]));
}

#[test]
fn small_ranges_join_the_lighter_neighbour() {
    // Figure 3.5: [33-35] joins [36-42], which holds less than [1-29].
    let settings = PlanSettings { memtable_bytes: 64, range_bytes: 100, split_ratio: 1.2, stale_ratio: 0.5 };
    assert_eq!(lighter_neighbour(&settings, &[90, 3, 20], 1), Some(2));
    assert_eq!(lighter_neighbour(&settings, &[90, 3, 80], 1), None);
    assert_eq!(lighter_neighbour(&settings, &[90, 20, 30], 1), None);
    assert_eq!(lighter_neighbour(&settings, &[3], 0), None);
}
