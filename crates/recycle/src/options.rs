//! How a region is set up.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::{Budget, Error};

/// Which pages are recycled, and where freed memory goes. Song 2018, section 3.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Policy {
    /// Clean-only recycling (COR): a fault recycles clean pages. Where there are none it takes the slow path: it waits
    /// for a background thread that writes dirty pages, and does that itself if that does not help.
    CleanOnly,
    /// Full recycling (FR): a fault writes dirty victims back itself, neighbours merged; freed memory goes to a list that
    /// all threads share.
    Full,
    /// Full recycling with private lists (FP): as [`Policy::Full`], but freed memory goes to the list of the processor
    /// that freed it, so that who works for it has it.
    #[default]
    FullPrivate,
}

/// Which pages are victims.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Replacement {
    /// CLOCK, in the order of the file: pages touched since the hand last passed get another round. A page that was
    /// evicted and soon read again gets two. Victims lie close together, so that their protection, release and
    /// write-back are shared.
    #[default]
    Clock,
    /// Least recently used, exactly, as far as uses are seen.
    Lru,
    /// Clean-first LRU: as LRU, but among the quarter used least recently, clean pages go before dirty ones. Park et al.,
    /// *CFLRU: a replacement algorithm for flash memory*, CASES 2006.
    Cflru,
}

/// Who answers the faults of a mapped region.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Faults {
    /// The faulting thread itself, in a handler of SIGBUS: fastest, and without privileges. System calls that meet an
    /// absent page return `EFAULT`.
    #[default]
    Signal,
    /// A thread of the region: slower by two context switches, but system calls work, too. Needs
    /// `vm.unprivileged_userfaultfd = 1`, the capability `CAP_SYS_PTRACE`, or access to `/dev/userfaultfd`.
    Thread,
}

/// How pages will be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Advice {
    /// Unknown: streams are noticed.
    Normal,
    /// In no order: pages are read one by one.
    Random,
    /// In order: many pages are read at once.
    Sequential,
    /// Soon: they are read now, as many as half the budget holds.
    WillNeed,
    /// Not soon: dirty ones are written, and all are evicted.
    DontNeed,
}

/// What becomes of an access whose page cannot be provided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recovery {
    /// Try again: the handler has waited, or made room.
    Retry,
    /// Give up: a method returns the error; an access to mapped memory receives SIGBUS, as with `mmap`.
    Fail,
}

/// Decides about errors of accesses to mapped memory, and learns of errors that no call can return.
pub type OnError = Arc<dyn Fn(&Error) -> Recovery + Send + Sync>;

/// How a region is set up. `Options { memory: 1 << 30, ..Options::default() }`.
#[derive(Clone)]
pub struct Options {
    /// Most bytes of the file that are in memory at once; whole pages. Buffers of reads under way come on top:
    /// [`Options::read_ahead`] for each thread that faults at once. With [`Options::budget`], that one counts.
    pub memory: u64,
    /// See [`Policy`]. With [`Options::budget`], that one's counts.
    pub policy: Policy,
    /// See [`Replacement`]. With [`Options::budget`], that one's counts.
    pub replacement: Replacement,
    /// Most pages that are recycled at once; at most an eighth of the budget. With [`Options::budget`], that one's
    /// counts.
    pub batch: u32,
    /// Most bytes that are read at once for a stream; at most an eighth of the budget and 1 MiB. 0 reads page by page.
    pub read_ahead: u64,
    /// See [`Faults`]; for mapped regions only.
    pub faults: Faults,
    /// A budget that several regions share.
    pub budget: Option<Budget>,
    /// Is asked about errors of accesses to mapped memory and told of failed write-backs. Without it they fail.
    /// It may run in a signal handler: it must not touch mapped memory of a region, nor wait for the thread that
    /// faulted.
    pub on_error: Option<OnError>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            memory: 64 << 20,
            policy: Policy::default(),
            replacement: Replacement::default(),
            batch: 32,
            read_ahead: 512 << 10,
            faults: Faults::default(),
            budget: None,
            on_error: None,
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Options")
            .field("memory", &self.memory)
            .field("policy", &self.policy)
            .field("replacement", &self.replacement)
            .field("batch", &self.batch)
            .field("read_ahead", &self.read_ahead)
            .field("faults", &self.faults)
            .field("budget", &self.budget)
            .field("on_error", &self.on_error.is_some())
            .finish()
    }
}

/// A name that is none of those possible.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{got}` is none of {wanted}")]
pub struct UnknownName {
    /// The name given.
    pub got: String,
    /// The names that there are.
    pub wanted: &'static str,
}

/// Gives an enum the names by which users choose its values.
macro_rules! names {
    ($type:ident, $wanted:literal, $($value:ident = $name:literal),+) => {
        impl $type {
            /// All values.
            pub const ALL: &'static [Self] = &[$(Self::$value),+];

            /// The name by which users choose it.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$value => $name),+
                }
            }
        }

        impl FromStr for $type {
            type Err = UnknownName;

            fn from_str(text: &str) -> Result<Self, UnknownName> {
                let found = Self::ALL.iter().find(|value| value.name().eq_ignore_ascii_case(text));
                found.copied().ok_or_else(|| UnknownName { got: text.to_owned(), wanted: $wanted })
            }
        }
    };
}

names!(Policy, "cor, fr, fp", CleanOnly = "cor", Full = "fr", FullPrivate = "fp");
names!(Replacement, "clock, lru, cflru", Clock = "clock", Lru = "lru", Cflru = "cflru");
names!(Faults, "signal, thread", Signal = "signal", Thread = "thread");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        assert!(Policy::ALL.iter().all(|policy| policy.name().parse() == Ok(*policy)));
        assert!(Replacement::ALL.iter().all(|replacement| replacement.name().parse() == Ok(*replacement)));
        assert!(Faults::ALL.iter().all(|faults| faults.name().parse() == Ok(*faults)));
        assert_eq!("FP".parse(), Ok(Policy::FullPrivate));
        let error = "fifo".parse::<Replacement>().unwrap_err();
        assert_eq!(error.to_string(), "`fifo` is none of clock, lru, cflru");
    }
}
