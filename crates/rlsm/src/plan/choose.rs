//! Which runs of Level 0 are compacted, and how.

use super::place::{KeyPlacement, KeySpan, place_key};
use super::settings::LEVEL0_RUNS_MAX;
use super::{Level0Run, density};

/// A compaction of Level 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CompactionChoice {
    /// The run becomes a range of its own without being rewritten: no range overlaps it.
    TrivialMove(usize),
    /// The run is linked into the range that contains it, without being rewritten (Song 2018: a *union set*).
    Link {
        /// The index of the run in Level 0.
        run: usize,
        /// The index of the range.
        range: usize,
    },
    /// The runs, by ascending index, are distributed among the ranges.
    Append(Vec<usize>),
}

/// Whether Level 0 holds enough for a compaction.
pub fn is_compaction_due(level0: &[Level0Run], batch_bytes: u64) -> bool {
    let bytes: u64 = level0.iter().map(|run| run.bytes).sum();
    bytes >= batch_bytes || level0.len() > LEVEL0_RUNS_MAX * 3 / 4
}

/// Chooses the next compaction of Level 0, whose runs are ordered from the oldest, so that about `batch_bytes` leave
/// it. `ranges` are the spans of Level 1; `is_full` says which of them accept no further linked run.
///
/// A run leaves only together with every older run that overlaps it: otherwise look-ups would find an older version
/// before a newer one.
pub fn choose_compaction(
    level0: &[Level0Run],
    ranges: &[KeySpan],
    is_full: impl Fn(usize) -> bool,
    batch_bytes: u64,
) -> CompactionChoice {
    let can_leave = |run: usize| older_overlapping(level0, run).is_empty();
    for (number, run) in level0.iter().enumerate().filter(|(number, _)| can_leave(*number)) {
        match place_key(ranges, |span| span, &run.span.low) {
            KeyPlacement::Range(range) if ranges[range].contains(&run.span) && !is_full(range) => {
                return CompactionChoice::Link { run: number, range };
            }
            _ => {}
        }
    }
    let inputs = input_runs(level0, ranges, batch_bytes);
    match inputs[..] {
        [run] if overlapped_ranges(&level0[run].span, ranges) == 0 => CompactionChoice::TrivialMove(run),
        _ => CompactionChoice::Append(inputs),
    }
}

/// Chooses runs by the number of ranges that each of their entries is expected to touch, fewest first, until they have
/// `batch_bytes`. Ties go to the densest. Each takes the older runs along that overlap it.
fn input_runs(level0: &[Level0Run], ranges: &[KeySpan], batch_bytes: u64) -> Vec<usize> {
    let cost = |run: &Level0Run| overlapped_ranges(&run.span, ranges) as f64 / run.entries.max(1) as f64;
    let mut order: Vec<usize> = (0..level0.len()).collect();
    order.sort_by(|&one, &other| {
        let (one, other) = (&level0[one], &level0[other]);
        let by_density = || density(other.entries, &other.span).total_cmp(&density(one.entries, &one.span));
        cost(one).total_cmp(&cost(other)).then_with(by_density)
    });
    let mut chosen = vec![false; level0.len()];
    let mut bytes = 0;
    for run in order {
        if bytes > 0 && (bytes >= batch_bytes || overlapped_ranges(&level0[run].span, ranges) == 0) {
            break;
        }
        for input in older_overlapping(level0, run).into_iter().chain([run]) {
            if !std::mem::replace(&mut chosen[input], true) {
                bytes += level0[input].bytes.max(1);
            }
        }
    }
    (0..level0.len()).filter(|&run| chosen[run]).collect()
}

/// The number of ranges that overlap `span`.
fn overlapped_ranges(span: &KeySpan, ranges: &[KeySpan]) -> usize {
    let first = ranges.partition_point(|range| range.high < span.low);
    ranges[first..].iter().take_while(|range| range.low <= span.high).count()
}

/// The older runs that overlap `run`, directly or through one another.
fn older_overlapping(level0: &[Level0Run], run: usize) -> Vec<usize> {
    let mut together = vec![run];
    for older in (0..run).rev() {
        if together.iter().any(|&member| level0[member].span.overlaps(&level0[older].span) && older < member) {
            together.push(older);
        }
    }
    together.remove(0);
    together
}
