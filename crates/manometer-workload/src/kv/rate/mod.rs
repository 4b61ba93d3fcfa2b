//! The rate of an open loop over time.

mod curve;
mod form;
mod table;

pub use self::curve::RateCurve;
pub use self::form::{RateError, RateForm};
