//! The devices of an arrangement: requests to its levels are mapped to array members, whose completions are events.

use super::device::{DeviceCounters, DeviceRequest, DeviceSettings, SimulatedDevice, SsdWear};
use super::events::{EventQueue, Ns};
use super::flows::Flows;
use super::io::{LevelIo, TierLevel};
use super::jobs::{JobId, Jobs};
use super::raid_array::{MemberRange, RaidArray};
use crate::raid_level::RaidLevel;

/// A storage event.
#[derive(Debug)]
enum StorageEvent<W> {
    /// A device has served a request from its medium.
    Served(usize),
    /// A request is complete.
    Done(JobId),
    /// A requested time.
    Time(W),
}

/// The waiter of a job.
#[derive(Debug)]
enum Waiter<W> {
    /// A waiter of the caller.
    Caller(W),
    /// The writes of RAID 5 stripes, after the reads that they need.
    ParityWrites { writes: Vec<MemberRange>, level: TierLevel, is_through: bool, job: JobId },
}

#[derive(Debug)]
struct Volume {
    array: RaidArray,
    first_device: usize,
}

/// The devices and their pending requests. `W` is the caller's type of waiter.
#[derive(Debug)]
pub struct TierStorage<W> {
    events: EventQueue<StorageEvent<W>>,
    jobs: Jobs<Waiter<W>>,
    devices: Vec<SimulatedDevice>,
    volumes: Vec<Volume>,
    /// The free room in the controller's cache.
    controller: u64,
    flows: Flows,
    pieces: Vec<MemberRange>,
}

impl<W> TierStorage<W> {
    /// Storage without devices, below a controller with a write cache.
    pub fn new(controller: u64) -> Self {
        Self {
            events: EventQueue::default(),
            jobs: Jobs::default(),
            devices: Vec::new(),
            volumes: Vec::new(),
            controller,
            flows: Flows::default(),
            pieces: Vec::new(),
        }
    }

    /// Adds a level of equal devices in an array, the origin first.
    pub fn add(&mut self, settings: &DeviceSettings, array: RaidArray, scale: u64) {
        self.volumes.push(Volume { array, first_device: self.devices.len() });
        self.devices.extend((0..array.members).map(|_| SimulatedDevice::new(settings, scale)));
    }

    /// The current time.
    pub fn now(&self) -> Ns {
        self.events.now()
    }

    /// The flows between the levels.
    pub fn flows(&self) -> &Flows {
        &self.flows
    }

    /// Wakes `waiter` at a time.
    pub fn wake_at(&mut self, at: Ns, waiter: W) {
        self.events.at(at, StorageEvent::Time(waiter));
    }

    /// Opens a job that `waiter` waits for; it ends after [`Self::close`] at the earliest.
    pub fn open(&mut self, waiter: W) -> JobId {
        self.jobs.open(Waiter::Caller(waiter))
    }

    /// Keeps a job open until [`Self::close`] is called once more.
    pub fn hold(&mut self, job: JobId) {
        self.jobs.add(job);
    }

    /// Ends the submission of requests to a job.
    pub fn close(&mut self, job: JobId) {
        let now = self.now();
        self.events.at(now, StorageEvent::Done(job));
    }

    /// Submits a read or a write as part of a job.
    pub fn submit(&mut self, job: JobId, io: LevelIo) {
        if io.bytes == 0 {
            return;
        }
        self.flows.add(&io);
        let LevelIo { level, offset, bytes, is_write, is_through, .. } = io;
        let array = self.volumes[level as usize].array;
        if is_write && array.raid == RaidLevel::Raid5 {
            return self.write_stripes(job, &io, array);
        }
        let mut pieces = std::mem::take(&mut self.pieces);
        array.pieces(offset, bytes, &mut pieces);
        for piece in &pieces {
            self.submit_piece(job, level, piece, is_write, is_through);
        }
        self.pieces = pieces;
    }

    fn write_stripes(&mut self, job: JobId, io: &LevelIo, array: RaidArray) {
        let LevelIo { level, is_through, .. } = *io;
        for row in array.stripe_writes(io.offset, io.bytes) {
            self.jobs.add(job);
            let reads = self.jobs.open(Waiter::ParityWrites { writes: row.writes, level, is_through, job });
            for piece in &row.reads {
                self.submit_piece(reads, level, piece, false, false);
            }
            self.close(reads);
        }
    }

    /// Submits a range to its member: a write to all mirrors, a read to the one with the least load.
    fn submit_piece(&mut self, job: JobId, level: TierLevel, piece: &MemberRange, is_write: bool, is_through: bool) {
        let Volume { array, first_device } = self.volumes[level as usize];
        let (first, count) = array.mirrors(piece.member);
        let (first, last) = (first_device + first, first_device + first + count);
        let io = DeviceRequest { offset: piece.offset, bytes: piece.bytes, is_write, is_through, job };
        if is_write {
            (first..last).for_each(|device| self.submit_to(device, io));
        } else {
            let least = (first..last).min_by_key(|device| self.devices[*device].load(io.offset)).unwrap_or(first);
            self.submit_to(least, io);
        }
    }

    fn submit_to(&mut self, device: usize, io: DeviceRequest) {
        self.jobs.add(io.job);
        let now = self.events.now();
        match &mut self.devices[device] {
            SimulatedDevice::Ssd(ssd) => {
                let done = ssd.submit(now, &io);
                self.events.at(done, StorageEvent::Done(io.job));
            }
            SimulatedDevice::Disk(disk) => {
                if let Some(done) = disk.submit(now, io, &mut self.controller) {
                    self.events.at(done, StorageEvent::Done(io.job));
                }
                if let Some(served) = disk.start(now) {
                    self.events.at(served, StorageEvent::Served(device));
                }
            }
        }
    }

    /// Makes a job wait until data written to a level is on its media.
    pub fn flush(&mut self, job: JobId, level: TierLevel) {
        let Some(volume) = self.volumes.get(level as usize) else { return };
        let now = self.events.now();
        for device in volume.first_device..volume.first_device + volume.array.members as usize {
            let waits = match &mut self.devices[device] {
                SimulatedDevice::Ssd(ssd) => {
                    let flushed = ssd.flush(now);
                    self.events.at(flushed, StorageEvent::Done(job));
                    true
                }
                SimulatedDevice::Disk(disk) => disk.flush(job),
            };
            if waits {
                self.jobs.add(job);
            }
        }
    }

    /// Discards a range of a level, where its devices support it.
    pub fn trim(&mut self, level: TierLevel, offset: u64, bytes: u64) {
        let mut pieces = std::mem::take(&mut self.pieces);
        let Volume { array, first_device } = self.volumes[level as usize];
        array.pieces(offset, bytes, &mut pieces);
        for piece in &pieces {
            let (first, count) = array.mirrors(piece.member);
            for device in first_device + first..first_device + first + count {
                if let SimulatedDevice::Ssd(ssd) = &mut self.devices[device] {
                    ssd.trim(piece.offset, piece.bytes);
                }
            }
        }
        self.pieces = pieces;
    }

    /// Advances until a waiter of the caller is to be woken. Returns `None` when no event is left.
    pub fn next(&mut self) -> Option<W> {
        loop {
            match self.events.next()? {
                StorageEvent::Time(waiter) => return Some(waiter),
                StorageEvent::Served(device) => self.complete_service(device),
                StorageEvent::Done(job) => {
                    if let Some(waiter) = self.done(job) {
                        return Some(waiter);
                    }
                }
            }
        }
    }

    fn complete_service(&mut self, device: usize) {
        let now = self.events.now();
        let SimulatedDevice::Disk(disk) = &mut self.devices[device] else { return };
        disk.finish(now, &mut self.controller, |at, job| self.events.at(at, StorageEvent::Done(job)));
        if let Some(served) = disk.start(now) {
            self.events.at(served, StorageEvent::Served(device));
        }
    }

    fn done(&mut self, job: JobId) -> Option<W> {
        match self.jobs.done(job)? {
            Waiter::Caller(waiter) => Some(waiter),
            Waiter::ParityWrites { writes, level, is_through, job } => {
                for piece in &writes {
                    self.submit_piece(job, level, piece, true, is_through);
                }
                self.done(job)
            }
        }
    }

    /// How long a request to a level would wait now, at the busiest device.
    pub fn backlog(&self, level: TierLevel, is_write: bool) -> Ns {
        self.devices_of(level).iter().map(|device| device.backlog(self.now(), is_write)).max().unwrap_or(0)
    }

    fn devices_of(&self, level: TierLevel) -> &[SimulatedDevice] {
        let Some(volume) = self.volumes.get(level as usize) else { return &[] };
        &self.devices[volume.first_device..volume.first_device + volume.array.members as usize]
    }

    /// The counters of each device of a level.
    pub fn device_counters(&self, level: TierLevel) -> Vec<DeviceCounters> {
        self.devices_of(level).iter().map(SimulatedDevice::counters).collect()
    }

    /// The wear of each SSD of a level.
    pub fn wear(&self, level: TierLevel) -> Vec<SsdWear> {
        self.devices_of(level).iter().filter_map(SimulatedDevice::wear).collect()
    }
}
