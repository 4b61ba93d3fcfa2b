//! What is mounted: a directory, or a metadata store.

use std::convert::Infallible;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// Where names and files are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A directory of the host.
    Directory(PathBuf),
    /// A metadata store on a Redis server, by its address.
    Redis(String),
    /// A metadata store in a database of rlsm, by its folder.
    Rlsm(PathBuf),
}

impl FromStr for Source {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(match text.strip_prefix("rlsm:") {
            Some(folder) => Self::Rlsm(folder.into()),
            None if text.starts_with("redis://") => Self::Redis(text.to_owned()),
            None => Self::Directory(text.into()),
        })
    }
}

/// As it may be shown to everybody: the table of mounts has it, so that the address has no user and no password.
impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory(path) => path.display().fmt(f),
            Self::Rlsm(path) => write!(f, "rlsm:{}", path.display()),
            Self::Redis(address) => {
                let rest = address.trim_start_matches("redis://");
                write!(f, "redis://{}", rest.rsplit_once('@').map_or(rest, |(_, host)| host))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Source {
        let Ok(source) = text.parse();
        source
    }

    #[test]
    fn stores_are_told_from_directories_by_how_they_begin() {
        assert_eq!(parsed("rlsm:a/b"), Source::Rlsm("a/b".into()));
        assert_eq!(parsed("redis://host:1/2"), Source::Redis("redis://host:1/2".to_owned()));
        assert_eq!(parsed("./rlsm:a"), Source::Directory("./rlsm:a".into()));
        assert_eq!(parsed("redis"), Source::Directory("redis".into()));
    }

    #[test]
    fn a_password_is_not_shown() {
        assert_eq!(parsed("redis://user:p@ss@host:1/2").to_string(), "redis://host:1/2");
        assert_eq!(parsed("redis://host:1/2").to_string(), "redis://host:1/2");
    }
}
