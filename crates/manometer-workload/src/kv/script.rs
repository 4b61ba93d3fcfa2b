//! The timetable of a `kv` workload, and whole plans, which include it.

use super::change::apply;
use super::error::KvError;
use super::operation_mix::OperationMix;
use super::plan::KvPlan;
use super::population::RecordRange;
use super::resolve::resolve;
use super::settings::KvSettings;
use crate::script::{ScriptError, ScriptStep, parse_script};

/// The timetable of `settings`; every step is tried on the settings that the steps before it leave.
///
/// # Errors
/// The first invalid step.
pub fn read_script(settings: &KvSettings) -> Result<Vec<ScriptStep>, ScriptError> {
    let Some(text) = &settings.script else { return Ok(Vec::new()) };
    let mut current = KvSettings { script: None, ..settings.clone() };
    parse_script(text, |changes| {
        current = apply(&current, changes)?.0;
        Ok(())
    })
}

impl KvPlan {
    /// Resolves and checks `settings`, every step of their timetable included; reads nothing but the files they name.
    ///
    /// # Errors
    /// What is wrong with them, and what would be right.
    pub fn new(settings: &KvSettings) -> Result<Self, KvError> {
        let plan = resolve(settings)?;
        read_script(settings)?;
        Ok(plan)
    }
}

impl KvSettings {
    /// The same workload on the share `factor` of its records, at least one.
    pub fn shrunk(&self, factor: f64) -> Self {
        let scaled = |count: u64| ((count as f64 * factor) as u64).max(1);
        let Ok(plan) = KvPlan::new(self) else {
            return Self { records: self.records.map(scaled), ..self.clone() };
        };
        let mut shrunk = Self { records: Some(scaled(plan.spec.records)), ..self.clone() };
        if matches!(plan.spec.mix, OperationMix::Ycsb(_))
            && plan.spec.record_range() != RecordRange::whole(plan.spec.records)
        {
            // A partial load keeps its share of the records.
            let (first, loaded) = ((plan.spec.first as f64 * factor) as u64, scaled(plan.spec.loaded));
            shrunk.properties.insert("insertstart".to_owned(), first.to_string());
            shrunk.properties.insert("insertcount".to_owned(), loaded.to_string());
            shrunk.records = shrunk.records.max(Some(first + loaded));
        }
        shrunk
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn null() -> KvSettings {
        KvSettings { engine: "null".to_owned(), ..KvSettings::default() }
    }

    #[test]
    fn a_timetable_is_tried_when_it_is_parsed() {
        let with = |script: &str| KvSettings { script: Some(script.to_owned()), ..null() };
        let steps = read_script(&with("10m: read_proportion = 0.5; 20m: rate = 0s: 100, 1m: 200")).unwrap();
        assert_eq!(steps.len(), 2);
        assert_eq!(steps[1].settings["rate"], "0s: 100, 1m: 200");
        assert!(KvPlan::new(&with("10m: rate = 5000")).is_ok());
        let error = KvPlan::new(&with("10m: rate = 5000; 20m: records = 7")).unwrap_err();
        assert!(error.setting() == "script" && error.to_string().contains("step 2"), "{error}");
    }
}
