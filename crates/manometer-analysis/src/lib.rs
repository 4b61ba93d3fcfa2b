//! What a recording means: steady state, intervals, pressure, the pressure scale, findings.
//!
//! [`summarise`](summarise::summarise) computes everything from a recording and nothing else; the formulas
//! are in [`statistics`], and `docs/analysis.md` says where each comes from. How it looks is left to
//! `manometer-report`.

pub mod statistics;
pub mod summary;
