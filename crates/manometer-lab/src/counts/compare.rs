//! The kernel's counts beside those of the simulation.

use std::sync::Arc;
use std::time::Duration;

use manometer_cache::key_id::KeyId;
use manometer_cache::tier::device::{DeviceSettings, SsdSettings};
use manometer_cache::tier::workload::{BlockOperation, TraceRequest, TraceRequests, TraceSettings};
use manometer_cache::tier::{self, Arrangement, TierLoad, WriteMode};
use manometer_cache::{CacheError, CacheRequest, RequestSequence};
use manometer_measure::host::CacheCounters;
use manometer_measure::{ByteSize, Span};
use serde::Serialize;

use crate::LabError;
use crate::array::{ArrayCounters, CacheKind, bcache_data_bytes, cache_kind};
use crate::replay::BlockRequest;

/// The latency, the rate a second and the writes a second of a device that takes next to no time.
const INSTANT: Span = Span(Duration::from_micros(1));
const INSTANT_RATE: ByteSize = ByteSize(100_000_000_000);
const INSTANT_WRITES: u32 = 10_000_000;

/// Hits and misses of reads and writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct HitCounts {
    /// Reads of what is cached.
    pub read_hits: u64,
    /// Other reads.
    pub read_misses: u64,
    /// Writes of what is cached.
    pub write_hits: u64,
    /// Other writes.
    pub write_misses: u64,
}

/// The counts for one trace on one arrangement.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CountsComparison {
    /// The requests that were replayed.
    pub requests: u64,
    /// The reads among them.
    pub reads: u64,
    /// The requests whose hits the kernel counts: all, or of bcache the reads.
    pub counted: u64,
    /// The kernel's.
    pub kernel: CacheCounters,
    /// Those of the tier simulation.
    pub tier: HitCounts,
    /// Those of the policy alone, without bypass and other mechanisms.
    pub policy: HitCounts,
    /// Hits of the tier simulation less the kernel's, over the counted requests.
    pub tier_error: f64,
    /// Likewise of the policy.
    pub policy_error: f64,
}

/// Compares what a guest counted with the simulation of the same requests at the times at which they ended.
///
/// # Errors
/// The arrangement has no cache or cannot be simulated.
pub fn compare(
    arrangement: &Arrangement,
    requests: &[BlockRequest],
    times_ns: &[u64],
    counters: &ArrayCounters,
) -> Result<CountsComparison, LabError> {
    let kind = arrangement.cache.as_ref().map(cache_kind).transpose()?;
    let (Some(kind), Some(kernel)) = (kind, counters.cache) else {
        return Err(LabError::Refused("the arrangement has no `[cache]`: there is nothing to count".to_owned()));
    };
    let reads = requests.iter().filter(|request| !request.is_write).count() as u64;
    let counted = if kind == CacheKind::Bcache { reads } else { requests.len() as u64 };
    let refused = |error: CacheError| LabError::Refused(error.to_string());
    let mut arrangement = arrangement.clone();
    if let Some(cache) = arrangement.cache.as_mut().filter(|_| kind == CacheKind::Bcache) {
        cache.size = ByteSize(bcache_data_bytes(cache, cache.size.0));
    }
    let tier = tier_counts(&arrangement, requests, times_ns).map_err(refused)?;
    let policy = policy_counts(&arrangement, requests, times_ns);
    let hits = |counts: &HitCounts| match kind {
        CacheKind::Bcache => counts.read_hits,
        CacheKind::DmCache => counts.read_hits + counts.write_hits,
    };
    let kernel_hits = kernel.read_hits + kernel.write_hits.unwrap_or(0);
    let error = |counts: &HitCounts| (hits(counts) as f64 - kernel_hits as f64) / counted.max(1) as f64;
    Ok(CountsComparison {
        requests: requests.len() as u64,
        reads,
        counted,
        kernel,
        tier_error: error(&tier),
        policy_error: error(&policy),
        tier,
        policy,
    })
}

/// What the tier simulation counts, of requests at their times, from one sender.
fn tier_counts(
    arrangement: &Arrangement,
    requests: &[BlockRequest],
    times_ns: &[u64],
) -> Result<HitCounts, CacheError> {
    let request = |(request, time_ns): (&BlockRequest, &u64)| TraceRequest {
        time_ns: *time_ns,
        offset: request.offset,
        bytes: request.bytes,
        stream: 0,
        kind: if request.is_write { BlockOperation::Write } else { BlockOperation::Read },
    };
    let trace = TraceRequests {
        requests: requests.iter().zip(times_ns).map(request).collect(),
        bytes: requests.iter().map(|request| request.offset + u64::from(request.bytes)).max().unwrap_or(0),
        streams: 1,
        are_timed: true,
        ..TraceRequests::default()
    };
    let load = TierLoad::Trace(Arc::new(trace), TraceSettings { threads: None, is_direct: true });
    let run = tier::run_with_progress(&on_instant_devices(arrangement), &load, &mut |_| {})?;
    let counters = run.cache.unwrap_or_default();
    Ok(HitCounts {
        read_hits: counters.read_hits,
        read_misses: counters.reads - counters.read_hits,
        write_hits: counters.write_hits,
        write_misses: counters.writes - counters.write_hits,
    })
}

/// The arrangement on devices that take next to no time, as those of a guest, which the host's page cache serves.
fn on_instant_devices(arrangement: &Arrangement) -> Arrangement {
    let device = DeviceSettings::Ssd(SsdSettings {
        capacity: ByteSize(2 * arrangement.origin.size.0),
        channels: 64,
        read_latency: INSTANT,
        read_per_s: INSTANT_RATE,
        write_latency: INSTANT,
        write_per_s: INSTANT_RATE,
        writes_small_span: INSTANT_WRITES,
        writes_whole: INSTANT_WRITES,
        span_small: arrangement.origin.size,
        write_buffer: INSTANT,
        flush: INSTANT,
        read_behind_write: INSTANT,
        spare: 0.07,
        erase_cycles: None,
    });
    let mut instant = arrangement.clone();
    instant.devices = arrangement.devices.keys().map(|name| (name.clone(), device.clone())).collect();
    instant
}

/// What the policy counts at the same number of blocks.
fn policy_counts(arrangement: &Arrangement, requests: &[BlockRequest], times_ns: &[u64]) -> HitCounts {
    let mut counts = HitCounts::default();
    let Some(mut settings) = arrangement.cache.clone() else { return counts };
    settings.set_policy_sizes(arrangement.origin.size.0, settings.size.0);
    let (block, cache_bytes) = (settings.block.0, settings.size.0);
    let blocks = RequestSequence::for_blocks(arrangement.origin.size.0.div_ceil(block) as usize);
    let mut cache = settings.policy.create(cache_bytes / block, &blocks, false, arrangement.seed);
    for (position, (request, time_ns)) in requests.iter().zip(times_ns).enumerate() {
        let is_hit = cache.request(&CacheRequest {
            id: (request.offset / block) as KeyId,
            position: position as u32,
            size: 1,
            is_write: request.is_write,
            is_whole: u64::from(request.bytes) == block && settings.mode == WriteMode::WriteBack,
            time_ns: *time_ns,
        });
        let count = match (request.is_write, is_hit) {
            (false, true) => &mut counts.read_hits,
            (false, false) => &mut counts.read_misses,
            (true, true) => &mut counts.write_hits,
            (true, false) => &mut counts.write_misses,
        };
        *count += 1;
    }
    counts
}
