//! The rate over time: a pure function, its integral Λ, and the inverse of Λ.
//!
//! With Λ(t) = ∫ rate, arrival number i of a deterministic process comes at Λ⁻¹(i); a Poisson process of
//! that rate is a process of rate 1 whose times are taken through Λ⁻¹. Both are exact for any curve.

use std::f64::consts::TAU;

/// Newton's method stops at steps shorter than this, in seconds.
const CLOSE_ENOUGH_S: f64 = 1e-10;
/// Newton's method within a bracket takes about five steps; bisection alone would take fewer than this.
const MOST_STEPS: u32 = 80;

/// A rate over time, in requests per second; time begins at 0.
#[derive(Debug, Clone, PartialEq)]
pub struct RateCurve(Kind);

#[derive(Debug, Clone, PartialEq)]
enum Kind {
    /// Straight lines, one after the other; the first begins at 0, the last never ends.
    Lines(Vec<Line>),
    Sine(Sine),
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Line {
    begin_s: f64,
    /// The rate at the start of the line, and its increase per second.
    rate: f64,
    slope: f64,
    /// Λ at the start of the line.
    arrivals: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Sine {
    mean: f64,
    amplitude: f64,
    /// Radians per second.
    frequency: f64,
    /// Radians.
    phase: f64,
}

impl RateCurve {
    /// A constant rate.
    pub fn constant(rate: f64) -> Self {
        Self::steps(&[(0.0, rate)])
    }

    /// A rate from each time (s) on, the last one for ever; 0 before the first. Times ascend.
    pub fn steps(steps: &[(f64, f64)]) -> Self {
        let lead = steps.first().is_none_or(|(begin_s, _)| *begin_s > 0.0).then_some((0.0, 0.0));
        Self::lines(lead.into_iter().chain(steps.iter().copied()).map(|(begin_s, rate)| (begin_s, rate, 0.0)))
    }

    /// A linear ramp from one rate to another in `over_s` seconds, above 0; then the final rate.
    pub fn ramp(from: f64, to: f64, over_s: f64) -> Self {
        Self::lines([(0.0, from, (to - from) / over_s), (over_s, to, 0.0)].into_iter())
    }

    /// `mean + amplitude · sin(2π (t / period_s + phase))`; the amplitude is at most the mean.
    pub fn sine(mean: f64, amplitude: f64, period_s: f64, phase: f64) -> Self {
        Self(Kind::Sine(Sine { mean, amplitude, frequency: TAU / period_s, phase: TAU * phase }))
    }

    fn lines(lines: impl Iterator<Item = (f64, f64, f64)>) -> Self {
        let mut all: Vec<Line> = Vec::new();
        for (begin_s, rate, slope) in lines {
            let arrivals = all.last().map_or(0.0, |last| last.arrivals_by(begin_s));
            all.push(Line { begin_s, rate, slope, arrivals });
        }
        Self(Kind::Lines(all))
    }

    /// The rate at `t_s`.
    pub fn rate_at(&self, t_s: f64) -> f64 {
        match &self.0 {
            Kind::Lines(lines) => {
                let line = lines[lines.partition_point(|line| line.begin_s <= t_s).max(1) - 1];
                line.rate + line.slope * (t_s - line.begin_s)
            }
            Kind::Sine(sine) => sine.rate_at(t_s),
        }
    }

    /// Λ(t): the expected number of arrivals up to `t_s`.
    pub fn arrivals_by(&self, t_s: f64) -> f64 {
        match &self.0 {
            Kind::Lines(lines) => lines[lines.partition_point(|line| line.begin_s <= t_s).max(1) - 1].arrivals_by(t_s),
            Kind::Sine(sine) => sine.arrivals_by(t_s),
        }
    }

    /// Λ⁻¹: when the number of arrivals exceeds `arrivals`; `None` if the rate falls to 0 for ever before that.
    pub fn time_of(&self, arrivals: f64) -> Option<f64> {
        match &self.0 {
            Kind::Lines(lines) => {
                lines[lines.partition_point(|line| line.arrivals <= arrivals).max(1) - 1].time_of(arrivals)
            }
            Kind::Sine(sine) => Some(sine.time_of(arrivals)),
        }
    }

    /// The highest rate.
    pub fn highest(&self) -> f64 {
        match &self.0 {
            Kind::Lines(lines) => {
                let ends =
                    lines.windows(2).map(|pair| pair[0].rate + pair[0].slope * (pair[1].begin_s - pair[0].begin_s));
                lines.iter().map(|line| line.rate).chain(ends).fold(0.0, f64::max)
            }
            Kind::Sine(sine) => sine.mean + sine.amplitude,
        }
    }
}

impl Line {
    fn arrivals_by(&self, t_s: f64) -> f64 {
        let passed_s = t_s - self.begin_s;
        self.arrivals + passed_s * (self.rate + self.slope * passed_s / 2.0)
    }

    fn time_of(&self, arrivals: f64) -> Option<f64> {
        if self.rate == 0.0 && self.slope == 0.0 {
            return None;
        }
        let more = (arrivals - self.arrivals).max(0.0);
        if more == 0.0 {
            return Some(self.begin_s);
        }
        // The quadratic formula in the form that loses no digits to cancellation.
        let root = (self.rate * self.rate + 2.0 * self.slope * more).max(0.0).sqrt();
        Some(self.begin_s + 2.0 * more / (self.rate + root))
    }
}

impl Sine {
    fn rate_at(&self, t_s: f64) -> f64 {
        self.mean + self.amplitude * (self.frequency * t_s + self.phase).sin()
    }

    fn arrivals_by(&self, t_s: f64) -> f64 {
        let turned = self.phase.cos() - (self.frequency * t_s + self.phase).cos();
        self.mean * t_s + self.amplitude / self.frequency * turned
    }

    /// Newton's method, with bisection where it leaves the bracket: the wave shifts Λ by at most twice its amplitude.
    fn time_of(&self, arrivals: f64) -> f64 {
        let wave = 2.0 * self.amplitude / self.frequency;
        let mut low_s = ((arrivals - wave) / self.mean).max(0.0);
        let mut high_s = (arrivals + wave) / self.mean;
        let mut t_s = arrivals / self.mean;
        for _ in 0..MOST_STEPS {
            let excess = self.arrivals_by(t_s) - arrivals;
            *(if excess > 0.0 { &mut high_s } else { &mut low_s }) = t_s;
            let newton_s = t_s - excess / self.rate_at(t_s);
            let next_s = if newton_s >= low_s && newton_s <= high_s { newton_s } else { low_s.midpoint(high_s) };
            if (next_s - t_s).abs() < CLOSE_ENOUGH_S {
                return next_s;
            }
            t_s = next_s;
        }
        t_s
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn curves() -> impl Strategy<Value = RateCurve> {
        prop_oneof![
            (0.1..1e5_f64).prop_map(RateCurve::constant),
            prop::collection::vec((0.1..50.0_f64, 0.0..1e4_f64), 1..8).prop_map(|gaps| {
                let mut t_s = 0.0;
                let mut steps: Vec<(f64, f64)> = Vec::new();
                for (gap_s, rate) in gaps {
                    steps.push((t_s, rate));
                    t_s += gap_s;
                }
                steps.last_mut().unwrap().1 += 1.0;
                RateCurve::steps(&steps)
            }),
            (0.0..1e4_f64, 0.1..1e4_f64, 0.1..100.0_f64)
                .prop_map(|(from, to, over_s)| RateCurve::ramp(from, to, over_s)),
            (1.0..1e4_f64, 0.0..=1.0_f64, 0.1..100.0_f64, 0.0..1.0_f64)
                .prop_map(|(mean, share, period_s, phase)| RateCurve::sine(mean, mean * share, period_s, phase)),
        ]
    }

    proptest! {
        #[test]
        fn the_inverse_undoes_the_integral(curve in curves(), arrivals in 0.0..1e6_f64) {
            let t_s = curve.time_of(arrivals).unwrap();
            prop_assert!(t_s >= 0.0);
            let back = curve.arrivals_by(t_s);
            // A time is good to a tenth of a nanosecond and to the digits of a float.
            let tolerance = curve.highest() * (1e-9 + t_s * 1e-15) + arrivals * 1e-12;
            prop_assert!((back - arrivals).abs() <= tolerance, "{back} instead of {arrivals} at {t_s}");
        }

        #[test]
        fn the_integral_is_that_of_the_rate(curve in curves(), begin_s in 0.0..100.0_f64) {
            const STEPS: u32 = 20_000;
            let (length_s, mut sum) = (3.0, 0.0);
            for step in 0..STEPS {
                sum += curve.rate_at(begin_s + length_s * (f64::from(step) + 0.5) / f64::from(STEPS));
            }
            sum *= length_s / f64::from(STEPS);
            let exact = curve.arrivals_by(begin_s + length_s) - curve.arrivals_by(begin_s);
            // A step within one interval of the sum costs at most that interval.
            let tolerance = 8.0 * curve.highest() * length_s / f64::from(STEPS) + 1e-6;
            prop_assert!((sum - exact).abs() <= tolerance, "{sum} instead of {exact}");
        }

        #[test]
        fn no_rate_is_above_the_highest(curve in curves(), t_s in 0.0..500.0_f64) {
            prop_assert!(curve.rate_at(t_s) <= curve.highest() * (1.0 + 1e-12));
        }
    }

    #[test]
    fn stretches_without_arrivals_are_passed_over() {
        let curve = RateCurve::steps(&[(2.0, 10.0), (3.0, 0.0), (5.0, 10.0), (6.0, 0.0)]);
        let times: Vec<_> = [0.0, 5.0, 10.0, 15.0].map(|arrivals| curve.time_of(arrivals)).into();
        assert_eq!(times, [Some(2.0), Some(2.5), Some(5.0), Some(5.5)]);
        assert_eq!(curve.time_of(20.0), None, "nothing comes any more");
    }
}
