//! Replays a trace in the simulation.

use std::collections::BTreeMap;
use std::sync::Arc;

use manometer_trace::{Record, TraceError, TraceOperation, TraceReader};

use super::streams::StreamDetector;
use super::{IoRange, StepAction, StepGenerator, WorkloadStep};
use crate::CacheError;
use crate::key_id::KeyIdTable;
use crate::tier::page_cache::PAGE;

/// How a trace is replayed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TraceSettings {
    /// The number of requests in flight; without it, requests are sent at their own times.
    pub threads: Option<u32>,
    /// Whether requests bypass the page cache.
    pub is_direct: bool,
}

impl TraceSettings {
    /// Whether requests are sent at their own times, in an open loop.
    pub fn is_open(&self) -> bool {
        self.threads.is_none()
    }
}

/// A request of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceRequest {
    /// Its time since the first request, in nanoseconds.
    pub time_ns: u64,
    /// The start address.
    pub offset: u64,
    /// The length.
    pub bytes: u32,
    /// The sequential stream of the request, independent of its sender.
    pub stream: u32,
    /// The operation.
    pub kind: BlockOperation,
}

/// The operation of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockOperation {
    /// A read.
    Read,
    /// A write.
    Write,
    /// A discard: of an object with all its room.
    Discard,
}

/// The requests of a trace, and the storage that they touch.
#[derive(Debug, Default)]
pub struct TraceRequests {
    /// The requests in order.
    pub requests: Vec<TraceRequest>,
    /// The end of the touched storage.
    pub bytes: u64,
    /// The number of streams.
    pub streams: u32,
    /// Whether every request has a time.
    pub are_timed: bool,
    /// Requests truncated to 1 GiB.
    pub too_long: u64,
    /// Requests for objects that have outgrown their first size, truncated to it.
    pub outgrown: u64,
    /// The damage that ended the trace, if any.
    pub damage: Option<TraceError>,
}

/// The unit in bytes by which untouched ranges of a device are left out.
const REGION: u64 = 1 << 20;

/// Reads a trace. Block requests keep their address order, without the MiBs that none touches. Objects are laid out in
/// order of their first request, with the size that they have then.
///
/// # Errors
/// The trace has too many keys, or both kinds of requests.
pub fn read(reader: &mut dyn TraceReader, object_size: u64) -> Result<TraceRequests, CacheError> {
    let mut objects = ObjectLayout::default();
    let mut streams = StreamDetector::default();
    let mut regions = BTreeMap::new();
    let mut trace = TraceRequests { are_timed: true, ..TraceRequests::default() };
    let mut devices = Vec::new();
    let mut batch = Vec::new();
    let mut first = None;
    loop {
        match reader.read(&mut batch) {
            Ok(0) => break,
            Ok(_) => {}
            Err(damage) => {
                trace.damage = Some(damage);
                break;
            }
        }
        for record in &batch {
            trace.are_timed &= record.time_ns.is_some();
            let first = *first.get_or_insert(record.time_ns.unwrap_or(0));
            let time_ns = record.time_ns.unwrap_or(0).saturating_sub(first);
            let size = record.value_size.unwrap_or(object_size);
            let bytes = size.clamp(1, BYTES_MAX) as u32;
            trace.too_long += u64::from(size > BYTES_MAX);
            let device = record.offset.map(|_| record.device);
            let (offset, bytes, stream) = match record.offset {
                Some(offset) => {
                    let offset = offset.min(u64::MAX - BYTES_MAX);
                    let touched = offset / REGION..=(offset + u64::from(bytes) - 1) / REGION;
                    regions.extend(touched.map(|region| ((record.device, region), 0)));
                    (offset, bytes, streams.of(record.client, record.device, offset, u64::from(bytes)))
                }
                None => {
                    let (id, offset, room) = objects.place(record, bytes)?;
                    let is_dropped = kind(record.operation) == BlockOperation::Discard;
                    trace.outgrown += u64::from(bytes > room && !is_dropped);
                    (offset, if is_dropped { room } else { bytes.min(room) }, streams.of_object(id))
                }
            };
            devices.push(device);
            trace.requests.push(TraceRequest { time_ns, offset, bytes, stream, kind: kind(record.operation) });
        }
    }
    let mut end = 0;
    for place in regions.values_mut() {
        *place = end;
        end += REGION;
    }
    if end > 0 && objects.end > 0 {
        return Err(CacheError::Invalid(
            "the trace mixes requests for objects with requests to devices: take one of them".to_owned(),
        ));
    }
    for (request, device) in trace.requests.iter_mut().zip(devices) {
        let Some(device) = device else { continue };
        let place = regions.get(&(device, request.offset / REGION)).copied().unwrap_or(0);
        request.offset = place + request.offset % REGION;
    }
    trace.bytes = end + objects.end;
    trace.streams = streams.count();
    Ok(trace)
}

/// The longest request in bytes; longer ones are truncated.
const BYTES_MAX: u64 = 1 << 30;

fn kind(operation: TraceOperation) -> BlockOperation {
    match operation {
        TraceOperation::Delete | TraceOperation::Discard => BlockOperation::Discard,
        stores if stores.stores() => BlockOperation::Write,
        _ => BlockOperation::Read,
    }
}

/// The layout of objects.
#[derive(Debug, Default)]
struct ObjectLayout {
    key_ids: KeyIdTable,
    ids: Vec<u32>,
    /// The address and size of each object.
    places: Vec<(u64, u32)>,
    end: u64,
}

impl ObjectLayout {
    /// The object's ID, address and size, which is that of its first request.
    fn place(&mut self, record: &Record, bytes: u32) -> Result<(u32, u64, u32), CacheError> {
        if !self.key_ids.assign(std::iter::once(record.key), &mut self.ids) {
            return Err(crate::requests::too_many_keys());
        }
        let id = self.ids.pop().unwrap_or(0);
        if id as usize == self.places.len() {
            let room = bytes.next_multiple_of(PAGE as u32);
            self.places.push((self.end, room));
            self.end += u64::from(room);
        }
        let (offset, room) = self.places[id as usize];
        Ok((id, offset, room))
    }
}

/// Replays a trace.
#[derive(Debug)]
pub struct TraceReplay {
    trace: Arc<TraceRequests>,
    settings: TraceSettings,
    next: usize,
    /// The request that each thread waits to send.
    waiting: Vec<Option<TraceRequest>>,
}

/// The most requests in flight in an open loop.
const OPEN_THREADS: u32 = 1024;

impl TraceReplay {
    /// Replays `trace`.
    pub fn new(trace: Arc<TraceRequests>, settings: TraceSettings) -> Self {
        let threads = settings.threads.unwrap_or(OPEN_THREADS).max(1);
        Self { trace, settings, next: 0, waiting: vec![None; threads as usize] }
    }
}

impl StepGenerator for TraceReplay {
    fn threads(&self) -> u32 {
        self.waiting.len() as u32
    }

    fn progress(&self) -> f64 {
        self.next as f64 / self.trace.requests.len().max(1) as f64
    }

    fn streams(&self) -> u32 {
        self.trace.streams
    }

    fn next(&mut self, thread: u32) -> WorkloadStep {
        if let Some(request) = self.waiting[thread as usize].take() {
            return self.step(&request);
        }
        let Some(request) = self.trace.requests.get(self.next).copied() else {
            return WorkloadStep::plain(StepAction::End);
        };
        self.next += 1;
        if !self.settings.is_open() {
            return self.step(&request);
        }
        self.waiting[thread as usize] = Some(request);
        WorkloadStep::plain(StepAction::WaitUntil(request.time_ns))
    }
}

impl TraceReplay {
    fn step(&self, request: &TraceRequest) -> WorkloadStep {
        let range =
            IoRange { is_direct: self.settings.is_direct, ..IoRange::new(request.offset, u64::from(request.bytes)) };
        let action = match request.kind {
            BlockOperation::Read => StepAction::Read(range),
            BlockOperation::Write => StepAction::Write(range),
            BlockOperation::Discard => StepAction::Discard(range),
        };
        let due_ns = self.settings.is_open().then_some(request.time_ns);
        WorkloadStep { stream: Some(request.stream), due_ns, ..WorkloadStep::plain(action) }
    }
}
