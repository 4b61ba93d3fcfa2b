"""A function for each chart. Written by python/tools/generate_plot.py; change the charts instead."""

from __future__ import annotations

from altair.typing import ChartType

from manometer.plot._draw import Figures, Many, One, of_figures, of_many, of_one

__all__ = [
    "advised_tiers",
    "arrangement_bars",
    "blocks",
    "cache_curves",
    "cost_bars",
    "cpu",
    "cpu_cores",
    "criterion_distribution",
    "device",
    "device_health",
    "distribution_grid",
    "hot_slots",
    "hot_spot_arrivals",
    "hot_spots",
    "inter_arrivals",
    "io_stacked",
    "latency_against_rate",
    "latency_heat_map",
    "latency_spectrum",
    "levels",
    "miss_ratio_curves",
    "miss_ratio_engines",
    "neighbour_throughput",
    "policy_curves",
    "pressure_bars",
    "pressure_differences",
    "pressure_heat_map",
    "pressure_lines",
    "pressure_scale",
    "pressure_steps",
    "pressure_twins",
    "read_speed_up",
    "replay_dispatch",
    "replay_interarrivals",
    "replay_windows",
    "request_mix",
    "response_service",
    "reuse_distance",
    "scatter_matrix",
    "seeks_and_sizes",
    "slab_sizes",
    "throughput_latency",
    "tier_flows",
    "tier_series",
    "timeline",
    "warm_up",
    "working_set",
    "write_amplification_size",
]


def advised_tiers(rows: Figures) -> ChartType:
    """Disks, SSDs, and SSDs before disks.

    The throughput of each arrangement on the trace, and the cost of each of its MB/s: long bars are good in the
    upper panel, short ones in the lower. 1h is a disk, 1s an SSD, 4h0 four disks as RAID 0, 4h10 as RAID 10,
    bcache-1s-4h0 an SSD in front of four disks.

    Args:
        rows: a frame, or dictionaries, with the columns below.

    Columns of its rows:
        strip: The quantity, with its unit: a panel each.
        order: The panel's place from above.
        arrangement: The arrangement of devices.
        tier: `disks`, `SSDs` or `SSDs before disks`.
        value: The bar, in the unit of its strip.

    Raises:
        ChartError: a row lacks a column.

    >>> rows = []  # a frame, or dictionaries with the columns above
    >>> manometer.plot.advised_tiers(rows).to_dict()["data"]["name"]
    'advised-tiers'
    """
    return of_figures("advised-tiers", rows)


def arrangement_bars(rows: Figures) -> ChartType:
    """Arrangements of disks and SSDs.

    The throughput of each arrangement by request size, or under a load of requests of several sizes; whiskers are
    95 % intervals, where there is one. A bar that would dwarf the others is cut at the edge; its number is the
    full value. 1h is a disk, 1s an SSD, 4h0 four disks as RAID 0, 4h10 as RAID 10, bcache-1s-4h0 an SSD in front
    of four disks.

    After dos Santos 2015, Figures 6.4, 6.5 and 6.8.

    Args:
        rows: a frame, or dictionaries, with the columns below.

    Columns of its rows:
        workload: The workload: a panel each.
        arrangement: The arrangement of devices.
        size: The size of a request, with its unit, such as `64 KiB`; `requests of the load` where it has several.
        size_order: The size's place among the sizes.
        mb_per_s [MB/s]: The throughput.
        cut_mb_per_s [MB/s]: The length of the bar: `mb_per_s`, or less where the bar is cut.
        ci_low [MB/s]: The lower end of the 95 % interval; null where there is none.
        ci_high [MB/s]: Its upper end.
        samples: Repeats.

    Raises:
        ChartError: a row lacks a column.

    >>> rows = []  # a frame, or dictionaries with the columns above
    >>> manometer.plot.arrangement_bars(rows).to_dict()["data"]["name"]
    'arrangement-bars'
    """
    return of_figures("arrangement-bars", rows)


def blocks(recording: One) -> ChartType:
    """Blocks of an interleaved plan.

    The mean of the criterion in each block, by round: above as measured, below as a share of w0 in the same
    round. The dashed line is w0. What the host does to all blocks of a round moves the lines above together and
    leaves those below where they are; the pressures come from the shares.

    Args:
        recording: a recording, or its directory.

    Raises:
        RecordingError: the recording cannot be read.

    >>> manometer.plot.blocks(manometer.demo()).to_dict()["data"]["name"]
    'blocks'
    """
    return of_one("blocks", recording)


def cache_curves(rows: Figures) -> ChartType:
    """Miss-ratio curves.

    The miss ratio (y axis) by the cache's capacity (x axis, logarithmic to base 2). Pale bands are the 95 %
    intervals of estimates from a sample; circles are knees, from which the curve falls less steeply.

    Args:
        rows: a frame, or dictionaries, with the columns below.

    Columns of its rows:
        policy: The replacement policy.
        capacity: The cache's capacity, in `unit`.
        unit: `objects` or `bytes`.
        miss_ratio: Misses per request, 0 to 1.
        error: Half of the 95 % interval; null where it is exact.
        low: The lower end of the 95 % interval; null where there is none.
        high: Its upper end.
        is_knee: Whether this is a knee: from it on the curve falls less steeply.

    Raises:
        ChartError: a row lacks a column.

    >>> rows = manometer.cache.curves([1, 2, 3, 1, 2, 3])
    >>> manometer.plot.cache_curves(rows).to_dict()["data"]["name"]
    'cache-curves'
    """
    return of_figures("cache-curves", rows)


def cost_bars(rows: Figures) -> ChartType:
    """Cost of arrangements.

    The cost of each arrangement by its parts, and the cost of each unit of its performance: short bars are good.
    1h is a disk, 1s an SSD, 4h0 four disks as RAID 0, 4h10 as RAID 10, bcache-1s-4h0 an SSD in front of four
    disks.

    After dos Santos 2015, Table 6.3.

    Args:
        rows: a frame, or dictionaries, with the columns below.

    Columns of its rows:
        strip: What the bar shows, with its unit, such as `cost (USD)` or `cost per MB/s (USD)`: a panel each.
        order: The panel's place from above.
        arrangement: The arrangement of devices.
        part: The part: `devices`, `energy`, `replacement`, or `all`.
        value: The cost, in the unit of its strip.

    Raises:
        ChartError: a row lacks a column.

    >>> rows = []  # a frame, or dictionaries with the columns above
    >>> manometer.plot.cost_bars(rows).to_dict()["data"]["name"]
    'cost-bars'
    """
    return of_figures("cost-bars", rows)


def cpu(recording: One) -> ChartType:
    """Processor use.

    The cores in use on the whole host by kind, the cores that each workload's process used, and the share of time
    in which some task waited for a processor, for I/O, or for memory (pressure stall information).

    Args:
        recording: a recording, or its directory.

    Raises:
        RecordingError: the recording cannot be read.

    >>> manometer.plot.cpu(manometer.demo()).to_dict()["data"]["name"]
    'cpu'
    """
    return of_one("cpu", recording)


def cpu_cores(recording: One) -> ChartType:
    """Processor use by core.

    A row for each core, time across: dark is idle, bright is busy in programs, in the kernel, with interrupts or
    stolen by the hypervisor. One bright row among dark ones is a thread that limits all others.

    Args:
        recording: a recording, or its directory.

    Raises:
        RecordingError: the recording cannot be read.

    >>> manometer.plot.cpu_cores(manometer.demo()).to_dict()["data"]["name"]
    'cpu-cores'
    """
    return of_one("cpu-cores", recording)


def criterion_distribution(recording: One) -> ChartType:
    """Distribution of the criterion.

    The cumulative distribution of the criterion: the share of a phase's sample intervals (y axis) with at most
    this value (x axis). The dashed line is w0. A steep line is a steady phase. Of a throughput, a line further to
    the left is lower.

    After Lange 2023, Figures 4.8 and 4.17.

    Args:
        recording: a recording, or its directory.

    Raises:
        RecordingError: the recording cannot be read.

    >>> manometer.plot.criterion_distribution(manometer.demo()).to_dict()["data"]["name"]
    'criterion-distribution'
    """
    return of_one("criterion-distribution", recording)


def device(recording: One) -> ChartType:
    """Device use.

    The block device's work for the whole host, from the kernel's counters: bytes, requests, the share of time it
    was busy, and the requests in flight at the end of each sample interval.

    Args:
        recording: a recording, or its directory.

    Raises:
        RecordingError: the recording cannot be read.

    >>> manometer.plot.device(manometer.demo()).to_dict()["data"]["name"]
    'device'
    """
    return of_one("device", recording)


def device_health(recording: One) -> ChartType:
    """Device health (SMART).

    The device's own log (SMART): how much of the device holds data, the bytes written since the recording began,
    wear and temperature. A point is a reading. A device that fills up or grows hot slows down, regardless of the
    workloads.

    After Lange 2023, Figure 4.6.

    Args:
        recording: a recording, or its directory.

    Raises:
        RecordingError: the recording cannot be read.

    >>> manometer.plot.device_health(manometer.demo()).to_dict()["data"]["name"]
    'device-health'
    """
    return of_one("device-health", recording)


def distribution_grid(recordings: Many) -> ChartType:
    """Distributions of the criterion, run by run.

    The cumulative distribution of the criterion over a phase's sample intervals, a panel for each run, all on the
    same scale; the dashed line is w0. A steep line is a steady phase.

    After Lange 2023, Figures 4.8 and 4.17.

    Args:
        recordings: several, their directory, or one.

    Raises:
        RecordingError: a recording cannot be read.

    >>> manometer.plot.distribution_grid(manometer.demo()).to_dict()["data"]["name"]
    'distribution-grid'
    """
    return of_many("distribution-grid", recordings)


def hot_slots(rows: Figures) -> ChartType:
    """Hot slots.

    The requests per second for ranges of a cluster's slots (x axis) over time (y axis): bright is hot. A slot
    that stays hot is a column, a burst is a row.

    Args:
        rows: a frame, or dictionaries, with the columns below.

    Columns of its rows:
        load: The trace, or the load: a panel each.
        slot [slots]: The first slot of the range.
        slot_end [slots]: The first slot after the range.
        t_s [s]: The start of the time slice.
        t_end_s [s]: Its end.
        requests [requests/s]: Requests per second for these slots.

    Raises:
        ChartError: a row lacks a column.

    >>> rows = []  # a frame, or dictionaries with the columns above
    >>> manometer.plot.hot_slots(rows).to_dict()["data"]["name"]
    'hot-slots'
    """
    return of_figures("hot-slots", rows)


def hot_spot_arrivals(rows: Figures) -> ChartType:
    """Requests of the hottest node.

    The requests per second of the node with the most requests in each second. With temporal locality a node is
    hot for a while; with keys drawn independently the hottest node is always about as hot.

    After Boza 2018, Figure 5.9.

    Args:
        rows: a frame, or dictionaries, with the columns below.

    Columns of its rows:
        load: The trace, or a synthetic load.
        second [s]: The second of the replay.
        requests [requests/s]: Requests of the hottest node in this second.

    Raises:
        ChartError: a row lacks a column.

    >>> rows = []  # a frame, or dictionaries with the columns above
    >>> manometer.plot.hot_spot_arrivals(rows).to_dict()["data"]["name"]
    'hot-spot-arrivals'
    """
    return of_figures("hot-spot-arrivals", rows)


def hot_spots(rows: Figures) -> ChartType:
    """Hot spots in a cluster.

    The requests that each node gets in each second, where the nodes share the slots of a Redis Cluster evenly:
    whiskers from the least to the most, the box between the quartiles. Computed from the slots of the keys, and
    where it says so counted by the servers of a real cluster.

    After Boza 2018, Figure 5.9.

    Args:
        rows: a frame, or dictionaries, with the columns below.

    Columns of its rows:
        load: The trace, or a synthetic load.
        min [requests/s]: The fewest requests of a node in a second.
        q1 [requests/s]: The lower quartile.
        median [requests/s]: The median.
        q3 [requests/s]: The upper quartile.
        max [requests/s]: The most.
        range [requests/s]: The most minus the fewest.
        samples: Nodes times seconds.

    Raises:
        ChartError: a row lacks a column.

    >>> rows = []  # a frame, or dictionaries with the columns above
    >>> manometer.plot.hot_spots(rows).to_dict()["data"]["name"]
    'hot-spots'
    """
    return of_figures("hot-spots", rows)


def inter_arrivals(rows: Figures) -> ChartType:
    """Inter-arrival times.

    The cumulative distribution of the inter-arrival time (x axis, logarithmic): the share of the requests (y
    axis) that came at most this long after the request before.

    Args:
        rows: a frame, or dictionaries, with the columns below.

    Columns of its rows:
        trace: The trace, or the load.
        gap_us [µs]: The inter-arrival time; at least the clock's resolution.
        share: Requests with at most this inter-arrival time, 0 to 1.
        requests: Requests behind the line.

    Raises:
        ChartError: a row lacks a column.

    >>> rows = []  # a frame, or dictionaries with the columns above
    >>> manometer.plot.inter_arrivals(rows).to_dict()["data"]["name"]
    'inter-arrivals'
    """
    return of_figures("inter-arrivals", rows)


def io_stacked(recording: One) -> ChartType:
    """Device reads and writes by workload.

    The bytes that the device read and wrote, by the control group of the workload that caused them, or by its
    process where it has no separate group. `others` is the rest of the device's own count: the file system,
    write-back by the kernel, foreign processes. A gap above a workload means that its share is not known there.

    Args:
        recording: a recording, or its directory.

    Raises:
        RecordingError: the recording cannot be read.

    >>> manometer.plot.io_stacked(manometer.demo()).to_dict()["data"]["name"]
    'io-stacked'
    """
    return of_one("io-stacked", recording)


def latency_against_rate(rows: Figures) -> ChartType:
    """Latency against rate.

    The percentile of the response time that the goal names (y axis), at each requested rate (x axis); the line is
    the median over the trials of a rate. The dashed line is the goal, the dotted one the highest rate that meets
    it in most of its trials; both axes are logarithmic. A rate below the dashed line misses the goal when the
    engine reached too little of it.

    Args:
        rows: a frame, or dictionaries, with the columns below.

    Columns of its rows:
        rate [requests/s]: The requested rate.
        achieved [requests/s]: The achieved rate.
        latency_us [µs]: The goal's percentile of the response time; null without an answer.
        dropped: Requests that did not fit into the queue.
        requests: Answered requests.
        goal: `met` or `missed`.
        goal_us [µs]: The longest response time of the goal.
        highest [requests/s]: The highest rate that meets the goal; null where none does.

    Raises:
        ChartError: a row lacks a column.

    >>> rows = []  # a frame, or dictionaries with the columns above
    >>> manometer.plot.latency_against_rate(rows).to_dict()["data"]["name"]
    'latency-against-rate'
    """
    return of_figures("latency-against-rate", rows)


def latency_heat_map(recording: One) -> ChartType:
    """Latency over time.

    The requests in each time slice by latency (y axis, logarithmic): bright is where most of them are. Two bright
    bands are two kinds of request: those that waited for the device and those that did not. A tall column is a
    stall.

    Args:
        recording: a recording, or its directory.

    Raises:
        RecordingError: the recording cannot be read.

    >>> manometer.plot.latency_heat_map(manometer.demo()).to_dict()["data"]["name"]
    'latency-heat-map'
    """
    return of_one("latency-heat-map", recording)


def latency_spectrum(recording: One) -> ChartType:
    """Latency spectra.

    The latency (y axis) by percentile (x axis, each nine as wide as the one before), for every operation of the
    primary. In an open loop the dotted line is the response time, from when a request was due: its distance to
    the line of its phase is the waiting that coordinated omission hides. Dashed is w0. A spectrum ends at its
    phase's last request.

    Args:
        recording: a recording, or its directory.

    Raises:
        RecordingError: the recording cannot be read.

    >>> manometer.plot.latency_spectrum(manometer.demo()).to_dict()["data"]["name"]
    'latency-spectrum'
    """
    return of_one("latency-spectrum", recording)


def levels(recording: One) -> ChartType:
    """LSM levels.

    The size of each level of the primary's LSM tree, each on a separate scale; below, the files or runs of all
    levels, and those under compaction. Empty levels are omitted.

    After Lange 2023, Figure 4.2.

    Args:
        recording: a recording, or its directory.

    Raises:
        RecordingError: the recording cannot be read.

    >>> manometer.plot.levels(manometer.demo()).to_dict()["data"]["name"]
    'levels'
    """
    return of_one("levels", recording)


def miss_ratio_curves(rows: Figures) -> ChartType:
    """Miss ratio: the trace and synthetic loads.

    The miss ratio of reads (y axis) by the cache's memory (x axis). The solid line is the trace; the distance of
    a dashed line from it is the error of that synthetic load. Pale bands are 95 % intervals over the repeats. The
    panel exact LRU is simulated.

    After Boza 2018, Figure 5.5.

    Args:
        rows: a frame, or dictionaries, with the columns below.

    Columns of its rows:
        engine: The engine, or the exact simulation: a panel each.
        load: The trace, or a synthetic load.
        cache: The cache's share of all data, 0 to 1.
        cache_mib [MiB]: The cache's memory.
        miss_ratio: Read misses per read, 0 to 1.
        ci_low: The lower end of the 95 % interval; null where there is none.
        ci_high: Its upper end.
        samples: Repeats.

    Raises:
        ChartError: a row lacks a column.

    >>> rows = []  # a frame, or dictionaries with the columns above
    >>> manometer.plot.miss_ratio_curves(rows).to_dict()["data"]["name"]
    'miss-ratio-curves'
    """
    return of_figures("miss-ratio-curves", rows)


def miss_ratio_engines(rows: Figures) -> ChartType:
    """Miss ratio: engine against engine.

    The same curves, a panel for each load. Each engine has its own approximation of LRU; the distance between
    engines depends on the load as well.

    After Boza 2018, Figure 5.6.

    Args:
        rows: a frame, or dictionaries, with the columns below.

    Columns of its rows:
        engine: The engine.
        load: The trace, or a synthetic load: a panel each.
        cache: The cache's share of all data, 0 to 1.
        cache_mib [MiB]: The cache's memory.
        miss_ratio: Read misses per read, 0 to 1.
        ci_low: The lower end of the 95 % interval; null where there is none.
        ci_high: Its upper end.
        samples: Repeats.

    Raises:
        ChartError: a row lacks a column.

    >>> rows = []  # a frame, or dictionaries with the columns above
    >>> manometer.plot.miss_ratio_engines(rows).to_dict()["data"]["name"]
    'miss-ratio-engines'
    """
    return of_figures("miss-ratio-engines", rows)


def neighbour_throughput(recordings: Many) -> ChartType:
    """Throughput of the neighbours.

    The neighbour's own throughput (y axis) by its queue depth, or by another of its settings (x axis), a line for
    each share of writes, or for each value of a further setting; whiskers are 95 % intervals. Each combination of
    what else differs, such as running alone, has a panel. Phases in which instances of one neighbour differ are
    omitted.

    After Lange 2023, Figures 4.9, 4.10, 4.16 and 4.20.

    Args:
        recordings: several, their directory, or one.

    Raises:
        RecordingError: a recording cannot be read.

    >>> manometer.plot.neighbour_throughput(manometer.demo()).to_dict()["data"]["name"]
    'neighbour-throughput'
    """
    return of_many("neighbour-throughput", recordings)


def policy_curves(rows: Figures) -> ChartType:
    """Miss ratio by memory and policy.

    The miss ratio (y axis) by the cache's memory (x axis), for the best policies, the recommended one, LRU, and
    OPT, dotted: it knows the future and is the bound of policies that admit every request. The dashed vertical
    line is the recommended memory; pale bands are 95 % intervals where a sample of the keys was simulated.

    Args:
        rows: a frame, or dictionaries, with the columns below.

    Columns of its rows:
        policy: The replacement policy; `opt` is the bound of those that admit every request.
        mib [MiB]: The cache's memory.
        share: The same as a share of all data, 0 to 1.
        miss_ratio: Misses per request, 0 to 1.
        low: The lower end of the 95 % interval; null where there is none.
        high: Its upper end.
        is_recommended: Whether this memory is recommended.

    Raises:
        ChartError: a row lacks a column.

    >>> rows = []  # a frame, or dictionaries with the columns above
    >>> manometer.plot.policy_curves(rows).to_dict()["data"]["name"]
    'policy-curves'
    """
    return of_figures("policy-curves", rows)


def pressure_bars(recordings: Many) -> ChartType:
    """Pressure, run by run.

    The pressure of each phase against the w0 of its own run: orange is harm, blue is help, whiskers are 95 %
    intervals, where there is one. All panels have the same scale.

    Args:
        recordings: several, their directory, or one.

    Raises:
        RecordingError: a recording cannot be read.

    >>> manometer.plot.pressure_bars(manometer.demo()).to_dict()["data"]["name"]
    'pressure-bars'
    """
    return of_many("pressure-bars", recordings)


def pressure_differences(recordings: Many) -> ChartType:
    """Differences of pressure.

    Each cell is the pressure on one primary, engine, kernel or device minus that on another, under the same
    settings: orange where the first suffers more, blue where it suffers less. A bold number has a 95 % interval
    on one side of 0; a number without an interval is never bold. The shade is the share of the panel's largest
    value.

    After Lange 2023, Figures 4.15, 4.19, 4.22 and 4.26.

    Args:
        recordings: several, their directory, or one.

    Raises:
        RecordingError: a recording cannot be read.

    >>> manometer.plot.pressure_differences(manometer.demo()).to_dict()["data"]["name"]
    'pressure-differences'
    """
    return of_many("pressure-differences", recordings)


def pressure_heat_map(recordings: Many) -> ChartType:
    """Pressure by settings.

    Each cell is the pressure under one combination of settings: orange is harm, blue is help. Below a number is
    its 95 % interval, where there is room; a bold number has it on one side of 0. A number without an interval,
    of a phase too short for one, is never bold. An empty cell was not measured.

    Args:
        recordings: several, their directory, or one.

    Raises:
        RecordingError: a recording cannot be read.

    >>> manometer.plot.pressure_heat_map(manometer.demo()).to_dict()["data"]["name"]
    'pressure-heat-map'
    """
    return of_many("pressure-heat-map", recordings)


def pressure_lines(recordings: Many) -> ChartType:
    """Performance and pressure by phase.

    The primary's performance in each phase, above, and its pressure against the w0 of its own run, below; a line
    for each run. Whiskers are 95 % intervals, where there is one. Lines diverge where the difference between the
    runs matters.

    After Lange 2023, Figures 4.11 and 4.13.

    Args:
        recordings: several, their directory, or one.

    Raises:
        RecordingError: a recording cannot be read.

    >>> manometer.plot.pressure_lines(manometer.demo()).to_dict()["data"]["name"]
    'pressure-lines'
    """
    return of_many("pressure-lines", recordings)


def pressure_scale(recording: One) -> ChartType:
    """Pressure scale.

    The pressure of each phase: the share of the primary's performance lost against w0, where it runs alone. 0
    means no harm, 0.5 is half of the performance lost, below 0 the neighbours help. A new step begins at a phase
    that differs significantly from the step's first; a phase without a 95 % interval cannot be tested and is on
    no step. A dashed whisker is not such an interval: it shows how much the sample intervals vary.

    After Lange et al. 2021; Lange 2023, definition 2.

    Args:
        recording: a recording, or its directory.

    Raises:
        RecordingError: the recording cannot be read.

    >>> manometer.plot.pressure_scale(manometer.demo()).to_dict()["data"]["name"]
    'pressure-scale'
    """
    return of_one("pressure-scale", recording)


def pressure_steps(recordings: Many) -> ChartType:
    """Growth of pressure from value to value.

    Each cell is the growth (orange) or fall (blue) of the pressure when a setting goes from one value to the
    next, all else the same. A bold number has a 95 % interval on one side of 0; a number without an interval is
    never bold. Phases of one run share their w0, so their intervals are wider than necessary.

    After Lange 2023, Figures 4.23 to 4.25.

    Args:
        recordings: several, their directory, or one.

    Raises:
        RecordingError: a recording cannot be read.

    >>> manometer.plot.pressure_steps(manometer.demo()).to_dict()["data"]["name"]
    'pressure-steps'
    """
    return of_many("pressure-steps", recordings)


def pressure_twins(recordings: Many) -> ChartType:
    """Pressure on the primary and on its neighbours.

    Twin bars for each phase: the pressure on the primary and on each neighbour, each relative to its solo run.
    Whiskers are 95 % intervals, where there is one. Unequal bars: interference is asymmetric.

    After Lange 2023, Figures 4.12, 4.14, 4.18 and 4.21.

    Args:
        recordings: several, their directory, or one.

    Raises:
        RecordingError: a recording cannot be read.

    >>> manometer.plot.pressure_twins(manometer.demo()).to_dict()["data"]["name"]
    'pressure-twins'
    """
    return of_many("pressure-twins", recordings)


def read_speed_up(rows: Figures) -> ChartType:
    """Speed-up of reads with the cache.

    How many times faster a reader gets its value with the largest cache than with the smallest. A reader waits
    for its read, and after a miss for the put as well; the store behind the cache is not included. Whiskers are
    95 % intervals over the repeats.

    After Boza 2018, Figure 5.7.

    Args:
        rows: a frame, or dictionaries, with the columns below.

    Columns of its rows:
        engine: The engine: a panel each.
        load: The trace, or a synthetic load.
        speed_up: Times faster with the largest cache than with the smallest.
        ci_low: The lower end of the 95 % interval; null where there is none.
        ci_high: Its upper end.
        smallest_us [µs]: Time of a read with the smallest cache.
        largest_us [µs]: Time of a read with the largest cache.
        samples: Repeats.

    Raises:
        ChartError: a row lacks a column.

    >>> rows = []  # a frame, or dictionaries with the columns above
    >>> manometer.plot.read_speed_up(rows).to_dict()["data"]["name"]
    'read-speed-up'
    """
    return of_figures("read-speed-up", rows)


def replay_dispatch(recording: One) -> ChartType:
    """Dispatch error of the replay.

    The dispatch error: how long after they were due the requests were sent. The box holds half of them, its bar
    is the median; the line goes from the first percentile to the 99th, the diamond is the 90th, the circle the
    maximum. Errors below a nanosecond are drawn as one.

    After Boza 2018, Figure 5.2.

    Args:
        recording: a recording, or its directory.

    Raises:
        RecordingError: the recording cannot be read.

    >>> manometer.plot.replay_dispatch(manometer.demo()).to_dict()["data"]["name"]
    'replay-dispatch'
    """
    return of_one("replay-dispatch", recording)


def replay_interarrivals(recording: One) -> ChartType:
    """Inter-arrival times of trace and replay.

    The cumulative distributions of the inter-arrival time (x axis), of the trace and of its replay. The widest
    vertical distance between the two lines is the Kolmogorov-Smirnov distance.

    After Boza 2018, Figure 5.3.

    Args:
        recording: a recording, or its directory.

    Raises:
        RecordingError: the recording cannot be read.

    >>> manometer.plot.replay_interarrivals(manometer.demo()).to_dict()["data"]["name"]
    'replay-interarrivals'
    """
    return of_one("replay-interarrivals", recording)


def replay_windows(recording: One) -> ChartType:
    """Bursts of trace and replay.

    The requests in each window of time, of the trace and of its replay. Where the replay lost a burst, the lines
    separate.

    After Boza 2018, Figure 5.4.

    Args:
        recording: a recording, or its directory.

    Raises:
        RecordingError: the recording cannot be read.

    >>> manometer.plot.replay_windows(manometer.demo()).to_dict()["data"]["name"]
    'replay-windows'
    """
    return of_one("replay-windows", recording)


def request_mix(rows: Figures) -> ChartType:
    """Reads and writes at the devices.

    The shares of reads and writes in the requests that a simulated host sends to its devices after the warm-up,
    by number and by bytes. What its memory answers is not among them.

    After dos Santos 2015, Figure 6.6.

    Args:
        rows: a frame, or dictionaries, with the columns below.

    Columns of its rows:
        load: The load and the arrangement: a panel each.
        load_order: The panel's place from above.
        by: `requests` or `bytes`.
        kind: `reads` or `writes`.
        amount: Requests or bytes, as `by` says.
        share: The share of all, 0 to 1.
        begin: The left end of the bar, 0 to 1.
        end: Its right end.

    Raises:
        ChartError: a row lacks a column.

    >>> rows = []  # a frame, or dictionaries with the columns above
    >>> manometer.plot.request_mix(rows).to_dict()["data"]["name"]
    'request-mix'
    """
    return of_figures("request-mix", rows)


def response_service(recording: One) -> ChartType:
    """Response against service time.

    Each line goes through the percentiles of one phase: the service time, from when a request was sent (x axis),
    and the response time, from when it was due (y axis). On the dashed line no request waited before it was sent;
    the distance above it is waiting, which coordinated omission hides.

    Args:
        recording: a recording, or its directory.

    Raises:
        RecordingError: the recording cannot be read.

    >>> manometer.plot.response_service(manometer.demo()).to_dict()["data"]["name"]
    'response-service'
    """
    return of_one("response-service", recording)


def reuse_distance(rows: Figures) -> ChartType:
    """Reuse distance.

    The cumulative distribution of the reuse distance (x axis, logarithmic): the share of the requests (y axis)
    with at most this many other keys since the last request for the same key. A line ends below 100 %: the rest
    are first requests for their key. It is also the hit ratio of an LRU cache with room for that many keys.

    Args:
        rows: a frame, or dictionaries, with the columns below.

    Columns of its rows:
        trace: The trace, or the load.
        distance [keys]: Distinct keys between two requests for one; at least 1.
        share: Requests with at most this distance, of all requests, 0 to 1.
        low: The lower end of the 95 % interval; null where there is none.
        high: Its upper end.
        requests: Requests behind the line.

    Raises:
        ChartError: a row lacks a column.

    >>> rows = []  # a frame, or dictionaries with the columns above
    >>> manometer.plot.reuse_distance(rows).to_dict()["data"]["name"]
    'reuse-distance'
    """
    return of_figures("reuse-distance", rows)


def scatter_matrix(recording: One) -> ChartType:
    """Counters against counters.

    A panel for every two counters, the first on the y axis, the second on the x axis; each point is a sample
    interval, coloured by phase. Points along a line: the two correlate. A cloud: they do not.

    Args:
        recording: a recording, or its directory.

    Raises:
        RecordingError: the recording cannot be read.

    >>> manometer.plot.scatter_matrix(manometer.demo()).to_dict()["data"]["name"]
    'scatter-matrix'
    """
    return of_one("scatter-matrix", recording)


def seeks_and_sizes(rows: Figures) -> ChartType:
    """Places and sizes of requests at the devices.

    The distance from the start of each request to that of the one before, and the size of the requests, as a
    simulated host sends them to its devices after the warm-up. A bar stands for a power of two up to the next.

    After dos Santos 2015, Figure 6.7.

    Args:
        rows: a frame, or dictionaries, with the columns below.

    Columns of its rows:
        strip: The load and the quantity: a panel each.
        order: The panel's place from above.
        load: The load and the arrangement.
        quantity: `distance` or `size`.
        bytes [B]: The lower end of the class; 0 where requests start at the same place.
        label: The same as text.
        below: The upper end of the class as text.
        requests: Requests in the class.
        share: Their share of all, 0 to 1.

    Raises:
        ChartError: a row lacks a column.

    >>> rows = []  # a frame, or dictionaries with the columns above
    >>> manometer.plot.seeks_and_sizes(rows).to_dict()["data"]["name"]
    'seeks-and-sizes'
    """
    return of_figures("seeks-and-sizes", rows)


def slab_sizes(rows: Figures) -> ChartType:
    """memcached: values of many sizes and of one size.

    The trace with values spread evenly over the slab classes, and with all values of their mean size. Whiskers
    are 95 % intervals over the repeats.

    After Boza 2018, Figure 5.8.

    Args:
        rows: a frame, or dictionaries, with the columns below.

    Columns of its rows:
        strip: The quantity, with its unit: a panel each.
        sizes: The sizes of the values.
        value: The bar, in the unit of its strip.
        ci_low: The lower end of the 95 % interval; null where there is none.
        ci_high: Its upper end.
        samples: Repeats.

    Raises:
        ChartError: a row lacks a column.

    >>> rows = []  # a frame, or dictionaries with the columns above
    >>> manometer.plot.slab_sizes(rows).to_dict()["data"]["name"]
    'slab-sizes'
    """
    return of_figures("slab-sizes", rows)


def throughput_latency(recordings: Many) -> ChartType:
    """Latency against throughput.

    Each point is a phase: the primary's throughput (x axis, with its 95 % interval) and latency (y axis,
    logarithmic); the square is w0. The lower right is best. Points that rise without moving to the right: the
    store is saturated, and requests only wait longer. Lines connect consecutive phases.

    Args:
        recordings: several, their directory, or one.

    Raises:
        RecordingError: a recording cannot be read.

    >>> manometer.plot.throughput_latency(manometer.demo()).to_dict()["data"]["name"]
    'throughput-latency'
    """
    return of_many("throughput-latency", recordings)


def tier_flows(rows: Figures) -> ChartType:
    """Traffic of the tiers.

    The bytes read from and written to each tier, by purpose: the requests themselves, and the migration between
    the tiers that they cause.

    After dos Santos 2015, Figure 6.1.

    Args:
        rows: a frame, or dictionaries, with the columns below.

    Columns of its rows:
        arrangement: The arrangement of devices: a panel each.
        tier: The tier and the direction, such as `SSD, written`.
        tier_order: The tier's place from above.
        flow: The purpose: `requests`, `promotion`, `demotion`, `cleaning`, `metadata`.
        mib [MiB]: The bytes.

    Raises:
        ChartError: a row lacks a column.

    >>> rows = []  # a frame, or dictionaries with the columns above
    >>> manometer.plot.tier_flows(rows).to_dict()["data"]["name"]
    'tier-flows'
    """
    return of_figures("tier-flows", rows)


def tier_series(rows: Figures) -> ChartType:
    """Arrangements over time.

    Hits in memory and on the SSD, and below them the throughput with the bytes that the disks and the SSD read
    and write, over simulated time. The warm-up is shaded. `promoted` is copied to the SSD, `written back` from it
    to the disks; both count at the disks and at the SSD too.

    After dos Santos 2015, Figures 6.2 and 6.3.

    Args:
        rows: a frame, or dictionaries, with the columns below.

    Columns of its rows:
        strip: The arrangement, the load and the quantity: a panel each.
        order: The panel's place from above.
        series: The line.
        unit: The unit of `value`; empty for a share.
        t_s [s]: The middle of the interval, in simulated time.
        value: The mean over the interval, in `unit`; null where there is none.
        warm_up_s [s]: Where the warm-up ends; 0 without one.

    Raises:
        ChartError: a row lacks a column.

    >>> rows = []  # a frame, or dictionaries with the columns above
    >>> manometer.plot.tier_series(rows).to_dict()["data"]["name"]
    'tier-series'
    """
    return of_figures("tier-series", rows)


def timeline(recording: One) -> ChartType:
    """The run over time.

    The primary's throughput above, the neighbours' throughput below it, the engine's compactions below that.
    Bands are phases; where a line breaks, nothing was measured.

    After Lange 2023, Figures 4.1, 4.3 to 4.5 and 4.7.

    Args:
        recording: a recording, or its directory.

    Raises:
        RecordingError: the recording cannot be read.

    >>> manometer.plot.timeline(manometer.demo()).to_dict()["data"]["name"]
    'timeline'
    """
    return of_one("timeline", recording)


def warm_up(recording: One) -> ChartType:
    """Cache and throughput through the warm-up.

    The hit ratio of the engine's cache, above, and the primary's throughput, below, with the warm-up. While the
    hit ratio still climbs, the cache is not warm: the run measures how it fills.

    After dos Santos 2015, Figures 6.2 and 6.3.

    Args:
        recording: a recording, or its directory.

    Raises:
        RecordingError: the recording cannot be read.

    >>> manometer.plot.warm_up(manometer.demo()).to_dict()["data"]["name"]
    'warm-up'
    """
    return of_one("warm-up", recording)


def working_set(rows: Figures) -> ChartType:
    """Working set.

    The working set: the distinct keys or bytes requested in a window of this many requests, or of this length (x
    axis), the mean over all such windows of the trace; both scales are logarithmic.

    Args:
        rows: a frame, or dictionaries, with the columns below.

    Columns of its rows:
        order: The strip's place from above.
        strip: The strip's title.
        what: The quantity: `keys`, `bytes`.
        unit: The unit of windows: `requests`, `seconds`.
        window: The window's length, in `unit`.
        amount: The working set of that window, in `what`.
        error: Half of the 95 % interval; null where it is exact.
        low: The lower end of the 95 % interval; null where there is none.
        high: Its upper end.

    Raises:
        ChartError: a row lacks a column.

    >>> rows = []  # a frame, or dictionaries with the columns above
    >>> manometer.plot.working_set(rows).to_dict()["data"]["name"]
    'working-set'
    """
    return of_figures("working-set", rows)


def write_amplification_size(recordings: Many) -> ChartType:
    """Write amplification against size.

    The engine's write amplification (y axis) by the size of the database (x axis), from the start of each run to
    the point at its end; a compaction that shrinks the database takes the line back. Where a line climbs, the
    engine writes more bytes for each byte put as the database grows.

    After Song 2018, Figure 4.8.

    Args:
        recordings: several, their directory, or one.

    Raises:
        RecordingError: a recording cannot be read.

    >>> manometer.plot.write_amplification_size(manometer.demo()).to_dict()["data"]["name"]
    'write-amplification-size'
    """
    return of_many("write-amplification-size", recordings)
