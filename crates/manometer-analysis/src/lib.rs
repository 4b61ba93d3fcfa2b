//! What a recording means: steady state, intervals, pressure, the pressure scale, findings.

pub mod summary;
