//! One compaction: victims are read, their versions divided among the ranges, and one file written for all of them.

use std::ops::Range as Numbers;
use std::sync::Arc;
use std::time::Duration;

use super::partition::partition;
use super::pile::{Item, Pile};
use super::slice::{Keys, slices};
use crate::clock;
use crate::core::Core;
use crate::hash::hash;
use crate::keep::Keep;
use crate::levels::{Change, LiveRun, Range, Runs, Version};
use crate::plan::{Balance, Gap, Load, Place, Span, balance, place, settle_gap};
use crate::run::{FileWriter, Hashes, Order};
use crate::{Error, RangeDelete, Result};

/// How much of a file is read at once.
const READ_AHEAD_BYTES: usize = 1 << 20;

/// Divides the runs `victims` of Level 0 among the ranges.
pub(super) fn append(core: &Core, version: &Version, victims: &[usize]) -> Result<()> {
    let victims: Vec<&Arc<LiveRun>> = victims.iter().map(|&run| &version.level0.list()[run]).collect();
    let bytes = victims.iter().map(|run| run.stored_bytes).sum();
    let lows: Vec<&[u8]> = version.ranges.iter().map(|range| &*range.span.low).collect();
    let slices = slices(version.ranges.len(), bytes, core.options.compaction_bytes_max());
    let last = slices.len() - 1;
    for (number, slice) in slices.into_iter().enumerate() {
        let keys = Keys::of(&lows, &slice);
        if number > 0 {
            core.storage.reach("compaction: between two passes");
        }
        let mut outcome = Outcome::begin(core)?;
        divide(core, &version.ranges[slice], &victims, keys, &mut outcome)?;
        let level0_dropped = if number == last { victims.iter().map(|run| run.at()).collect() } else { Vec::new() };
        outcome.publish(core, level0_dropped)?;
    }
    Ok(())
}

/// Writes neighbouring ranges anew as one, or as as many as their size asks for.
pub(super) fn rewrite_together(core: &Core, version: &Version, numbers: Numbers<usize>) -> Result<()> {
    let ranges = &version.ranges[numbers];
    let mut outcome = Outcome::begin(core)?;
    let loads = ranges.iter().map(|range| load_of(range));
    let (bytes, stale_bytes) = loads.fold((0, 0), |sum, load| (sum.0 + load.bytes, sum.1 + load.stale_bytes));
    let load = Load { bytes, stale_bytes, runs: usize::MAX, dice: dice(&ranges[0]) };
    let Balance::Rewrite { parts } = balance(&core.options.plan, load) else { return Ok(()) };
    rewrite(core, ranges, Pile::default(), &[], parts, &mut outcome)?;
    outcome.publish(core, Vec::new())
}

/// What a job has written so far.
struct Outcome {
    began: Duration,
    /// What versions that wait their turn take in memory, in bytes, and what all took at most.
    waiting_bytes: u64,
    memory_bytes_max: u64,
    writer: FileWriter,
    ranges_dropped: Vec<Box<[u8]>>,
    /// For each run of the writer, in order, the range that it goes to.
    targets: Vec<Target>,
}

struct Target {
    span: Span,
    /// The runs that the range keeps.
    kept: Runs,
    /// Whether the run was in Level 1 before.
    is_rewritten: bool,
    /// What its part of the range cost iterators before.
    scan_cost: u64,
}

impl Outcome {
    fn begin(core: &Core) -> Result<Self> {
        let began = clock::now();
        core.storage.reach("compaction: before the file is begun");
        let writer = FileWriter::create(&*core.compaction_storage, core.new_number(), &core.write_options(1))?;
        Ok(Self {
            began,
            waiting_bytes: 0,
            memory_bytes_max: 0,
            writer,
            ranges_dropped: Vec::new(),
            targets: Vec::new(),
        })
    }

    /// Takes note of the versions that wait their turn.
    fn waits(&mut self, in_ranges: &[Pile], in_gaps: &[Pile]) {
        self.waiting_bytes = in_ranges.iter().chain(in_gaps).map(Pile::memory_bytes).sum();
        self.holds(&Pile::default());
    }

    /// Takes note of what the versions at hand take in memory.
    fn holds(&mut self, pile: &Pile) {
        self.memory_bytes_max = self.memory_bytes_max.max(self.waiting_bytes + pile.memory_bytes());
    }

    /// Writes `items` as a run for a range that reaches over `span`.
    fn write(
        &mut self,
        pile: &Pile,
        items: &[Item],
        deletes: &[RangeDelete],
        order: Order,
        target: Target,
    ) -> Result<()> {
        // The first run of a range gets its key order along, so that a short scan reads pages of it, not all.
        let with_permutation = target.kept.list().is_empty();
        let run = self.writer.run(order, with_permutation, pile.lowest_sequence(items));
        for item in items {
            self.writer.push_hashed(run, item.hash, pile.entry(item))?;
        }
        for delete in deletes {
            self.writer.range_delete(run, delete.clone());
        }
        self.writer.close(run)?;
        self.targets.push(target);
        Ok(())
    }

    /// Takes the file to the device and the ranges into the levels.
    fn publish(self, core: &Core, level0_dropped: Vec<crate::levels::RunRef>) -> Result<()> {
        core.storage.reach("compaction: before the file is synced");
        let (file, runs, hashes) = self.writer.finish()?;
        let rewritten = self.targets.iter().zip(&runs).filter(|(target, _)| target.is_rewritten);
        let rewritten_bytes = rewritten.map(|(_, run)| run.stored_bytes).sum();
        core.counters.compactions.add(1);
        core.counters.rebalance_bytes.add(rewritten_bytes);
        core.counters.compaction_bytes.add(file.len - rewritten_bytes);
        core.storage.reach("compaction: before the file's name is synced");
        core.storage.sync_names().map_err(Error::io("syncing", "the folder"))?;
        core.storage.reach("compaction: after the file is synced");
        let grave = core.grave();
        let runs = runs.into_iter().zip(hashes);
        let ranges_set = (self.targets.into_iter().zip(runs))
            .map(|(target, (run, hashes)): (Target, (_, Hashes))| {
                run.add_scan_cost(Range::remembered(target.scan_cost, run.stored_bytes));
                let runs = target.kept.with(LiveRun::new(run, &grave), &hashes, Range::GROWTH);
                Range::new(target.span, runs)
            })
            .collect();
        let change = Change { level0_dropped, ranges_dropped: self.ranges_dropped, ranges_set, ..Change::default() };
        core.publish(&change, None)?;
        core.counters.compacting_ns.add((clock::now() - self.began).as_nanos() as u64);
        core.counters.compaction_memory_bytes.set(self.memory_bytes_max);
        core.storage.reach("compaction: after the ranges are in the levels");
        Ok(())
    }
}

/// Divides what the victims hold of `keys` among `ranges`, and writes it.
fn divide(
    core: &Core,
    ranges: &[Arc<Range>],
    victims: &[&Arc<LiveRun>],
    keys: Keys<'_>,
    outcome: &mut Outcome,
) -> Result<()> {
    let (mut in_ranges, mut in_gaps) = gather(core, ranges, victims, keys)?;
    outcome.waits(&in_ranges, &in_gaps);
    let deletes: Vec<RangeDelete> = victims.iter().flat_map(|run| run.range_deletes.iter()).cloned().collect();
    let oldest = core.oldest_snapshot();
    let range_bytes: Vec<u64> = ranges.iter().map(|range| range.runs.bytes()).collect();
    let few_bytes = core.options.plan.range_bytes / 16;
    let (cost, bytes) = victims.iter().fold((0, 0), |sum, run| (sum.0 + run.scan_cost(), sum.1 + run.stored_bytes));
    let order_in_gaps = if Range::is_scanned_for(cost, bytes) { Order::Key } else { Order::Hash };
    for (gap, pile) in in_gaps.iter_mut().enumerate().filter(|(_, pile)| !pile.is_empty()) {
        match settle_gap(&range_bytes, gap, pile.bytes(), few_bytes) {
            Gap::Extend(range) => in_ranges[range].append(pile),
            Gap::New => {
                pile.settle(Keep::new(oldest, &deletes, true));
                let parts = parts_for(core, pile.bytes());
                core.storage.reach("compaction: before a range is made in a gap");
                write_parts(pile, &deletes, oldest, parts, order_in_gaps, outcome)?;
            }
        }
    }
    outcome.waits(&in_ranges, &in_gaps);
    for (range, mut pile) in ranges.iter().zip(in_ranges) {
        outcome.waiting_bytes -= pile.memory_bytes();
        let span = extended(&range.span, pile.span(pile.items()));
        let deletes: Vec<RangeDelete> = deletes.iter().filter(|delete| reaches(delete, &span)).cloned().collect();
        if pile.is_empty() && deletes.is_empty() {
            continue;
        }
        pile.settle(Keep::new(oldest, &deletes, false));
        match decide(core, load(range, &pile)) {
            Balance::Append => {
                core.storage.reach("compaction: before a run is appended to a range");
                outcome.ranges_dropped.push(range.span.low.clone());
                let target = Target { span, kept: range.runs.clone(), is_rewritten: false, scan_cost: 0 };
                if range.is_sorted() {
                    let items = pile.sorted_by_key(pile.items());
                    outcome.write(&pile, &items, &deletes, Order::Key, target)?;
                } else {
                    outcome.write(&pile, pile.items(), &deletes, Order::Hash, target)?;
                }
            }
            Balance::Rewrite { parts } => {
                match parts {
                    1 => core.storage.reach("rebalance: before a range is rewritten"),
                    _ => core.storage.reach("rebalance: before a range is partitioned"),
                }
                rewrite(core, std::slice::from_ref(range), pile, &deletes, parts, outcome)?;
            }
        }
    }
    Ok(())
}

/// Reads the victims; their versions by the range or the gap that each belongs to.
fn gather(
    core: &Core,
    ranges: &[Arc<Range>],
    victims: &[&Arc<LiveRun>],
    keys: Keys<'_>,
) -> Result<(Vec<Pile>, Vec<Pile>)> {
    let mut in_ranges: Vec<Pile> = ranges.iter().map(|_| Pile::default()).collect();
    let mut in_gaps: Vec<Pile> = (0..=ranges.len()).map(|_| Pile::default()).collect();
    for run in victims {
        core.storage.reach("compaction: before a victim is read");
        let mut reader = run.read_all(READ_AHEAD_BYTES);
        while let Some(entry) = reader.next()? {
            if keys.contains(entry.key) {
                match place(ranges, |range| &range.span, entry.key) {
                    Place::Range(range) => in_ranges[range].push(&entry),
                    Place::Gap(gap) => in_gaps[gap].push(&entry),
                }
            }
        }
    }
    Ok((in_ranges, in_gaps))
}

/// Writes `ranges`, which are neighbours, anew together with what `pile` adds to them.
fn rewrite(
    core: &Core,
    ranges: &[Arc<Range>],
    mut pile: Pile,
    added_deletes: &[RangeDelete],
    parts: usize,
    outcome: &mut Outcome,
) -> Result<()> {
    let mut deletes = added_deletes.to_vec();
    for range in ranges {
        outcome.ranges_dropped.push(range.span.low.clone());
        deletes.extend(range.runs.range_deletes().cloned());
        for run in range.runs.list() {
            core.storage.reach("rebalance: before a run is read");
            let mut reader = run.read_all(READ_AHEAD_BYTES);
            while let Some(entry) = reader.next()? {
                pile.push(&entry);
            }
        }
    }
    outcome.holds(&pile);
    let oldest = core.oldest_snapshot();
    pile.settle(Keep::new(oldest, &deletes, true));
    let first = outcome.targets.len();
    let order = if ranges.iter().any(|range| range.is_scanned()) { Order::Key } else { Order::Hash };
    write_parts(&pile, &deletes, oldest, parts, order, outcome)?;
    let scan_cost: u64 = ranges.iter().map(|range| range.scan_cost()).sum();
    let targets = &mut outcome.targets[first..];
    let parts = targets.len().max(1) as u64;
    for target in targets {
        target.is_rewritten = true;
        target.scan_cost = scan_cost / parts;
    }
    Ok(())
}

/// Writes a settled pile as `parts` new ranges. Deletes that every snapshot sees have done their work.
fn write_parts(
    pile: &Pile,
    deletes: &[RangeDelete],
    oldest: crate::Sequence,
    parts: usize,
    order: Order,
    outcome: &mut Outcome,
) -> Result<()> {
    for mut items in partition(pile, pile.items(), parts) {
        let Some(span) = pile.span(&items) else { continue };
        let live = |delete: &&RangeDelete| delete.sequence > oldest && reaches(delete, &span);
        let deletes: Vec<RangeDelete> = deletes.iter().filter(live).cloned().collect();
        if order == Order::Key {
            items = pile.sorted_by_key(&items);
        }
        let target = Target { span, kept: Range::no_runs(), is_rewritten: false, scan_cost: 0 };
        outcome.write(pile, &items, &deletes, order, target)?;
    }
    Ok(())
}

/// What becomes of a range now.
fn decide(core: &Core, load: Load) -> Balance {
    match balance(&core.options.plan, load) {
        Balance::Rewrite { .. } if core.pressure.postpones(&core.options.plan, load) => Balance::Append,
        decided => decided,
    }
}

/// How a range stands.
pub(super) fn load_of(range: &Range) -> Load {
    load(range, &Pile::default())
}

/// How a range stands with `pile` added to it.
fn load(range: &Range, pile: &Pile) -> Load {
    let bytes = range.runs.bytes() + pile.bytes();
    let entries = range.runs.entries() + pile.items().len() as u64;
    let superseding = pile.items().iter().filter(|item| range.runs.may_hold(item.hash)).count() as u64;
    let stale_entries = (range.runs.superseded_entries() + superseding).min(entries);
    let stale_bytes = (u128::from(bytes) * u128::from(stale_entries) / u128::from(entries.max(1))) as u64;
    Load { bytes, stale_bytes, runs: range.runs.list().len() + usize::from(!pile.is_empty()), dice: dice(range) }
}

/// A number that stays the same until the range is written anew.
fn dice(range: &Range) -> u64 {
    let at = range.runs.list().first().map(|run| run.at());
    at.map_or(0, |at| hash(&[at.file.to_le_bytes(), at.footer.offset.to_le_bytes()].concat()))
}

fn parts_for(core: &Core, bytes: u64) -> usize {
    match balance(&core.options.plan, Load { bytes, stale_bytes: 0, runs: usize::MAX, dice: 1 << 63 }) {
        Balance::Rewrite { parts } => parts,
        Balance::Append => 1,
    }
}

/// `span`, and what was added to it.
fn extended(span: &Span, added: Option<Span>) -> Span {
    match added {
        Some(added) => Span { low: added.low.min(span.low.clone()), high: added.high.max(span.high.clone()) },
        None => span.clone(),
    }
}

fn reaches(delete: &RangeDelete, span: &Span) -> bool {
    delete.low <= span.high && span.low < delete.high
}
