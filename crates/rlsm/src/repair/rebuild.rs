//! Rebuilding the database: all entries, a part of the keys at a time, as ranges of one run each.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::RepairReport;
use super::sources::Sources;
use crate::compaction::{EntryBuffer, partition};
use crate::entry::Entry;
use crate::levels::{ExtentReclaimer, LiveRun, Range, Version};
use crate::options::Options;
use crate::retention::RetentionFilter;
use crate::run::{DataFileWriter, Order, Run};
use crate::storage::Storage;
use crate::verify::Problem;
use crate::{RangeTombstone, Result, SequenceNumber};

/// About how many bytes are in memory at a time.
const PART_BYTES: u64 = 256 << 20;

/// The initial size of a range, in bytes.
const RANGE_BYTES: u64 = 32 << 20;

/// One key is sampled per this many bytes, to divide the keys into parts.
const SAMPLE_BYTES: u64 = 64 << 10;

/// Keys from the first up to, and excluding, the second; `None` is unbounded.
type KeyPart<'a> = (Option<&'a [u8]>, Option<&'a [u8]>);

/// Writes the content of `sources` to data files with numbers from `next_number` on.
pub(super) fn rebuild(
    storage: &dyn Storage,
    options: &Options,
    sources: &Sources,
    next_number: &mut u64,
    repair: &mut RepairReport,
) -> Result<Version> {
    let deletes: Vec<RangeTombstone> = range_tombstones(sources);
    let bounds = bounds(samples(sources), PART_BYTES);
    let reclaimer = Arc::new(ExtentReclaimer::default());
    let mut ranges = Vec::new();
    let mut lost = BTreeSet::new();
    for number in 0..=bounds.len() {
        let low = number.checked_sub(1).and_then(|before| bounds.get(before));
        let part = (low.map(|key| &**key), bounds.get(number).map(|key| &**key));
        let mut buffer = collect(sources, part, &mut lost);
        buffer.sort_and_retain(RetentionFilter::new(SequenceNumber::MAX, &deletes, true));
        if !buffer.is_empty() {
            repair.entries += buffer.items().len() as u64;
            write(storage, options, &buffer, *next_number, &reclaimer, &mut ranges)?;
            *next_number += 1;
        }
    }
    repair.lost.extend(lost);
    let mut version = Version::empty();
    version.ranges = Arc::new(ranges);
    Ok(version)
}

fn range_tombstones(sources: &Sources) -> Vec<RangeTombstone> {
    let in_logs = sources.memtable.range_tombstones();
    let in_runs = sources.runs.iter().flat_map(|run| run.range_tombstones.iter());
    in_runs.chain(in_logs.iter()).cloned().collect()
}

/// Collects the entries of a part of the keys.
fn collect(sources: &Sources, part: KeyPart<'_>, lost: &mut BTreeSet<Problem>) -> EntryBuffer {
    let (low, high) = part;
    let holds = |key: &[u8]| low.is_none_or(|low| low <= key) && high.is_none_or(|high| key < high);
    let reaches = |run: &&Arc<Run>| low.is_none_or(|low| low <= &*run.high) && high.is_none_or(|high| &*run.low < high);
    let mut buffer = EntryBuffer::default();
    for run in sources.runs.iter().filter(reaches) {
        let mut take = |entry: &Entry<'_>| {
            if holds(entry.key) {
                buffer.push(entry);
            }
        };
        run.salvage(&mut take, &mut |error| {
            lost.insert(error.into());
        });
    }
    sources.memtable.in_hash_order().filter(|entry| holds(entry.key)).for_each(|entry| buffer.push(&entry));
    buffer
}

/// Writes a sorted buffer to a data file.
fn write(
    storage: &dyn Storage,
    options: &Options,
    buffer: &EntryBuffer,
    number: u64,
    reclaimer: &Arc<ExtentReclaimer>,
    ranges: &mut Vec<Arc<Range>>,
) -> Result<()> {
    let parts = partition(buffer, buffer.items(), buffer.bytes().div_ceil(RANGE_BYTES).max(1) as usize);
    let mut writer = DataFileWriter::create(storage, number, &options.write_options(1))?;
    for items in &parts {
        let run = writer.run(Order::Hash, true, buffer.lowest_sequence(items));
        for item in items {
            writer.push_hashed(run, item.hash, buffer.entry(item))?;
        }
        writer.close(run)?;
    }
    let (_, runs, hashes) = writer.finish()?;
    for ((items, run), hashes) in parts.iter().zip(runs).zip(hashes) {
        let Some(span) = buffer.span(items) else { continue };
        let runs = Range::empty_run_set().with_run(LiveRun::new(run, reclaimer), &hashes, Range::EXPECTED_GROWTH);
        ranges.push(Range::new(span, runs));
    }
    Ok(())
}

/// Sampled keys, each with the number of bytes it represents. The first entries of a hash-ordered run are a random
/// sample of its keys.
fn samples(sources: &Sources) -> Vec<(Box<[u8]>, u64)> {
    let mut samples = Vec::new();
    for run in &sources.runs {
        let mut reader = run.read_all(SAMPLE_BYTES as usize);
        let wanted = run.user_bytes.div_ceil(SAMPLE_BYTES);
        let first = samples.len();
        // A run whose beginning is damaged has the samples up to there, or its lowest key.
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

/// Keys that divide all keys into parts of about `part_bytes`.
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
    fn a_bound_is_set_where_a_part_is_full() {
        let samples = |keys: &[u8]| keys.iter().map(|key| (Box::from([*key]), 10)).collect::<Vec<_>>();
        let keys = |bounds: Vec<Box<[u8]>>| bounds.iter().map(|key| key[0]).collect::<Vec<_>>();
        assert_eq!(keys(bounds(samples(&[3, 1, 2, 4, 6, 5]), 20)), [3, 5]);
        assert_eq!(keys(bounds(samples(&[7, 7, 7, 7, 8]), 20)), [7, 8]);
        assert!(bounds(samples(&[1, 2]), 20).is_empty());
        assert!(bounds(Vec::new(), 20).is_empty());
    }
}
