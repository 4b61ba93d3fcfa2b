//! The list of all charts, and a file for each: its texts, and the rows or columns that fill it.

use super::chart::Chart;

/// Declares the modules of the charts, and [`CHARTS`], the list of all of them.
macro_rules! charts {
    ($($module:ident)+) => {
        $(pub(crate) mod $module;)+

        /// Every chart, in the order of the page and of the gallery.
        pub(crate) const CHARTS: &[Chart] = &[$($module::CHART),+];
    };
}

// A new chart is a file `charts/NAME.vl.json`, a file in this folder and a line here.
charts! {
    pressure_scale
    pressure_lines
    pressure_bars
    pressure_twins
    pressure_heat_map
    pressure_differences
    pressure_steps
    timeline
    blocks
    latency_spectrum
    criterion_distribution
    distribution_grid
    throughput_latency
    neighbour_throughput
    latency_heat_map
    response_service
    warm_up
    device
    io_stacked
    device_health
    cpu
    cpu_cores
    levels
    write_amplification_size
    scatter_matrix
    replay_dispatch
    replay_interarrivals
    replay_windows
    latency_against_rate
    cache_curves
    working_set
    reuse_distance
    inter_arrivals
    policy_curves
    miss_ratio_curves
    miss_ratio_engines
    read_speed_up
    slab_sizes
    hot_spots
    hot_spot_arrivals
    hot_slots
    advised_tiers
    arrangement_bars
    tier_flows
    tier_series
    request_mix
    seeks_and_sizes
    cost_bars
}
