//! `io.prio.class`: the I/O priority of a worker's requests, as `ionice` sets it.

use std::fmt;
use std::str::FromStr;

use super::value::text_limit;

/// The classes; the index is the kernel's number.
const CLASSES: [&str; 4] = ["none", "realtime", "best-effort", "idle"];

/// The default level of a class with levels, and the lowest priority.
const DEFAULT_LEVEL: u8 = 4;
const LOWEST_LEVEL: u8 = 7;

/// An I/O priority class, and the level in it where the class has levels. Level 0 is the highest priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PriorityClass {
    class: u8,
    level: u8,
}

impl PriorityClass {
    const EXPECTED: &str = "an I/O priority class: write `none`, `idle`, `realtime` or `best-effort`, the last two \
                            optionally with a level from 0 (highest) to 7, such as `best-effort:7`";

    /// Whether setting it requires privileges.
    pub(crate) fn is_realtime(self) -> bool {
        self.class == 1
    }

    fn has_levels(self) -> bool {
        matches!(self.class, 1 | 2)
    }

    /// Class and level, encoded as for `ioprio_set`.
    pub(crate) fn kernel_value(self) -> libc::c_int {
        const CLASS_SHIFT: u8 = 13;
        (libc::c_int::from(self.class) << CLASS_SHIFT) | libc::c_int::from(self.level)
    }
}

impl FromStr for PriorityClass {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (name, level) = match text.trim().split_once(':') {
            Some((name, level)) => (name, Some(level.parse::<u8>().map_err(|_| ())?)),
            None => (text.trim(), None),
        };
        let class =
            CLASSES.iter().position(|class| *class == name).and_then(|class| u8::try_from(class).ok()).ok_or(())?;
        let without_level = Self { class, level: 0 };
        match level {
            None if without_level.has_levels() => Ok(Self { level: DEFAULT_LEVEL, ..without_level }),
            None => Ok(without_level),
            Some(level) if without_level.has_levels() && level <= LOWEST_LEVEL => Ok(Self { level, ..without_level }),
            Some(_) => Err(()),
        }
    }
}

impl fmt::Display for PriorityClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(CLASSES[usize::from(self.class)])?;
        if self.has_levels() && self.level != DEFAULT_LEVEL { write!(f, ":{}", self.level) } else { Ok(()) }
    }
}

text_limit!(PriorityClass, "PriorityClass", "idle");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parsing_and_printing_round_trip() {
        for text in ["none", "realtime", "realtime:0", "best-effort", "best-effort:7", "idle"] {
            assert_eq!(text.parse::<PriorityClass>().unwrap().to_string(), text);
        }
        assert_eq!("best-effort:4".parse(), "best-effort".parse::<PriorityClass>());
        for text in ["", "rt", "idle:3", "none:0", "realtime:8", "best-effort:"] {
            assert_eq!(text.parse::<PriorityClass>(), Err(()), "{text}");
        }
    }

    #[test]
    fn classes_are_encoded_for_the_kernel() {
        assert_eq!("idle".parse::<PriorityClass>().unwrap().kernel_value(), 3 << 13);
        assert_eq!("best-effort:7".parse::<PriorityClass>().unwrap().kernel_value(), (2 << 13) | 7);
    }
}
