//! The curves as JSON.

use manometer_cache::PolicySpec;
use manometer_cache::curve::{CurvePoint, MissRatioCurve, MissRatioCurves, knees};
use manometer_cache::curve::{WorkingSetCurve, WorkingSetSize, WorkingSetWindow};
use serde_json::{Map, Value, json};

use super::args::Args;
use super::windows::SECOND_NS;
use crate::trace::input;

/// One document: for one policy its curve with the facts of the trace, for several a list of curves.
pub(super) fn document(args: &Args, result: &MissRatioCurves) -> Value {
    let mut curves: Vec<Map<String, Value>> =
        args.named_curves(result).map(|(policy, one)| curve(args, policy, one)).collect();
    let mut document = match curves.as_mut_slice() {
        [one] => std::mem::take(one),
        _ => Map::from_iter([("curves".to_owned(), json!(curves))]),
    };
    let trace = [
        ("unit", json!(args.unit.name())),
        ("requests", json!(result.requests)),
        ("left_out", json!(result.excluded.sum())),
        ("block_size", json!(args.blocks.bytes())),
        ("working_set", result.working_set.as_ref().map(|set| working_set(args, set)).into()),
        ("damage", input::damage(result.damage.as_ref())),
    ];
    document.extend(trace.map(|(name, value)| (name.to_owned(), value)));
    Value::Object(document)
}

fn curve(args: &Args, policy: &PolicySpec, curve: &MissRatioCurve) -> Map<String, Value> {
    let MissRatioCurve { points, footprint, rate, smallest, .. } = curve;
    let knees = args.knee.then(|| knees(points).iter().map(point).collect::<Vec<Value>>());
    let fields = [
        ("policy", json!(policy.to_string())),
        ("points", points.iter().map(point).collect()),
        ("footprint", json!(footprint)),
        ("rate", json!(rate)),
        ("smallest_capacity", json!(smallest)),
        ("knees", json!(knees)),
    ];
    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn point(point: &CurvePoint) -> Value {
    match point.error {
        None => json!({ "capacity": point.capacity, "miss_ratio": point.miss_ratio }),
        Some(error) => json!({ "capacity": point.capacity, "miss_ratio": point.miss_ratio, "error": error }),
    }
}

/// The working set as JSON.
fn working_set(args: &Args, set: &WorkingSetCurve) -> Value {
    let all = |name: &str, length: fn(u64) -> Value, windows: &[WorkingSetWindow]| -> Value {
        let one = |window: &WorkingSetWindow| {
            let mut fields = Map::from_iter([(name.to_owned(), length(window.length))]);
            let bytes = args.unit.size_aware.then_some(("bytes", window.bytes));
            for (what, WorkingSetSize { mean, error }) in std::iter::once(("keys", window.keys)).chain(bytes) {
                fields.insert(what.to_owned(), json!(mean));
                fields.extend(error.map(|error| (format!("{what}_error"), json!(error))));
            }
            Value::Object(fields)
        };
        windows.iter().map(one).collect()
    };
    json!({
        "over_requests": all("requests", |length| json!(length), &set.over_requests),
        "over_time": set.over_time.as_ref().map(|windows| all("seconds", |length| json!(length as f64 / SECOND_NS), windows)),
    })
}
