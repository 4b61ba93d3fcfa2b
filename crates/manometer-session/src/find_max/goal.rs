//! The goal of a rate search.

use std::str::FromStr;

use manometer_measure::Span;
use manometer_measure::histogram::PERCENTILES;

/// A percentile of the response time and its limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LatencyGoal {
    /// The quantile, from 0 to 1; 1 is the maximum.
    pub quantile: f64,
    /// The limit.
    pub at_most: Span,
}

/// A goal that cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a goal: write a percentile of the response time and its maximum, such as `p99<=50ms`")]
pub struct GoalError(String);

impl FromStr for LatencyGoal {
    type Err = GoalError;

    fn from_str(text: &str) -> Result<Self, GoalError> {
        let error = || GoalError(text.to_owned());
        let (name, at_most) = text.split_once("<=").ok_or_else(error)?;
        let known = PERCENTILES.iter().chain(&[("max", 1.0)]).find(|(known, _)| *known == name.trim());
        let at_most: Span = at_most.trim().parse().map_err(|_| error())?;
        Ok(Self { quantile: known.ok_or_else(error)?.1, at_most })
    }
}

impl LatencyGoal {
    /// The percentile's name: `p99`, or `max`.
    pub fn percentile(&self) -> &'static str {
        PERCENTILES.iter().find(|(_, quantile)| *quantile == self.quantile).map_or("max", |(name, _)| name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_goal_is_a_percentile_and_a_time() {
        let goal: LatencyGoal = "p99<=50ms".parse().unwrap();
        assert_eq!((goal.quantile, goal.at_most.seconds(), goal.percentile()), (0.99, 0.05, "p99"));
        assert_eq!("max <= 1s".parse::<LatencyGoal>().unwrap().percentile(), "max");
        for text in ["p99", "p98<=1ms", "p99<=soon", "p99<50ms"] {
            assert!(text.parse::<LatencyGoal>().unwrap_err().to_string().contains("p99<=50ms"));
        }
    }
}
