//! Capacities on the command line.

use manometer_cache::CacheError;
use manometer_measure::ByteSize;
use manometer_measure::human;

use crate::number::number;

/// The largest capacity.
const CAPACITY_MAX: u64 = 1 << 63;

/// The unit of capacities.
#[derive(Debug, clap::Args)]
pub struct Unit {
    /// Capacities are bytes and every object has its size; by default capacities are objects.
    #[arg(long)]
    pub size_aware: bool,
}

impl Unit {
    /// Parses capacities.
    pub fn capacities(&self, texts: &[String]) -> Result<Vec<u64>, CacheError> {
        texts.iter().map(|text| self.capacity(text)).collect()
    }

    fn capacity(&self, text: &str) -> Result<u64, CacheError> {
        let wrong = |wanted: &str| CacheError::Invalid(format!("`{text}` is not a capacity: write {wanted}"));
        let capacity = match self.size_aware {
            true => text.parse().map(|ByteSize(bytes)| bytes).map_err(|_| wrong("bytes, such as 64MiB"))?,
            false => text.parse().map_err(|_| wrong("a number of objects, or bytes with --size-aware"))?,
        };
        if (1..=CAPACITY_MAX).contains(&capacity) { Ok(capacity) } else { Err(wrong("a number from 1 to 2^63")) }
    }

    /// A capacity as text.
    pub fn text(&self, capacity: u64) -> String {
        match self.size_aware {
            true => human::bytes(capacity),
            false => count(capacity),
        }
    }

    /// The name of the unit.
    pub fn name(&self) -> &'static str {
        if self.size_aware { "bytes" } else { "objects" }
    }
}

/// A count, exact below a hundred.
pub fn count(count: u64) -> String {
    if count < 100 { count.to_string() } else { number(count as f64) }
}
