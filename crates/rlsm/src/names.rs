//! What the files of a database are called. A file of another name is not the engine's and is never touched.

use std::fmt;

use crate::entry::NUMBER_LIMIT;

/// The file that a process locks to have the database for itself.
pub(crate) const LOCK: &str = "LOCK";

/// A file of the engine. All numbers come from one counter, so none is used twice, and are below [`NUMBER_LIMIT`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum FileName {
    /// The log of what the database consists of.
    Manifest(u64),
    /// A write-ahead log.
    Wal(u64),
    /// A file of runs.
    Data(u64),
}

impl FileName {
    /// What `name` names, if it is a name that the engine gives.
    pub fn parse(name: &str) -> Option<Self> {
        let (kind, digits) = name.split_once('-')?;
        let number = digits.parse().ok().filter(|number| *number < NUMBER_LIMIT)?;
        let parsed = match kind {
            "manifest" => Self::Manifest(number),
            "wal" => Self::Wal(number),
            "data" => Self::Data(number),
            _ => return None,
        };
        (parsed.to_string() == name).then_some(parsed)
    }

    /// The file that a run of this number lies in: the log, if `is_there` knows it, since no two files share a number.
    pub fn of_run(number: u64, is_there: impl Fn(Self) -> bool) -> Self {
        Some(Self::Wal(number)).filter(|log| is_there(*log)).unwrap_or(Self::Data(number))
    }

    /// The number from the database's counter.
    pub fn number(self) -> u64 {
        match self {
            Self::Manifest(number) | Self::Wal(number) | Self::Data(number) => number,
        }
    }
}

impl fmt::Display for FileName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self {
            Self::Manifest(_) => "manifest",
            Self::Wal(_) => "wal",
            Self::Data(_) => "data",
        };
        write!(formatter, "{kind}-{:06}", self.number())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_as_it_is_written() {
        for number in [0, 1, 999_999, 1_000_000, NUMBER_LIMIT - 1] {
            for name in [FileName::Manifest(number), FileName::Wal(number), FileName::Data(number)] {
                assert_eq!(FileName::parse(&name.to_string()), Some(name));
                assert_eq!(name.number(), number);
            }
        }
        assert_eq!(FileName::Wal(1).to_string(), "wal-000001");
        assert_eq!(FileName::Data(12_345_678).to_string(), "data-12345678");
    }

    #[test]
    fn a_name_the_engine_does_not_give_is_none() {
        let others = [
            "",
            "-",
            "wal",
            "wal-",
            "wal-1",
            "wal-0000001",
            "wal-+00001",
            "wal-00000x",
            "WAL-000001",
            "log-000001",
            "data-000001.tmp",
            " data-000001",
            "manifest-99999999999999999999",
            "data-9223372036854775808",
            LOCK,
        ];
        for name in others {
            assert_eq!(FileName::parse(name), None, "{name}");
        }
    }
}
