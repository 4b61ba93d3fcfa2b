//! The devices of an arrangement at work: requests to its levels fall to members of arrays, whose ends are events.

use super::device::{Device, DeviceCounters, DeviceRequest, DeviceSettings, SsdWear};
use super::events::{EventQueue, Ns};
use super::flows::Flows;
use super::io::{LevelIo, TierLevel};
use super::jobs::{JobId, Jobs};
use super::raid_array::{MemberRange, RaidArray};
use crate::raid_level::RaidLevel;

/// What happens.
#[derive(Debug)]
enum StorageEvent<W> {
    /// A device is done with what its medium served.
    Served(usize),
    /// A request is done.
    Done(JobId),
    /// A moment that was requested.
    Time(W),
}

/// Who waits for a job.
#[derive(Debug)]
enum Waiter<W> {
    /// Somebody above.
    Caller(W),
    /// Writes of rows of RAID 5, once what they need was read.
    ParityWrites { writes: Vec<MemberRange>, level: TierLevel, is_through: bool, job: JobId },
}

#[derive(Debug)]
struct Volume {
    array: RaidArray,
    first_device: usize,
}

/// Devices, and what they are at. `W` is what those above wait with.
#[derive(Debug)]
pub struct Storage<W> {
    events: EventQueue<StorageEvent<W>>,
    jobs: Jobs<Waiter<W>>,
    devices: Vec<Device>,
    volumes: Vec<Volume>,
    /// What is free of the controller's cache.
    controller: u64,
    flows: Flows,
    pieces: Vec<MemberRange>,
}

impl<W> Storage<W> {
    /// Storage without devices, under a controller with a cache for writes.
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

    /// Adds a level, the origin first: equal devices in an array.
    pub fn add(&mut self, settings: &DeviceSettings, array: RaidArray, scale: u64) {
        self.volumes.push(Volume { array, first_device: self.devices.len() });
        self.devices.extend((0..array.members).map(|_| Device::new(settings, scale)));
    }

    /// The moment.
    pub fn now(&self) -> Ns {
        self.events.now()
    }

    /// What went to and fro.
    pub fn flows(&self) -> &Flows {
        &self.flows
    }

    /// Wakes `waiter` at a moment.
    pub fn wake_at(&mut self, at: Ns, waiter: W) {
        self.events.at(at, StorageEvent::Time(waiter));
    }

    /// Opens a job that `waiter` waits for; it ends with [`Self::close`] at the earliest.
    pub fn open(&mut self, waiter: W) -> JobId {
        self.jobs.open(Waiter::Caller(waiter))
    }

    /// Keeps a job open until [`Self::close`] is said once more.
    pub fn hold(&mut self, job: JobId) {
        self.jobs.add(job);
    }

    /// No more stretches are to be added to a job.
    pub fn close(&mut self, job: JobId) {
        let now = self.now();
        self.events.at(now, StorageEvent::Done(job));
    }

    /// Reads or writes a stretch as part of a job.
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

    /// Submits a piece to its member: a write to all of its mirrors, a read to the one with the least to do.
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
            Device::Ssd(ssd) => {
                let done = ssd.submit(now, &io);
                self.events.at(done, StorageEvent::Done(io.job));
            }
            Device::Disk(disk) => {
                if let Some(done) = disk.submit(now, io, &mut self.controller) {
                    self.events.at(done, StorageEvent::Done(io.job));
                }
                if let Some(served) = disk.start(now) {
                    self.events.at(served, StorageEvent::Served(device));
                }
            }
        }
    }

    /// Has a job wait until what was written to a level is on its media.
    pub fn flush(&mut self, job: JobId, level: TierLevel) {
        let Some(volume) = self.volumes.get(level as usize) else { return };
        let now = self.events.now();
        for device in volume.first_device..volume.first_device + volume.array.members as usize {
            let waits = match &mut self.devices[device] {
                Device::Ssd(ssd) => {
                    let flushed = ssd.flush(now);
                    self.events.at(flushed, StorageEvent::Done(job));
                    true
                }
                Device::Disk(disk) => disk.flush(job),
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
                if let Device::Ssd(ssd) = &mut self.devices[device] {
                    ssd.trim(piece.offset, piece.bytes);
                }
            }
        }
        self.pieces = pieces;
    }

    /// Goes on until somebody above is to be woken; none where nothing is to come.
    pub fn next(&mut self) -> Option<W> {
        loop {
            match self.events.next()? {
                StorageEvent::Time(waiter) => return Some(waiter),
                StorageEvent::Served(device) => self.served(device),
                StorageEvent::Done(job) => {
                    if let Some(waiter) = self.done(job) {
                        return Some(waiter);
                    }
                }
            }
        }
    }

    fn served(&mut self, device: usize) {
        let now = self.events.now();
        let Device::Disk(disk) = &mut self.devices[device] else { return };
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

    /// How long a request to a level would wait now, at the device with the most to do.
    pub fn backlog(&self, level: TierLevel, is_write: bool) -> Ns {
        self.devices_of(level).iter().map(|device| device.backlog(self.now(), is_write)).max().unwrap_or(0)
    }

    fn devices_of(&self, level: TierLevel) -> &[Device] {
        let Some(volume) = self.volumes.get(level as usize) else { return &[] };
        &self.devices[volume.first_device..volume.first_device + volume.array.members as usize]
    }

    /// What each device of a level did.
    pub fn device_counters(&self, level: TierLevel) -> Vec<DeviceCounters> {
        self.devices_of(level).iter().map(Device::counters).collect()
    }

    /// How worn the SSDs of a level are, each.
    pub fn wear(&self, level: TierLevel) -> Vec<SsdWear> {
        self.devices_of(level).iter().filter_map(Device::wear).collect()
    }
}
