//! A model of a hard disk: an arm over rotating platters, a command queue that serves the nearest request, and a write
//! cache.
//!
//! The rotational position is part of the model, which thus determines the nearest request of the queue and the cost of
//! sequential and random requests. The disk of the cache thesis: section 6.1.

use std::collections::VecDeque;

use manometer_measure::{ByteSize, Span};
use serde::Deserialize;

use super::extents::Extents;
use super::{DeviceCounters, DeviceRequest};
use crate::tier::events::Ns;
use crate::tier::jobs::JobId;

/// The settings of a hard disk.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DiskSettings {
    /// The capacity.
    pub capacity: ByteSize,
    /// Rotations per minute.
    pub rpm: u32,
    /// The transfer rate of the outermost zone, per second.
    pub outer_per_s: ByteSize,
    /// The transfer rate of the innermost zone, per second.
    pub inner_per_s: ByteSize,
    /// The number of zones.
    #[serde(default = "zones")]
    pub zones: u32,
    /// The shortest seek time.
    pub seek_min: Span,
    /// The mean seek time of random seeks over the whole disk.
    pub seek_mean: Span,
    /// The exponent of the distance in the seek time: 0.5 for an arm that accelerates half of the way and brakes the
    /// other.
    #[serde(default = "seek_exponent")]
    pub seek_exponent: f64,
    /// The queue depth among which the nearest request is chosen (NCQ).
    #[serde(default = "queue")]
    pub queue: usize,
    /// The size of the write cache.
    pub write_cache: ByteSize,
    /// Whether a flush empties the write cache; not needed if a controller protects it against power loss.
    #[serde(default = "default_true")]
    pub flushes: bool,
    /// The transfer rate of the interface, per second.
    pub interface_per_s: ByteSize,
}

fn default_true() -> bool {
    true
}

fn zones() -> u32 {
    16
}

fn seek_exponent() -> f64 {
    0.5
}

fn queue() -> usize {
    32
}

impl DiskSettings {
    pub(super) fn validation_error(&self) -> Option<String> {
        let positive = [
            ("capacity", self.capacity.0),
            ("rpm", u64::from(self.rpm)),
            ("outer_per_s", self.outer_per_s.0),
            ("inner_per_s", self.inner_per_s.0),
            ("zones", u64::from(self.zones)),
            ("queue", self.queue as u64),
            ("interface_per_s", self.interface_per_s.0),
        ];
        if let Some((name, _)) = positive.iter().find(|(_, value)| *value == 0) {
            return Some(format!("`{name}` is 0: a disk needs more"));
        }
        if self.seek_mean < self.seek_min {
            return Some("`seek_mean` is below `seek_min`".to_owned());
        }
        (!(0.0..=1.0).contains(&self.seek_exponent)).then(|| "`seek_exponent` is not from 0 to 1".to_owned())
    }
}

/// The longest range that is destaged at once, in bytes.
const DESTAGE_MAX: u64 = 1 << 20;
/// A request that has waited this long goes first, at any distance.
const PATIENCE_NS: Ns = 500_000_000;

#[derive(Debug)]
struct QueuedRequest {
    io: DeviceRequest,
    end: u64,
    since: Ns,
    /// Requests merged into this one.
    merged: Vec<JobId>,
}

#[derive(Debug)]
enum DiskOperation {
    /// A queued request.
    Request(QueuedRequest),
    /// Bytes destaged from the write cache.
    Destage(u64),
}

/// The simulation state of a hard disk.
#[derive(Debug)]
pub struct SimulatedDisk {
    turn_ns: f64,
    zone_bytes: u64,
    /// The transfer rate of each zone in bytes per nanosecond.
    zone_rates: Vec<f64>,
    seek_min_ns: f64,
    seek_scale_ns: f64,
    seek_exponent: f64,
    capacity: u64,
    queue_len: usize,
    write_cache: u64,
    obeys_flush: bool,
    interface_ns: f64,
    head: u64,
    queue: Vec<QueuedRequest>,
    service: Option<DiskOperation>,
    cached: Extents,
    /// How much of that occupies the controller's cache.
    in_controller: u64,
    /// Writes that wait for room in the cache.
    blocked: VecDeque<DeviceRequest>,
    destaged_last: bool,
    /// Bytes accepted into the cache, and bytes destaged.
    accepted: u64,
    destaged: u64,
    /// Jobs that wait until everything accepted by then is destaged.
    flushes: Vec<(u64, JobId)>,
    counters: DeviceCounters,
}

impl SimulatedDisk {
    /// A disk with all sizes divided by `scale`.
    pub fn new(settings: &DiskSettings, scale: u64) -> Self {
        let capacity = (settings.capacity.0 / scale).max(1);
        let zones = u64::from(settings.zones);
        let (outer, inner) = (settings.outer_per_s.0 as f64 / 1e9, settings.inner_per_s.0 as f64 / 1e9);
        let rate = |zone: u64| outer + (inner - outer) * zone as f64 / (zones.max(2) - 1) as f64;
        // The mean of |x - y|^e over random positions x and y of a disk of length 1.
        let e = settings.seek_exponent;
        let mean_power = 2.0 / ((e + 1.0) * (e + 2.0));
        Self {
            turn_ns: 60e9 / f64::from(settings.rpm),
            zone_bytes: capacity.div_ceil(zones),
            zone_rates: (0..zones).map(rate).collect(),
            seek_min_ns: settings.seek_min.nanoseconds() as f64,
            seek_scale_ns: (settings.seek_mean.nanoseconds() - settings.seek_min.nanoseconds()) as f64 / mean_power,
            seek_exponent: e,
            capacity,
            queue_len: settings.queue,
            write_cache: settings.write_cache.0 / scale,
            obeys_flush: settings.flushes,
            interface_ns: 1e9 / settings.interface_per_s.0 as f64,
            head: 0,
            queue: Vec::new(),
            service: None,
            cached: Extents::default(),
            in_controller: 0,
            blocked: VecDeque::new(),
            destaged_last: false,
            accepted: 0,
            destaged: 0,
            flushes: Vec::new(),
            counters: DeviceCounters::default(),
        }
    }

    /// Its counters.
    pub fn counters(&self) -> DeviceCounters {
        self.counters
    }

    /// The number of queued requests.
    pub fn waiting(&self) -> usize {
        self.queue.len() + usize::from(self.service.is_some())
    }

    /// The distance of its head from an address.
    pub fn distance(&self, offset: u64) -> u64 {
        self.head.abs_diff(offset)
    }

    /// Submits a request. `controller` is the free room in the controller's cache. If the request completes without the
    /// medium, returns when.
    pub fn submit(&mut self, now: Ns, io: DeviceRequest, controller: &mut u64) -> Option<Ns> {
        let has_cache = self.write_cache > 0 || *controller + self.in_controller > 0;
        if io.is_write && !io.is_through && has_cache {
            if self.blocked.is_empty() && self.has_room(&io, *controller) {
                self.cache(&io, controller);
                return Some(now + self.interface(io.bytes));
            }
            self.blocked.push_back(io);
            return None;
        }
        if !io.is_write && self.cached.has(io.offset, io.offset + io.bytes) {
            return Some(now + self.interface(io.bytes));
        }
        self.enqueue(now, io);
        None
    }

    /// Makes a job wait until the write cache is empty. Returns false if it need not wait.
    pub fn flush(&mut self, job: JobId) -> bool {
        let waits = self.obeys_flush && self.destaged < self.accepted;
        if waits {
            self.flushes.push((self.accepted, job));
        }
        waits
    }

    /// Starts the next operation if idle. Returns when it ends.
    pub fn start(&mut self, now: Ns) -> Option<Ns> {
        if self.service.is_some() {
            return None;
        }
        // Destaging, for writes that wait for room or for a flush, alternates with queued requests.
        let wants_destage = !(self.destaged_last || self.blocked.is_empty() && self.flushes.is_empty());
        let request = !(self.queue.is_empty() || wants_destage && self.cached.bytes() > 0);
        let (service, start, end) = if request {
            let waiting = self.queue.remove(self.nearest(now));
            let (start, end) = (waiting.io.offset, waiting.end);
            (DiskOperation::Request(waiting), start, end)
        } else {
            let start = self.cached.next_from(self.head)?;
            let end = self.cached.take(start, DESTAGE_MAX)?;
            (DiskOperation::Destage(end - start), start, end)
        };
        let reads = matches!(&service, DiskOperation::Request(waiting) if !waiting.io.is_write);
        let ns = (self.positioning(now, start, reads) + self.transfer(start, end - start)) as Ns;
        self.destaged_last = !request;
        self.head = end;
        self.service = Some(service);
        self.counters.busy_ns += ns;
        Some(now + ns)
    }

    /// Ends the current operation. Calls `done` with each completed request and its time.
    pub fn finish(&mut self, now: Ns, controller: &mut u64, mut done: impl FnMut(Ns, JobId)) {
        match self.service.take() {
            Some(DiskOperation::Request(waiting)) => {
                done(now, waiting.io.job);
                waiting.merged.into_iter().for_each(|job| done(now, job));
            }
            Some(DiskOperation::Destage(bytes)) => {
                self.destaged += bytes;
                let destaged = self.destaged;
                let written = |(until, _): &mut (u64, JobId)| *until <= destaged;
                self.flushes.extract_if(.., written).for_each(|(_, job)| done(now, job));
            }
            None => {}
        }
        self.share(controller);
        while let Some(io) = self.blocked.front().copied().filter(|io| self.has_room(io, *controller)) {
            self.blocked.pop_front();
            self.cache(&io, controller);
            done(now + self.interface(io.bytes), io.job);
        }
    }

    fn interface(&self, bytes: u64) -> Ns {
        (bytes as f64 * self.interface_ns) as Ns
    }

    fn has_room(&self, io: &DeviceRequest, controller: u64) -> bool {
        let room = self.write_cache.saturating_sub(self.cached.bytes()) + controller;
        io.bytes <= room || self.cached.bytes() == 0
    }

    fn cache(&mut self, io: &DeviceRequest, controller: &mut u64) {
        let before = self.cached.bytes();
        self.cached.insert(io.offset, io.offset + io.bytes);
        self.accepted += self.cached.bytes() - before;
        self.share(controller);
    }

    /// The part of the write cache's content that exceeds its size occupies the controller's cache.
    fn share(&mut self, controller: &mut u64) {
        *controller += self.in_controller;
        self.in_controller = self.cached.bytes().saturating_sub(self.write_cache).min(*controller);
        *controller -= self.in_controller;
    }

    /// Queues a request, merged with one that it continues.
    fn enqueue(&mut self, now: Ns, io: DeviceRequest) {
        let continued = self.queue.iter_mut().find(|waiting| {
            waiting.end == io.offset
                && waiting.io.is_write == io.is_write
                && waiting.end - waiting.io.offset < DESTAGE_MAX
        });
        match continued {
            Some(waiting) => {
                waiting.end += io.bytes;
                waiting.merged.push(io.job);
            }
            None => self.queue.push(QueuedRequest { io, end: io.offset + io.bytes, since: now, merged: Vec::new() }),
        }
    }

    fn nearest(&self, now: Ns) -> usize {
        if now - self.queue[0].since > PATIENCE_NS {
            return 0;
        }
        let known = self.queue.iter().take(self.queue_len).enumerate();
        let costs = known.map(|(at, waiting)| (at, self.positioning(now, waiting.io.offset, !waiting.io.is_write)));
        costs.min_by(|a, b| a.1.total_cmp(&b.1)).map_or(0, |(at, _)| at)
    }

    fn zone(&self, offset: u64) -> usize {
        ((offset / self.zone_bytes) as usize).min(self.zone_rates.len() - 1)
    }

    fn transfer(&self, offset: u64, bytes: u64) -> f64 {
        bytes as f64 / self.zone_rates[self.zone(offset)]
    }

    /// The time until the head is at `offset`: seek and rotational latency. A read that continues the last one was read
    /// ahead.
    fn positioning(&self, now: Ns, offset: u64, reads: bool) -> f64 {
        let distance = self.head.abs_diff(offset);
        if distance == 0 && reads {
            return 0.0;
        }
        let seek = if distance == 0 { 0.0 } else { self.seek(distance) };
        let zone = self.zone(offset);
        let track = self.zone_rates[zone] * self.turn_ns;
        let target = ((offset - zone as u64 * self.zone_bytes) as f64 / track).fract();
        let angle = ((now as f64 + seek) / self.turn_ns).fract();
        let turn = (target - angle).rem_euclid(1.0);
        // Rounding to nanoseconds must not add a full rotation at the current position.
        if turn > 1.0 - 1e-5 { seek } else { seek + turn * self.turn_ns }
    }

    fn seek(&self, distance: u64) -> f64 {
        let way = distance as f64 / self.capacity as f64;
        let way = if self.seek_exponent == 0.5 { way.sqrt() } else { way.powf(self.seek_exponent) };
        self.seek_min_ns + self.seek_scale_ns * way
    }
}
