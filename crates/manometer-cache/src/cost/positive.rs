//! Numbers as files give them.

use crate::CacheError;

/// That what is called `name` is above zero.
pub(super) fn positive(name: &str, value: f64) -> Result<f64, CacheError> {
    if value.is_finite() && value > 0.0 {
        return Ok(value);
    }
    Err(CacheError::Invalid(format!("`{name}` is {value}: it has to be above zero")))
}

/// The same where it is given.
pub(super) fn optional_positive(name: &str, value: Option<f64>) -> Result<Option<f64>, CacheError> {
    value.map(|value| positive(name, value)).transpose()
}
