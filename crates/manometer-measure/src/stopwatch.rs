//! Measuring durations with less overhead than the system clock.
//!
//! Reading `CLOCK_MONOTONIC` takes some 20 ns and delays the code around it; reading the processor's time stamp counter takes
//! half of that. The counter is used if the kernel itself keeps time by it, after its rate was measured twice against the
//! clock with the same result.

use std::sync::OnceLock;

use crate::monotonic;

/// The file with the kernel's clock source.
#[cfg(target_arch = "x86_64")]
const CLOCK_SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

/// The length of one measurement of the counter's rate.
const MEASUREMENT_NS: u64 = 10_000_000;
/// The limit of measurements until two agree.
const MEASUREMENTS_MAX: u32 = 10;
/// Two rates that differ by no more than this share are equal.
const TOLERANCE: f64 = 20e-6;
/// The readings of both clocks, of which the fastest is used.
const READINGS: u32 = 20;
/// The fractional bits of the factor of [`Tick::Counter`].
const FRACTION_BITS: u32 = 32;

/// The meaning of a tick of the stopwatch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tick {
    /// One nanosecond of the clock.
    Clock,
    /// One step of the time stamp counter of this length, in units of 2^-32 ns.
    Counter(u64),
}

#[inline]
fn tick() -> Tick {
    static TICK: OnceLock<Tick> = OnceLock::new();
    *TICK.get_or_init(|| match is_counter_trusted() {
        true => measure(&monotonic::now_ns, &counter).unwrap_or(Tick::Clock),
        false => Tick::Clock,
    })
}

/// A reading of the stopwatch. The first one of a process takes some milliseconds to measure the rate of the counter.
#[inline]
pub(crate) fn ticks() -> u64 {
    match tick() {
        Tick::Clock => monotonic::now_ns(),
        Tick::Counter(_) => counter(),
    }
}

/// The nanoseconds from the reading `start` to the reading `end`.
#[inline]
pub(crate) fn elapsed_ns(start: u64, end: u64) -> u64 {
    in_ns(tick(), end.saturating_sub(start))
}

#[inline]
fn in_ns(tick: Tick, ticks: u64) -> u64 {
    match tick {
        Tick::Clock => ticks,
        Tick::Counter(factor) => ((u128::from(ticks) * u128::from(factor)) >> FRACTION_BITS) as u64,
    }
}

/// The name of the time source of latencies: `time stamp counter` or `clock`.
pub fn name() -> &'static str {
    match tick() {
        Tick::Clock => "clock",
        Tick::Counter(_) => "time stamp counter",
    }
}

#[cfg(target_arch = "x86_64")]
fn is_counter_trusted() -> bool {
    std::fs::read_to_string(CLOCK_SOURCE).is_ok_and(|source| source.trim() == "tsc")
}

#[cfg(not(target_arch = "x86_64"))]
fn is_counter_trusted() -> bool {
    false
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn counter() -> u64 {
    // SAFETY: every x86-64 processor has the counter, and a kernel that forbids programs to read it does not use it as
    // the clock source of user space.
    unsafe { std::arch::x86_64::_rdtsc() }
}

#[cfg(not(target_arch = "x86_64"))]
fn counter() -> u64 {
    monotonic::now_ns()
}

/// The rate of the counter, measured against `now_ns`; `None` if no two measurements in a row agree.
fn measure(now_ns: &dyn Fn() -> u64, counter: &dyn Fn() -> u64) -> Option<Tick> {
    let mut last = measure_once(now_ns, counter)?;
    for _ in 0..MEASUREMENTS_MAX {
        let next = measure_once(now_ns, counter)?;
        if (next / last - 1.0).abs() <= TOLERANCE {
            return Some(Tick::Counter((next * 2_f64.powi(FRACTION_BITS as i32)) as u64));
        }
        last = next;
    }
    None
}

/// The nanoseconds of one step; `None` for a counter that stands still.
fn measure_once(now_ns: &dyn Fn() -> u64, counter: &dyn Fn() -> u64) -> Option<f64> {
    let (begin_ns, begin) = read_both(now_ns, counter);
    while now_ns() < begin_ns + MEASUREMENT_NS {}
    let (end_ns, end) = read_both(now_ns, counter);
    let steps = end.checked_sub(begin).filter(|steps| *steps > 0)?;
    Some((end_ns - begin_ns) as f64 / steps as f64)
}

/// Clock and counter at the same time: in the middle of the fastest of several readings.
fn read_both(now_ns: &dyn Fn() -> u64, counter: &dyn Fn() -> u64) -> (u64, u64) {
    let reading = |_| {
        let (before_ns, steps, after_ns) = (now_ns(), counter(), now_ns());
        (after_ns - before_ns, before_ns + (after_ns - before_ns) / 2, steps)
    };
    let (_, at_ns, steps) = (0..READINGS).map(reading).min().unwrap_or_default();
    (at_ns, steps)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// A host on which every reading of a clock takes `reading_ns`, and whose counter does `steps_per_us`.
    fn host(reading_ns: impl Fn(u64) -> u64, steps_per_us: impl Fn(u64) -> u64) -> Option<Tick> {
        let (now, readings) = (Cell::new(1_000), Cell::new(0));
        let pass = || {
            readings.set(readings.get() + 1);
            now.set(now.get() + reading_ns(readings.get()));
            now.get()
        };
        let steps = || {
            let now_ns = pass();
            now_ns * steps_per_us(now_ns) / 1_000
        };
        measure(&pass, &steps)
    }

    #[test]
    fn an_even_counter_is_measured_and_interruptions_do_not_matter() {
        for interrupted_every in [u64::MAX, 7, 3] {
            let reading_ns = |reading| if reading % interrupted_every == 0 { 80_000 } else { 20 };
            let tick = host(reading_ns, |_| 2_500).unwrap();
            let ns = in_ns(tick, 2_500_000_000);
            assert!(ns.abs_diff(1_000_000_000) < 20_000, "{ns}, interrupted every {interrupted_every}");
        }
    }

    #[test]
    fn a_counter_that_stands_still_or_changes_its_rate_is_not_used() {
        assert_eq!(host(|_| 20, |_| 0), None);
        // Faster by a thousandth with every ten milliseconds.
        assert_eq!(host(|_| 20, |now_ns| 2_000_000 + 2_000 * (now_ns / 10_000_000)), None);
    }

    #[test]
    fn this_hosts_stopwatch_agrees_with_its_clock() {
        let (outer_ns, start, inner_ns) = (monotonic::now_ns(), ticks(), monotonic::now_ns());
        while monotonic::now_ns() < inner_ns + 5_000_000 {}
        let (inner_ns, end, outer_ns) = (monotonic::now_ns() - inner_ns, ticks(), monotonic::now_ns() - outer_ns);
        let within_ns = elapsed_ns(start, end);
        assert!((inner_ns - inner_ns / 1_000..=outer_ns + outer_ns / 1_000).contains(&within_ns), "{within_ns}");
    }

    #[test]
    fn the_stopwatch_has_a_name() {
        assert!(["clock", "time stamp counter"].contains(&name()));
    }
}
