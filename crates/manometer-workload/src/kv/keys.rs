//! YCSB's keys: `user` and the decimal FNV-1a hash of the record's number.

const FNV_OFFSET: u64 = 0xCBF2_9CE4_8422_2325;
const FNV_PRIME: u64 = 0x0000_0100_0000_01B3;

/// Digits of the largest hash, which has 63 bits.
const DIGITS_MAX: usize = 19;
const PREFIX: &[u8; 4] = b"user";

/// The longest key in bytes.
pub const KEY_BYTES_MAX: usize = PREFIX.len() + DIGITS_MAX;

/// YCSB's hash of a number: FNV-1a over its eight bytes, lowest first, then the absolute value of the
/// result as a signed number, as `Math.abs` gives it.
#[inline]
pub fn fnv_hash(number: u64) -> u64 {
    let mut hash = FNV_OFFSET;
    for octet in number.to_le_bytes() {
        hash = (hash ^ u64::from(octet)).wrapping_mul(FNV_PRIME);
    }
    (hash as i64).unsigned_abs()
}

/// Where a key is written, again and again, without asking for memory.
#[derive(Debug, Clone)]
pub struct KeyBuffer {
    bytes: [u8; KEY_BYTES_MAX],
    len: usize,
}

impl Default for KeyBuffer {
    fn default() -> Self {
        let mut bytes = [0; KEY_BYTES_MAX];
        bytes[..PREFIX.len()].copy_from_slice(PREFIX);
        Self { bytes, len: PREFIX.len() }
    }
}

/// `00` to `99`, side by side.
const PAIRS: [u8; 200] = {
    let mut pairs = [0; 200];
    let mut number = 0;
    while number < 100 {
        pairs[2 * number] = b'0' + (number / 10) as u8;
        pairs[2 * number + 1] = b'0' + (number % 10) as u8;
        number += 1;
    }
    pairs
};

impl KeyBuffer {
    /// The key of record `record`.
    #[inline]
    pub fn of_record(&mut self, record: u64) -> &[u8] {
        self.of_hash(fnv_hash(record))
    }

    /// The key whose record number hashes to `hash`.
    #[inline]
    pub fn of_hash(&mut self, hash: u64) -> &[u8] {
        let digits = hash.checked_ilog10().unwrap_or(0) as usize + 1;
        self.len = PREFIX.len() + digits;
        // Two halves of at most ten digits each: their divisions do not wait for one another.
        let (high, low) = (hash / 10_000_000_000, hash % 10_000_000_000);
        if high == 0 {
            write_digits(&mut self.bytes[PREFIX.len()..self.len], low);
        } else {
            let middle = self.len - 10;
            write_digits(&mut self.bytes[middle..self.len], low);
            write_digits(&mut self.bytes[PREFIX.len()..middle], high);
        }
        self.bytes()
    }

    /// The key written last.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// Writes `number` in decimal over all of `place`, zeroes in front.
#[inline]
fn write_digits(place: &mut [u8], mut number: u64) {
    let mut pairs = place.rchunks_exact_mut(2);
    for pair in &mut pairs {
        let at = (number % 100) as usize * 2;
        pair.copy_from_slice(&PAIRS[at..at + 2]);
        number /= 100;
    }
    if let [first] = pairs.into_remainder() {
        *first = b'0' + (number % 10) as u8;
    }
}

/// Hashes sort as their decimal texts do, when compared by this.
#[inline]
pub fn text_order(hash: u64) -> (u64, u32) {
    let digits = hash.checked_ilog10().unwrap_or(0) + 1;
    (hash * POWERS_OF_TEN[DIGITS_MAX - digits as usize], digits)
}

const POWERS_OF_TEN: [u64; DIGITS_MAX] = {
    let mut powers = [1; DIGITS_MAX];
    let mut exponent = 1;
    while exponent < DIGITS_MAX {
        powers[exponent] = powers[exponent - 1] * 10;
        exponent += 1;
    }
    powers
};

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Hashes as Java's `site.ycsb.Utils.fnvhash64` computes them.
    #[test]
    fn hashes_are_ycsbs() {
        assert_eq!(KeyBuffer::default().of_record(0), b"user6284781860667377211");
        assert_eq!(KeyBuffer::default().of_record(1), b"user8517097267634966620");
        assert_eq!(KeyBuffer::default().of_record(2), b"user1820151046732198393");
    }

    proptest! {
        #[test]
        fn digits_are_written_right(hash in prop_oneof![0..1_u64 << 63, 0..20_000_000_000_u64, 0..200_u64]) {
            let mut key = KeyBuffer::default();
            let wanted = format!("user{hash}");
            prop_assert_eq!(key.of_hash(hash), wanted.as_bytes());
        }

        #[test]
        fn hashes_order_as_texts(a in 0..1_u64 << 63, b in 0..1_u64 << 63, shift in 0..63_u32) {
            let (a, b) = (a, b >> shift);
            prop_assert_eq!(text_order(a).cmp(&text_order(b)), a.to_string().cmp(&b.to_string()));
        }
    }
}
