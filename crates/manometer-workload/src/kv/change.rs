//! The settings of a `kv` workload that can change while it runs.

use manometer_measure::plan::Settings;

use super::plan::KvPlan;
use super::resolve::resolve;
use super::settings::KvSettings;
use crate::change;

/// The settings that can change while a workload runs, with the values that they take. All others shape the data or the
/// threads.
const CHANGEABLE: [(&str, &str); 13] = [
    ("rate", "write requests per second such as 5000, `1000..5000 in 10m`, or null for a closed loop"),
    ("arrivals", "write constant or poisson"),
    ("queue", "write how many requests may wait"),
    ("think", "write a duration such as 5ms, or null for none"),
    ("distribution", "write one that `manometer kv --help` lists, or null for the workload's own"),
    ("exponent", "write a number above 0, or null for 0.99"),
    ("field_length", "write a number of bytes"),
    ("value_size", "write a number of bytes, or null for the workload's own"),
    ("read_proportion", SHARE),
    ("update_proportion", SHARE),
    ("insert_proportion", SHARE),
    ("scan_proportion", SHARE),
    ("read_modify_write_proportion", SHARE),
];
const SHARE: &str = "write a number from 0, or null for the workload's own";

/// The settings that can change while a workload runs.
pub fn changeable() -> Vec<&'static str> {
    CHANGEABLE.iter().map(|(name, _)| *name).collect()
}

/// Applies `changes` to `current`, and plans the result.
pub(super) fn apply(current: &KvSettings, changes: &Settings) -> Result<(KvSettings, KvPlan), String> {
    let changed = change::apply("kv", &CHANGEABLE, current, changes).map_err(|error| error.to_string())?;
    // Later steps of the timetable were tried on other settings; each is tried again at its time.
    let plan = resolve(&changed).map_err(|error| error.to_string())?;
    Ok((changed, plan))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::change::{assert_settings, values_of};
    use crate::kv::{OperationMix, PacePlan, PopularityDistribution, YcsbMix};
    use crate::script::parse_settings;

    fn changes(text: &str) -> Settings {
        parse_settings(text).unwrap()
    }

    fn null() -> KvSettings {
        KvSettings { engine: "null".to_owned(), ..KvSettings::default() }
    }

    #[test]
    fn everything_changeable_is_a_setting() {
        assert_settings::<KvSettings>(&CHANGEABLE);
    }

    #[test]
    fn changes_take_effect_together() {
        let line = "rate=\"10..20 in 1m\" distribution=uniform read_proportion=1 update_proportion=3 field_length=7";
        let (changed, plan) = apply(&null(), &changes(line)).unwrap();
        assert!(matches!(plan.pace, PacePlan::Open(_)));
        let OperationMix::Ycsb(YcsbMix { scan_lengths: scans, .. }) = KvPlan::new(&null()).unwrap().spec.mix else {
            panic!()
        };
        assert_eq!((plan.spec.distribution, plan.value_bytes()), (PopularityDistribution::Uniform, 70));
        assert_eq!(
            plan.spec.mix,
            OperationMix::Ycsb(YcsbMix { shares: [0.25, 0.75, 0.0, 0.0, 0.0], scan_lengths: scans })
        );
        assert_eq!(values_of(&changed, &changes(line))["rate"], "10..20 in 1m");
        let (closed, plan) = apply(&changed, &changes("rate=null think=5ms")).unwrap();
        assert_eq!(plan.pace, PacePlan::Think(5_000_000));
        assert_eq!(values_of(&closed, &changes("rate=null"))["rate"], Value::Null);
    }

    #[test]
    fn invalid_changes_are_refused_with_valid_values() {
        for (line, wanted) in [
            ("records=5", "start another workload"),
            ("engine=null", "start another workload"),
            ("script=x", "start another workload"),
            ("raet=5", "`rate`"),
            ("zzz=5", "one of `rate`"),
            ("rate=fast", "1000..5000 in 10m"),
            ("arrivals=often", "poisson"),
            ("rate=5 think=1s", "one of both"),
            ("read_proportion=0 update_proportion=0", "above 0"),
            ("read_proportion=-1", "from 0 to 1"),
        ] {
            let reason = apply(&null(), &changes(line)).unwrap_err();
            assert!(reason.contains(wanted), "{line}: {reason}");
        }
    }
}
