//! `memory.max`: how much memory a workload may hold, its page cache included.

use std::fmt;
use std::str::FromStr;

use manometer_measure::ByteSize;

use super::value::text_limit;

/// Memory in bytes; unbounded where there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MemoryMax(pub Option<ByteSize>);

impl MemoryMax {
    const WANTED: &str = "bound of memory: write `256MiB`, `1GiB` or a number of bytes, or `max`";
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
    fn sizes_are_read_and_nonsense_is_not() {
        assert_eq!("1GiB".parse(), Ok(MemoryMax(Some(ByteSize(1 << 30)))));
        assert_eq!("max".parse(), Ok(MemoryMax(None)));
        assert_eq!("0".parse::<MemoryMax>(), Err(()));
        assert_eq!("much".parse::<MemoryMax>(), Err(()));
    }
}
