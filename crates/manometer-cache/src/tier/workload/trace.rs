//! The requests of a trace.

use std::collections::BTreeMap;
use std::sync::Arc;

use manometer_trace::{Operation, Record, TraceError, TraceReader};

use super::{Action, Program, Range, Step};
use crate::CacheError;
use crate::number::Numbers;
use crate::tier::pages::PAGE;

/// How a trace is replayed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TraceSettings {
    /// How many requests are under way at any time; without, they come at their own times.
    pub threads: Option<u32>,
    /// Whether requests go past the page cache.
    pub is_direct: bool,
}

/// A request of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceRequest {
    /// When it came, since the first one.
    pub time_ns: u64,
    /// Where it begins.
    pub offset: u64,
    /// How long it is.
    pub bytes: u32,
    /// What it does.
    pub kind: TraceKind,
}

/// What a request of a trace does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TraceKind {
    /// It reads.
    Read,
    /// It writes.
    Write,
    /// It drops.
    Discard,
}

/// The requests of a trace, and how much storage they are for.
#[derive(Debug, Default)]
pub struct TraceRequests {
    /// In the order of the trace.
    pub requests: Vec<TraceRequest>,
    /// Where the last of what they are for ends.
    pub bytes: u64,
    /// Whether each tells when it came.
    pub are_timed: bool,
    /// Why the trace was not read to its end.
    pub damage: Option<TraceError>,
}

/// Stretches of a device that no request touches are left out in units of this.
const REGION: u64 = 1 << 20;

/// Reads a trace. Requests to devices lie in the order of their addresses, without the MiBs that none touches; objects
/// lie one after the other in the order in which they are first asked for, with the room that they take then.
///
/// # Errors
/// The trace has more keys than can be numbered, or both kinds of requests.
pub fn read(reader: &mut dyn TraceReader, object_size: u64) -> Result<TraceRequests, CacheError> {
    let mut objects = Objects::default();
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
            let bytes = record.value_size.unwrap_or(object_size).clamp(1, BYTES_MAX) as u32;
            let device = record.offset.map(|_| record.device);
            let (offset, bytes) = match record.offset {
                Some(offset) => {
                    let offset = offset.min(u64::MAX - BYTES_MAX);
                    let touched = offset / REGION..=(offset + u64::from(bytes) - 1) / REGION;
                    regions.extend(touched.map(|region| ((record.device, region), 0)));
                    (offset, bytes)
                }
                None => objects.place(record, bytes)?,
            };
            devices.push(device);
            trace.requests.push(TraceRequest { time_ns, offset, bytes, kind: kind(record.operation) });
        }
    }
    let mut end = 0;
    for place in regions.values_mut() {
        *place = end;
        end += REGION;
    }
    if end > 0 && objects.end > 0 {
        return Err(CacheError::Wrong(
            "the trace asks for objects and for stretches of devices: take one of them".to_owned(),
        ));
    }
    for (request, device) in trace.requests.iter_mut().zip(devices) {
        let Some(device) = device else { continue };
        let place = regions.get(&(device, request.offset / REGION)).copied().unwrap_or(0);
        request.offset = place + request.offset % REGION;
    }
    trace.bytes = end + objects.end;
    Ok(trace)
}

/// The longest request.
const BYTES_MAX: u64 = 1 << 30;

fn kind(operation: Operation) -> TraceKind {
    match operation {
        Operation::Delete | Operation::Discard => TraceKind::Discard,
        stores if stores.stores() => TraceKind::Write,
        _ => TraceKind::Read,
    }
}

/// Where objects lie.
#[derive(Debug, Default)]
struct Objects {
    numbers: Numbers,
    ids: Vec<u32>,
    /// Where each lies, and how much room it has.
    places: Vec<(u64, u32)>,
    end: u64,
}

impl Objects {
    fn place(&mut self, record: &Record, bytes: u32) -> Result<(u64, u32), CacheError> {
        if !self.numbers.number(std::iter::once(record.key), &mut self.ids) {
            return Err(crate::requests::too_many_keys());
        }
        let id = self.ids.pop().unwrap_or(0) as usize;
        if id == self.places.len() {
            let room = bytes.next_multiple_of(PAGE as u32);
            self.places.push((self.end, room));
            self.end += u64::from(room);
        }
        let (offset, room) = self.places[id];
        Ok((offset, bytes.min(room)))
    }
}

/// A trace that is replayed.
#[derive(Debug)]
pub struct Replay {
    trace: Arc<TraceRequests>,
    settings: TraceSettings,
    next: usize,
    /// The request that each thread waits to send.
    waiting: Vec<Option<TraceRequest>>,
}

/// Requests that are under way at once at most where they come at their own times.
const OPEN_THREADS: u32 = 1024;

impl Replay {
    /// Replays requests.
    pub fn new(trace: Arc<TraceRequests>, settings: TraceSettings) -> Self {
        let threads = settings.threads.unwrap_or(OPEN_THREADS).max(1);
        Self { trace, settings, next: 0, waiting: vec![None; threads as usize] }
    }
}

impl Program for Replay {
    fn threads(&self) -> u32 {
        self.waiting.len() as u32
    }

    fn next(&mut self, thread: u32) -> Step {
        if let Some(request) = self.waiting[thread as usize].take() {
            return Step::plain(self.action(&request));
        }
        let Some(request) = self.trace.requests.get(self.next).copied() else { return Step::plain(Action::End) };
        self.next += 1;
        if self.settings.threads.is_some() {
            return Step::plain(self.action(&request));
        }
        self.waiting[thread as usize] = Some(request);
        Step::plain(Action::WaitUntil(request.time_ns))
    }
}

impl Replay {
    fn action(&self, request: &TraceRequest) -> Action {
        let range =
            Range { is_direct: self.settings.is_direct, ..Range::new(request.offset, u64::from(request.bytes)) };
        match request.kind {
            TraceKind::Read => Action::Read(range),
            TraceKind::Write => Action::Write(range),
            TraceKind::Discard => Action::Forget(range),
        }
    }
}
