//! The curves as a page.

use std::path::Path;

use manometer_cache::PolicySpec;
use manometer_cache::curve::{
    CurvePoint, MissRatioCurve, MissRatioCurves, WorkingSetCurve, WorkingSetSize, WorkingSetWindow, knees,
};
use manometer_report::{CacheCurves, CachePoint, CachePolicy, WorkingSetStrip, cache_curves};

use super::args::Args;
use super::text::{facts, left_out};
use super::windows::SECOND_NS;

pub(super) fn page(args: &Args, result: &MissRatioCurves) -> String {
    let mut facts = facts(args, result);
    facts.extend(left_out(result));
    facts.extend(result.damage.as_ref().map(|damage| format!("incomplete: {damage}")));
    cache_curves(&CacheCurves {
        trace: Path::new(&args.input.name()).file_name().unwrap_or_default().to_string_lossy().into_owned(),
        facts,
        is_in_bytes: args.unit.size_aware,
        policies: args.named_curves(result).map(|(policy, curve)| cache_policy(args, policy, curve)).collect(),
        working_set: result.working_set.as_ref().map_or_else(Vec::new, |set| strips(args, set)),
    })
}

fn cache_policy(args: &Args, policy: &PolicySpec, curve: &MissRatioCurve) -> CachePolicy {
    let knees = if args.knee { knees(&curve.points) } else { Vec::new() };
    let point = |point: &CurvePoint| CachePoint {
        capacity: point.capacity,
        miss_ratio: point.miss_ratio,
        error: point.error,
        is_knee: knees.iter().any(|knee| knee.capacity == point.capacity),
    };
    CachePolicy { name: policy.to_string(), points: curve.points.iter().map(point).collect() }
}

/// Keys, and bytes where sizes are known, in windows of requests and of time.
fn strips(args: &Args, set: &WorkingSetCurve) -> Vec<WorkingSetStrip> {
    let over_time = set.over_time.as_deref().unwrap_or_default();
    let mut strips = Vec::new();
    for (unit, length, windows) in [("requests", 1.0, &set.over_requests[..]), ("seconds", SECOND_NS, over_time)] {
        // A single window is not a line; the table has it.
        if windows.len() < 2 {
            continue;
        }
        let strip = |what, amount: fn(&WorkingSetWindow) -> WorkingSetSize| {
            let window = |window: &WorkingSetWindow| {
                let WorkingSetSize { mean, error } = amount(window);
                (window.length as f64 / length, mean, error)
            };
            WorkingSetStrip { what, unit, windows: windows.iter().map(window).collect() }
        };
        strips.push(strip("keys", |window| window.keys));
        strips.extend(args.unit.size_aware.then(|| strip("bytes", |window| window.bytes)));
    }
    strips
}
