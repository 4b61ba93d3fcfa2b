//! How long something took, for less than the system's clock costs.
//!
//! Reading `CLOCK_MONOTONIC` takes some twenty nanoseconds and holds up everything around it; reading the processor's
//! time stamp counter half of that. The counter is used where the kernel itself keeps time by it, after its pace was
//! measured against the clock twice with the same result.

use std::sync::OnceLock;

use crate::monotonic;

/// What the kernel keeps time by.
#[cfg(target_arch = "x86_64")]
const CLOCK_SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

/// How long the counter's pace is measured, and how often until two results agree.
const MEASURED_NS: u64 = 10_000_000;
const TRIES: u32 = 10;
/// Two results that differ by no more than this part are the same.
const AGREEMENT: f64 = 20e-6;
/// Readings of both at the same moment, of which the one that took least is the best.
const LOOKS: u32 = 20;
/// Binary places of [`Pace::Counter`]'s factor.
const PLACES: u32 = 32;

/// What a tick is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pace {
    /// A nanosecond of the clock.
    Clock,
    /// A step of the time stamp counter, which takes this many nanoseconds, in units of 2^-32.
    Counter(u64),
}

#[inline]
fn pace() -> Pace {
    static PACE: OnceLock<Pace> = OnceLock::new();
    *PACE.get_or_init(|| match is_counter_trusted() {
        true => measured(&monotonic::now_ns, &counter).unwrap_or(Pace::Clock),
        false => Pace::Clock,
    })
}

/// A reading. The first one of a process takes some milliseconds, in which the counter's pace is measured.
#[inline]
pub(crate) fn ticks() -> u64 {
    match pace() {
        Pace::Clock => monotonic::now_ns(),
        Pace::Counter(_) => counter(),
    }
}

/// The nanoseconds from the reading `start` to the reading `end`.
#[inline]
pub(crate) fn elapsed_ns(start: u64, end: u64) -> u64 {
    in_ns(pace(), end.saturating_sub(start))
}

#[inline]
fn in_ns(pace: Pace, ticks: u64) -> u64 {
    match pace {
        Pace::Clock => ticks,
        Pace::Counter(factor) => ((u128::from(ticks) * u128::from(factor)) >> PLACES) as u64,
    }
}

/// By what latencies are measured: `time stamp counter` or `clock`.
pub fn name() -> &'static str {
    match pace() {
        Pace::Clock => "clock",
        Pace::Counter(_) => "time stamp counter",
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
    // SAFETY: every x86-64 processor has the counter, and a kernel that kept programs from reading it would not let
    // its own clock read it in user space.
    unsafe { std::arch::x86_64::_rdtsc() }
}

#[cfg(not(target_arch = "x86_64"))]
fn counter() -> u64 {
    monotonic::now_ns()
}

/// The counter's pace against `now_ns`; nothing where no two results in a row agree.
fn measured(now_ns: &dyn Fn() -> u64, counter: &dyn Fn() -> u64) -> Option<Pace> {
    let mut last = measured_once(now_ns, counter)?;
    for _ in 0..TRIES {
        let next = measured_once(now_ns, counter)?;
        if (next / last - 1.0).abs() <= AGREEMENT {
            return Some(Pace::Counter((next * 2_f64.powi(PLACES as i32)) as u64));
        }
        last = next;
    }
    None
}

/// Nanoseconds of one step; nothing for a counter that stands still.
fn measured_once(now_ns: &dyn Fn() -> u64, counter: &dyn Fn() -> u64) -> Option<f64> {
    let (begin_ns, begin) = both(now_ns, counter);
    while now_ns() < begin_ns + MEASURED_NS {}
    let (end_ns, end) = both(now_ns, counter);
    let steps = end.checked_sub(begin).filter(|steps| *steps > 0)?;
    Some((end_ns - begin_ns) as f64 / steps as f64)
}

/// Clock and counter at the same moment: in the middle of the shortest of several looks.
fn both(now_ns: &dyn Fn() -> u64, counter: &dyn Fn() -> u64) -> (u64, u64) {
    let look = |_| {
        let (before_ns, steps, after_ns) = (now_ns(), counter(), now_ns());
        (after_ns - before_ns, before_ns + (after_ns - before_ns) / 2, steps)
    };
    let (_, at_ns, steps) = (0..LOOKS).map(look).min().unwrap_or_default();
    (at_ns, steps)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// A host on which every look at a clock takes `look_ns`, and whose counter does `steps_per_us`.
    fn host(look_ns: impl Fn(u64) -> u64, steps_per_us: impl Fn(u64) -> u64) -> Option<Pace> {
        let (now, looks) = (Cell::new(1_000), Cell::new(0));
        let pass = || {
            looks.set(looks.get() + 1);
            now.set(now.get() + look_ns(looks.get()));
            now.get()
        };
        let steps = || {
            let now_ns = pass();
            now_ns * steps_per_us(now_ns) / 1_000
        };
        measured(&pass, &steps)
    }

    #[test]
    fn an_even_counter_is_measured_and_interruptions_do_not_matter() {
        for interrupted_every in [u64::MAX, 7, 3] {
            let look_ns = |look| if look % interrupted_every == 0 { 80_000 } else { 20 };
            let pace = host(look_ns, |_| 2_500).unwrap();
            let ns = in_ns(pace, 2_500_000_000);
            assert!(ns.abs_diff(1_000_000_000) < 20_000, "{ns}, interrupted every {interrupted_every}");
        }
    }

    #[test]
    fn a_counter_that_stands_still_or_changes_its_pace_is_not_used() {
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
