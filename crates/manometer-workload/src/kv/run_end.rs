//! When a run ends that is described by settings, properties and a benchmark together.

use super::plan::KvPlan;
use super::settings::KvSettings;

/// When a run ends: after requests, after a time, or after whichever is first. Without either it does not end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunEnd {
    /// Requests of all threads together.
    pub operations: Option<u64>,
    /// Seconds.
    pub seconds: Option<f64>,
}

impl RunEnd {
    /// The end of a run of `settings`, resolved to `plan`, for which `seconds` may be requested. The settings' own
    /// `operations` and these seconds override the counts and times of properties files, but not those of a property
    /// that is set by itself.
    pub fn of(plan: &KvPlan, settings: &KvSettings, seconds: Option<f64>) -> Self {
        let is_requested = seconds.is_some() || settings.operations.is_some();
        let applies = |name| !is_requested || settings.properties.contains_key(name);
        let properties = plan.run_properties;
        let count = properties.operation_count.filter(|_| applies("operationcount"));
        let max_s = properties.max_execution_s.filter(|_| applies("maxexecutiontime")).map(|seconds| seconds as f64);
        // A fill ends after its requests, however long they take.
        let round = plan.spec.round().filter(|_| seconds.is_none()).map(|round| plan.operations.unwrap_or(round));
        Self { operations: settings.operations.or(count).or(round), seconds: seconds.or(max_s) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(workload: &str, properties: &[(&str, &str)], operations: Option<u64>, seconds: Option<f64>) -> RunEnd {
        let properties = properties.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let (engine, workload) = ("null".to_owned(), workload.to_owned());
        let settings =
            KvSettings { engine, workload, records: Some(10), operations, properties, ..KvSettings::default() };
        RunEnd::of(&KvPlan::new(&settings).unwrap(), &settings, seconds)
    }

    #[test]
    fn what_is_requested_overrides_properties_files_and_benchmarks() {
        let of = |operations, seconds| RunEnd { operations, seconds };
        assert_eq!(end("ycsb-c", &[], None, None), of(None, None));
        assert_eq!(end("ycsb-c", &[], Some(5), Some(3.0)), of(Some(5), Some(3.0)));
        let both = [("operationcount", "7"), ("maxexecutiontime", "9")];
        assert_eq!(end("ycsb-c", &both, None, None), of(Some(7), Some(9.0)));
        assert_eq!(end("ycsb-c", &both, None, Some(3.0)), of(Some(7), Some(3.0)));
        assert_eq!(end("fillseq", &[], None, None), of(Some(10), None), "a fill writes every record once");
        assert_eq!(end("fillseq", &[], None, Some(3.0)), of(None, Some(3.0)));
    }
}
