//! How closely the keys of a flushed run lie together.

use super::place::Span;

/// `entries` over the span of the keys taken as numbers (seed 002, equation 3.2): the eight bytes after what the lowest
/// and the highest key have in common, as a big-endian number. Infinite where the span is one key.
pub fn density(entries: u64, span: &Span) -> f64 {
    let common = span.low.iter().zip(&span.high).take_while(|(low, high)| low == high).count();
    let number = |key: &[u8]| {
        let mut bytes = [0; 8];
        let tail = &key[common..key.len().min(common + 8)];
        bytes[..tail.len()].copy_from_slice(tail);
        u64::from_be_bytes(bytes)
    };
    entries as f64 / (number(&span.high) - number(&span.low)) as f64
}
