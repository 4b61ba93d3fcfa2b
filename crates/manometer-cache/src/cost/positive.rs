//! Checks of numbers in files.

use crate::CacheError;

/// Checks that the value called `name` is positive.
pub(super) fn positive(name: &str, value: f64) -> Result<f64, CacheError> {
    if value.is_finite() && value > 0.0 {
        return Ok(value);
    }
    Err(CacheError::Invalid(format!("`{name}` is {value}: it has to be above zero")))
}

/// As [`positive`], for an optional value.
pub(super) fn optional_positive(name: &str, value: Option<f64>) -> Result<Option<f64>, CacheError> {
    value.map(|value| positive(name, value)).transpose()
}
