//! The error of an invalid setting.

/// An invalid setting.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{name}`: got {got}; {wanted}")]
pub struct SettingError {
    /// Its name, as given.
    pub name: String,
    /// The given value.
    pub got: String,
    /// What to write instead.
    pub wanted: String,
}

impl SettingError {
    pub(crate) fn new(name: &str, got: impl ToString, wanted: impl Into<String>) -> Self {
        Self { name: name.to_owned(), got: got.to_string(), wanted: wanted.into() }
    }
}
