//! The cheapest arrangement that reaches goals.

use std::fmt;
use std::str::FromStr;

use super::bill::ArrangementCost;
use super::positive::positive;
use super::result::ArrangementResult;
use crate::CacheError;

/// The metric of a goal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GoalMetric {
    /// 10^6 bytes per second.
    MbPerS,
    /// Requests per second.
    RequestsPerS,
}

/// The least throughput of an arrangement on a workload.
#[derive(Debug, Clone, PartialEq)]
pub struct CostGoal {
    /// The workload.
    pub workload: String,
    /// The metric.
    pub measure: GoalMetric,
    /// The least value.
    pub least: f64,
}

/// The arrangements that reach all goals.
#[derive(Debug, Clone, PartialEq)]
pub struct GoalVerdict {
    /// Arrangements that reach them with their costs, cheapest first; the highest cost if goals are for several
    /// workloads.
    pub meeting: Vec<(String, f64)>,
    /// Undecided arrangements, with the reason.
    pub unknown: Vec<(String, String)>,
}

impl FromStr for CostGoal {
    type Err = CacheError;

    fn from_str(text: &str) -> Result<Self, CacheError> {
        let wrong = || {
            let wanted = "fileserver>=50MB/s or oltp>=1000requests/s";
            CacheError::Invalid(format!("`{text}` is not a goal: write a workload and the least, as {wanted}"))
        };
        let (workload, least) = text.split_once(">=").ok_or_else(wrong)?;
        let (workload, least) = (workload.trim(), least.trim());
        let (least, measure) = match least.strip_suffix("requests/s") {
            Some(least) => (least, GoalMetric::RequestsPerS),
            None => (least.strip_suffix("MB/s").unwrap_or(least), GoalMetric::MbPerS),
        };
        let least = positive("goal", least.trim().parse().map_err(|_| wrong())?).map_err(|_| wrong())?;
        if workload.is_empty() { Err(wrong()) } else { Ok(Self { workload: workload.to_owned(), measure, least }) }
    }
}

impl fmt::Display for CostGoal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = match self.measure {
            GoalMetric::MbPerS => "MB/s",
            GoalMetric::RequestsPerS => "requests/s",
        };
        write!(f, "{} ≥ {} {unit}", self.workload, self.least)
    }
}

impl CostGoal {
    fn is_met(&self, outcome: &ArrangementResult) -> Result<bool, String> {
        let reached = match self.measure {
            GoalMetric::MbPerS => Some(outcome.mb_per_s),
            GoalMetric::RequestsPerS => outcome.requests_per_s,
        };
        match reached {
            Some(reached) => Ok(reached >= self.least),
            None => Err(format!("its requests per second on `{}` are not known", self.workload)),
        }
    }
}

/// Finds the arrangements that reach every goal.
///
/// # Errors
/// There are no results of a goal's workload.
pub fn evaluate_goals(
    goals: &[CostGoal],
    outcomes: &[ArrangementResult],
    costs: &[ArrangementCost],
) -> Result<GoalVerdict, CacheError> {
    for goal in goals {
        if outcomes.iter().all(|outcome| outcome.workload != goal.workload) {
            let mut known: Vec<&str> = outcomes.iter().map(|outcome| outcome.workload.as_str()).collect();
            known.sort_unstable();
            known.dedup();
            let known = known.join(", ");
            return Err(CacheError::Invalid(format!("there are no results of `{}`, but of {known}", goal.workload)));
        }
    }
    let mut arrangements: Vec<&str> = Vec::new();
    for outcome in outcomes {
        if !arrangements.contains(&outcome.arrangement.as_str()) {
            arrangements.push(&outcome.arrangement);
        }
    }
    let mut verdict = GoalVerdict { meeting: Vec::new(), unknown: Vec::new() };
    for name in arrangements {
        let own: Vec<(&ArrangementResult, &ArrangementCost)> =
            outcomes.iter().zip(costs).filter(|(outcome, _)| outcome.arrangement == name).collect();
        match cost_where_met(goals, &own) {
            Ok(Some(cost)) => verdict.meeting.push((name.to_owned(), cost)),
            Ok(None) => {}
            Err(reason) => verdict.unknown.push((name.to_owned(), reason)),
        }
    }
    verdict.meeting.sort_by(|(_, a), (_, b)| a.total_cmp(b));
    Ok(verdict)
}

/// The highest cost on the goals' workloads; `None` if a goal is missed, even if others are unknown.
fn cost_where_met(goals: &[CostGoal], own: &[(&ArrangementResult, &ArrangementCost)]) -> Result<Option<f64>, String> {
    let judged: Vec<Result<Option<f64>, String>> = goals
        .iter()
        .map(|goal| {
            let found = own.iter().find(|(outcome, _)| outcome.workload == goal.workload);
            let (outcome, cost) = found.ok_or_else(|| format!("it has no result of `{}`", goal.workload))?;
            Ok(goal.is_met(outcome)?.then_some(cost.total))
        })
        .collect();
    if judged.contains(&Ok(None)) {
        return Ok(None);
    }
    let costs = judged.into_iter().map(|cost| cost.map(Option::unwrap_or_default)).collect::<Result<Vec<f64>, _>>()?;
    Ok(costs.into_iter().reduce(f64::max))
}
