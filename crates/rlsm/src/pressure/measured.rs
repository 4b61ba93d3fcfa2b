//! The file layer with a watch: what the engine asks of it anyway is measured, and what compaction writes is paced.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Pressure;
use super::baseline::Load;
use super::gauge::{Kind, Sample};
use crate::clock;
use crate::names::FileName;
use crate::storage::{File, Storage};

/// Syncs of logs are told apart by how many times this they write.
const SYNC_UNIT_BYTES: u64 = 64 << 10;

/// Syncs of more are the engine's own bulk.
const SYNC_BYTES_MAX: u64 = 1 << 20;

/// Reads of more are the engine's own bulk.
const READ_BYTES_MAX: usize = 64 << 10;

/// What takes much of the device is felt for so long after it.
const ECHO_NS: u64 = 50_000_000;

/// `storage`, measured for `pressure`; the second one of the two is for what compaction writes.
pub(crate) fn measured(storage: Arc<dyn Storage>, pressure: &Arc<Pressure>) -> (Arc<dyn Storage>, Arc<dyn Storage>) {
    let own = Arc::new(Own::default());
    let with = |is_paced| {
        let (storage, pressure, own) = (Arc::clone(&storage), Arc::clone(pressure), Arc::clone(&own));
        Arc::new(Measured { storage, watch: Watch { pressure, own, is_paced } })
    };
    (with(false), with(true))
}

struct Measured {
    storage: Arc<dyn Storage>,
    watch: Watch,
}

/// What the engine itself asks of the device.
#[derive(Default)]
struct Own {
    /// Reads of blocks that wait for the device.
    reads: AtomicU64,
    /// What is read in large pieces, and files that compaction and flushes write.
    bulk: Activity,
    /// Much of what was written is on its way to the device. What else is asked of it now tells nothing of a neighbour.
    burst: Activity,
}

/// Something that takes much of the device.
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

    fn is_felt(&self, now_ns: u64) -> bool {
        let ended_ns = self.ended_ns.load(Ordering::Relaxed);
        self.running.load(Ordering::Relaxed) > 0 || ended_ns > 0 && now_ns.saturating_sub(ended_ns) < ECHO_NS
    }
}

#[derive(Clone)]
struct Watch {
    pressure: Arc<Pressure>,
    own: Arc<Own>,
    is_paced: bool,
}

impl Watch {
    /// Does something that is measured: `amount` of its kind at once.
    fn measure(&self, kind: Kind, amount: u64, work: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        let began = clock::now();
        let was_busy = self.own.bulk.is_felt(began.as_nanos() as u64);
        let was_burst = self.own.burst.is_felt(began.as_nanos() as u64);
        work()?;
        let ended = clock::now();
        let is_busy = was_busy || self.own.bulk.is_felt(ended.as_nanos() as u64);
        if !was_burst && !self.own.burst.is_felt(ended.as_nanos() as u64) {
            let latency_ns = (ended - began).as_nanos() as u64;
            self.pressure.add(Sample { kind, load: Load::new(is_busy, amount), latency_ns });
        }
        Ok(())
    }
}

impl Storage for Measured {
    fn create(&self, name: &str) -> io::Result<Arc<dyn File>> {
        Ok(MeasuredFile::of(self.storage.create(name)?, name, &self.watch))
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn File>> {
        Ok(MeasuredFile::of(self.storage.open(name)?, name, &self.watch))
    }

    fn list(&self) -> io::Result<Vec<String>> {
        self.storage.list()
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.storage.rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.watch.own.bulk.run(|| self.storage.remove(name))
    }

    fn sync_names(&self) -> io::Result<()> {
        self.storage.sync_names()
    }

    fn lock(&self) -> io::Result<Option<Box<dyn Send + Sync>>> {
        self.storage.lock()
    }

    fn copy(&self, name: &str, to: &dyn Storage) -> io::Result<()> {
        self.watch.own.burst.run(|| self.storage.copy(name, to))
    }

    fn place(&self) -> String {
        self.storage.place()
    }

    fn reach(&self, point: &'static str) {
        Storage::reach(&*self.storage, point);
    }
}

struct MeasuredFile {
    file: Arc<dyn File>,
    watch: Watch,
    kind: Option<FileName>,
    /// What was appended since the last sync, in bytes.
    unsynced: AtomicU64,
}

impl MeasuredFile {
    fn of(file: Arc<dyn File>, name: &str, watch: &Watch) -> Arc<dyn File> {
        let (watch, kind) = (watch.clone(), FileName::parse(name));
        Arc::new(Self { file, watch, kind, unsynced: AtomicU64::new(0) })
    }

    /// Takes a slice to the device before the next one is begun.
    fn pace(&self, slice_bytes: u64) -> io::Result<()> {
        if self.unsynced.load(Ordering::Relaxed) < slice_bytes {
            return Ok(());
        }
        let began = clock::now();
        self.sync()?;
        self.watch.pressure.pause(clock::now() - began);
        Ok(())
    }
}

impl File for MeasuredFile {
    fn append(&self, bytes: &[u8]) -> io::Result<()> {
        let Some(FileName::Data(_)) = self.kind else {
            if let Some(FileName::Wal(_)) = self.kind {
                self.watch.pressure.turn();
            }
            self.unsynced.fetch_add(bytes.len() as u64, Ordering::Relaxed);
            return self.file.append(bytes);
        };
        if self.unsynced.fetch_add(bytes.len() as u64, Ordering::Relaxed) == 0 {
            self.watch.own.bulk.begin();
        }
        self.file.append(bytes)?;
        match self.watch.pressure.slice_bytes().filter(|_| self.watch.is_paced) {
            Some(slice_bytes) => self.pace(slice_bytes),
            None => Ok(()),
        }
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        if buffer.len() > READ_BYTES_MAX {
            return self.watch.own.bulk.run(|| self.file.read_at(buffer, offset));
        }
        match self.file.read_cached(buffer, offset)? {
            Some(true) => Ok(()),
            None => self.file.read_at(buffer, offset),
            Some(false) => {
                let others = self.watch.own.reads.fetch_add(1, Ordering::Relaxed);
                let done = self.watch.measure(Kind::Read, others + 1, || self.file.read_at(buffer, offset));
                self.watch.own.reads.fetch_sub(1, Ordering::Relaxed);
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
                self.watch.measure(Kind::Sync, bytes / SYNC_UNIT_BYTES, || self.file.sync())
            }
            Some(FileName::Data(_)) => {
                if bytes > 0 {
                    self.watch.own.bulk.end();
                }
                self.watch.own.burst.run(|| self.file.sync())
            }
            Some(FileName::Wal(_)) => self.watch.own.burst.run(|| self.file.sync()),
            Some(FileName::Manifest(_)) | None => self.file.sync(),
        }
    }

    fn punch(&self, offset: u64, len: u64) -> io::Result<()> {
        self.watch.own.bulk.run(|| self.file.punch(offset, len))
    }
}

impl Drop for MeasuredFile {
    fn drop(&mut self) {
        if matches!(self.kind, Some(FileName::Data(_))) && self.unsynced.load(Ordering::Relaxed) > 0 {
            self.watch.own.bulk.end();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Feeling, TURN, TURN_SLICE_BYTES};
    use super::*;
    use crate::storage::simulated::Simulated;

    /// A machine, and the two ways to it while it is squeezed.
    fn squeezed() -> (Simulated, Arc<dyn Storage>, Arc<dyn Storage>) {
        let machine = Simulated::new(1);
        let pressure = Arc::new(Pressure::new(Feeling::InTurns, false));
        let (plain, paced) = measured(Arc::new(machine.clone()), &pressure);
        let log = plain.create("wal-000001").unwrap();
        (0..=TURN).for_each(|_| log.append(b"x").unwrap());
        assert!(pressure.is_squeezed());
        (machine, plain, paced)
    }

    #[test]
    fn what_compaction_writes_while_squeezed_reaches_the_device_in_slices() {
        let (machine, plain, paced) = squeezed();
        let operations = |storage: &Arc<dyn Storage>, name| {
            let file = storage.create(name).unwrap();
            let before = machine.operations();
            (0..8).for_each(|_| file.append(&vec![7; TURN_SLICE_BYTES as usize / 2]).unwrap());
            machine.operations() - before
        };
        assert_eq!(operations(&plain, "data-000002"), 8);
        assert_eq!(operations(&paced, "data-000003"), 8 + 4);
        assert_eq!(operations(&paced, "manifest-000004"), 8);
    }

    #[test]
    fn a_slice_that_fails_to_sync_fails_to_be_written() {
        let (machine, _, paced) = squeezed();
        let file = paced.create("data-000002").unwrap();
        machine.fail_at(0, crate::storage::simulated::Fault::Sync);
        assert!(file.append(&vec![7; TURN_SLICE_BYTES as usize]).is_err());
    }

    #[test]
    fn what_takes_much_is_felt_for_a_while() {
        let own = Activity::default();
        assert!(!own.is_felt(5));
        assert!(own.run(|| Ok(own.is_felt(u64::MAX))).unwrap());
        let ended_ns = own.ended_ns.load(Ordering::Relaxed);
        assert!(own.is_felt(ended_ns + ECHO_NS - 1) && !own.is_felt(ended_ns + ECHO_NS));
    }

    #[test]
    fn a_file_of_runs_is_bulk_from_its_first_byte_until_it_is_synced_or_given_up() {
        let pressure = Arc::new(Pressure::new(Feeling::Off, false));
        let watch = Watch { pressure, own: Arc::default(), is_paced: false };
        let storage = Measured { storage: Arc::new(Simulated::new(1)), watch: watch.clone() };
        let running = || watch.own.bulk.running.load(Ordering::Relaxed);
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
    fn what_is_read_is_what_is_there() {
        let (machine, plain, _) = squeezed();
        plain.create("data-000002").unwrap().append(b"one two").unwrap();
        let mut bytes = [0; 3];
        plain.open("data-000002").unwrap().read_at(&mut bytes, 4).unwrap();
        assert_eq!(&bytes, b"two");
        assert_eq!(plain.list().unwrap(), machine.list().unwrap());
    }
}
