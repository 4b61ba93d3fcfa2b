//! The formulas: pure functions of numbers, each with its source. What the numbers stand for is left to
//! the modules beside this one.
//!
//! A series is a slice of equally spaced samples. Shares are shares of one, never per cent.

pub mod autocorrelation;
pub mod batches;
pub mod bootstrap;
pub mod change;
pub mod fieller;
pub mod holm;
pub mod kolmogorov_smirnov;
pub mod moments;
pub mod mser;
pub mod snia;
pub mod student;
pub mod trend;

pub use batches::Measured;

/// The chance that an interval misses the truth, and that a test speaks up where nothing is: 5 %.
pub const SIGNIFICANCE: f64 = 0.05;
