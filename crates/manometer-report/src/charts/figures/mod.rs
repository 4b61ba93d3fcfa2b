//! Charts of figures that are no recording's: what they are, and the columns that they are drawn from.

pub(crate) mod advised_tiers;
pub(crate) mod arrangement_bars;
pub(crate) mod cache_curves;
pub(crate) mod cost_bars;
pub(crate) mod hot_slots;
pub(crate) mod hot_spot_arrivals;
pub(crate) mod hot_spots;
pub(crate) mod inter_arrivals;
pub(crate) mod latency_against_rate;
pub(crate) mod miss_ratio_curves;
pub(crate) mod miss_ratio_engines;
pub(crate) mod policy_curves;
pub(crate) mod read_speed_up;
pub(crate) mod reuse_distance;
pub(crate) mod slab_sizes;
pub(crate) mod tier_flows;
pub(crate) mod working_set;
