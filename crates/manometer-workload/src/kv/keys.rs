//! Keys: YCSB's, `user` and the decimal FNV-1a hash of the record's number, and db_bench's.

const FNV_OFFSET: u64 = 0xCBF2_9CE4_8422_2325;
const FNV_PRIME: u64 = 0x0000_0100_0000_01B3;

/// Digits of the largest hash, which has 63 bits.
const DIGITS_MAX: usize = 19;
/// Above every text of 19 digits.
const TEXT_ORDER_END: u64 = 10_000_000_000_000_000_000;
const PREFIX: &[u8; 4] = b"user";

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

/// How the number of a record becomes its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyForm {
    /// YCSB's: `user` and a number in decimal, with zeroes in front up to `zero_padding` digits.
    Ycsb {
        /// Whether the number is the hash of the record's, or the record's own.
        hashed: bool,
        /// Digits at least.
        zero_padding: u32,
    },
    /// db_bench's: the record's number, highest byte first, in up to eight bytes, then `0`s.
    DbBench {
        /// Bytes of every key.
        key_bytes: u32,
    },
}

impl KeyForm {
    /// YCSB's own default.
    pub const YCSB: Self = Self::Ycsb { hashed: true, zero_padding: 1 };

    /// The longest key in bytes.
    pub fn max_bytes(self) -> usize {
        match self {
            Self::Ycsb { zero_padding, .. } => PREFIX.len() + DIGITS_MAX.max(zero_padding as usize),
            Self::DbBench { key_bytes } => key_bytes as usize,
        }
    }

    /// The number that is written in the key of record `record`.
    #[inline]
    pub fn number(self, record: u64) -> u64 {
        match self {
            Self::Ycsb { hashed: true, .. } => fnv_hash(record),
            _ => record,
        }
    }

    /// Above the first half of every [`order`](Self::order) of the keys of `records` records.
    pub(super) fn order_end(self, records: u64) -> u64 {
        match self {
            // Numbers that all have the same digits in front crowd at the low end of all texts.
            Self::Ycsb { hashed: false, zero_padding } if zero_padding > records.checked_ilog10().unwrap_or(0) => {
                text_order(records, zero_padding).0
            }
            Self::Ycsb { .. } => TEXT_ORDER_END,
            Self::DbBench { .. } => records,
        }
    }

    /// How it is called in a database's marker.
    pub(super) fn name(self) -> String {
        match self {
            Self::YCSB => "ycsb-hashed-2".to_owned(),
            Self::Ycsb { hashed, zero_padding } => {
                let order = if hashed { "hashed" } else { "ordered" };
                format!("ycsb-{order}-2 of {zero_padding} digits")
            }
            Self::DbBench { key_bytes } => format!("db_bench-1 of {key_bytes} bytes"),
        }
    }

    /// Numbers sort by this as their keys do.
    #[inline]
    pub fn order(self, number: u64) -> (u64, u32) {
        match self {
            Self::Ycsb { zero_padding, .. } => text_order(number, zero_padding),
            Self::DbBench { .. } => (number, 0),
        }
    }
}

/// Where a key is written, again and again, without asking for memory.
#[derive(Debug, Clone)]
pub struct KeyBuffer {
    form: KeyForm,
    bytes: Vec<u8>,
    len: usize,
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
    /// For keys of `form`.
    pub fn new(form: KeyForm) -> Self {
        let mut bytes = vec![b'0'; form.max_bytes()];
        if let KeyForm::Ycsb { .. } = form {
            bytes[..PREFIX.len()].copy_from_slice(PREFIX);
        }
        let len = bytes.len();
        Self { form, bytes, len }
    }

    /// The key of record `record`.
    #[inline]
    pub fn of_record(&mut self, record: u64) -> &[u8] {
        self.of_number(self.form.number(record))
    }

    /// The key that holds `number`; see [`KeyForm::number`].
    #[inline]
    pub fn of_number(&mut self, number: u64) -> &[u8] {
        match self.form {
            KeyForm::Ycsb { zero_padding, .. } => self.write_decimal(number, zero_padding as usize),
            KeyForm::DbBench { key_bytes } => {
                let filled = (key_bytes as usize).min(8);
                self.bytes[..filled].copy_from_slice(&number.to_be_bytes()[8 - filled..]);
            }
        }
        self.bytes()
    }

    #[inline]
    fn write_decimal(&mut self, number: u64, at_least: usize) {
        let digits = number.checked_ilog10().unwrap_or(0) as usize + 1;
        let padding = at_least.saturating_sub(digits);
        self.bytes[PREFIX.len()..PREFIX.len() + padding].fill(b'0');
        let from = PREFIX.len() + padding;
        self.len = from + digits;
        // Two halves of at most ten digits each: their divisions do not wait for one another.
        let (high, low) = (number / 10_000_000_000, number % 10_000_000_000);
        if high == 0 {
            write_digits(&mut self.bytes[from..self.len], low);
        } else {
            let middle = self.len - 10;
            write_digits(&mut self.bytes[middle..self.len], low);
            write_digits(&mut self.bytes[from..middle], high);
        }
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

/// Numbers sort as their decimal texts of at least `at_least` digits do, when compared by this.
#[inline]
fn text_order(number: u64, at_least: u32) -> (u64, u32) {
    if at_least as usize >= DIGITS_MAX {
        return (number, 0);
    }
    let digits = (number.checked_ilog10().unwrap_or(0) + 1).max(at_least);
    (number * POWERS_OF_TEN[DIGITS_MAX - digits as usize], digits)
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
        assert_eq!(KeyBuffer::new(KeyForm::YCSB).of_record(0), b"user6284781860667377211");
        assert_eq!(KeyBuffer::new(KeyForm::YCSB).of_record(1), b"user8517097267634966620");
        assert_eq!(KeyBuffer::new(KeyForm::YCSB).of_record(2), b"user1820151046732198393");
    }

    #[test]
    fn db_bench_keys_are_numbers_and_padding() {
        let key = |key_bytes, record| KeyBuffer::new(KeyForm::DbBench { key_bytes }).of_record(record).to_vec();
        assert_eq!(key(16, 0x0102), b"\0\0\0\0\0\0\x01\x0200000000");
        assert_eq!(key(4, 0x0102), b"\0\0\x01\x02");
    }

    proptest! {
        #[test]
        fn digits_are_written_right(
            number in prop_oneof![0..1_u64 << 63, 0..20_000_000_000_u64, 0..200_u64],
            zero_padding in 1..25_u32,
        ) {
            let mut key = KeyBuffer::new(KeyForm::Ycsb { hashed: false, zero_padding });
            // A longer key first: nothing of it may be left.
            key.of_record((1 << 63) - 1);
            let wanted = format!("user{number:0width$}", width = zero_padding as usize);
            prop_assert_eq!(key.of_record(number), wanted.as_bytes());
        }

        #[test]
        fn numbers_order_as_their_keys(
            a in 0..1_u64 << 63,
            b in 0..1_u64 << 63,
            shift in 0..63_u32,
            form in prop_oneof![
                (1..25_u32).prop_map(|zero_padding| KeyForm::Ycsb { hashed: false, zero_padding }),
                (8..20_u32).prop_map(|key_bytes| KeyForm::DbBench { key_bytes }),
            ],
        ) {
            let key = |number| KeyBuffer::new(form).of_number(number).to_vec();
            let (a, b) = (a, b >> shift);
            prop_assert_eq!(form.order(a).cmp(&form.order(b)), key(a).cmp(&key(b)));
        }
    }
}
