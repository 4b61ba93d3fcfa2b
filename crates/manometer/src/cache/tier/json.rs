//! The results as JSON: what `manometer cache cost` reads.

use manometer_cache::RaidLevel;
use manometer_cache::tier::workload::TraceRequests;
use manometer_cache::tier::{OriginSettings, SecondLevelSettings, Steadiness, TierOutcome};
use serde_json::{Value, json};

use super::notes::notes;

/// One document.
pub(super) fn document(outcomes: &[TierOutcome], trace: Option<&TraceRequests>) -> Value {
    let row = |TierOutcome { arrangement, load, result, comparison, series, .. }: &TierOutcome| {
        let steadiness = Steadiness::of(series);
        let OriginSettings { device, count, raid, size, .. } = &arrangement.origin;
        let mut row = json!({
            "arrangement": arrangement.name,
            "workload": load.name,
            "notes": notes(arrangement, load),
            "steady_from_s": steadiness.and_then(|steadiness| steadiness.from_s),
            "warm_up_s": steadiness.map(|steadiness| steadiness.warm_up_s),
            "scale": arrangement.scale,
            "origin": { "device": device, "count": count, "raid": raid_name(*raid), "bytes": size.0 },
            "cache": arrangement.cache.as_ref().map(cache),
            "disks_equal": comparison.as_ref().map(|comparison| json!({
                "raid": comparison.equal.raid, "count_max": comparison.equal.count_max, "by": comparison.by.field(),
                "count": comparison.count,
            })),
        });
        if let (Some(fields), Ok(Value::Object(measured))) = (row.as_object_mut(), serde_json::to_value(result)) {
            fields.extend(measured);
        }
        row
    };
    json!({
        "results": outcomes.iter().map(row).collect::<Vec<Value>>(),
        "cut": trace.map(|trace| json!({ "too_long": trace.too_long, "outgrown": trace.outgrown })),
    })
}

fn cache(cache: &SecondLevelSettings) -> Value {
    let SecondLevelSettings { device, count, raid, size, policy, .. } = cache;
    json!({ "device": device, "count": count, "raid": raid_name(*raid), "bytes": size.0, "policy": policy.to_string() })
}

/// The RAID level; none for one device.
fn raid_name(raid: RaidLevel) -> Option<RaidLevel> {
    (raid != RaidLevel::None).then_some(raid)
}
