//! Which flushed runs of Level 0 are compacted, and how.

use super::place::{Place, Span, place};
use super::settings::LEVEL0_RUNS_MAX;
use super::{Flushed, density};

/// What a compaction does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    /// The run becomes a range of its own without being copied: no range has any of its keys.
    MoveDown(usize),
    /// The run is linked into the range that encloses it, without being copied (seed 002: a *union set*).
    Link {
        /// The run's number in Level 0.
        run: usize,
        /// The range's number.
        range: usize,
    },
    /// The runs, by their numbers in ascending order, are divided among the ranges.
    Append(Vec<usize>),
}

/// Whether Level 0 holds enough to be compacted.
pub fn compaction_is_due(level0: &[Flushed], batch_bytes: u64) -> bool {
    let bytes: u64 = level0.iter().map(|run| run.bytes).sum();
    bytes >= batch_bytes || level0.len() > LEVEL0_RUNS_MAX * 3 / 4
}

/// The next thing to do with Level 0, whose runs are ordered from the oldest, so that about `batch_bytes` leave it.
/// `ranges` are the spans of Level 1, `full` says which of them take no further linked run.
///
/// A run may leave only along with every older run that shares keys with it: otherwise an older version would lie above
/// a newer one.
pub fn choose(level0: &[Flushed], ranges: &[Span], full: impl Fn(usize) -> bool, batch_bytes: u64) -> Choice {
    let free = |run: usize| older_overlapping(level0, run).is_empty();
    for (number, run) in level0.iter().enumerate().filter(|(number, _)| free(*number)) {
        match place(ranges, |span| span, &run.span.low) {
            Place::Range(range) if ranges[range].encloses(&run.span) && !full(range) => {
                return Choice::Link { run: number, range };
            }
            _ => {}
        }
    }
    let victims = victims(level0, ranges, batch_bytes);
    match victims[..] {
        [run] if touched(&level0[run].span, ranges) == 0 => Choice::MoveDown(run),
        _ => Choice::Append(victims),
    }
}

/// Runs in the order of the targets that each of their entries is expected to touch, fewest first, each with the older
/// runs it cannot leave without, until `batch_bytes` are together. Where all touch as many, the densest come first.
fn victims(level0: &[Flushed], ranges: &[Span], batch_bytes: u64) -> Vec<usize> {
    let cost = |run: &Flushed| touched(&run.span, ranges) as f64 / run.entries.max(1) as f64;
    let mut order: Vec<usize> = (0..level0.len()).collect();
    order.sort_by(|&one, &other| {
        let (one, other) = (&level0[one], &level0[other]);
        let by_density = || density(other.entries, &other.span).total_cmp(&density(one.entries, &one.span));
        cost(one).total_cmp(&cost(other)).then_with(by_density)
    });
    let mut chosen = vec![false; level0.len()];
    let mut bytes = 0;
    for run in order {
        if bytes > 0 && (bytes >= batch_bytes || touched(&level0[run].span, ranges) == 0) {
            break;
        }
        for victim in older_overlapping(level0, run).into_iter().chain([run]) {
            if !std::mem::replace(&mut chosen[victim], true) {
                bytes += level0[victim].bytes.max(1);
            }
        }
    }
    (0..level0.len()).filter(|&run| chosen[run]).collect()
}

/// How many ranges the keys of `span` can fall into.
fn touched(span: &Span, ranges: &[Span]) -> usize {
    let first = ranges.partition_point(|range| range.high < span.low);
    ranges[first..].iter().take_while(|range| range.low <= span.high).count()
}

/// The older runs that `run` shares keys with, directly or through one another.
fn older_overlapping(level0: &[Flushed], run: usize) -> Vec<usize> {
    let mut together = vec![run];
    for older in (0..run).rev() {
        if together.iter().any(|&member| level0[member].span.overlaps(&level0[older].span) && older < member) {
            together.push(older);
        }
    }
    together.remove(0);
    together
}
