//! Storage that measures the latency of the engine's I/O, and paces the writes of compaction.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Pressure;
use super::io_sample::{DeviceLoad, IoKind, LatencySample};
use crate::clock;
use crate::file_name::FileName;
use crate::storage::{File, Storage};

/// Syncs of WALs are classified by the bytes that they write, in this unit.
const SYNC_UNIT_BYTES: u64 = 64 << 10;

/// Larger syncs are bulk writes of the engine.
const SYNC_BYTES_MAX: u64 = 1 << 20;

/// Larger reads are bulk reads of the engine.
const READ_BYTES_MAX: usize = 64 << 10;

/// How long bulk I/O still affects the device after its end.
const AFTEREFFECT_NS: u64 = 50_000_000;

/// Wraps `storage` to measure it for `pressure`. The second result is for what compaction writes.
pub(crate) fn measure_storage(
    storage: Arc<dyn Storage>,
    pressure: &Arc<Pressure>,
) -> (Arc<dyn Storage>, Arc<dyn Storage>) {
    let engine_io = Arc::new(EngineIo::default());
    let with = |is_paced| {
        let (storage, pressure, engine_io) = (Arc::clone(&storage), Arc::clone(pressure), Arc::clone(&engine_io));
        Arc::new(MeasuredStorage { storage, meter: IoMeter { pressure, engine_io, is_paced } })
    };
    (with(false), with(true))
}

struct MeasuredStorage {
    storage: Arc<dyn Storage>,
    meter: IoMeter,
}

/// The engine's own I/O.
#[derive(Default)]
struct EngineIo {
    /// Block reads that are waiting for the device.
    reads: AtomicU64,
    /// Large reads, and files that compactions and flushes write.
    bulk: Activity,
    /// Syncs of much data. The latency of other I/O meanwhile says nothing about a neighbour.
    burst: Activity,
}

/// I/O that loads the device for some time.
#[derive(Default)]
struct Activity {
    running: AtomicU64,
    ended_ns: AtomicU64,
}

impl Activity {
    fn run<T>(&self, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        self.begin();
        let done = work();
        self.end();
        done
    }

    fn begin(&self) {
        self.running.fetch_add(1, Ordering::Relaxed);
    }

    fn end(&self) {
        self.ended_ns.store(clock::now().as_nanos() as u64, Ordering::Relaxed);
        self.running.fetch_sub(1, Ordering::Relaxed);
    }

    fn affects_device(&self, now_ns: u64) -> bool {
        let ended_ns = self.ended_ns.load(Ordering::Relaxed);
        self.running.load(Ordering::Relaxed) > 0 || ended_ns > 0 && now_ns.saturating_sub(ended_ns) < AFTEREFFECT_NS
    }
}

#[derive(Clone)]
struct IoMeter {
    pressure: Arc<Pressure>,
    engine_io: Arc<EngineIo>,
    is_paced: bool,
}

impl IoMeter {
    /// Measures an operation: `amount` of its kind at once.
    fn measure(&self, kind: IoKind, amount: u64, work: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        let began = clock::now();
        let was_busy = self.engine_io.bulk.affects_device(began.as_nanos() as u64);
        let was_burst = self.engine_io.burst.affects_device(began.as_nanos() as u64);
        work()?;
        let ended = clock::now();
        let is_busy = was_busy || self.engine_io.bulk.affects_device(ended.as_nanos() as u64);
        if !was_burst && !self.engine_io.burst.affects_device(ended.as_nanos() as u64) {
            let latency_ns = (ended - began).as_nanos() as u64;
            self.pressure.add(LatencySample { kind, load: DeviceLoad::new(is_busy, amount), latency_ns });
        }
        Ok(())
    }
}

impl Storage for MeasuredStorage {
    fn create(&self, name: &str) -> io::Result<Arc<dyn File>> {
        Ok(MeasuredFile::of(self.storage.create(name)?, name, &self.meter))
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn File>> {
        Ok(MeasuredFile::of(self.storage.open(name)?, name, &self.meter))
    }

    fn list(&self) -> io::Result<Vec<String>> {
        self.storage.list()
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.storage.rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.meter.engine_io.bulk.run(|| self.storage.remove(name))
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.storage.sync_directory()
    }

    fn lock(&self) -> io::Result<Option<Box<dyn Send + Sync>>> {
        self.storage.lock()
    }

    fn copy(&self, name: &str, to: &dyn Storage) -> io::Result<()> {
        self.meter.engine_io.burst.run(|| self.storage.copy(name, to))
    }

    fn description(&self) -> String {
        self.storage.description()
    }

    fn fail_point(&self, point: &'static str) {
        Storage::fail_point(&*self.storage, point);
    }
}

struct MeasuredFile {
    file: Arc<dyn File>,
    meter: IoMeter,
    kind: Option<FileName>,
    /// Bytes appended since the last sync.
    unsynced: AtomicU64,
}

impl MeasuredFile {
    fn of(file: Arc<dyn File>, name: &str, meter: &IoMeter) -> Arc<dyn File> {
        let (meter, kind) = (meter.clone(), FileName::parse(name));
        Arc::new(Self { file, meter, kind, unsynced: AtomicU64::new(0) })
    }

    /// Syncs a full slice, and pauses, before the next slice begins.
    fn sync_slice(&self, slice_bytes: u64) -> io::Result<()> {
        if self.unsynced.load(Ordering::Relaxed) < slice_bytes {
            return Ok(());
        }
        let began = clock::now();
        self.sync()?;
        self.meter.pressure.pause(clock::now() - began);
        Ok(())
    }
}

impl File for MeasuredFile {
    fn append(&self, bytes: &[u8]) -> io::Result<()> {
        let Some(FileName::Data(_)) = self.kind else {
            if let Some(FileName::Wal(_)) = self.kind {
                self.meter.pressure.record_append();
            }
            self.unsynced.fetch_add(bytes.len() as u64, Ordering::Relaxed);
            return self.file.append(bytes);
        };
        if self.unsynced.fetch_add(bytes.len() as u64, Ordering::Relaxed) == 0 {
            self.meter.engine_io.bulk.begin();
        }
        self.file.append(bytes)?;
        match self.meter.pressure.slice_bytes().filter(|_| self.meter.is_paced) {
            Some(slice_bytes) => self.sync_slice(slice_bytes),
            None => Ok(()),
        }
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        if buffer.len() > READ_BYTES_MAX {
            return self.meter.engine_io.bulk.run(|| self.file.read_at(buffer, offset));
        }
        match self.file.read_cached(buffer, offset)? {
            Some(true) => Ok(()),
            None => self.file.read_at(buffer, offset),
            Some(false) => {
                let others = self.meter.engine_io.reads.fetch_add(1, Ordering::Relaxed);
                let done = self.meter.measure(IoKind::Read, others + 1, || self.file.read_at(buffer, offset));
                self.meter.engine_io.reads.fetch_sub(1, Ordering::Relaxed);
                done
            }
        }
    }

    fn read_cached(&self, buffer: &mut [u8], offset: u64) -> io::Result<Option<bool>> {
        self.file.read_cached(buffer, offset)
    }

    fn will_need(&self, offset: u64, len: u64) {
        self.file.will_need(offset, len);
    }

    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn allocated(&self) -> io::Result<u64> {
        self.file.allocated()
    }

    fn truncate(&self, len: u64) -> io::Result<()> {
        self.file.truncate(len)
    }

    fn sync(&self) -> io::Result<()> {
        let bytes = self.unsynced.swap(0, Ordering::Relaxed);
        match self.kind {
            Some(FileName::Wal(_)) if (1..=SYNC_BYTES_MAX).contains(&bytes) => {
                self.meter.measure(IoKind::Sync, bytes / SYNC_UNIT_BYTES, || self.file.sync())
            }
            Some(FileName::Data(_)) => {
                if bytes > 0 {
                    self.meter.engine_io.bulk.end();
                }
                self.meter.engine_io.burst.run(|| self.file.sync())
            }
            Some(FileName::Wal(_)) => self.meter.engine_io.burst.run(|| self.file.sync()),
            Some(FileName::Manifest(_)) | None => self.file.sync(),
        }
    }

    fn punch(&self, offset: u64, len: u64) -> io::Result<()> {
        self.meter.engine_io.bulk.run(|| self.file.punch(offset, len))
    }
}

impl Drop for MeasuredFile {
    fn drop(&mut self) {
        if matches!(self.kind, Some(FileName::Data(_))) && self.unsynced.load(Ordering::Relaxed) > 0 {
            self.meter.engine_io.bulk.end();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ALTERNATION_APPENDS, ALTERNATION_SLICE_BYTES, PressureSource};
    use super::*;
    use crate::storage::simulated::SimulatedStorage;

    /// A simulated machine, and its storage with and without pacing, under pressure.
    fn under_pressure() -> (SimulatedStorage, Arc<dyn Storage>, Arc<dyn Storage>) {
        let machine = SimulatedStorage::new(1);
        let pressure = Arc::new(Pressure::new(PressureSource::Alternating, false));
        let (plain, paced) = measure_storage(Arc::new(machine.clone()), &pressure);
        let log = plain.create("wal-000001").unwrap();
        (0..=ALTERNATION_APPENDS).for_each(|_| log.append(b"x").unwrap());
        assert!(pressure.is_under_pressure());
        (machine, plain, paced)
    }

    #[test]
    fn compaction_syncs_in_slices_under_pressure() {
        let (machine, plain, paced) = under_pressure();
        let operations = |storage: &Arc<dyn Storage>, name| {
            let file = storage.create(name).unwrap();
            let before = machine.operations();
            (0..8).for_each(|_| file.append(&vec![7; ALTERNATION_SLICE_BYTES as usize / 2]).unwrap());
            machine.operations() - before
        };
        assert_eq!(operations(&plain, "data-000002"), 8);
        assert_eq!(operations(&paced, "data-000003"), 8 + 4);
        assert_eq!(operations(&paced, "manifest-000004"), 8);
    }

    #[test]
    fn a_failed_sync_of_a_slice_fails_the_append() {
        let (machine, _, paced) = under_pressure();
        let file = paced.create("data-000002").unwrap();
        machine.fail_at(0, crate::storage::simulated::Fault::Sync);
        assert!(file.append(&vec![7; ALTERNATION_SLICE_BYTES as usize]).is_err());
    }

    #[test]
    fn bulk_io_affects_the_device_for_a_while() {
        let engine_io = Activity::default();
        assert!(!engine_io.affects_device(5));
        assert!(engine_io.run(|| Ok(engine_io.affects_device(u64::MAX))).unwrap());
        let ended_ns = engine_io.ended_ns.load(Ordering::Relaxed);
        assert!(
            engine_io.affects_device(ended_ns + AFTEREFFECT_NS - 1)
                && !engine_io.affects_device(ended_ns + AFTEREFFECT_NS)
        );
    }

    #[test]
    fn a_data_file_is_bulk_io_until_it_is_synced_or_dropped() {
        let pressure = Arc::new(Pressure::new(PressureSource::Off, false));
        let meter = IoMeter { pressure, engine_io: Arc::default(), is_paced: false };
        let storage = MeasuredStorage { storage: Arc::new(SimulatedStorage::new(1)), meter: meter.clone() };
        let running = || meter.engine_io.bulk.running.load(Ordering::Relaxed);
        let files = ["data-000001", "data-000002", "wal-000003"].map(|name| storage.create(name).unwrap());
        for file in &files {
            file.append(b"one").unwrap();
            file.append(b"two").unwrap();
        }
        assert_eq!(running(), 2);
        files[0].sync().unwrap();
        files[0].sync().unwrap();
        assert_eq!(running(), 1);
        drop(files);
        assert_eq!(running(), 0);
    }

    #[test]
    fn reads_return_what_was_written() {
        let (machine, plain, _) = under_pressure();
        plain.create("data-000002").unwrap().append(b"one two").unwrap();
        let mut bytes = [0; 3];
        plain.open("data-000002").unwrap().read_at(&mut bytes, 4).unwrap();
        assert_eq!(&bytes, b"two");
        assert_eq!(plain.list().unwrap(), machine.list().unwrap());
    }
}
