//! The new database: all entries, part by part of the keys, as ranges of one run each.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Repair;
use super::gather::Sources;
use crate::compact::{Pile, partition};
use crate::entry::Entry;
use crate::keep::Keep;
use crate::levels::{Grave, LiveRun, Range, Version};
use crate::options::Options;
use crate::run::{FileWriter, Order, Run};
use crate::storage::Storage;
use crate::verify::Problem;
use crate::{RangeDelete, Result, Sequence};

/// So much is in memory at a time, about.
const PART_BYTES: u64 = 256 << 20;

/// A range begins with so much.
const RANGE_BYTES: u64 = 32 << 20;

/// Of each so many bytes, one key is looked at to divide the keys into parts.
const SAMPLE_BYTES: u64 = 64 << 10;

/// Keys from the first one, up to but without the second one; all where there is none.
type Part<'a> = (Option<&'a [u8]>, Option<&'a [u8]>);

/// Writes what `sources` hold into data files with numbers from `next_number` on.
pub(super) fn rebuild(
    storage: &dyn Storage,
    options: &Options,
    sources: &Sources,
    next_number: &mut u64,
    repair: &mut Repair,
) -> Result<Version> {
    let deletes: Vec<RangeDelete> = range_deletes(sources);
    let bounds = bounds(samples(sources), PART_BYTES);
    let grave = Arc::new(Grave::default());
    let mut ranges = Vec::new();
    let mut lost = BTreeSet::new();
    for number in 0..=bounds.len() {
        let low = number.checked_sub(1).and_then(|before| bounds.get(before));
        let part = (low.map(|key| &**key), bounds.get(number).map(|key| &**key));
        let mut pile = gather(sources, part, &mut lost);
        pile.settle(Keep::new(Sequence::MAX, &deletes, true));
        if !pile.is_empty() {
            repair.entries += pile.items().len() as u64;
            write(storage, options, &pile, *next_number, &grave, &mut ranges)?;
            *next_number += 1;
        }
    }
    repair.lost.extend(lost);
    let mut version = Version::empty();
    version.ranges = Arc::new(ranges);
    Ok(version)
}

fn range_deletes(sources: &Sources) -> Vec<RangeDelete> {
    let in_logs = sources.memtable.range_deletes();
    let in_runs = sources.runs.iter().flat_map(|run| run.range_deletes.iter());
    in_runs.chain(in_logs.iter()).cloned().collect()
}

/// The entries of a part of the keys.
fn gather(sources: &Sources, part: Part<'_>, lost: &mut BTreeSet<Problem>) -> Pile {
    let (low, high) = part;
    let holds = |key: &[u8]| low.is_none_or(|low| low <= key) && high.is_none_or(|high| key < high);
    let reaches = |run: &&Arc<Run>| low.is_none_or(|low| low <= &*run.high) && high.is_none_or(|high| &*run.low < high);
    let mut pile = Pile::default();
    for run in sources.runs.iter().filter(reaches) {
        let mut take = |entry: &Entry<'_>| {
            if holds(entry.key) {
                pile.push(entry);
            }
        };
        run.salvage(&mut take, &mut |error| {
            lost.insert(error.into());
        });
    }
    sources.memtable.in_hash_order().filter(|entry| holds(entry.key)).for_each(|entry| pile.push(&entry));
    pile
}

/// Writes a settled pile as one file.
fn write(
    storage: &dyn Storage,
    options: &Options,
    pile: &Pile,
    number: u64,
    grave: &Arc<Grave>,
    ranges: &mut Vec<Arc<Range>>,
) -> Result<()> {
    let parts = partition(pile, pile.items(), pile.bytes().div_ceil(RANGE_BYTES).max(1) as usize);
    let mut writer = FileWriter::create(storage, number, &options.write_options(1))?;
    for items in &parts {
        let run = writer.run(Order::Hash, true, pile.lowest_sequence(items));
        for item in items {
            writer.push_hashed(run, item.hash, pile.entry(item))?;
        }
        writer.close(run)?;
    }
    let (_, runs, hashes) = writer.finish()?;
    for ((items, run), hashes) in parts.iter().zip(runs).zip(hashes) {
        let Some(span) = pile.span(items) else { continue };
        let runs = Range::no_runs().with(LiveRun::new(run, grave), &hashes, Range::GROWTH);
        ranges.push(Range::new(span, runs));
    }
    Ok(())
}

/// Some keys, each with how many bytes it stands for. The first entries of a hash-ordered run are keys from anywhere.
fn samples(sources: &Sources) -> Vec<(Box<[u8]>, u64)> {
    let mut samples = Vec::new();
    for run in &sources.runs {
        let mut reader = run.read_all(SAMPLE_BYTES as usize);
        let wanted = run.user_bytes.div_ceil(SAMPLE_BYTES);
        let first = samples.len();
        // A run whose beginning is damaged has its samples up to there, or its lowest key.
        while let Ok(Some(entry)) = reader.next()
            && ((samples.len() - first) as u64) < wanted
        {
            samples.push((Box::from(entry.key), 0));
        }
        if samples.len() == first {
            samples.push((run.low.clone(), 0));
        }
        weigh(&mut samples[first..], run.user_bytes);
    }
    let first = samples.len();
    let wanted = sources.memtable.user_bytes().div_ceil(SAMPLE_BYTES) as usize;
    samples.extend(sources.memtable.in_hash_order().take(wanted).map(|entry| (Box::from(entry.key), 0)));
    weigh(&mut samples[first..], sources.memtable.user_bytes());
    samples
}

fn weigh(samples: &mut [(Box<[u8]>, u64)], bytes: u64) {
    let each = bytes / (samples.len() as u64).max(1);
    samples.iter_mut().for_each(|(_, weight)| *weight = each);
}

/// Keys that divide all into parts of about `part_bytes`.
fn bounds(mut samples: Vec<(Box<[u8]>, u64)>, part_bytes: u64) -> Vec<Box<[u8]>> {
    samples.sort_unstable();
    let mut bounds: Vec<Box<[u8]>> = Vec::new();
    let mut bytes = 0;
    for (key, weight) in samples {
        if bytes >= part_bytes && bounds.last().is_none_or(|last| *last < key) {
            bounds.push(key);
            bytes = 0;
        }
        bytes += weight;
    }
    bounds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_divided_where_a_part_is_full() {
        let samples = |keys: &[u8]| keys.iter().map(|key| (Box::from([*key]), 10)).collect::<Vec<_>>();
        let keys = |bounds: Vec<Box<[u8]>>| bounds.iter().map(|key| key[0]).collect::<Vec<_>>();
        assert_eq!(keys(bounds(samples(&[3, 1, 2, 4, 6, 5]), 20)), [3, 5]);
        assert_eq!(keys(bounds(samples(&[7, 7, 7, 7, 8]), 20)), [7, 8]);
        assert!(bounds(samples(&[1, 2]), 20).is_empty());
        assert!(bounds(Vec::new(), 20).is_empty());
    }
}
