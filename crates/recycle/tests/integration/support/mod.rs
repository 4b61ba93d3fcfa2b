//! What the tests share.

pub mod rounds;

use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Mutex, RwLock};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng as _;
use recycle::storage::Storage;
use recycle::{Mapping, Options, PAGE_BYTES, Region};

pub const PAGE: u64 = PAGE_BYTES as u64;

/// Random numbers of a seed.
pub struct Chance(Xoshiro256PlusPlus);

impl Chance {
    pub fn new(seed: u64) -> Self {
        Self(rand_xoshiro::rand_core::SeedableRng::seed_from_u64(seed))
    }

    /// A number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.0.next_u64() % end
    }
}

/// A setting from the environment, or its default.
pub fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

pub fn open(path: &Path) -> File {
    File::options().read(true).write(true).create(true).truncate(false).open(path).unwrap()
}

/// The file mapped; every test has files of its own, and writes them past a mapping only where it says so.
pub fn map(file: &File, options: &Options) -> recycle::Result<Mapping> {
    // SAFETY: nobody else writes the file while a reference to bytes of the mapping lives.
    unsafe { Region::map(file, options) }
}

/// Options with a budget of so many pages.
pub fn pages(count: u64) -> Options {
    Options { memory: count * PAGE, ..Options::default() }
}

/// The byte at each place of a file of [`filled`].
pub fn byte_at(place: u64) -> u8 {
    (place ^ (place / PAGE * 31)).to_le_bytes()[0] | 1
}

/// Bytes that tell their place, none of them zero.
pub fn filled(len: u64) -> Vec<u8> {
    (0..len).map(byte_at).collect()
}

/// What a request does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    Read,
    Write,
    SetLen,
    Sync,
}

/// Decides whether a request fails: it gets what it does, where, and how many came before it.
type Fails = Box<dyn Fn(Request, u64, u64) -> Option<i32> + Send + Sync>;

/// A file in memory that fails on demand.
pub struct FakeFile {
    bytes: RwLock<Vec<u8>>,
    fails: Mutex<Fails>,
    requests: AtomicU64,
    pub syncs: AtomicU64,
}

impl FakeFile {
    pub fn new(bytes: Vec<u8>) -> Arc<Self> {
        Arc::new(Self {
            bytes: RwLock::new(bytes),
            fails: Mutex::new(Box::new(|_, _, _| None)),
            requests: AtomicU64::new(0),
            syncs: AtomicU64::new(0),
        })
    }

    /// From now on, requests fail with the error number that `fails` returns.
    pub fn fail(&self, fails: impl Fn(Request, u64, u64) -> Option<i32> + Send + Sync + 'static) {
        self.requests.store(0, Ordering::SeqCst);
        *self.fails.lock() = Box::new(fails);
    }

    pub fn content(&self) -> Vec<u8> {
        self.bytes.read().clone()
    }

    /// Another program changes the file's length.
    pub fn truncate(&self, len: usize) {
        self.bytes.write().resize(len, 0);
    }

    fn check(&self, request: Request, offset: u64) -> io::Result<()> {
        let number = self.requests.fetch_add(1, Ordering::SeqCst);
        match self.fails.lock()(request, offset, number) {
            Some(code) => Err(io::Error::from_raw_os_error(code)),
            None => Ok(()),
        }
    }
}

impl Storage for FakeFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.bytes.read().len() as u64)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.check(Request::SetLen, len)?;
        self.bytes.write().resize(len as usize, 0);
        Ok(())
    }

    fn read(&self, offset: u64, buffers: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        let bytes = self.bytes.read();
        let mut done = 0;
        for buffer in buffers {
            self.check(Request::Read, offset + done as u64)?;
            let rest = bytes.get(offset as usize + done..).unwrap_or_default();
            let piece = &rest[..buffer.len().min(rest.len())];
            buffer[..piece.len()].copy_from_slice(piece);
            done += piece.len();
        }
        Ok(done)
    }

    fn write(&self, offset: u64, buffers: &[IoSlice<'_>]) -> io::Result<()> {
        self.check(Request::Write, offset)?;
        let mut bytes = self.bytes.write();
        let mut place = offset as usize;
        for buffer in buffers {
            let end = place + buffer.len();
            if bytes.len() < end {
                bytes.resize(end, 0);
            }
            bytes[place..end].copy_from_slice(buffer);
            place = end;
        }
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        self.syncs.fetch_add(1, Ordering::SeqCst);
        self.check(Request::Sync, 0)
    }
}
