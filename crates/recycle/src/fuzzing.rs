//! The entry points of the fuzz targets: sequences of operations against an array of bytes. None of them may panic, hang, or
//! show a byte that is not the array's.

use std::io::{self, IoSlice, IoSliceMut};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use parking_lot::Mutex;

use crate::storage::Storage;
use crate::{Advice, Mapping, Options, PAGE_BYTES, Policy, Region, Replacement};

/// A fuzz target: its name, and what runs it on an input.
pub type FuzzTarget = (&'static str, fn(&[u8]));

/// The fuzz targets by name.
pub const TARGETS: [FuzzTarget; 2] = [("recycle_region", region), ("recycle_mapping", mapping)];

/// The longest file, in bytes.
const MAX_LEN: u64 = 64 * PAGE_BYTES as u64;

/// Most bytes that one operation moves.
const MAX_MOVED: u64 = 3 * PAGE_BYTES as u64;

/// Most operations of an input.
const MAX_STEPS: usize = 400;

/// The bytes of an input, one value after another; zeroes after its end.
struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn byte(&mut self) -> u8 {
        self.0.split_off_first().copied().unwrap_or(0)
    }

    /// A number below `end`, which is not 0.
    fn below(&mut self, end: u64) -> u64 {
        u64::from(u32::from_le_bytes([self.byte(), self.byte(), self.byte(), 0])) % end
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[usize::from(self.byte()) % all.len()]
    }

    fn bytes_of(&mut self, len: u64) -> Range<u64> {
        let start = self.below(len + 1);
        start..(start + self.below(MAX_MOVED)).min(len)
    }

    fn options(&mut self, least_pages: u64) -> Options {
        Options {
            memory: (least_pages + self.below(12)) * PAGE_BYTES as u64,
            policy: self.one_of(Policy::ALL),
            replacement: self.one_of(Replacement::ALL),
            batch: 1 + u32::from(self.byte() % 8),
            read_ahead: self.below(5) * PAGE_BYTES as u64,
            ..Options::default()
        }
    }
}

/// A file in memory that knows which of its bytes are durable, and fails for a while when told to.
struct FakeFile {
    /// What was written, and what of it is durable.
    content: Mutex<[Vec<u8>; 2]>,
    /// Requests that will fail.
    failures: AtomicU32,
}

impl FakeFile {
    fn new(bytes: Vec<u8>) -> Arc<Self> {
        Arc::new(Self { content: Mutex::new([bytes.clone(), bytes]), failures: AtomicU32::new(0) })
    }

    fn check(&self) -> io::Result<()> {
        let failed = self.failures.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        if failed.is_ok() { Err(io::Error::other("a failure that was asked for")) } else { Ok(()) }
    }
}

impl Storage for FakeFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.content.lock()[0].len() as u64)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.check()?;
        self.content.lock()[0].resize(len as usize, 0);
        Ok(())
    }

    fn read(&self, offset: u64, buffers: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        self.check()?;
        let content = self.content.lock();
        let mut rest = content[0].get(offset as usize..).unwrap_or_default();
        let before = rest.len();
        for buffer in buffers {
            let (piece, after) = rest.split_at(buffer.len().min(rest.len()));
            buffer[..piece.len()].copy_from_slice(piece);
            rest = after;
        }
        Ok(before - rest.len())
    }

    fn write(&self, offset: u64, buffers: &[IoSlice<'_>]) -> io::Result<()> {
        self.check()?;
        let mut content = self.content.lock();
        let mut place = offset as usize;
        for buffer in buffers {
            content[0][place..place + buffer.len()].copy_from_slice(buffer);
            place += buffer.len();
        }
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        self.check()?;
        let mut content = self.content.lock();
        content[1] = content[0].clone();
        Ok(())
    }
}

const ADVICE: [Advice; 5] = [Advice::Normal, Advice::Random, Advice::Sequential, Advice::WillNeed, Advice::DontNeed];

/// The file at first: every byte tells its place.
fn filled(len: u64) -> Vec<u8> {
    (0..len).map(|place| (place ^ (place / PAGE_BYTES as u64 * 31)).to_le_bytes()[0] | 1).collect()
}

fn span(bytes: &Range<u64>) -> Range<usize> {
    bytes.start as usize..bytes.end as usize
}

/// A region whose pages are pinned, and whose device fails now and then.
fn region(input: &[u8]) {
    let mut input = Input(input);
    let options = input.options(2);
    let mut model = filled(input.below(MAX_LEN));
    let file = FakeFile::new(model.clone());
    let Ok(mut region) = Region::on(Arc::clone(&file) as _, true, &options) else { return };
    for _ in 0..MAX_STEPS {
        if input.0.is_empty() {
            break;
        }
        step_region(&mut region, &file, &mut model, &mut input);
    }
    file.failures.store(0, Ordering::SeqCst);
    region.sync().expect("nothing fails any more");
    assert!(file.content.lock()[1] == model, "durable bytes are wrong after the last sync");
}

fn step_region(region: &mut Region, file: &FakeFile, model: &mut Vec<u8>, input: &mut Input<'_>) {
    match input.byte() % 8 {
        0 => {
            let bytes = input.bytes_of(model.len() as u64);
            let mut read = vec![0; span(&bytes).len()];
            if region.read_at(bytes.start, &mut read).is_ok() {
                assert!(read == model[span(&bytes)], "bytes {bytes:?} are wrong");
            }
        }
        1 => {
            let bytes = input.bytes_of(model.len() as u64);
            let written = vec![input.byte(); span(&bytes).len()];
            if region.write_at(bytes.start, &written).is_ok() {
                model[span(&bytes)].copy_from_slice(&written);
            } else {
                // Of several pages some may be written.
                file.failures.store(0, Ordering::SeqCst);
                region.read_at(bytes.start, &mut model[span(&bytes)]).expect("nothing fails any more");
            }
        }
        2 => {
            let bytes = input.bytes_of(model.len() as u64);
            if region.sync_range(bytes.clone()).is_ok() {
                assert!(file.content.lock()[1][span(&bytes)] == model[span(&bytes)], "bytes {bytes:?} are not durable");
            }
        }
        3 => {
            let (bytes, advice) = (input.bytes_of(model.len() as u64), input.one_of(&ADVICE));
            let _ = region.advise(bytes, advice);
        }
        4 => {
            let len = input.below(MAX_LEN);
            if region.resize(len).is_ok() {
                model.resize(len as usize, 0);
            }
            assert_eq!(region.len(), model.len() as u64, "the length is that of the last resize that worked");
        }
        5 => pin_several(region, model, input),
        6 => change_pinned(region, model, input),
        _ => file.failures.store(u32::from(input.byte() % 8), Ordering::SeqCst),
    }
}

/// Pins pages until the budget is used up, and looks at all of them at once.
fn pin_several(region: &Region, model: &[u8], input: &mut Input<'_>) {
    let pages = region.pages();
    let numbers: Vec<u64> = (0..input.byte() % 16).filter(|_| pages > 0).map(|_| input.below(pages)).collect();
    let pins: Vec<_> = numbers.iter().map_while(|page| region.pin(*page).ok()).collect();
    for (page, pin) in numbers.iter().zip(&pins) {
        let start = *page as usize * PAGE_BYTES;
        let end = model.len().min(start + PAGE_BYTES);
        assert!(pin[..end - start] == model[start..end], "pinned page {page} is wrong");
        assert!(pin[end - start..].iter().all(|byte| *byte == 0), "page {page} is not zero beyond the end");
    }
}

/// Changes a byte of a page that is pinned for that.
fn change_pinned(region: &Region, model: &mut [u8], input: &mut Input<'_>) {
    if model.is_empty() {
        return;
    }
    let (place, byte) = (input.below(model.len() as u64) as usize, input.byte());
    if let Ok(mut pin) = region.pin_mut((place / PAGE_BYTES) as u64) {
        pin[place % PAGE_BYTES] = byte;
        model[place] = byte;
    }
}

/// A mapping, whose bytes are used by address. Its device does not fail: an access that fails ends the process.
fn mapping(input: &[u8]) {
    let mut input = Input(input);
    let options = input.options(4);
    let mut model = filled(input.below(MAX_LEN));
    let file = FakeFile::new(model.clone());
    // SAFETY: the file in memory returns what was last written through the mapping.
    let Ok(mut mapping) = (unsafe { Mapping::on(Arc::clone(&file) as _, true, &options) }) else { return };
    for _ in 0..MAX_STEPS {
        if input.0.is_empty() {
            break;
        }
        step_mapping(&mut mapping, &file, &mut model, &mut input);
    }
    assert!(*mapping == model[..], "bytes are wrong at the end");
    drop(mapping);
    assert!(file.content.lock()[0] == model, "the file is wrong after the end");
}

fn step_mapping(mapping: &mut Mapping, file: &FakeFile, model: &mut Vec<u8>, input: &mut Input<'_>) {
    let bytes = input.bytes_of(model.len() as u64);
    match input.byte() % 7 {
        0 => assert!(mapping[span(&bytes)] == model[span(&bytes)], "bytes {bytes:?} are wrong"),
        1 => {
            let byte = input.byte();
            mapping.as_mut_slice().expect("it is writable")[span(&bytes)].fill(byte);
            model[span(&bytes)].fill(byte);
        }
        2 => {
            let written = vec![input.byte(); span(&bytes).len()];
            mapping.write_at(bytes.start, &written).expect("nothing fails");
            model[span(&bytes)].copy_from_slice(&written);
        }
        3 => {
            mapping.sync_range(bytes.clone()).expect("nothing fails");
            assert!(file.content.lock()[1][span(&bytes)] == model[span(&bytes)], "bytes {bytes:?} are not durable");
        }
        4 => mapping.advise(bytes, input.one_of(&ADVICE)).expect("nothing fails"),
        5 => {
            let len = input.below(MAX_LEN);
            mapping.resize(len).expect("nothing fails");
            model.resize(len as usize, 0);
        }
        _ => {
            let Ok(pin) = mapping.pin(bytes.start / PAGE_BYTES as u64) else { return };
            let start = bytes.start as usize / PAGE_BYTES * PAGE_BYTES;
            let end = model.len().min(start + PAGE_BYTES);
            assert!(pin[..end - start] == model[start..end], "the page at {start} is wrong");
        }
    }
}

#[cfg(test)]
#[cfg(not(miri))]
mod tests {
    use std::fs;

    /// What fuzzers began with and have found. Tests run in their crate's folder.
    #[test]
    fn the_corpora_cause_no_panic() {
        for (name, target) in super::TARGETS {
            let files: Vec<_> = fs::read_dir(format!("../../fuzz/corpus/{name}")).unwrap().collect();
            assert!(!files.is_empty(), "the corpus of {name} is empty");
            for file in files {
                target(&fs::read(file.unwrap().path()).unwrap());
            }
        }
    }
}
