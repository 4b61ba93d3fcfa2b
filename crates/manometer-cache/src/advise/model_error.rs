//! The error of the tier model, as far as advice is concerned.

/// How far the model's speed-up of a cache, its throughput divided by that of its origin alone, may be from the truth: by
/// this factor either way.
///
/// The one place of this figure. It covers all twelve such ratios of the arrangements that are compared here, under the
/// three workloads of the cache thesis (`arrangements/thesis.json`; the integration test `advise::model` computes them and
/// fails if it no longer does, or covers them too generously). They are of one machine; the devices are those of 2011.
pub const SPEED_UP_ERROR: f64 = 2.2;
