//! Runs the simulation of an arrangement.

use std::sync::Arc;

use manometer_measure::{LatencyHistogram, Span};
use serde::Serialize;

use super::block_requests::BlockRequests;
use super::device::DeviceCounters;
use super::events::Ns;
use super::flows::Flows;
use super::host::{Host, HostCounters};
use super::io::{IoRequest, TierLevel};
use super::second_level::{SecondLevelCache, SecondLevelCounters};
use super::series::{IntervalCounts, SeriesRecorder, TierInterval};
use super::settings::Arrangement;
use super::storage::TierStorage;
use super::wakeup::Wakeup;
use super::workload::{
    IoRange, StepAction, StepGenerator, TierWorkloadKind, TierWorkloadSettings, TraceReplay, TraceRequests,
    TraceSettings, WorkloadStep,
};
use crate::CacheError;
use crate::requests::RequestSequence;

/// The load on an arrangement.
#[derive(Debug, Clone)]
pub enum TierLoad {
    /// One of its workloads.
    Workload(TierWorkloadSettings),
    /// A trace.
    Trace(Arc<TraceRequests>, TraceSettings),
}

/// The result of an arrangement over the measured time.
#[derive(Debug, Clone, Serialize)]
pub struct TierResult {
    /// Throughput of reads and writes in 10^6 bytes per second.
    pub mb_per_s: f64,
    /// Operations per second.
    pub requests_per_s: f64,
    /// The number of operations.
    pub requests: u64,
    /// The number of operations including the warm-up.
    pub simulated: u64,
    /// The simulated time.
    pub seconds: f64,
    /// Mean latency of operations; for a trace at its own times the mean response time, from when they were due.
    pub latency_mean_us: f64,
    /// The 99th percentile of the latency.
    pub latency_p99_us: f64,
    /// The share of pages read that were found in memory.
    pub ram_hit_ratio: Option<f64>,
    /// The read hit ratio of the second-level cache, in blocks.
    pub read_hit_ratio: Option<f64>,
    /// The hit ratio of the second-level cache, in blocks read and written.
    pub hit_ratio: Option<f64>,
    /// Blocks that bypassed the second-level cache, because requests were sequential or it was congested; `None`
    /// without one.
    pub bypassed: Option<u64>,
    /// The flows between the levels.
    pub flows: Flows,
    /// The mean share of time in which the origin's devices are busy.
    pub origin_busy: f64,
    /// The mean share of time in which the cache's devices are busy.
    pub cache_busy: Option<f64>,
    /// Bytes written to flash, including garbage collection; `None` without an SSD.
    pub ssd_bytes_written: Option<u64>,
    /// Bytes written to flash divided by bytes written to SSDs; `None` if none were written.
    pub write_amplification: Option<f64>,
    /// The share of the SSDs' erase cycles used up in the whole run.
    pub wear: Option<f64>,
}

/// A simulation: its result and its course.
#[derive(Debug, Clone)]
pub struct TierRun {
    /// The result, over the measured time.
    pub result: TierResult,
    /// The course, the warm-up included.
    pub series: Vec<TierInterval>,
    /// The requests that the host sent to the devices in the measured time.
    pub block_requests: BlockRequests,
    /// The counters of the second-level cache over the whole run, where there is one.
    pub cache: Option<SecondLevelCounters>,
}

/// Runs the simulation of an arrangement.
///
/// # Errors
/// The workload does not fit it.
pub fn run(arrangement: &Arrangement, load: &TierLoad) -> Result<TierResult, CacheError> {
    Ok(run_with_progress(arrangement, load, &mut |_| {})?.result)
}

/// Runs the simulation of an arrangement, and reports the progress at intervals.
///
/// # Errors
/// The workload does not fit it.
pub fn run_with_progress(
    arrangement: &Arrangement,
    load: &TierLoad,
    report_progress: &mut dyn FnMut(f64),
) -> Result<TierRun, CacheError> {
    let scale = arrangement.scale;
    let bytes = arrangement.origin.size.0 / scale;
    let mut arrangement = arrangement.clone();
    if let Some(cache) = &mut arrangement.cache {
        cache.set_policy_sizes(bytes, cache.size.0 / scale);
    }
    let mut storage = TierStorage::new(arrangement.host.controller_cache.0 / scale);
    storage.add(&arrangement.devices[&arrangement.origin.device], arrangement.origin.array(), scale);
    let block = arrangement.cache.as_ref().map_or(1, |cache| cache.block.0);
    let blocks = RequestSequence::for_blocks(bytes.div_ceil(block) as usize * usize::from(arrangement.cache.is_some()));
    let mut ram = arrangement.host.ram.0 / scale;
    let mut second = None;
    if let Some(cache) = &arrangement.cache {
        storage.add(&arrangement.devices[&cache.device], cache.array(), scale);
        let size = cache.size.0 / scale;
        ram = ram.saturating_sub((size as f64 * cache.memory_per_byte) as u64);
        second = Some(SecondLevelCache::new(cache, size, &blocks, scale, arrangement.seed)?);
    }
    let host = Host::new(&arrangement.host, storage, second, bytes, ram, scale);
    let (program, warmup, until): (Box<dyn StepGenerator>, Ns, Ns) = match load {
        TierLoad::Workload(workload) => {
            let warmup = workload.warmup.nanoseconds() / scale;
            let ends = matches!(&workload.kind, TierWorkloadKind::Random(random) if random.loops.is_some());
            if workload.duration.is_none() && !ends {
                let text = "the workload never ends: give it a `duration`, or a `random` one `loops`";
                return Err(CacheError::Invalid(text.to_owned()));
            }
            let ends_after = |duration: Span| warmup.saturating_add(duration.nanoseconds() / scale);
            let until = workload.duration.map_or(Ns::MAX, ends_after);
            (workload.kind.program(&host, scale, arrangement.seed)?, warmup, until)
        }
        TierLoad::Trace(trace, settings) => {
            if settings.is_open() && !trace.are_timed {
                let text = "the trace has no times: set how many requests are in flight at any time";
                return Err(CacheError::Invalid(text.to_owned()));
            }
            if trace.bytes > host.bytes() {
                return Err(CacheError::Invalid(format!(
                    "the trace is for {} bytes, and the origin has {}",
                    trace.bytes,
                    host.bytes()
                )));
            }
            (Box::new(TraceReplay::new(Arc::clone(trace), *settings)), 0, Ns::MAX)
        }
    };
    let mut run = TierSimulation::new(host, program);
    let mut series = SeriesRecorder::new(until);
    run.go(warmup, until, &mut series, report_progress);
    if run.requests == 0 {
        let text = "the workload ended before anything was measured: make its `warmup` shorter or the workload longer";
        return Err(CacheError::Invalid(text.to_owned()));
    }
    let end = run.host.storage.now().min(until);
    let series = series.finish(end, warmup, &run.counts());
    let cache = run.host.second.as_ref().map(SecondLevelCache::counters);
    Ok(TierRun { result: run.outcome(until), series, cache, block_requests: run.host.block_requests })
}

/// Wakeups between two progress reports.
const WAKES_PER_PROGRESS_REPORT: u64 = 1 << 14;

/// The state of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ThreadState {
    /// It performs a step.
    Step,
    /// Its write is throttled.
    Throttled,
    /// It waits for other threads, or for a time.
    Waiting,
    /// It has ended.
    Ended,
}

#[derive(Debug, Clone, Copy)]
struct SimulatedThread {
    phase: ThreadState,
    since: Ns,
    /// When the CPU work of its step ends.
    computed: Ns,
    bytes: u64,
    is_buffered_write: bool,
    counts: bool,
}

/// The counters at a point in time.
#[derive(Debug, Clone, Default)]
struct CounterSnapshot {
    at: Ns,
    host: HostCounters,
    second: SecondLevelCounters,
    flows: Flows,
    origin: Vec<DeviceCounters>,
    cache: Vec<DeviceCounters>,
}

struct TierSimulation<'a> {
    host: Host<'a>,
    program: Box<dyn StepGenerator>,
    threads: Vec<SimulatedThread>,
    /// Where the last read of each stream ended.
    read_to: Vec<u64>,
    running: usize,
    ready: Vec<u32>,
    requests: u64,
    simulated: u64,
    bytes: u64,
    latencies: LatencyHistogram,
    /// Operations, their bytes and latencies, including the warm-up.
    all: IntervalCounts,
    measured_from: CounterSnapshot,
    is_measuring: bool,
}

impl<'a> TierSimulation<'a> {
    fn new(host: Host<'a>, program: Box<dyn StepGenerator>) -> Self {
        let thread = SimulatedThread {
            phase: ThreadState::Step,
            since: 0,
            computed: 0,
            bytes: 0,
            is_buffered_write: false,
            counts: false,
        };
        let threads = vec![thread; program.threads() as usize];
        Self {
            host,
            read_to: vec![u64::MAX; program.streams() as usize],
            program,
            running: threads.len(),
            threads,
            ready: Vec::new(),
            requests: 0,
            simulated: 0,
            bytes: 0,
            latencies: LatencyHistogram::new(),
            all: IntervalCounts::default(),
            measured_from: CounterSnapshot::default(),
            is_measuring: false,
        }
    }

    fn go(&mut self, warmup: Ns, until: Ns, series: &mut SeriesRecorder, report_progress: &mut dyn FnMut(f64)) {
        if warmup == 0 {
            self.is_measuring = true;
            self.program.measured();
        }
        for thread in 0..self.threads.len() as u32 {
            self.begin(thread);
        }
        let mut wakes = 0_u64;
        while self.running > 0 {
            let Some(wake) = self.host.storage.next() else { break };
            let now = self.host.storage.now();
            wakes += 1;
            if wakes.is_multiple_of(WAKES_PER_PROGRESS_REPORT) {
                report_progress(if until == Ns::MAX { self.program.progress() } else { now as f64 / until as f64 });
            }
            if now >= until {
                break;
            }
            if series.is_due(now) {
                series.advance(now, &self.counts());
            }
            if !self.is_measuring && now >= warmup {
                self.is_measuring = true;
                self.measured_from = self.marks();
                self.host.block_requests = BlockRequests::default();
                self.program.measured();
            }
            self.host.wake(wake, &mut self.ready);
            while let Some(thread) = self.ready.pop() {
                self.go_on(thread);
            }
        }
    }

    fn go_on(&mut self, thread: u32) {
        let now = self.host.storage.now();
        let SimulatedThread { phase, computed, is_buffered_write, counts, since, bytes, .. } =
            self.threads[thread as usize];
        match phase {
            ThreadState::Ended => return,
            ThreadState::Waiting => return self.begin(thread),
            ThreadState::Step if now < computed => return self.host.storage.wake_at(computed, Wakeup::Thread(thread)),
            ThreadState::Step if is_buffered_write && self.host.throttle(thread) => {
                self.threads[thread as usize].phase = ThreadState::Throttled;
                return;
            }
            ThreadState::Step | ThreadState::Throttled => {}
        }
        self.simulated += u64::from(counts);
        if counts {
            self.all.requests += 1;
            self.all.bytes += bytes;
            self.all.latency_ns += now - since;
        }
        if self.is_measuring && counts {
            self.requests += 1;
            self.bytes += bytes;
            self.latencies.record(now - since);
        }
        let mut released = Vec::new();
        self.program.done(thread, &mut released);
        self.begin(thread);
        for thread in released {
            self.begin(thread);
        }
    }

    fn begin(&mut self, thread: u32) {
        let step = self.program.next(thread);
        let now = self.host.storage.now();
        let state = &mut self.threads[thread as usize];
        *state = SimulatedThread {
            phase: ThreadState::Step,
            since: step.due_ns.unwrap_or(now),
            bytes: requested_bytes(&step.action),
            is_buffered_write: matches!(&step.action, StepAction::Write(range) if !range.is_direct),
            counts: true,
            ..*state
        };
        match step.action {
            StepAction::End => {
                state.phase = ThreadState::Ended;
                self.running -= 1;
                return;
            }
            StepAction::Wait => {
                state.phase = ThreadState::Waiting;
                return;
            }
            StepAction::WaitUntil(at) => {
                state.phase = ThreadState::Waiting;
                return self.host.storage.wake_at(at, Wakeup::Thread(thread));
            }
            _ => {}
        }
        let bytes = state.bytes;
        self.threads[thread as usize].computed = self.host.compute(bytes, step.think_ns);
        self.act(thread, step);
    }

    fn act(&mut self, thread: u32, step: WorkloadStep) {
        let host = &mut self.host;
        let stream = step.stream.unwrap_or(thread);
        let waiter = if matches!(step.action, StepAction::Sync(_)) {
            Wakeup::DataSynced(thread)
        } else {
            Wakeup::Thread(thread)
        };
        let job = host.storage.open(waiter);
        for page in step.metadata.into_iter().flatten() {
            host.change_metadata(job, stream, page);
        }
        match step.action {
            StepAction::Read(range) if range.is_direct => host.submit(job, &io_request(stream, &range, false)),
            StepAction::Read(IoRange { offset, bytes, .. }) => {
                let reads_on = std::mem::replace(&mut self.read_to[stream as usize], offset + bytes) == offset;
                host.read(job, stream, offset, bytes, reads_on);
            }
            StepAction::Look(offset) => host.read(job, stream, offset, 1, false),
            StepAction::Write(range) if range.is_direct => host.submit(job, &io_request(stream, &range, true)),
            StepAction::Write(IoRange { offset, bytes, .. }) => host.change(offset, bytes),
            StepAction::Batch(ranges) => {
                ranges.iter().for_each(|range| host.submit(job, &io_request(stream, range, true)));
                host.flush_media(job);
            }
            StepAction::Sync(IoRange { offset, bytes, .. }) => host.write_back(job, stream, offset, bytes),
            StepAction::Discard(IoRange { offset, bytes, .. }) => host.discard(offset, bytes),
            StepAction::Change | StepAction::Wait | StepAction::WaitUntil(_) | StepAction::End => {}
        }
        host.storage.close(job);
    }

    /// The counts since the begin.
    fn counts(&self) -> IntervalCounts {
        let host = self.host.counters();
        let second = self.host.second.as_ref().map(SecondLevelCache::counters).unwrap_or_default();
        IntervalCounts {
            ram_reads: host.reads,
            ram_read_hits: host.read_hits,
            cache_requests: second.reads + second.writes,
            cache_hits: second.read_hits + second.write_hits,
            flows: *self.host.storage.flows(),
            ..self.all
        }
    }

    fn marks(&self) -> CounterSnapshot {
        CounterSnapshot {
            at: self.host.storage.now(),
            host: self.host.counters(),
            second: self.host.second.as_ref().map(SecondLevelCache::counters).unwrap_or_default(),
            flows: *self.host.storage.flows(),
            origin: self.host.storage.device_counters(TierLevel::Origin),
            cache: self.host.storage.device_counters(TierLevel::Cache),
        }
    }

    fn outcome(&self, until: Ns) -> TierResult {
        let (from, to) = (&self.measured_from, self.marks());
        let ns = to.at.min(until).saturating_sub(from.at).max(1) as f64;
        let second = to.second.since(&from.second);
        let ratio = |hits: u64, requests: u64| (requests > 0).then(|| hits as f64 / requests as f64);
        let wear: Vec<_> = [TierLevel::Origin, TierLevel::Cache].map(|level| self.host.storage.wear(level)).concat();
        let levels = [(&from.origin, &to.origin), (&from.cache, &to.cache)];
        let since =
            |bytes: fn(&DeviceCounters) -> u64| levels.iter().map(|(from, to)| added(from, to, bytes)).sum::<u64>();
        let (host, flash) = (since(|device| device.host_bytes), since(|device| device.flash_bytes));
        let mean = |values: Vec<f64>| (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64);
        TierResult {
            mb_per_s: self.bytes as f64 / ns * 1e3,
            requests_per_s: self.requests as f64 / ns * 1e9,
            requests: self.requests,
            simulated: self.simulated,
            seconds: ns / 1e9,
            latency_mean_us: self.latencies.mean_ns().unwrap_or(0.0) / 1e3,
            latency_p99_us: self.latencies.quantile_ns(0.99).unwrap_or(0) as f64 / 1e3,
            ram_hit_ratio: ratio(to.host.read_hits - from.host.read_hits, to.host.reads - from.host.reads),
            read_hit_ratio: ratio(second.read_hits, second.reads),
            hit_ratio: ratio(second.read_hits + second.write_hits, second.reads + second.writes),
            bypassed: self.host.second.is_some().then_some(second.bypassed),
            flows: to.flows.since(&from.flows),
            origin_busy: busy(&from.origin, &to.origin, ns).unwrap_or(0.0),
            cache_busy: busy(&from.cache, &to.cache, ns),
            ssd_bytes_written: (!wear.is_empty()).then_some(flash),
            write_amplification: ratio(flash, host),
            wear: mean(wear.iter().filter_map(|wear| wear.used).collect()),
        }
    }
}

/// The growth of a counter of a level's devices since a snapshot, which may precede the devices.
fn added(from: &[DeviceCounters], to: &[DeviceCounters], count: fn(&DeviceCounters) -> u64) -> u64 {
    to.iter().map(count).sum::<u64>() - from.iter().map(count).sum::<u64>()
}

fn busy(from: &[DeviceCounters], to: &[DeviceCounters], ns: f64) -> Option<f64> {
    let sum = added(from, to, |device| device.busy_ns);
    (!to.is_empty()).then(|| (sum as f64 / to.len() as f64 / ns).min(1.0))
}

fn io_request(task: u32, range: &IoRange, is_write: bool) -> IoRequest {
    IoRequest { offset: range.offset, bytes: range.bytes, is_write, is_through: range.is_through, task }
}

/// The bytes that an action requests.
fn requested_bytes(action: &StepAction) -> u64 {
    match action {
        StepAction::Read(range) | StepAction::Write(range) => range.requested_bytes,
        StepAction::Batch(ranges) => ranges.iter().map(|range| range.requested_bytes).sum(),
        _ => 0,
    }
}
