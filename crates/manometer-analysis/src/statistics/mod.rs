//! The formulas: pure functions of numbers, each with its source. The other modules apply them to recordings.
//!
//! A series is a slice of equally spaced samples. Shares are fractions of 1, never per cent.

pub mod batches;
pub mod bootstrap;
pub mod change_points;
pub mod fieller;
pub mod holm;
pub mod kolmogorov_smirnov;
pub mod memory;
pub mod moments;
pub mod mser;
pub mod noise_model;
pub mod snia;
pub mod student;
pub mod trend;

pub use batches::SampleMean;
pub use manometer_measure::autocorrelation;

/// The significance level of every test and interval: 5 %.
pub const SIGNIFICANCE: f64 = 0.05;
