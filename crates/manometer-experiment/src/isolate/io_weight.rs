//! `io.weight`: a workload's share of a busy device.

use std::str::FromStr;

use serde::Serialize;

use super::value::limit;

/// The kernel's weight of a group that was given none.
const USUAL: u16 = 100;
const LARGEST: u16 = 10_000;

/// A share of a busy device, in proportion to the weights of the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct IoWeight(pub u16);

impl IoWeight {
    const WANTED: &str = "weight: write a whole number from 1 to 10000; 100 is everybody's";
}

impl Default for IoWeight {
    fn default() -> Self {
        Self(USUAL)
    }
}

impl FromStr for IoWeight {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        text.trim().parse().ok().filter(|weight| (1..=LARGEST).contains(weight)).map(Self).ok_or(())
    }
}

limit!(IoWeight, "IoWeight", 100);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_have_the_kernels_range() {
        assert_eq!("10000".parse(), Ok(IoWeight(10_000)));
        for text in ["0", "10001", "-1", "heavy", "1.5"] {
            assert_eq!(text.parse::<IoWeight>(), Err(()), "{text}");
        }
    }
}
