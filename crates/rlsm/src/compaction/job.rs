//! A compaction job: reads its inputs, distributes the entries among the ranges, and writes one data file.

use std::ops::Range as Numbers;
use std::sync::Arc;
use std::time::Duration;

use super::entry_buffer::{BufferedEntry, EntryBuffer};
use super::partition::partition;
use super::passes::{PassKeys, passes};
use crate::clock;
use crate::engine::Engine;
use crate::hash::hash;
use crate::levels::{LiveRun, Range, RunSet, Version, VersionUpdate};
use crate::plan::{GapAction, KeyPlacement, KeySpan, RangeAction, RangeLoad, place_key, plan_gap, plan_range};
use crate::retention::RetentionFilter;
use crate::run::{DataFileWriter, HashColumn, Order, READ_AHEAD_BYTES};
use crate::storage::sync_directory;
use crate::{RangeTombstone, Result};

/// Distributes the runs `inputs` of Level 0 among the ranges.
pub(super) fn append(engine: &Engine, version: &Version, inputs: &[usize]) -> Result<()> {
    let inputs: Vec<&Arc<LiveRun>> = inputs.iter().map(|&run| &version.level0.list()[run]).collect();
    let bytes = inputs.iter().map(|run| run.stored_bytes).sum();
    let lows: Vec<&[u8]> = version.ranges.iter().map(|range| &*range.span.low).collect();
    let passes = passes(version.ranges.len(), bytes, engine.options.compaction_bytes_max());
    let last = passes.len() - 1;
    for (number, pass) in passes.into_iter().enumerate() {
        let keys = PassKeys::of(&lows, &pass);
        if number > 0 {
            engine.storage.fail_point("compaction: between two passes");
        }
        let mut output = CompactionOutput::begin(engine)?;
        distribute(engine, &version.ranges[pass], &inputs, keys, &mut output)?;
        let level0_dropped =
            if number == last { inputs.iter().map(|run| run.location()).collect() } else { Vec::new() };
        output.publish(engine, level0_dropped)?;
    }
    Ok(())
}

/// Rewrites adjacent ranges as one range, or as as many as their size requires.
pub(super) fn rewrite_ranges(engine: &Engine, version: &Version, numbers: Numbers<usize>) -> Result<()> {
    let ranges = &version.ranges[numbers];
    let mut output = CompactionOutput::begin(engine)?;
    let loads = ranges.iter().map(|range| load_of(range));
    let (bytes, stale_bytes) = loads.fold((0, 0), |sum, load| (sum.0 + load.bytes, sum.1 + load.stale_bytes));
    let load = RangeLoad { bytes, stale_bytes, runs: usize::MAX, jitter: jitter(&ranges[0]) };
    let RangeAction::Rewrite { parts } = plan_range(&engine.options.plan, load) else { return Ok(()) };
    rewrite(engine, ranges, EntryBuffer::default(), &[], parts, &mut output)?;
    output.publish(engine, Vec::new())
}

/// The output of a job: a data file and the ranges that its runs belong to.
struct CompactionOutput {
    began: Duration,
    /// Memory of entries that wait to be written, and the peak of all entries, in bytes.
    waiting_bytes: u64,
    memory_bytes_max: u64,
    writer: DataFileWriter,
    ranges_dropped: Vec<Box<[u8]>>,
    /// The range of each run of the data file, in order.
    targets: Vec<OutputTarget>,
}

struct OutputTarget {
    span: KeySpan,
    /// The runs that the range has already.
    existing_runs: RunSet,
    /// Whether the entries were in Level 1 before.
    is_rewritten: bool,
    /// The scan cost that the new run inherits.
    scan_cost: u64,
}

impl CompactionOutput {
    fn begin(engine: &Engine) -> Result<Self> {
        let began = clock::now();
        engine.storage.fail_point("compaction: before the file is created");
        let writer =
            DataFileWriter::create(&*engine.compaction_storage, engine.next_file_number(), &engine.write_options(1))?;
        Ok(Self {
            began,
            waiting_bytes: 0,
            memory_bytes_max: 0,
            writer,
            ranges_dropped: Vec::new(),
            targets: Vec::new(),
        })
    }

    /// Records the memory of the entries that wait to be written.
    fn record_waiting(&mut self, range_buffers: &[EntryBuffer], gap_buffers: &[EntryBuffer]) {
        self.waiting_bytes = range_buffers.iter().chain(gap_buffers).map(EntryBuffer::memory_bytes).sum();
        self.record_memory(&EntryBuffer::default());
    }

    /// Records the memory of the entries at hand.
    fn record_memory(&mut self, buffer: &EntryBuffer) {
        self.memory_bytes_max = self.memory_bytes_max.max(self.waiting_bytes + buffer.memory_bytes());
    }

    /// Writes `items` as a run of the target range.
    fn write(
        &mut self,
        buffer: &EntryBuffer,
        items: &[BufferedEntry],
        deletes: &[RangeTombstone],
        order: Order,
        target: OutputTarget,
    ) -> Result<()> {
        // The first run of a range stores its key order, so that a short scan reads pages of it instead of the whole
        // run.
        let with_permutation = target.existing_runs.list().is_empty();
        let run = self.writer.run(order, with_permutation, buffer.lowest_sequence(items));
        for item in items {
            self.writer.push_hashed(run, item.hash, buffer.entry(item))?;
        }
        for delete in deletes {
            self.writer.range_delete(run, delete.clone());
        }
        self.writer.close(run)?;
        self.targets.push(target);
        Ok(())
    }

    /// Makes the data file durable and publishes the ranges.
    fn publish(self, engine: &Engine, level0_dropped: Vec<crate::levels::RunLocation>) -> Result<()> {
        engine.storage.fail_point("compaction: before the file is synced");
        let (file, runs, hashes) = self.writer.finish()?;
        let rewritten = self.targets.iter().zip(&runs).filter(|(target, _)| target.is_rewritten);
        let rewritten_bytes = rewritten.map(|(_, run)| run.stored_bytes).sum();
        engine.counters.compactions.add(1);
        engine.counters.rebalance_bytes.add(rewritten_bytes);
        engine.counters.compaction_bytes.add(file.len - rewritten_bytes);
        engine.storage.fail_point("compaction: before the directory is synced");
        sync_directory(&*engine.storage)?;
        engine.storage.fail_point("compaction: after the directory is synced");
        let reclaimer = engine.reclaimer();
        let runs = runs.into_iter().zip(hashes);
        let ranges_set = (self.targets.into_iter().zip(runs))
            .map(|(target, (run, hashes)): (OutputTarget, (_, HashColumn))| {
                run.add_scan_cost(Range::inherited_scan_cost(target.scan_cost, run.stored_bytes));
                let runs =
                    target.existing_runs.with_run(LiveRun::new(run, &reclaimer), &hashes, Range::EXPECTED_GROWTH);
                Range::new(target.span, runs)
            })
            .collect();
        let change = VersionUpdate {
            level0_dropped,
            ranges_dropped: self.ranges_dropped,
            ranges_set,
            ..VersionUpdate::default()
        };
        engine.publish(&change, None)?;
        engine.counters.compacting_ns.add((clock::now() - self.began).as_nanos() as u64);
        engine.counters.compaction_memory_bytes.set(self.memory_bytes_max);
        engine.storage.fail_point("compaction: after the ranges are published");
        Ok(())
    }
}

/// Distributes the entries of the inputs within `keys` among `ranges`, and writes them.
fn distribute(
    engine: &Engine,
    ranges: &[Arc<Range>],
    inputs: &[&Arc<LiveRun>],
    keys: PassKeys<'_>,
    output: &mut CompactionOutput,
) -> Result<()> {
    let (mut range_buffers, mut gap_buffers) = read_inputs(engine, ranges, inputs, keys)?;
    output.record_waiting(&range_buffers, &gap_buffers);
    let deletes: Vec<RangeTombstone> = inputs.iter().flat_map(|run| run.range_tombstones.iter()).cloned().collect();
    let oldest = engine.oldest_snapshot();
    let range_bytes: Vec<u64> = ranges.iter().map(|range| range.runs.bytes()).collect();
    let few_bytes = engine.options.plan.range_bytes / 16;
    let (cost, bytes) = inputs.iter().fold((0, 0), |sum, run| (sum.0 + run.scan_cost(), sum.1 + run.stored_bytes));
    let order_in_gaps = if Range::is_scan_heavy(cost, bytes) { Order::Key } else { Order::Hash };
    for (gap, buffer) in gap_buffers.iter_mut().enumerate().filter(|(_, buffer)| !buffer.is_empty()) {
        match plan_gap(&range_bytes, gap, buffer.bytes(), few_bytes) {
            GapAction::Extend(range) => range_buffers[range].append(buffer),
            GapAction::New => {
                buffer.sort_and_retain(RetentionFilter::new(oldest, &deletes, true));
                let parts = parts_for(engine, buffer.bytes());
                engine.storage.fail_point("compaction: before a range is created in a gap");
                write_parts(buffer, &deletes, oldest, parts, order_in_gaps, output)?;
            }
        }
    }
    output.record_waiting(&range_buffers, &gap_buffers);
    for (range, mut buffer) in ranges.iter().zip(range_buffers) {
        output.waiting_bytes -= buffer.memory_bytes();
        let span = extend_span(&range.span, buffer.span(buffer.items()));
        let deletes: Vec<RangeTombstone> = deletes.iter().filter(|delete| reaches(delete, &span)).cloned().collect();
        if buffer.is_empty() && deletes.is_empty() {
            continue;
        }
        buffer.sort_and_retain(RetentionFilter::new(oldest, &deletes, false));
        match decide(engine, load(range, &buffer)) {
            RangeAction::Append => {
                engine.storage.fail_point("compaction: before a run is appended to a range");
                output.ranges_dropped.push(range.span.low.clone());
                let target =
                    OutputTarget { span, existing_runs: range.runs.clone(), is_rewritten: false, scan_cost: 0 };
                if range.is_sorted() {
                    let items = buffer.in_key_order(buffer.items());
                    output.write(&buffer, &items, &deletes, Order::Key, target)?;
                } else {
                    output.write(&buffer, buffer.items(), &deletes, Order::Hash, target)?;
                }
            }
            RangeAction::Rewrite { parts } => {
                match parts {
                    1 => engine.storage.fail_point("rebalance: before a range is rewritten"),
                    _ => engine.storage.fail_point("rebalance: before a range is partitioned"),
                }
                rewrite(engine, std::slice::from_ref(range), buffer, &deletes, parts, output)?;
            }
        }
    }
    Ok(())
}

/// Reads the inputs. Returns their entries by range, and by gap between ranges.
fn read_inputs(
    engine: &Engine,
    ranges: &[Arc<Range>],
    inputs: &[&Arc<LiveRun>],
    keys: PassKeys<'_>,
) -> Result<(Vec<EntryBuffer>, Vec<EntryBuffer>)> {
    let mut range_buffers: Vec<EntryBuffer> = ranges.iter().map(|_| EntryBuffer::default()).collect();
    let mut gap_buffers: Vec<EntryBuffer> = (0..=ranges.len()).map(|_| EntryBuffer::default()).collect();
    for run in inputs {
        engine.storage.fail_point("compaction: before an input is read");
        let mut reader = run.read_all(READ_AHEAD_BYTES);
        while let Some(entry) = reader.next()? {
            if keys.contains(entry.key) {
                match place_key(ranges, |range| &range.span, entry.key) {
                    KeyPlacement::Range(range) => range_buffers[range].push(&entry),
                    KeyPlacement::Gap(gap) => gap_buffers[gap].push(&entry),
                }
            }
        }
    }
    Ok((range_buffers, gap_buffers))
}

/// Rewrites adjacent `ranges` together with the new entries in `buffer`.
fn rewrite(
    engine: &Engine,
    ranges: &[Arc<Range>],
    mut buffer: EntryBuffer,
    added_tombstones: &[RangeTombstone],
    parts: usize,
    output: &mut CompactionOutput,
) -> Result<()> {
    let mut deletes = added_tombstones.to_vec();
    for range in ranges {
        output.ranges_dropped.push(range.span.low.clone());
        deletes.extend(range.runs.range_tombstones().cloned());
        for run in range.runs.list() {
            engine.storage.fail_point("rebalance: before a run is read");
            let mut reader = run.read_all(READ_AHEAD_BYTES);
            while let Some(entry) = reader.next()? {
                buffer.push(&entry);
            }
        }
    }
    output.record_memory(&buffer);
    let oldest = engine.oldest_snapshot();
    buffer.sort_and_retain(RetentionFilter::new(oldest, &deletes, true));
    let first = output.targets.len();
    let order = if ranges.iter().any(|range| range.is_scanned()) { Order::Key } else { Order::Hash };
    write_parts(&buffer, &deletes, oldest, parts, order, output)?;
    let scan_cost: u64 = ranges.iter().map(|range| range.scan_cost()).sum();
    let targets = &mut output.targets[first..];
    let parts = targets.len().max(1) as u64;
    for target in targets {
        target.is_rewritten = true;
        target.scan_cost = scan_cost / parts;
    }
    Ok(())
}

/// Writes a sorted buffer as `parts` new ranges. Range tombstones that every snapshot sees have been applied and are
/// dropped.
fn write_parts(
    buffer: &EntryBuffer,
    deletes: &[RangeTombstone],
    oldest: crate::SequenceNumber,
    parts: usize,
    order: Order,
    output: &mut CompactionOutput,
) -> Result<()> {
    for mut items in partition(buffer, buffer.items(), parts) {
        let Some(span) = buffer.span(&items) else { continue };
        let live = |delete: &&RangeTombstone| delete.sequence > oldest && reaches(delete, &span);
        let deletes: Vec<RangeTombstone> = deletes.iter().filter(live).cloned().collect();
        if order == Order::Key {
            items = buffer.in_key_order(&items);
        }
        let target = OutputTarget { span, existing_runs: Range::empty_run_set(), is_rewritten: false, scan_cost: 0 };
        output.write(buffer, &items, &deletes, order, target)?;
    }
    Ok(())
}

/// Decides whether to append to a range or rewrite it.
fn decide(engine: &Engine, load: RangeLoad) -> RangeAction {
    match plan_range(&engine.options.plan, load) {
        RangeAction::Rewrite { .. } if engine.pressure.postpone_rewrite(&engine.options.plan, load) => {
            RangeAction::Append
        }
        decided => decided,
    }
}

/// The load of a range.
pub(super) fn load_of(range: &Range) -> RangeLoad {
    load(range, &EntryBuffer::default())
}

/// The load of a range with `buffer` added.
fn load(range: &Range, buffer: &EntryBuffer) -> RangeLoad {
    let bytes = range.runs.bytes() + buffer.bytes();
    let entries = range.runs.entries() + buffer.items().len() as u64;
    let superseding = buffer.items().iter().filter(|item| range.runs.may_contain(item.hash)).count() as u64;
    let stale_entries = (range.runs.superseded_entries() + superseding).min(entries);
    let stale_bytes = (u128::from(bytes) * u128::from(stale_entries) / u128::from(entries.max(1))) as u64;
    RangeLoad {
        bytes,
        stale_bytes,
        runs: range.runs.list().len() + usize::from(!buffer.is_empty()),
        jitter: jitter(range),
    }
}

/// A number that stays the same until the range is rewritten.
fn jitter(range: &Range) -> u64 {
    let at = range.runs.list().first().map(|run| run.location());
    at.map_or(0, |at| hash(&[at.file.to_le_bytes(), at.footer.offset.to_le_bytes()].concat()))
}

fn parts_for(engine: &Engine, bytes: u64) -> usize {
    match plan_range(&engine.options.plan, RangeLoad { bytes, stale_bytes: 0, runs: usize::MAX, jitter: 1 << 63 }) {
        RangeAction::Rewrite { parts } => parts,
        RangeAction::Append => 1,
    }
}

/// `span`, extended by what was added.
fn extend_span(span: &KeySpan, added: Option<KeySpan>) -> KeySpan {
    match added {
        Some(added) => KeySpan { low: added.low.min(span.low.clone()), high: added.high.max(span.high.clone()) },
        None => span.clone(),
    }
}

fn reaches(delete: &RangeTombstone, span: &KeySpan) -> bool {
    delete.low <= span.high && span.low < delete.high
}
