//! Whether the primary keeps what it works on as it is, so that phases can be compared (requirement WR1).

use manometer_measure::Samples;
use manometer_measure::event::{Finding, Severity};
use manometer_measure::plan::Settings;

use super::Rule;
use super::evidence::Evidence;

const NOT_STABLE: Rule = Rule {
    id: "primary-not-stable",
    severity: Severity::Warning,
    source: "Storiks 3.4.1 (WR1)",
    meaning: "the primary inserts or deletes; how much, as far as its samples say",
    remedy: "For pressure choose a primary that only reads and updates.",
};

pub(super) const RULES: &[Rule] = &[NOT_STABLE];

pub(super) fn judge(evidence: &Evidence<'_>) -> Vec<Finding> {
    not_stable(evidence).into_iter().collect()
}

/// Says so where the primary's data change as it runs: the worker tells that they will, the samples by
/// how much they did.
fn not_stable(evidence: &Evidence<'_>) -> Option<Finding> {
    let primary = evidence.recording.plan.primary()?;
    let facts = evidence.facts()?;
    let samples = evidence.series(&primary.name);
    let told = facts.get("unstable").and_then(serde_json::Value::as_str);
    // Settings that change while it runs may bring what it did not know of at the start.
    let reason = told.or_else(|| {
        samples.and_then(changes_records).map(|kind| match kind {
            "insert" => "a change of its settings made it insert records",
            _ => "a change of its settings made it delete records",
        })
    })?;
    let seen = samples.and_then(|samples| seen(samples, facts)).unwrap_or_default();
    // Files are made as they are removed: there is something to choose only among records.
    let remedy = match facts.contains_key("personality") {
        true => "have `plan.closing` show what that comes to.",
        false => "for pressure choose a primary that only reads and updates.",
    };
    let text = format!(
        "The primary does not keep its data stable: {reason}.{seen} Later phases work on other data than earlier ones, \
         so that a difference between them need not come from a neighbour; {remedy}"
    );
    Some(Finding { id: "primary-not-stable".to_owned(), severity: Severity::Warning, phase: None, text })
}

/// Whether any record was inserted or deleted, by the name of the operation.
fn changes_records(samples: &Samples) -> Option<&'static str> {
    ["insert", "delete"].into_iter().find(|kind| requests(samples, &|name| name == format!("{kind}.requests")) > 0.0)
}

/// The requests in all columns whose names are `wanted`.
fn requests(samples: &Samples, wanted: &dyn Fn(&str) -> bool) -> f64 {
    let columns = samples.columns.iter().zip(&samples.values);
    let counts = columns.filter(|(column, _)| wanted(&column.name)).flat_map(|(_, values)| values.iter().flatten());
    // Not `sum`, which says -0 where there is nothing.
    counts.filter(|count| count.is_finite() && **count > 0.0).fold(0.0, |sum, count| sum + count)
}

/// What the samples say of it; nothing where there was no request.
fn seen(samples: &Samples, facts: &Settings) -> Option<String> {
    let requests = |wanted: &dyn Fn(&str) -> bool| requests(samples, wanted);
    let all = requests(&|name| name.ends_with(".requests"));
    let [inserts, deletes] = ["insert.requests", "delete.requests"].map(|kind| requests(&|name| name == kind));
    let creates = requests(&|name| name == "create.requests");
    if all > 0.0 && creates > 0.0 {
        let percent = |part: f64| 100.0 * part / all;
        return Some(format!(
            " Of its operations {:.1} % created files and {:.1} % deleted them.",
            percent(creates),
            percent(deletes)
        ));
    }
    if all == 0.0 || inserts + deletes == 0.0 {
        return None;
    }
    let percent = |part: f64, whole: f64| 100.0 * part / whole;
    let mut text = format!(
        " Of its requests {:.1} % were inserts and {:.1} % deletes",
        percent(inserts, all),
        percent(deletes, all)
    );
    if let Some(loaded) = facts.get("loaded").and_then(serde_json::Value::as_f64).filter(|loaded| *loaded > 0.0) {
        // A delete may ask for a record that is gone already: how many are left is not known then.
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
            cut: false,
        }
    }

    #[test]
    fn shares_and_growth_are_those_of_the_samples() {
        let facts: Settings = [("loaded".to_owned(), json!(500))].into_iter().collect();
        let text = seen(&samples([10.0, 15.0], None), &facts).unwrap();
        assert_eq!(text, " Of its requests 12.5 % were inserts and 0.0 % deletes; its 500 records grew by 5.0 %.");
        let text = seen(&samples([0.0, 15.0], Some(10.0)), &facts).unwrap();
        assert!(text.contains("7.5 % were inserts and 5.0 % deletes; its 500 records grew by 3.0 % at most"), "{text}");
        assert_eq!(changes_records(&samples([0.0, 15.0], None)), Some("insert"));
        assert_eq!(changes_records(&samples([0.0; 2], Some(1.0))), Some("delete"));
        assert_eq!(changes_records(&samples([0.0; 2], None)), None);
        let files = ["read.requests", "create.requests", "delete.requests"].map(|name| Column::new(name, "")).to_vec();
        let text = seen(&Samples { columns: files, ..samples([10.0, 5.0], Some(10.0)) }, &facts).unwrap();
        assert_eq!(text, " Of its operations 7.5 % created files and 5.0 % deleted them.");
        assert!(seen(&Samples { values: vec![], columns: vec![], ..samples([0.0; 2], None) }, &facts).is_none());
    }
}
