//! The counts of an encoded HdrHistogram, without the histogram. An interval of a latency log has some hundred different
//! latencies; as a histogram it has 33,000 counts, which took most of the time of a report on a long recording.

/// The first bytes of a histogram in the format V2.
const COOKIE: u32 = 0x1c84_9313;
/// A histogram's bounds are followed by its counts.
const HEADER_BYTES: usize = 40;
/// Three significant digits: latencies up to this bit length differ by one nanosecond each; above, the distance doubles with each
/// bit.
const SIGNIFICANT_DIGITS: u32 = 3;
const EXACT_BITS: u32 = 11;
/// How many latencies of one bit length above that differ.
const STEPS: u64 = 1 << (EXACT_BITS - 1);

const TOO_MANY: &str = "more counts than there are latencies";

/// Walks the latencies that were counted, in nanoseconds, with their counts.
pub(crate) struct EncodedCounts<'a> {
    left: &'a [u8],
    index: u64,
    /// The number of counts that the histogram has.
    counts: u64,
}

impl<'a> EncodedCounts<'a> {
    /// `None` for what is no histogram of latencies from 1 ns to `max_ns` with three significant digits.
    pub(crate) fn new(bytes: &'a [u8], max_ns: u64) -> Option<Self> {
        let (header, counts) = bytes.split_at_checked(HEADER_BYTES)?;
        let int = |at: usize| u32::from_be_bytes(header[at..at + 4].try_into().expect("four bytes"));
        let long = |at: usize| u64::from_be_bytes(header[at..at + 8].try_into().expect("eight bytes"));
        let (cookie, length, offset, digits) = (int(0), int(4), int(8), int(12));
        let is_ours = (cookie, offset, digits) == (COOKIE, 0, SIGNIFICANT_DIGITS)
            && (long(16), long(24), long(32)) == (1, max_ns, 1.0_f64.to_bits());
        let left = counts.get(..length as usize).filter(|_| is_ours)?;
        let doublings = (max_ns.ilog2() + 1).saturating_sub(EXACT_BITS);
        Some(Self { left, index: 0, counts: u64::from(doublings + 2) * STEPS })
    }

    /// The next number: seven bits a byte, the lowest first, of the ninth byte all eight; the sign in the lowest bit.
    fn number(&mut self) -> Option<i64> {
        let mut bits = 0;
        for at in 0..9 {
            let (byte, rest) = self.left.split_first()?;
            self.left = rest;
            let is_last = at == 8 || byte & 0x80 == 0;
            bits |= u64::from(if at == 8 { *byte } else { byte & 0x7f }) << (7 * at);
            if is_last {
                break;
            }
        }
        Some((bits >> 1) as i64 ^ -((bits & 1) as i64))
    }

    /// The next count that is not zero; `None` at the end.
    fn count(&mut self) -> Result<Option<(u64, u64)>, &'static str> {
        while !self.left.is_empty() {
            let number = self.number().ok_or("a count is cut off")?;
            if number < 0 {
                // A run of zeros.
                let next = self.index.checked_add(number.unsigned_abs());
                self.index = next.ok_or(TOO_MANY)?;
                continue;
            }
            let index = self.index;
            if index >= self.counts {
                return Err(TOO_MANY);
            }
            self.index += 1;
            if number > 0 {
                return Ok(Some((latency_ns(index), number as u64)));
            }
        }
        Ok(None)
    }
}

impl Iterator for EncodedCounts<'_> {
    type Item = Result<(u64, u64), &'static str>;

    fn next(&mut self) -> Option<Self::Item> {
        self.count().transpose()
    }
}

/// The least latency of the count `index`.
fn latency_ns(index: u64) -> u64 {
    match (index / STEPS).checked_sub(1) {
        None | Some(0) => index,
        Some(doublings) => (index % STEPS + STEPS) << doublings,
    }
}
