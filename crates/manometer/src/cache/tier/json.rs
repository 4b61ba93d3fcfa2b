//! The results as JSON: what `manometer cache cost` reads.

use manometer_cache::RaidLevel;
use manometer_cache::tier::workload::TraceRequests;
use manometer_cache::tier::{OriginSettings, SecondLevelSettings};
use serde_json::{Value, json};

use super::simulation::Done;

/// For machines: what `manometer cache cost` reads.
pub(super) fn document(done: &[Done], trace: Option<&TraceRequests>) -> Value {
    let result = |Done { work, outcome, compared }: &Done| {
        let arrangement = &work.arrangement;
        let OriginSettings { device, count, raid, size, .. } = &arrangement.origin;
        let mut result = json!({
            "arrangement": arrangement.name,
            "workload": work.workload,
            "scale": arrangement.scale,
            "origin": { "device": device, "count": count, "raid": joined(*raid), "bytes": size.0 },
            "cache": arrangement.cache.as_ref().map(cache),
            "disks_equal": compared.as_ref().map(|compared| json!({
                "raid": compared.equal.raid, "count_max": compared.equal.count_max, "by": compared.by.field(),
                "count": compared.count,
            })),
        });
        if let (Some(result), Ok(Value::Object(measured))) = (result.as_object_mut(), serde_json::to_value(outcome)) {
            result.extend(measured);
        }
        result
    };
    json!({
        "results": done.iter().map(result).collect::<Vec<Value>>(),
        "cut": trace.map(|trace| json!({ "too_long": trace.too_long, "outgrown": trace.outgrown })),
    })
}

fn cache(cache: &SecondLevelSettings) -> Value {
    let SecondLevelSettings { device, count, raid, size, policy, .. } = cache;
    json!({ "device": device, "count": count, "raid": joined(*raid), "bytes": size.0, "policy": policy.to_string() })
}

/// How devices are joined; none where there is one.
fn joined(raid: RaidLevel) -> Option<RaidLevel> {
    (raid != RaidLevel::None).then_some(raid)
}
