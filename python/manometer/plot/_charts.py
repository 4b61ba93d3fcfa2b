"""A function for each chart. Written by python/tools/generate_plot.py; change the charts instead."""

from __future__ import annotations

from altair.typing import ChartType

from manometer.plot._draw import Figures, Many, One, of_figures, of_many, of_one

__all__ = [
    "advised_tiers",
    "arrangement_bars",
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
    "response_service",
    "reuse_distance",
    "scatter_matrix",
    "slab_sizes",
    "throughput_latency",
    "tier_flows",
    "timeline",
    "warm_up",
    "working_set",
    "write_amplification_size",
]


def advised_tiers(rows: Figures) -> ChartType:
    """Disks, SSDs, and SSDs before disks.

    What each arrangement does with the trace, and what each of its MB/s costs: long bars are good above, short
    ones below. 1h is a disk, 1s an SSD, 4h0 four disks as RAID 0, 4h10 as RAID 10, bcache-1s-4h0 an SSD before
    four disks.

    Args:
        rows: a frame, or dictionaries, with the columns below.

    Columns of its rows:
        strip: What the bar shows, with its unit: a panel each.
        order: The panel's place from above.
        arrangement: The arrangement of devices.
        tier: `disks`, `SSDs` or `SSDs before disks`.
        value: The bar, in the unit of its strip.

    Raises:
        ChartError: a row lacks a column.
    """
    return of_figures("advised-tiers", rows)


def arrangement_bars(rows: Figures) -> ChartType:
    """Arrangements of disks and SSDs.

    The throughput of each arrangement with requests of each size; whiskers are 95 % intervals, where there is
    one. A bar that would dwarf the others is cut at the edge, and its number says how far it goes. 1h is a disk,
    1s an SSD, 4h0 four disks as RAID 0, 4h10 as RAID 10, bcache-1s-4h0 an SSD before four disks.

    After dos Santos 2015 (seed 001), Figures 6.4, 6.5 and 6.8.

    Args:
        rows: a frame, or dictionaries, with the columns below.

    Columns of its rows:
        workload: What was asked of them: a panel each.
        arrangement: The arrangement of devices.
        size: The size of a request, with its unit, such as `64 KiB`.
        size_order: The size's place among the sizes.
        mb_per_s [MB/s]: The throughput.
        cut_mb_per_s [MB/s]: Where the bar is cut off; the same as `mb_per_s` where it is not.
        ci_low [MB/s]: The lower end of the 95 % interval; null where there is none.
        ci_high [MB/s]: Its upper end.
        samples: How many repeats.

    Raises:
        ChartError: a row lacks a column.
    """
    return of_figures("arrangement-bars", rows)


def cache_curves(rows: Figures) -> ChartType:
    """Miss-ratio curves.

    The share of the requests that a cache misses (upwards), by its capacity (across, each doubling as wide). Pale
    bands are the 95 % intervals of what is estimated from a sample; circles are knees, where more cache stops
    paying.

    Args:
        rows: a frame, or dictionaries, with the columns below.

    Columns of its rows:
        policy: The replacement policy.
        capacity: The cache's capacity, in `unit`.
        unit: `objects` or `bytes`.
        miss_ratio: Misses for each request, 0 to 1.
        error: Half of the 95 % interval; null where it is exact.
        low: The lower end of the 95 % interval; null where there is none.
        high: Its upper end.
        is_knee: Whether more cache stops paying here.

    Raises:
        ChartError: a row lacks a column.
    """
    return of_figures("cache-curves", rows)


def cost_bars(rows: Figures) -> ChartType:
    """What arrangements cost.

    What each arrangement costs, by its parts, and what each unit of its performance costs: short bars are good.
    1h is a disk, 1s an SSD, 4h0 four disks as RAID 0, 4h10 as RAID 10, bcache-1s-4h0 an SSD before four disks.

    After dos Santos 2015 (seed 001), Table 6.3.

    Args:
        rows: a frame, or dictionaries, with the columns below.

    Columns of its rows:
        strip: What the bar shows, with its unit, such as `cost (USD)` or `cost per MB/s (USD)`: a panel each.
        order: The panel's place from above.
        arrangement: The arrangement of devices.
        part: What it is for: `devices`, `energy`, `replacement`, or `all`.
        value: The cost, in the unit of its strip.

    Raises:
        ChartError: a row lacks a column.
    """
    return of_figures("cost-bars", rows)


def cpu(recording: One) -> ChartType:
    """Processor use.

    Cores in use on the whole host by kind, the cores each workload's process used, and the share of time in which
    some task waited for a processor, for input and output, or for memory.

    Args:
        recording: a recording, or its folder.

    Raises:
        RecordingError: the recording cannot be read.
    """
    return of_one("cpu", recording)


def cpu_cores(recording: One) -> ChartType:
    """Processor use by core.

    A row for each core, time across: dark is idle, bright is busy in programs, in the kernel, with interrupts or
    taken by the hypervisor. One bright row beside dark ones is a thread that everything waits for.

    Args:
        recording: a recording, or its folder.

    Raises:
        RecordingError: the recording cannot be read.
    """
    return of_one("cpu-cores", recording)


def criterion_distribution(recording: One) -> ChartType:
    """Distribution of the criterion.

    The share of a phase's sample intervals (upwards) in which the criterion was at most so much (across). The
    dashed line is w0. A steep line is a steady phase; where a line lies to the left of another, less was done.

    After Lange 2023 (seed 000), Figures 4.8 and 4.17.

    Args:
        recording: a recording, or its folder.

    Raises:
        RecordingError: the recording cannot be read.
    """
    return of_one("criterion-distribution", recording)


def device(recording: One) -> ChartType:
    """Device use.

    What the block device did for everybody on this host, as the kernel counts it: bytes, requests, the share of
    time it was busy, and the requests under way at the end of each interval.

    Args:
        recording: a recording, or its folder.

    Raises:
        RecordingError: the recording cannot be read.
    """
    return of_one("device", recording)


def device_health(recording: One) -> ChartType:
    """The device from within.

    What the device's own log (SMART) tells: how much of it holds data, what was written to it since the recording
    began, how worn and how warm it is. A point is a reading; a device that fills up or grows hot slows down for
    reasons that no workload shows.

    After Lange 2023 (seed 000), Figure 4.6.

    Args:
        recording: a recording, or its folder.

    Raises:
        RecordingError: the recording cannot be read.
    """
    return of_one("device-health", recording)


def distribution_grid(recordings: Many) -> ChartType:
    """Distributions of the criterion, run by run.

    The share of a phase's sample intervals (upwards) in which the criterion was at most so much (across), a panel
    for each run, all on the same scale; the dashed line is w0. A steep line is a steady phase.

    After Lange 2023 (seed 000), Figures 4.8 and 4.17.

    Args:
        recordings: several, the folder that holds them, or one.

    Raises:
        RecordingError: a recording cannot be read.
    """
    return of_many("distribution-grid", recordings)


def hot_slots(rows: Figures) -> ChartType:
    """Hot slots.

    The requests for each stretch of slots of a cluster (across) in each stretch of time (upwards from the first):
    bright is hot. A slot that stays hot is a column, a burst is a row.

    Args:
        rows: a frame, or dictionaries, with the columns below.

    Columns of its rows:
        load: The trace, or the load: a panel each.
        slot [slots]: The first slot of the stretch.
        slot_end [slots]: The first slot after it.
        t_s [s]: When the stretch of time begins.
        t_end_s [s]: When it ends.
        requests [requests/s]: Requests a second for these slots.

    Raises:
        ChartError: a row lacks a column.
    """
    return of_figures("hot-slots", rows)


def hot_spot_arrivals(rows: Figures) -> ChartType:
    """The hottest node, second by second.

    The requests of the node that gets most in any second. Where keys are asked for again soon, a node is hot for
    a while; where popular keys are drawn at random, it is always as hot.

    After Boza 2018 (seed 003), Figure 5.9.

    Args:
        rows: a frame, or dictionaries, with the columns below.

    Columns of its rows:
        load: The trace, or a synthetic load.
        second [s]: The second of the replay.
        requests [requests/s]: What the hottest node got in it.

    Raises:
        ChartError: a row lacks a column.
    """
    return of_figures("hot-spot-arrivals", rows)


def hot_spots(rows: Figures) -> ChartType:
    """Hot spots in a cluster.

    The requests that each node gets in each second, where the nodes share the slots of a Redis Cluster evenly:
    from the least to the most, between the quartiles the box. It is computed from the keys' slots, at the speed
    at which the trace was replayed.

    After Boza 2018 (seed 003), Figure 5.9.

    Args:
        rows: a frame, or dictionaries, with the columns below.

    Columns of its rows:
        load: The trace, or a synthetic load.
        min [requests/s]: The fewest requests of a node in a second.
        q1 [requests/s]: The lower quartile.
        median [requests/s]: The median.
        q3 [requests/s]: The upper quartile.
        max [requests/s]: The most.
        range [requests/s]: The most less the fewest.
        samples: How many nodes times seconds.

    Raises:
        ChartError: a row lacks a column.
    """
    return of_figures("hot-spots", rows)


def inter_arrivals(rows: Figures) -> ChartType:
    """Inter-arrivals.

    The share of the requests (upwards) that came at most so long after the one before them (across, logarithmic).

    Args:
        rows: a frame, or dictionaries, with the columns below.

    Columns of its rows:
        trace: The trace, or the load.
        gap_us [µs]: The time since the request before; at least the clock's resolution.
        share: Requests that came at most so long after the one before, 0 to 1.
        requests: How many requests the line is made of.

    Raises:
        ChartError: a row lacks a column.
    """
    return of_figures("inter-arrivals", rows)


def io_stacked(recording: One) -> ChartType:
    """Who reads and writes.

    The bytes that the device read and wrote, by the control group of the workload that caused them, or by its
    process where it has no group of its own. What is left of the device's own count is others: the file system,
    the kernel writing back later, programs that are not ours. Above a workload of which nothing is known for a
    while there is a gap.

    Args:
        recording: a recording, or its folder.

    Raises:
        RecordingError: the recording cannot be read.
    """
    return of_one("io-stacked", recording)


def latency_against_rate(rows: Figures) -> ChartType:
    """Latency against rate.

    The judged percentile of the response time, from when a request was due (upwards), at each rate that was asked
    for (across); the line is the median of a rate's trials. The dashed line is the goal, the dotted one the
    highest rate that meets it in most of its trials; both axes are logarithmic. A rate can miss the goal below
    the line, where too little of it was reached.

    Args:
        rows: a frame, or dictionaries, with the columns below.

    Columns of its rows:
        rate [requests/s]: The rate that was asked for.
        achieved [requests/s]: The rate that was answered.
        latency_us [µs]: The judged percentile of the response time; null where nothing was answered.
        dropped: Requests that found no place in the queue.
        requests: Requests that were answered.
        goal: `met` or `missed`.
        goal_us [µs]: The longest response time of the goal.
        highest [requests/s]: The highest rate that meets the goal; null where none does.

    Raises:
        ChartError: a row lacks a column.
    """
    return of_figures("latency-against-rate", rows)


def latency_heat_map(recording: One) -> ChartType:
    """Latency over time.

    The requests of each stretch of time by how long they took (upwards, logarithmic): bright is where most of
    them are. Two bright bands are two kinds of request, those that waited for the device and those that did not;
    a column that reaches up is a stall.

    Args:
        recording: a recording, or its folder.

    Raises:
        RecordingError: the recording cannot be read.
    """
    return of_one("latency-heat-map", recording)


def latency_spectrum(recording: One) -> ChartType:
    """Latency spectra.

    The share of requests (across, ever rarer towards the right) that took at most so long (upwards), for every
    operation of the primary. In an open loop the dotted line counts from when requests were due: the gap to the
    line of its phase is time that they waited, which a closed loop hides. Dashed is w0. A spectrum ends where its
    phase has no more requests to tell.

    Args:
        recording: a recording, or its folder.

    Raises:
        RecordingError: the recording cannot be read.
    """
    return of_one("latency-spectrum", recording)


def levels(recording: One) -> ChartType:
    """LSM levels.

    The size of each level of the primary's log-structured merge tree, each on a scale of its own; beneath, the
    files or runs of all levels, and those of them that compactions work on. Levels that stayed empty are left
    out.

    After Lange 2023 (seed 000), Figure 4.2.

    Args:
        recording: a recording, or its folder.

    Raises:
        RecordingError: the recording cannot be read.
    """
    return of_one("levels", recording)


def miss_ratio_curves(rows: Figures) -> ChartType:
    """Miss ratio: the trace and synthetic loads.

    The share of the reads that found nothing (upwards), on caches of growing memory (across). The solid line is
    the trace; how far the dashed ones are from it is what a synthetic load gets wrong. The pale bands are 95 %
    intervals over the repeats.

    After Boza 2018 (seed 003), Figure 5.5.

    Args:
        rows: a frame, or dictionaries, with the columns below.

    Columns of its rows:
        engine: The cache that was measured: a panel each.
        load: The trace, or a synthetic load.
        cache: The cache's share of all data, 0 to 1.
        cache_mib [MiB]: The cache's memory.
        miss_ratio: Reads that found nothing, 0 to 1.
        ci_low: The lower end of the 95 % interval; null where there is none.
        ci_high: Its upper end.
        samples: How many repeats.

    Raises:
        ChartError: a row lacks a column.
    """
    return of_figures("miss-ratio-curves", rows)


def miss_ratio_engines(rows: Figures) -> ChartType:
    """Miss ratio: one engine and the other.

    The same curves, one panel for each load: how far the engines are apart, each of which has its own
    approximation of LRU, depends on the load as well.

    After Boza 2018 (seed 003), Figure 5.6.

    Args:
        rows: a frame, or dictionaries, with the columns below.

    Columns of its rows:
        engine: The cache that was measured.
        load: The trace, or a synthetic load: a panel each.
        cache: The cache's share of all data, 0 to 1.
        cache_mib [MiB]: The cache's memory.
        miss_ratio: Reads that found nothing, 0 to 1.
        ci_low: The lower end of the 95 % interval; null where there is none.
        ci_high: Its upper end.
        samples: How many repeats.

    Raises:
        ChartError: a row lacks a column.
    """
    return of_figures("miss-ratio-engines", rows)


def neighbour_throughput(recordings: Many) -> ChartType:
    """What neighbours reach.

    The neighbour's own throughput (upwards) by its queue depth, or by another setting of it (across), a line for
    each share of writes, or for each value of a further setting; whiskers are 95 % intervals. What else differs,
    such as whether it runs alone, has a panel of its own. Phases in which instances of one neighbour differ from
    each other are left out.

    After Lange 2023 (seed 000), Figures 4.9, 4.10, 4.16 and 4.20.

    Args:
        recordings: several, the folder that holds them, or one.

    Raises:
        RecordingError: a recording cannot be read.
    """
    return of_many("neighbour-throughput", recordings)


def policy_curves(rows: Figures) -> ChartType:
    """How much memory, and which policy.

    The share of the requests that find nothing (upwards) with growing memory (across), for the policies that did
    best, LRU, and OPT, which knows the future, dotted. The dashed upright line is the memory that is recommended;
    pale bands are 95 % intervals where a sample of the keys was simulated.

    Args:
        rows: a frame, or dictionaries, with the columns below.

    Columns of its rows:
        policy: The replacement policy; `opt` is the bound.
        mib [MiB]: The cache's memory.
        share: That as a share of all data, 0 to 1.
        miss_ratio: Misses for each request, 0 to 1.
        low: The lower end of the 95 % interval; null where there is none.
        high: Its upper end.
        is_recommended: Whether this memory is recommended.

    Raises:
        ChartError: a row lacks a column.
    """
    return of_figures("policy-curves", rows)


def pressure_bars(recordings: Many) -> ChartType:
    """Pressure, run by run.

    What each phase costs the primary against the w0 of its own run: orange is harm, blue is help, whiskers are 95
    % intervals, where there is one. All panels have the same scale.

    Args:
        recordings: several, the folder that holds them, or one.

    Raises:
        RecordingError: a recording cannot be read.
    """
    return of_many("pressure-bars", recordings)


def pressure_differences(recordings: Many) -> ChartType:
    """Differences of pressure.

    Each cell is the pressure of one primary, engine, kernel or device less that of another, under the same
    settings: orange where the first named suffers more, blue where it suffers less. A number is bold where its 95
    % interval is on one side of 0; one without an interval never is. Shades are shares of the panel's largest.

    After Lange 2023 (seed 000), Figures 4.15, 4.19, 4.22 and 4.26.

    Args:
        recordings: several, the folder that holds them, or one.

    Raises:
        RecordingError: a recording cannot be read.
    """
    return of_many("pressure-differences", recordings)


def pressure_heat_map(recordings: Many) -> ChartType:
    """Pressure by settings.

    Each cell is the pressure under one combination of settings: orange costs the primary, blue helps it. Where
    there is room, the 95 % interval stands beneath; a number is bold where that is on one side of 0; one without
    an interval, of a phase that is too short for one, never is. An empty cell was not measured.

    Args:
        recordings: several, the folder that holds them, or one.

    Raises:
        RecordingError: a recording cannot be read.
    """
    return of_many("pressure-heat-map", recordings)


def pressure_lines(recordings: Many) -> ChartType:
    """The runs, phase by phase.

    The performance of the primary in each phase above, its pressure against the w0 of its own run beneath, a line
    for each run; whiskers are 95 % intervals, where there is one. Where lines part, what the runs differ by
    matters.

    After Lange 2023 (seed 000), Figures 4.11 and 4.13.

    Args:
        recordings: several, the folder that holds them, or one.

    Raises:
        RecordingError: a recording cannot be read.
    """
    return of_many("pressure-lines", recordings)


def pressure_scale(recording: One) -> ChartType:
    """Pressure scale.

    What each phase costs the primary against w0, where it runs alone: 0 is no harm, 0.5 means that half of the
    performance is gone, below 0 the neighbours help. A new step begins where a phase differs significantly from
    the step's first; a phase without a 95 % interval cannot be tested and stays on it. A dashed whisker is no
    such interval, but how much the sample intervals swing.

    After Lange et al. 2021 (seed 004); Lange 2023 (seed 000), definition 2.

    Args:
        recording: a recording, or its folder.

    Raises:
        RecordingError: the recording cannot be read.
    """
    return of_one("pressure-scale", recording)


def pressure_steps(recordings: Many) -> ChartType:
    """Pressure step by step.

    Each cell is what the pressure grows by (orange) or falls by (blue) when a setting goes from one value to the
    next, all else the same. A number is bold where its 95 % interval is on one side of 0; one without an interval
    never is. Phases of one run share their w0, so that their intervals are wider than they need be.

    After Lange 2023 (seed 000), Figures 4.23 to 4.25.

    Args:
        recordings: several, the folder that holds them, or one.

    Raises:
        RecordingError: a recording cannot be read.
    """
    return of_many("pressure-steps", recordings)


def pressure_twins(recordings: Many) -> ChartType:
    """Who suffers: the primary and its neighbours.

    Twin bars for each phase: what it costs the primary against running alone, and what it costs each neighbour
    against running alone. Whiskers are 95 % intervals, where there is one. Where one bar is long and the other
    short, one side pays for both.

    After Lange 2023 (seed 000), Figures 4.12, 4.14, 4.18 and 4.21.

    Args:
        recordings: several, the folder that holds them, or one.

    Raises:
        RecordingError: a recording cannot be read.
    """
    return of_many("pressure-twins", recordings)


def read_speed_up(rows: Figures) -> ChartType:
    """Speed-up of reads from the smallest cache to the largest.

    How many times faster readers have their values with the largest cache than with the smallest. A reader waits
    for its read, and after a miss for the put as well; where what misses comes from is not part of it. Whiskers
    are 95 % intervals over the repeats.

    After Boza 2018 (seed 003), Figure 5.7.

    Args:
        rows: a frame, or dictionaries, with the columns below.

    Columns of its rows:
        engine: The cache that was measured: a panel each.
        load: The trace, or a synthetic load.
        speed_up: Times faster with the largest cache than with the smallest.
        ci_low: The lower end of the 95 % interval; null where there is none.
        ci_high: Its upper end.
        smallest_us [µs]: A read with the smallest cache.
        largest_us [µs]: A read with the largest.
        samples: How many repeats.

    Raises:
        ChartError: a row lacks a column.
    """
    return of_figures("read-speed-up", rows)


def replay_dispatch(recording: One) -> ChartType:
    """Dispatch error of the replay.

    How long after they were due requests were sent: half of them within the box, whose bar is the median; the
    line goes from the first percentile to the 99th, the diamond marks the 90th, the circle the longest. Less than
    a nanosecond is drawn as one.

    After Boza 2018 (seed 003), Figure 5.2.

    Args:
        recording: a recording, or its folder.

    Raises:
        RecordingError: the recording cannot be read.
    """
    return of_one("replay-dispatch", recording)


def replay_interarrivals(recording: One) -> ChartType:
    """Inter-arrivals of trace and replay.

    The share of requests (upwards) that came at most so long after the one before them (across), as the trace has
    it and as it was replayed. The widest gap between the two lines is the Kolmogorov-Smirnov distance.

    After Boza 2018 (seed 003), Figure 5.3.

    Args:
        recording: a recording, or its folder.

    Raises:
        RecordingError: the recording cannot be read.
    """
    return of_one("replay-interarrivals", recording)


def replay_windows(recording: One) -> ChartType:
    """Bursts of trace and replay.

    How many requests came in each window of time, as the trace has them and as they were replayed. Bursts that
    the replay did not keep stand out as two lines.

    After Boza 2018 (seed 003), Figure 5.4.

    Args:
        recording: a recording, or its folder.

    Raises:
        RecordingError: the recording cannot be read.
    """
    return of_one("replay-windows", recording)


def response_service(recording: One) -> ChartType:
    """Response against service time.

    Each line goes through the percentiles of one phase: the time from when a request was sent (across), and the
    time from when it was due (upwards). On the dashed line nothing waited before it was sent; above it, the
    distance is waiting, which a closed loop would hide.

    Args:
        recording: a recording, or its folder.

    Raises:
        RecordingError: the recording cannot be read.
    """
    return of_one("response-service", recording)


def reuse_distance(rows: Figures) -> ChartType:
    """Reuse distance.

    The share of the requests (upwards) whose key was asked for before with at most so many other keys in between
    (across, logarithmic). A line ends below 100 %: the rest are first requests for their key. A cache with LRU
    and room for so many keys has this share of hits.

    Args:
        rows: a frame, or dictionaries, with the columns below.

    Columns of its rows:
        trace: The trace, or the load.
        distance [keys]: Distinct keys between two requests for one; at least 1.
        share: Requests with at most this distance, of all requests, 0 to 1.
        low: The lower end of the 95 % interval; null where there is none.
        high: Its upper end.
        requests: How many requests the line is made of.

    Raises:
        ChartError: a row lacks a column.
    """
    return of_figures("reuse-distance", rows)


def scatter_matrix(recording: One) -> ChartType:
    """Counters against one another.

    A panel for every two counters, the first named upwards, the second across; each point is a sample interval,
    coloured by phase. Points along a line mean that the two swing together; a cloud, that they do not.

    Args:
        recording: a recording, or its folder.

    Raises:
        RecordingError: the recording cannot be read.
    """
    return of_one("scatter-matrix", recording)


def slab_sizes(rows: Figures) -> ChartType:
    """Values of many sizes and of one on memcached.

    The trace with values spread evenly over the classes of slabs, and with all of them as large as those are on
    average. Whiskers are 95 % intervals over the repeats.

    After Boza 2018 (seed 003), Figure 5.8.

    Args:
        rows: a frame, or dictionaries, with the columns below.

    Columns of its rows:
        strip: What the bar shows, with its unit: a panel each.
        sizes: The sizes of the values.
        value: The bar, in the unit of its strip.
        ci_low: The lower end of the 95 % interval; null where there is none.
        ci_high: Its upper end.
        samples: How many repeats.

    Raises:
        ChartError: a row lacks a column.
    """
    return of_figures("slab-sizes", rows)


def throughput_latency(recordings: Many) -> ChartType:
    """Latency against throughput.

    Each point is a phase: how much the primary did (across, with its 95 % interval) and how long its requests
    took (upwards, logarithmic); the square is w0. Towards the lower right is better. Where points rise without
    moving to the right, requests only wait longer. Lines join phases that follow each other.

    Args:
        recordings: several, the folder that holds them, or one.

    Raises:
        RecordingError: a recording cannot be read.
    """
    return of_many("throughput-latency", recordings)


def tier_flows(rows: Figures) -> ChartType:
    """Flows between the tiers.

    The bytes that were read from and written to each tier, by what they were for: what was asked for, and what
    was moved between the tiers for its sake.

    After dos Santos 2015 (seed 001), Figure 6.1.

    Args:
        rows: a frame, or dictionaries, with the columns below.

    Columns of its rows:
        arrangement: The arrangement of devices: a panel each.
        tier: Which tier, and whether it is read or written, such as `SSD, written`.
        tier_order: The tier's place from above.
        flow: What for: `asked for`, `promotion`, `demotion`, `cleaning`, `metadata`.
        mib [MiB]: How much.

    Raises:
        ChartError: a row lacks a column.
    """
    return of_figures("tier-flows", rows)


def timeline(recording: One) -> ChartType:
    """The run over time.

    The primary's throughput above, what its neighbours did beneath, what the engine compacted beneath that. Bands
    are phases; a line that breaks was not measured there.

    After Lange 2023 (seed 000), Figures 4.1, 4.3 to 4.5 and 4.7.

    Args:
        recording: a recording, or its folder.

    Raises:
        RecordingError: the recording cannot be read.
    """
    return of_one("timeline", recording)


def warm_up(recording: One) -> ChartType:
    """Cache and throughput through the warm-up.

    The share of look-ups that the engine's cache answered, above, and the primary's throughput beneath, the warm-
    up included. While the hit ratio still climbs, the cache is not warm, and what is measured is its filling.

    After dos Santos 2015 (seed 001), Figures 6.2 and 6.3.

    Args:
        recording: a recording, or its folder.

    Raises:
        RecordingError: the recording cannot be read.
    """
    return of_one("warm-up", recording)


def working_set(rows: Figures) -> ChartType:
    """Working set.

    How much is asked for in a window of so many requests, or of so much time (across), on average over all such
    windows of the trace; both scales are logarithmic.

    Args:
        rows: a frame, or dictionaries, with the columns below.

    Columns of its rows:
        order: The strip's place from above.
        strip: The strip's title.
        what: What is counted: `keys`, `bytes`.
        unit: What windows are measured in: `requests`, `seconds`.
        window: The window's length, in `unit`.
        amount: What is asked for in it, in `what`.
        error: Half of the 95 % interval; null where it is exact.
        low: The lower end of the 95 % interval; null where there is none.
        high: Its upper end.

    Raises:
        ChartError: a row lacks a column.
    """
    return of_figures("working-set", rows)


def write_amplification_size(recordings: Many) -> ChartType:
    """Write amplification against size.

    How many bytes reached the device for each byte that was put (upwards), with the size of the database
    (across), from the beginning of each run to the point at its end; a compaction that makes it smaller takes the
    line back. A line that climbs says that a larger database costs more for each put.

    After Song 2018 (seed 002), Figure 4.8.

    Args:
        recordings: several, the folder that holds them, or one.

    Raises:
        RecordingError: a recording cannot be read.
    """
    return of_many("write-amplification-size", recordings)
