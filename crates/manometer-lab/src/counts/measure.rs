//! Runs a trace on an array in a guest, and compares the counts.

use std::collections::BTreeSet;
use std::fs;
use std::sync::atomic::AtomicBool;

use manometer_cache::tier::workload::TraceRequests;

use super::compare::{CountsComparison, compare};
use crate::array;
use crate::guest::{GuestMachine, GuestTask, TaskOutcome};
use crate::replay::{BlockRequest, requests};
use crate::{ArrangementChoice, LabError};

/// Sizes of devices are multiples of this.
const ALIGNMENT_BYTES: u64 = 1 << 20;

/// The simulation takes no smaller caches.
const BLOCKS_MIN: f64 = 4.0;

/// The requests of `trace` as one array of `choice` gets them, and the sizes of the array for a cache of `cache_share` of
/// the storage that they touch.
///
/// # Errors
/// The arrangement is wrong or has no cache.
pub fn prepare(
    choice: &ArrangementChoice,
    trace: &TraceRequests,
    cache_share: f64,
) -> Result<(ArrangementChoice, Vec<BlockRequest>), LabError> {
    let arrangement = choice.load()?;
    let Some(cache) = &arrangement.cache else {
        return Err(LabError::Refused(format!("{}: there is no `[cache]` to count hits of", choice.file.display())));
    };
    let block = cache.block.0;
    array::cache_kind(cache)?;
    if cache.policy.kind().name == "dm-cache-mq" {
        return Err(LabError::Refused(format!(
            "{}: `cache.policy` is `dm-cache-mq`, which the guest's kernel does not have: compare `dm-cache-smq`",
            choice.file.display()
        )));
    }
    let requests = requests::cut(&trace.requests, block);
    if requests.is_empty() {
        return Err(LabError::Refused("the trace has no reads or writes to replay".to_owned()));
    }
    let touched: BTreeSet<u64> = requests.iter().map(|request| request.offset / block).collect();
    if (touched.len() as f64 * cache_share) < BLOCKS_MIN {
        return Err(LabError::Refused(format!(
            "a cache of {:.3} % of the {} blocks of {block} bytes that the trace touches has fewer than {BLOCKS_MIN} blocks",
            100.0 * cache_share,
            touched.len()
        )));
    }
    let unit = cache.bucket.map_or(block, |bucket| bucket.0);
    let cache_bytes = (touched.len() as f64 * block as f64 * cache_share / unit as f64) as u64 * unit;
    let origin_bytes = (trace.bytes + block).next_multiple_of(ALIGNMENT_BYTES.max(block));
    let sized = ArrangementChoice { sizes: Some((origin_bytes, cache_bytes.max(1))), ..choice.clone() };
    let share = |error: LabError| {
        LabError::Refused(format!("a cache of {:.3} % of what the trace touches: {error}", 100.0 * cache_share))
    };
    sized.load().and_then(|arrangement| array::check(&arrangement)).map_err(share)?;
    Ok((sized, requests))
}

/// Replays `requests` in a guest on an array of `choice`. Returns the guest's kernel and the comparison.
///
/// # Errors
/// The guest failed, or the arrangement cannot be simulated.
pub fn measure(
    machine: &GuestMachine,
    choice: &ArrangementChoice,
    requests: &[BlockRequest],
    interrupted: &AtomicBool,
) -> Result<(String, CountsComparison), LabError> {
    let arrangement = choice.load()?;
    let (path, times) = (machine.shared("requests"), machine.shared("times"));
    requests::write(&path, requests)?;
    let task = GuestTask::Replay { array: choice.clone(), requests: path, times: times.clone() };
    let result = machine.run(&task, &array::device_sizes(&arrangement)?, interrupted)?;
    let TaskOutcome::Counters(counters) = &result.outcome else { return Err(LabError::unexpected(&result.outcome)) };
    let bytes = fs::read(&times).map_err(LabError::at(&times))?;
    let times: Vec<u64> = bytes.as_chunks().0.iter().map(|time| u64::from_le_bytes(*time)).collect();
    if times.len() != requests.len() {
        return Err(LabError::Guest(format!("{} of {} requests were replayed", times.len(), requests.len())));
    }
    let comparison = compare(&arrangement, requests, &times, counters)?;
    Ok((result.kernel, comparison))
}
