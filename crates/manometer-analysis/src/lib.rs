//! What a recording means: steady state, intervals, pressure, the pressure scale, findings.
//!
//! [`summarise`](summarise::summarise) computes everything from a recording and nothing else; the formulas
//! are in [`statistics`], and `docs/analysis.md` says where each comes from. How it looks is left to
//! `manometer-report`.

pub mod compare;
pub mod criterion;
mod fairness;
pub mod fidelity;
pub mod findings;
mod headline;
pub mod levels;
mod phases;
pub mod pressure;
pub mod real_vs_synthetic;
pub mod scale;
pub mod series;
mod sources;
pub mod statistics;
pub mod steady;
pub mod summarise;
pub mod summary;

pub use summarise::summarise;
