//! File names. The engine reads, changes and removes only files of these names, [`LOCK`], and manifests under their
//! temporary name.

use std::fmt;

use crate::entry::NUMBER_LIMIT;

/// The file that a process locks to own the database.
pub(crate) const LOCK: &str = "LOCK";

/// A file of the engine. All numbers come from one counter, so no two files share one. They are below [`NUMBER_LIMIT`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum FileName {
    /// A manifest: the log of version edits.
    Manifest(u64),
    /// A write-ahead log (WAL).
    Wal(u64),
    /// A data file: runs.
    Data(u64),
}

impl FileName {
    /// Parses a file name; `None` if the engine does not write such a name.
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

    /// The file of the run with this file number: the WAL if `is_there` says that it exists, else a data file.
    pub fn of_run(number: u64, is_there: impl Fn(Self) -> bool) -> Self {
        Some(Self::Wal(number)).filter(|log| is_there(*log)).unwrap_or(Self::Data(number))
    }

    /// The file number.
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
    fn a_file_name_survives_formatting() {
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
    fn other_names_are_not_parsed() {
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
