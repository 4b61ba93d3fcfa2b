//! A setting that is wrong, and what would be right.

/// A setting that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{name}`: got {got}; {wanted}")]
pub struct SettingError {
    /// The setting, as it is called or as it was misspelt.
    pub name: String,
    /// What was given.
    pub got: String,
    /// What would be right.
    pub wanted: String,
}

impl SettingError {
    pub(crate) fn new(name: &str, got: impl ToString, wanted: impl Into<String>) -> Self {
        Self { name: name.to_owned(), got: got.to_string(), wanted: wanted.into() }
    }
}
