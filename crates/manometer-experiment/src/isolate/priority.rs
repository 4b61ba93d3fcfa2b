//! `io.prio.class`: the priority of a worker's requests, as `ionice` knows it.

use std::fmt;
use std::io;
use std::str::FromStr;

use super::value::text_limit;

/// The classes by the kernel's numbers.
const CLASSES: [&str; 4] = ["none", "realtime", "best-effort", "idle"];

/// The level of a class that is given none, and the lowest.
const USUAL_LEVEL: u8 = 4;
const LOWEST_LEVEL: u8 = 7;

/// A class of priority, and the level in it where the class has levels: 0 is first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PriorityClass {
    class: u8,
    level: u8,
}

impl PriorityClass {
    const WANTED: &str = "class of priority: write `realtime`, `best-effort`, either with a level from 0 (first) to 7 \
                          such as `best-effort:7`, or `idle`, or `none`";

    /// Whether only a privileged user may have it.
    pub(super) fn is_realtime(self) -> bool {
        self.class == 1
    }

    fn has_levels(self) -> bool {
        matches!(self.class, 1 | 2)
    }

    /// The number by which the kernel knows class and level.
    fn for_kernel(self) -> libc::c_int {
        const CLASS_SHIFT: u8 = 13;
        (libc::c_int::from(self.class) << CLASS_SHIFT) | libc::c_int::from(self.level)
    }

    /// Gives the process `pid` this priority; the threads that it starts afterwards have it too.
    pub(super) fn give(self, pid: u32) -> io::Result<()> {
        const WHO_PROCESS: libc::c_int = 1;
        // SAFETY: the call takes three numbers and touches no memory of ours; neither libc nor rustix wraps it.
        let answer = unsafe { libc::syscall(libc::SYS_ioprio_set, WHO_PROCESS, pid, self.for_kernel()) };
        if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
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
        let bare = Self { class, level: 0 };
        match level {
            None if bare.has_levels() => Ok(Self { level: USUAL_LEVEL, ..bare }),
            None => Ok(bare),
            Some(level) if bare.has_levels() && level <= LOWEST_LEVEL => Ok(Self { level, ..bare }),
            Some(_) => Err(()),
        }
    }
}

impl fmt::Display for PriorityClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(CLASSES[usize::from(self.class)])?;
        if self.has_levels() && self.level != USUAL_LEVEL { write!(f, ":{}", self.level) } else { Ok(()) }
    }
}

text_limit!(PriorityClass, "PriorityClass", "idle");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_read_and_written_alike() {
        for text in ["none", "realtime", "realtime:0", "best-effort", "best-effort:7", "idle"] {
            assert_eq!(text.parse::<PriorityClass>().unwrap().to_string(), text);
        }
        assert_eq!("best-effort:4".parse(), "best-effort".parse::<PriorityClass>());
        for text in ["", "rt", "idle:3", "none:0", "realtime:8", "best-effort:"] {
            assert_eq!(text.parse::<PriorityClass>(), Err(()), "{text}");
        }
    }

    #[test]
    fn the_kernel_knows_them_by_its_own_numbers() {
        assert_eq!("idle".parse::<PriorityClass>().unwrap().for_kernel(), 3 << 13);
        assert_eq!("best-effort:7".parse::<PriorityClass>().unwrap().for_kernel(), (2 << 13) | 7);
    }

    #[test]
    fn a_process_that_is_not_there_cannot_be_given_any() {
        assert!("idle".parse::<PriorityClass>().unwrap().give(i32::MAX as u32).is_err());
    }
}
