//! The density of a run's keys.

use super::place::KeySpan;

/// `entries` per unit of the key span (Song 2018, equation 3.2). Keys count as big-endian numbers: the eight bytes
/// after the common prefix of the lowest and the highest key. Infinite for a single key.
pub fn density(entries: u64, span: &KeySpan) -> f64 {
    let common = span.low.iter().zip(&span.high).take_while(|(low, high)| low == high).count();
    let number = |key: &[u8]| {
        let mut bytes = [0; 8];
        let tail = &key[common..key.len().min(common + 8)];
        bytes[..tail.len()].copy_from_slice(tail);
        u64::from_be_bytes(bytes)
    };
    entries as f64 / (number(&span.high) - number(&span.low)) as f64
}
