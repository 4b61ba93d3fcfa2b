//! What users choose: policies, replacements, who answers faults, how pages will be used.

use std::str::FromStr;

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
