//! `io.weight`: a workload's relative share of a saturated device.

use std::str::FromStr;

use serde::Serialize;

use super::value::limit;

/// The kernel's default weight.
const DEFAULT_WEIGHT: u16 = 100;
const MAX_WEIGHT: u16 = 10_000;

/// A relative share of a saturated device, in proportion to the weights of the other groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct IoWeight(pub u16);

impl IoWeight {
    const EXPECTED: &str = "an I/O weight: write a whole number from 1 to 10000; the default is 100";
}

impl Default for IoWeight {
    fn default() -> Self {
        Self(DEFAULT_WEIGHT)
    }
}

impl FromStr for IoWeight {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        text.trim().parse().ok().filter(|weight| (1..=MAX_WEIGHT).contains(weight)).map(Self).ok_or(())
    }
}

limit!(IoWeight, "IoWeight", 100);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_outside_the_kernels_range_are_rejected() {
        assert_eq!("10000".parse(), Ok(IoWeight(10_000)));
        for text in ["0", "10001", "-1", "heavy", "1.5"] {
            assert_eq!(text.parse::<IoWeight>(), Err(()), "{text}");
        }
    }
}
