//! The operations on files.

/// The kinds of operations. Their names are those of samples, histograms and criteria.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileOperation {
    /// Creates and opens a file.
    Create,
    /// Opens an existing file.
    Open,
    /// Writes all of a new file, or a block of a large one.
    Write,
    /// Appends to a file.
    Append,
    /// Reads all of a file, or a block of a large one; `paths` opens it first.
    Read,
    /// Makes a file durable.
    Fsync,
    /// Looks up size and times of a file by its name.
    Stat,
    /// Removes a file.
    Delete,
    /// Writes a block of a database's log, durable.
    Log,
    /// Opens a directory and reads the names of its entries.
    List,
}

impl FileOperation {
    /// All of them, each at the place of its number.
    pub(crate) const ALL: [Self; 10] = [
        Self::Create,
        Self::Open,
        Self::Write,
        Self::Append,
        Self::Read,
        Self::Fsync,
        Self::Stat,
        Self::Delete,
        Self::Log,
        Self::List,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Open => "open",
            Self::Write => "write",
            Self::Append => "append",
            Self::Read => "read",
            Self::Fsync => "fsync",
            Self::Stat => "stat",
            Self::Delete => "delete",
            Self::Log => "log",
            Self::List => "list",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_the_place_of_its_number() {
        assert!(FileOperation::ALL.iter().enumerate().all(|(place, one)| *one as usize == place));
    }
}
