//! `memory.max`: the memory that a workload may use, including its page cache.

use std::fmt;
use std::str::FromStr;

use manometer_measure::ByteSize;

use super::value::text_limit;

/// A memory limit; none is unlimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MemoryMax(pub Option<ByteSize>);

impl MemoryMax {
    const EXPECTED: &str = "a memory limit: write `256MiB`, `1GiB` or a number of bytes, or `max` for no limit";
}

impl FromStr for MemoryMax {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text.trim() {
            "max" => Ok(Self(None)),
            size => size.parse().ok().filter(|size: &ByteSize| size.0 > 0).map(|size| Self(Some(size))).ok_or(()),
        }
    }
}

impl fmt::Display for MemoryMax {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(size) => size.fmt(f),
            None => f.write_str("max"),
        }
    }
}

text_limit!(MemoryMax, "MemoryMax", "256MiB");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_parsed_and_invalid_ones_rejected() {
        assert_eq!("1GiB".parse(), Ok(MemoryMax(Some(ByteSize(1 << 30)))));
        assert_eq!("max".parse(), Ok(MemoryMax(None)));
        assert_eq!("0".parse::<MemoryMax>(), Err(()));
        assert_eq!("much".parse::<MemoryMax>(), Err(()));
    }
}
