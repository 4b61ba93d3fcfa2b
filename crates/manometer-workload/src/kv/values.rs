//! Fresh values at low cost: slices of a pool of random bytes at a random place, with the header written over them.
//!
//! No byte is copied and only the header is new, so that a value of any length takes the same time. The next value
//! restores the bytes beneath the header. Two values share bytes only where their places in the pool overlap, and
//! hardly ever at the same alignment.
//!
//! Compressible bytes come in db_bench's pieces of 100 bytes: random printable bytes up to the wanted share, and then
//! their repetition. Values begin at the start of a piece, and bytes under the header are not repeated, so that a value
//! compresses as if it had no header.

use manometer_target::engine::value::{self, HEADER_BYTES};
use rand_xoshiro::rand_core::Rng as _;

use super::distribution::Random;
use super::request::KvRequest;
use super::value_lengths::ValueLengths;

/// The largest value in bytes.
pub(crate) const VALUE_BYTES_MAX: u64 = 64 << 20;

/// The number of places at which a value can begin.
const PLACES: usize = 1 << 20;

/// Length of a compressible piece in bytes.
const PIECE_BYTES: usize = 100;

/// The most memory that the pools of all threads take, in bytes.
const POOLS_BYTES_MAX: u64 = 4 << 30;
/// The advice where they would take more.
pub(crate) const POOLS_WANTED: &str = "4096 MiB are allowed: write fewer threads, or smaller values";

/// The error message if `threads` threads need too much memory for values of up to `longest` bytes. Each has its own
/// pool, because headers are written there.
pub(crate) fn too_many_pools(threads: u32, longest: usize) -> Option<String> {
    let bytes = (PLACES as u64).saturating_add(longest as u64).saturating_mul(threads.into());
    let mib = bytes.div_ceil(1 << 20);
    (bytes > POOLS_BYTES_MAX)
        .then(|| format!("{threads}, which take {mib} MiB of memory to make values of up to {longest} bytes"))
}

/// The form of values.
#[derive(Debug, Clone, PartialEq)]
pub struct ValueForm {
    /// Their lengths.
    pub lengths: ValueLengths,
    /// The share of their bytes that a compression leaves, 1 for bytes that do not compress.
    pub compressible_to: f64,
}

impl ValueForm {
    /// Values of random bytes.
    pub fn random(lengths: ValueLengths) -> Self {
        Self { lengths, compressible_to: 1.0 }
    }
}

/// Generates values.
#[derive(Debug)]
pub(crate) struct ValueGenerator {
    pool: Vec<u8>,
    lengths: ValueLengths,
    /// Whether values begin where pieces do.
    compressible: bool,
    at: usize,
    beneath: [u8; HEADER_BYTES],
}

impl ValueGenerator {
    /// Values of `form`, from bytes that `random` makes.
    pub(crate) fn new(form: &ValueForm, random: &mut Random) -> Self {
        let mut pool = vec![0; PLACES + form.lengths.max().max(HEADER_BYTES)];
        let compressible = form.compressible_to < 1.0;
        if compressible {
            pool.chunks_mut(PIECE_BYTES).for_each(|piece| fill_piece(piece, form.compressible_to, random));
        } else {
            random.fill_bytes(&mut pool);
        }
        let mut beneath = [0; HEADER_BYTES];
        beneath.copy_from_slice(&pool[..HEADER_BYTES]);
        Self { pool, lengths: form.lengths.clone(), compressible, at: 0, beneath }
    }

    /// A fresh value for `key`.
    #[inline]
    pub(crate) fn make(&mut self, key: &[u8], random: &mut Random) -> &[u8] {
        let bytes = self.lengths.draw(random);
        self.make_of(bytes, key, random)
    }

    /// A fresh value for `key`, as long as `request` says, if it does.
    #[inline]
    pub(crate) fn make_for(&mut self, request: KvRequest, key: &[u8], random: &mut Random) -> &[u8] {
        match request.value_bytes {
            None => self.make(key, random),
            Some(bytes) => self.make_of(bytes as usize, key, random),
        }
    }

    /// A fresh value of `bytes` bytes for `key`; no value is longer than [`ValueLengths::max`].
    #[inline]
    pub(crate) fn make_of(&mut self, bytes: usize, key: &[u8], random: &mut Random) -> &[u8] {
        self.pool[self.at..self.at + HEADER_BYTES].copy_from_slice(&self.beneath);
        self.at = self.place(random);
        self.beneath.copy_from_slice(&self.pool[self.at..self.at + HEADER_BYTES]);
        let value = &mut self.pool[self.at..self.at + bytes];
        value::write_header(key, value);
        value
    }

    /// The value that was made last, which had `bytes` bytes.
    #[inline]
    pub(crate) fn made(&self, bytes: usize) -> &[u8] {
        &self.pool[self.at..self.at + bytes]
    }

    /// Fresh random bytes, at most as many as a value has, without a header.
    #[inline]
    pub(crate) fn bytes(&self, len: usize, random: &mut Random) -> &[u8] {
        let at = self.place(random);
        &self.pool[at..at + len]
    }

    /// Where the next value begins.
    #[inline]
    fn place(&self, random: &mut Random) -> usize {
        let place = random.next_u64() as usize % PLACES;
        if self.compressible { place - place % PIECE_BYTES } else { place }
    }
}

/// Fills one piece with random printable bytes and, from the share `compressible_to` on, their repetition.
fn fill_piece(piece: &mut [u8], compressible_to: f64, random: &mut Random) {
    let fresh = ((PIECE_BYTES as f64 * compressible_to) as usize).clamp(1, PIECE_BYTES);
    let period = if fresh > HEADER_BYTES { fresh - HEADER_BYTES } else { fresh };
    for at in 0..piece.len() {
        piece[at] = if at < fresh { b' ' + (random.next_u64() % 95) as u8 } else { piece[at - period] };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kv::distribution::stream;

    #[test]
    fn every_value_is_valid_and_the_pool_stays_random() {
        let mut random = stream(1, 0);
        let mut values = ValueGenerator::new(&ValueForm::random(ValueLengths::Constant(1000)), &mut random);
        let before = values.pool.clone();
        let first = values.make(b"user1", &mut random).to_vec();
        let second = values.make(b"user1", &mut random).to_vec();
        assert_ne!(first, second);
        for value in [first, second] {
            assert_eq!(value::verify(b"user1", &value), Ok(()));
        }
        let (at, beneath) = (values.at, values.beneath);
        values.pool[at..at + HEADER_BYTES].copy_from_slice(&beneath);
        assert!(values.pool == before);
    }

    #[test]
    fn compressible_values_repeat_their_pieces() {
        let mut random = stream(1, 0);
        let form = ValueForm { lengths: ValueLengths::Constant(100), compressible_to: 0.5 };
        let mut values = ValueGenerator::new(&form, &mut random);
        for _ in 0..1000 {
            let value = values.make(b"key", &mut random);
            assert_eq!(value::verify(b"key", value), Ok(()));
            // 24 bytes of header and 26 more are all there is that is new.
            assert!((50..100).all(|at| value[at] == value[at - 26]));
            assert!(value[HEADER_BYTES..].iter().all(|byte| (b' '..=b'~').contains(byte)));
        }
    }

    #[test]
    fn pools_take_no_more_memory_than_allowed() {
        assert_eq!((too_many_pools(1024, 3 << 20), too_many_pools(16, 64 << 20)), (None, None));
        let message = too_many_pools(1024, (3 << 20) + 1).unwrap();
        assert_eq!(message, "1024, which take 4097 MiB of memory to make values of up to 3145729 bytes");
        assert!(too_many_pools(u32::MAX, usize::MAX).is_some());
    }

    #[test]
    fn a_value_may_be_shorter_than_the_longest() {
        let mut random = stream(2, 0);
        let mut values = ValueGenerator::new(&ValueForm::random(ValueLengths::Constant(500)), &mut random);
        for bytes in [0, 7, 31, 32, 500] {
            let value = values.make_of(bytes, b"key", &mut random);
            assert_eq!((value.len(), value::verify(b"key", value)), (bytes, Ok(())));
        }
    }
}
