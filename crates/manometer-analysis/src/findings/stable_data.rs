//! Whether the primary keeps its data set stable, so that phases are comparable (requirement WR1).

use manometer_measure::Samples;
use manometer_measure::event::{Finding, Severity, ThreatStrength, ThreatTarget};
use manometer_measure::plan::Settings;

use super::evidence::Evidence;
use super::rule::{Family, Rule, serious, with_strength};

/// A data set that grows by less than this share hardly changes from phase to phase.
const SMALL_GROWTH: f64 = 0.01;

const NOT_STABLE: Rule = Rule {
    id: "primary-not-stable",
    severity: Severity::Warning,
    threat: serious(ThreatTarget::Result, "the primary's data was not stable"),
    source: "Storiks 3.4.1 (WR1)",
    meaning: "the primary inserts or deletes records, by as much as the finding says; a minor threat where its inserts \
        can have added less than 1 % to the loaded records",
    remedy: "To measure pressure, use a primary that only reads and updates.",
};

/// For file workloads, which create files as they delete them.
const NOT_STABLE_FILES: Rule =
    Rule { remedy: "Set `plan.closing = true` to measure the effect of that change.", ..NOT_STABLE };

pub(super) const FAMILY: Family = Family { rules: &[NOT_STABLE], evaluate };

fn evaluate(evidence: &Evidence<'_>) -> Vec<Finding> {
    not_stable(evidence).into_iter().collect()
}

/// Reported where the worker declares its data unstable, or its samples have inserts or deletes; the samples say by how
/// much the data changed.
fn not_stable(evidence: &Evidence<'_>) -> Option<Finding> {
    let primary = evidence.recording.plan.primary()?;
    let facts = evidence.primary_facts()?;
    let samples = evidence.series(&primary.name);
    let declared = facts.get("unstable").and_then(serde_json::Value::as_str);
    // A setting changed during the run may add operations that the worker did not declare at the start.
    let reason = declared.or_else(|| {
        samples.and_then(changing_operation).map(|operation| match operation {
            "insert" => "a changed setting made it insert records",
            _ => "a changed setting made it delete records",
        })
    })?;
    let amount = samples.and_then(|samples| amount(samples, facts)).unwrap_or_default();
    let sentence = format!(
        "The primary's data is not stable: {reason}.{amount} Later phases work on different data than earlier ones, so that a \
         difference between them need not come from a neighbour."
    );
    let rule = if facts.contains_key("personality") { NOT_STABLE_FILES } else { NOT_STABLE };
    let is_small = samples.and_then(|samples| growth(samples, facts)).is_some_and(|growth| growth < SMALL_GROWTH);
    let strength = if is_small { ThreatStrength::Minor } else { ThreatStrength::Serious };
    Some(with_strength(rule.finding(None, &sentence), strength))
}

/// The share by which the loaded records can have grown at most; `None` where it is unknown, or where records were deleted.
fn growth(samples: &Samples, facts: &Settings) -> Option<f64> {
    let loaded = facts.get("loaded").and_then(serde_json::Value::as_f64).filter(|loaded| *loaded > 0.0)?;
    let count = |name: &str| requests(samples, |column| column == name);
    (count("delete.requests") == 0.0 && count("create.requests") == 0.0).then(|| count("insert.requests") / loaded)
}

/// The first of insert and delete that occurred.
fn changing_operation(samples: &Samples) -> Option<&'static str> {
    ["insert", "delete"]
        .into_iter()
        .find(|operation| requests(samples, |name| name == format!("{operation}.requests")) > 0.0)
}

/// The requests in all columns for which `is_counted` holds.
fn requests(samples: &Samples, is_counted: impl Fn(&str) -> bool) -> f64 {
    let columns = samples.columns.iter().zip(&samples.values).filter(|(column, _)| is_counted(&column.name));
    let counts = columns.flat_map(|(_, values)| values.iter().flatten());
    // Not `sum`, which is -0 for no values.
    counts.filter(|count| count.is_finite() && **count > 0.0).fold(0.0, |sum, count| sum + count)
}

/// The share of creating and deleting operations in a sentence; `None` without requests.
fn amount(samples: &Samples, facts: &Settings) -> Option<String> {
    let all = requests(samples, |name| name.ends_with(".requests"));
    let [inserts, deletes, creates] = ["insert.requests", "delete.requests", "create.requests"]
        .map(|name| requests(samples, |column| column == name));
    let percent = |part: f64, whole: f64| 100.0 * part / whole;
    if all > 0.0 && creates > 0.0 {
        return Some(format!(
            " Of its operations {:.1} % created files and {:.1} % deleted them.",
            percent(creates, all),
            percent(deletes, all)
        ));
    }
    if all == 0.0 || inserts + deletes == 0.0 {
        return None;
    }
    let mut text = format!(
        " Of its requests {:.1} % were inserts and {:.1} % deletes",
        percent(inserts, all),
        percent(deletes, all)
    );
    if let Some(loaded) = facts.get("loaded").and_then(serde_json::Value::as_f64).filter(|loaded| *loaded > 0.0) {
        // A delete may be of a record that is gone already: with deletes the growth is an upper bound.
        let bound = if deletes > 0.0 { " at most" } else { "" };
        text += &format!("; its {loaded:.0} records grew by {:.1} %{bound}", percent(inserts, loaded));
    }
    Some(text + ".")
}

#[cfg(test)]
mod tests {
    use manometer_measure::Column;
    use serde_json::json;

    use super::*;

    fn samples(inserts: [f64; 2], deletes: Option<f64>) -> Samples {
        let names = ["read.requests", "insert.requests", "delete.requests"];
        Samples {
            t_ns: vec![1, 2],
            columns: names.map(|name| Column::new(name, "")).to_vec(),
            values: vec![vec![Some(90.0), Some(85.0)], inserts.map(Some).to_vec(), vec![deletes, None]],
            truncated: false,
            damaged: false,
        }
    }

    #[test]
    fn shares_and_growth_come_from_the_samples() {
        let facts: Settings = [("loaded".to_owned(), json!(500))].into_iter().collect();
        let text = amount(&samples([10.0, 15.0], None), &facts).unwrap();
        assert_eq!(text, " Of its requests 12.5 % were inserts and 0.0 % deletes; its 500 records grew by 5.0 %.");
        let text = amount(&samples([0.0, 15.0], Some(10.0)), &facts).unwrap();
        assert!(text.contains("7.5 % were inserts and 5.0 % deletes; its 500 records grew by 3.0 % at most"), "{text}");
        assert_eq!(changing_operation(&samples([0.0, 15.0], None)), Some("insert"));
        assert_eq!(changing_operation(&samples([0.0; 2], Some(1.0))), Some("delete"));
        assert_eq!(changing_operation(&samples([0.0; 2], None)), None);
        let files = ["read.requests", "create.requests", "delete.requests"].map(|name| Column::new(name, "")).to_vec();
        let text = amount(&Samples { columns: files, ..samples([10.0, 5.0], Some(10.0)) }, &facts).unwrap();
        assert_eq!(text, " Of its operations 7.5 % created files and 5.0 % deleted them.");
        assert!(amount(&Samples { values: vec![], columns: vec![], ..samples([0.0; 2], None) }, &facts).is_none());
    }
}
