//! Fresh values, cheaply: cut from a pool of random bytes at a random place, the header laid over it.
//!
//! No byte is copied and none but the header's is made anew, so that making a value costs the same
//! whatever its length; the bytes beneath the header return when the next value is made. Two values
//! share bytes only where their places in the pool overlap, and hardly ever at the same alignment.

use manometer_target::engine::value::{self, HEADER_BYTES};
use rand_xoshiro::rand_core::Rng as _;

use super::distribution::Random;
use super::lengths::Lengths;

/// Places a value can begin at.
const PLACES: usize = 1 << 20;

/// How values are formed.
#[derive(Debug, Clone, PartialEq)]
pub struct ValueForm {
    /// How long they are.
    pub lengths: Lengths,
}

/// Makes values.
#[derive(Debug)]
pub(super) struct Values {
    pool: Vec<u8>,
    lengths: Lengths,
    at: usize,
    beneath: [u8; HEADER_BYTES],
}

impl Values {
    /// Values of `form`, from bytes that `random` makes.
    pub(super) fn new(form: &ValueForm, random: &mut Random) -> Self {
        let mut pool = vec![0; PLACES + form.lengths.max().max(HEADER_BYTES)];
        random.fill_bytes(&mut pool);
        let mut beneath = [0; HEADER_BYTES];
        beneath.copy_from_slice(&pool[..HEADER_BYTES]);
        Self { pool, lengths: form.lengths.clone(), at: 0, beneath }
    }

    /// A fresh value for `key`.
    #[inline]
    pub(super) fn make(&mut self, key: &[u8], random: &mut Random) -> &[u8] {
        self.pool[self.at..self.at + HEADER_BYTES].copy_from_slice(&self.beneath);
        self.at = random.next_u64() as usize % PLACES;
        self.beneath.copy_from_slice(&self.pool[self.at..self.at + HEADER_BYTES]);
        let bytes = self.lengths.draw(random);
        let value = &mut self.pool[self.at..self.at + bytes];
        value::seal(key, value);
        value
    }

    /// Fresh random bytes, at most as many as a value has, without a header.
    #[inline]
    pub(super) fn bytes(&self, len: usize, random: &mut Random) -> &[u8] {
        let at = random.next_u64() as usize % PLACES;
        &self.pool[at..at + len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kv::distribution::stream;

    #[test]
    fn every_value_is_valid_and_the_pool_stays_random() {
        let mut random = stream(1, 0);
        let mut values = Values::new(&ValueForm { lengths: Lengths::Constant(1000) }, &mut random);
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
}
