//! Whether the tree of an LSM engine still took its shape while it was measured.

use manometer_measure::Samples;
use manometer_measure::event::{Finding, Severity};

use super::evidence::{Evidence, rows};
use super::{Rule, only};
use crate::levels::{Move, greatest_move, level_of};
use crate::series::Window;

const MOVING: Rule = Rule {
    id: "levels-moving",
    severity: Severity::Warning,
    source: "Storiks 3.4.1 (WR2) and 4.5, figure 4.2",
    meaning: "the size of an LSM level has a trend over a phase (Mann-Kendall at 5 %) of 5 % of all levels or more",
    remedy: "Warm up until the levels stay as they are, or prepare the database with a settle time.",
};

pub(super) const RULES: &[Rule] = &[MOVING];

pub(super) fn judge(evidence: &Evidence<'_>) -> Vec<Finding> {
    moving(evidence).into_iter().collect()
}

fn moving(evidence: &Evidence<'_>) -> Option<Finding> {
    let engine = evidence.engine()?;
    let moving: Vec<(&str, Move)> = evidence
        .with_primary()
        .filter_map(|(one, window)| Some((one.phase.id.as_str(), greatest_move_in(engine, window)?)))
        .collect();
    let (phase, most) = moving.iter().max_by(|one, other| one.1.share.abs().total_cmp(&other.1.share.abs()))?;
    let ids: Vec<&str> = moving.iter().map(|(id, _)| *id).collect();
    let sentence = format!(
        "The levels of the tree still moved in {}: most in {phase}, where level {} went by {:+.0} % of all levels. What \
         compaction costs then is not what it costs later.",
        ids.join(", "),
        most.level,
        100.0 * most.share
    );
    Some(MOVING.tell(only(&ids), &sentence))
}

fn greatest_move_in(engine: &Samples, window: Window) -> Option<Move> {
    let series: Vec<(u32, Vec<f64>)> = levels(engine)
        .map(|(level, column)| (level, rows(engine, column, window).into_iter().map(|(_, bytes)| bytes).collect()))
        .collect();
    greatest_move(series.iter().map(|(level, bytes)| (*level, bytes.as_slice())))
}

/// The columns that hold the sizes of levels.
pub(super) fn levels(engine: &Samples) -> impl Iterator<Item = (u32, &str)> {
    engine.columns.iter().filter_map(|column| Some((level_of(&column.name)?, column.name.as_str())))
}
