//! Whether the levels of an LSM tree had settled.

use manometer_measure::Samples;
use manometer_measure::event::{Finding, Severity, ThreatTarget};

use super::evidence::{Evidence, values};
use super::rule::{Family, Rule, serious};
use super::text::phase_list;
use crate::lsm_levels::{LevelTrend, largest_trend, level_columns};
use crate::time_series::TimeWindow;

const LEVELS_MOVING: Rule = Rule {
    id: "levels-moving",
    severity: Severity::Warning,
    threat: serious(ThreatTarget::Phase, "the LSM levels had not settled"),
    source: "Storiks 3.4.1 (WR2) and 4.5, figure 4.2",
    meaning: "the size of an LSM level has a trend in a phase (Mann-Kendall at 5 %) of 5 % of all levels or more",
    remedy: "Warm up until the levels are stable, or prepare the database with a settle time.",
};

pub(super) const FAMILY: Family = Family { rules: &[LEVELS_MOVING], evaluate };

fn evaluate(evidence: &Evidence<'_>) -> Vec<Finding> {
    levels_moving(evidence).into_iter().collect()
}

fn levels_moving(evidence: &Evidence<'_>) -> Option<Finding> {
    let engine = evidence.engine()?;
    let trends: Vec<(&str, LevelTrend)> = evidence
        .primary_phases()
        .filter_map(|(result, windows)| Some((result.id(), largest_trend_in(engine, windows)?)))
        .collect();
    let (phase, largest) = trends.iter().max_by(|one, other| one.1.share.abs().total_cmp(&other.1.share.abs()))?;
    let ids: Vec<&str> = trends.iter().map(|(id, _)| *id).collect();
    let sentence = format!(
        "The LSM levels had not settled in {}: the largest trend is {:+.0} % of all levels, of level {} in {phase}. The cost \
         of compaction is not yet that of steady state.",
        phase_list(&ids),
        100.0 * largest.share,
        largest.level
    );
    Some(LEVELS_MOVING.finding_in(&ids, &sentence))
}

fn largest_trend_in(engine: &Samples, windows: &[TimeWindow]) -> Option<LevelTrend> {
    let sizes = |column: &str| values(engine, column, windows).into_iter().map(|(_, bytes)| bytes).collect();
    let levels: Vec<(u32, Vec<f64>)> = level_columns(engine).map(|(level, column)| (level, sizes(column))).collect();
    largest_trend(levels.iter().map(|(level, sizes)| (*level, sizes.as_slice())))
}
