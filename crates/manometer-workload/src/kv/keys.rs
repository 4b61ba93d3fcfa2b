//! Keys: YCSB's, `user` and the decimal FNV-1a hash of the record's number, and db_bench's.

const FNV_OFFSET: u64 = 0xCBF2_9CE4_8422_2325;
const FNV_PRIME: u64 = 0x0000_0100_0000_01B3;

const POWERS_OF_PRIME: [u64; 9] = {
    let mut powers = [1_u64; 9];
    let mut exponent = 1;
    while exponent < powers.len() {
        powers[exponent] = powers[exponent - 1].wrapping_mul(FNV_PRIME);
        exponent += 1;
    }
    powers
};

/// Digits of the largest hash, which has 63 bits.
const DIGITS_MAX: usize = 19;
/// Above every text of 19 digits.
const TEXT_ORDER_END: u64 = 10_000_000_000_000_000_000;
const PREFIX: &[u8; 4] = b"user";

/// YCSB's hash of a number: FNV-1a over its eight bytes, lowest first, then the absolute value of the
/// result as a signed number, as `Math.abs` gives it.
#[inline]
pub fn fnv_hash(number: u64) -> u64 {
    let (mut hash, mut rest, mut left) = (FNV_OFFSET, number, 8);
    while rest != 0 {
        hash = (hash ^ (rest & 0xFF)).wrapping_mul(FNV_PRIME);
        rest >>= 8;
        left -= 1;
    }
    // The octets that are left are zero and change nothing but by the factor of each.
    (hash.wrapping_mul(POWERS_OF_PRIME[left]) as i64).unsigned_abs()
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

    /// Its name in a database's marker.
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

/// A buffer for one key after another, without allocating.
#[derive(Debug, Clone)]
pub struct KeyBuffer {
    form: KeyForm,
    /// The key ends where this ends.
    bytes: Vec<u8>,
    from: usize,
}

/// Digits that are written at once, for any number: five times four.
const DIGITS_WRITTEN: usize = 20;

/// `0000` to `9999`.
static FOURS: [[u8; 4]; 10_000] = {
    let mut fours = [[b'0'; 4]; 10_000];
    let mut number = 0;
    while number < fours.len() {
        let [mut rest, mut place] = [number, 4];
        while place > 0 {
            place -= 1;
            fours[number][place] += (rest % 10) as u8;
            rest /= 10;
        }
        number += 1;
    }
    fours
};

impl KeyBuffer {
    /// For keys of `form`.
    pub fn new(form: KeyForm) -> Self {
        let len = match form {
            KeyForm::Ycsb { zero_padding, .. } => PREFIX.len() + DIGITS_WRITTEN.max(zero_padding as usize),
            KeyForm::DbBench { key_bytes } => key_bytes as usize,
        };
        Self { form, bytes: vec![b'0'; len], from: 0 }
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

    /// Writes the maximum number of digits with leading zeroes, and the prefix over the surplus ones: no branch depends on
    /// the number of digits, which a processor could not predict.
    #[inline]
    fn write_decimal(&mut self, number: u64, at_least: usize) {
        const FOUR: u64 = 10_000;
        const EIGHT: u64 = FOUR * FOUR;
        let end = self.bytes.len();
        // Each from the number itself or from its eights, so that no division waits for more than one other.
        let (eights, low) = (number / EIGHT, number % EIGHT);
        let (high, middle) = (eights / EIGHT, eights % EIGHT);
        let parts = [high, middle / FOUR, middle % FOUR, low / FOUR, low % FOUR];
        let (places, _) = self.bytes[end - DIGITS_WRITTEN..].as_chunks_mut::<4>();
        for (place, part) in places.iter_mut().zip(parts) {
            *place = FOURS[part as usize];
        }
        self.from = end - digits(number).max(at_least) - PREFIX.len();
        self.bytes[self.from..][..PREFIX.len()].copy_from_slice(PREFIX);
    }

    /// The key written last.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[self.from..]
    }
}

/// How many decimal digits `number` has.
#[inline]
fn digits(number: u64) -> usize {
    // 1233 / 4096 is a little above log10(2): the estimate is right, or one too low.
    let estimate = ((u64::BITS - (number | 1).leading_zeros()) as usize * 1233) >> 12;
    estimate + usize::from(POWERS_OF_TEN.get(estimate).is_some_and(|power| number.max(1) >= *power))
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
