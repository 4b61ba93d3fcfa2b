//! The character of a trace as text.

use manometer_measure::human;
use manometer_measure::human::bytes;
use manometer_trace::character::device::{BlockDeviceLoad, RequestKind};
use manometer_trace::character::histogram::Distribution;
use manometer_trace::character::hurst::Hurst;
use manometer_trace::character::model::RecommendedModel;
use manometer_trace::character::popularity::Popularity;
use manometer_trace::character::working_set::WorkingSetInterval;
use manometer_trace::character::zipf::{ZipfFit, ZipfFitQuality};
use manometer_trace::character::{Burstiness, Report};

use crate::number::{count, number};

/// Below this Zipf exponent the tenth key has at least nine tenths of the requests of the first.
const EVEN: f64 = 0.05;
/// The bounds of the classes of seek distances, in bytes.
const SEEK_BOUNDS: [f64; 5] = [8192.0, 65_536.0, 1_048_576.0, 67_108_864.0, 1_073_741_824.0];

/// A line for each property; missing ones are left out or have a reason.
pub fn text(name: &str, format: &str, report: &Report) -> String {
    let (requests, keys) = (count(report.requests as f64), count(report.keys));
    let mut lines = vec![format!("{name}: {format}, {requests} requests for {keys} keys")];
    if report.key_sample.rate < 1.0 {
        let share = percent(report.key_sample.rate);
        lines.push(format!("              too many keys: their properties are those of a sample of {share} of them"));
    }
    lines.extend(times(report));
    lines.push(line("mix", &mix(report)));
    lines.extend(sizes("key size", report.key_size_bytes.as_ref()));
    lines.extend(sizes("value size", report.value_size_bytes.as_ref()));
    lines.extend(report.popularity.iter().flat_map(popularity));
    lines.extend(reuse(report));
    lines.push(line("working set", &working_set(report)));
    lines.extend(burstiness(&report.burstiness));
    lines.push(line("day", &day(report)));
    lines.push(line("sessions", &sessions(report)));
    lines.extend(report.device.iter().flat_map(device));
    lines.push(line("replay", &replay(report)));
    lines.join("\n")
}

fn line(what: &str, text: &str) -> String {
    format!("{what:<14}{text}")
}

fn percent(share: f64) -> String {
    format!("{:.2} %", 100.0 * share)
}

/// A size in a suitable unit.
fn size(size: f64) -> String {
    if size < 1024.0 { format!("{} B", count(size)) } else { bytes(size as u64) }
}

/// Seconds with three significant digits, in a suitable unit.
fn seconds(seconds: f64) -> String {
    match seconds {
        0.0 => "0 s".to_owned(),
        small if small < 1e-6 => format!("{} ns", number(small * 1e9)),
        small if small < 1e-3 => format!("{} µs", number(small * 1e6)),
        small if small < 1.0 => format!("{} ms", number(small * 1e3)),
        large => format!("{} s", number(large)),
    }
}

/// A number with its error, to the error's second digit.
fn with_error(value: f64, error: f64) -> String {
    let digits = if error > 0.0 { (1.0 - error.log10().floor()).clamp(2.0, 6.0) as usize } else { 3 };
    format!("{value:.digits$} ± {error:.digits$}")
}

fn quantiles(distribution: &Distribution, show: impl Fn(f64) -> String) -> String {
    let Distribution { mean, p50, p90, p99, max, .. } = distribution;
    let shown = [("mean", mean), ("p50", p50), ("p90", p90), ("p99", p99), ("max", max)];
    shown.map(|(name, value)| format!("{name} {}", show(*value))).join(", ")
}

fn times(report: &Report) -> Vec<String> {
    let Some(span) = report.span_s else { return vec![line("span", "unknown: the trace has no times")] };
    let rate =
        if span > 0.0 { format!(", {} requests/s", number(report.requests as f64 / span)) } else { String::new() };
    let mut lines = vec![line("span", &format!("{}{rate}", seconds(span)))];
    let odd = [
        (report.times.backward, "times are earlier than the one before"),
        (report.times.absent, "requests have no time"),
    ];
    lines.extend(
        odd.into_iter().filter(|(count, _)| *count > 0).map(|(count, what)| line("", &format!("{count} {what}"))),
    );
    if let Some((resolution, gaps)) = report.times.resolution_s.zip(report.inter_arrival_s.as_ref())
        && report.times.equal > 0
        && resolution > gaps.mean
    {
        lines.push(line(
            "",
            &format!("the resolution of the clock is {}: shorter times are unknown", seconds(resolution)),
        ));
    }
    if let Some(gaps) = &report.inter_arrival_s {
        let variation = gaps.variation.map(|variation| format!(", variation {variation:.2}")).unwrap_or_default();
        lines.push(line("inter-arrival", &format!("{}{variation}", quantiles(gaps, seconds))));
    }
    lines
}

fn mix(report: &Report) -> String {
    let share = |(name, share): (&&str, &manometer_trace::character::OperationShare)| {
        format!("{name} {} ({})", percent(share.share), share.requests)
    };
    report.operations.iter().map(share).collect::<Vec<_>>().join(", ")
}

fn sizes(what: &str, sizes: Option<&Distribution>) -> Option<String> {
    sizes.map(|sizes| line(what, &quantiles(sizes, size)))
}

fn popularity(popularity: &Popularity) -> Vec<String> {
    let top: Vec<String> = popularity
        .top
        .iter()
        .map(|top| format!("{} for {} %", percent(top.requests_share), 100.0 * top.keys_share))
        .collect();
    let wonders = popularity.one_hit_wonders;
    let hot: Vec<String> =
        popularity.hot_keys.iter().take(5).map(|hot| format!("{} ({})", hot.key, hot.requests)).collect();
    vec![
        line("popularity", &format!("share of the requests for the most popular keys: {}", top.join(", "))),
        line("", &zipf(popularity.zipf.as_ref(), popularity.zipf_reason.as_deref())),
        line(
            "one-hit",
            &format!(
                "{} of the keys, {} of the requests",
                percent(wonders.keys_share),
                percent(wonders.requests_share)
            ),
        ),
        line("hot keys", &hot.join(", ")),
    ]
}

fn zipf(zipf: Option<&ZipfFit>, reason: Option<&str>) -> String {
    let Some(zipf) = zipf else { return format!("no Zipf fit: {}", reason.unwrap_or_default()) };
    let is_even = zipf.exponent < EVEN;
    let verdict = match zipf.verdict {
        ZipfFitQuality::Zipf | ZipfFitQuality::NearlyZipf if is_even => "uniform",
        ZipfFitQuality::Zipf => "Zipf",
        ZipfFitQuality::NearlyZipf => "nearly Zipf",
        ZipfFitQuality::NotZipf => "not Zipf",
    };
    format!(
        "{verdict}: exponent {} over the first {} keys ({} of the requests), distance {:.3}, p {:.2}",
        with_error(zipf.exponent, zipf.standard_error),
        count(zipf.ranks as f64),
        percent(zipf.requests_share),
        zipf.distance,
        zipf.p_value
    )
}

fn reuse(report: &Report) -> Vec<String> {
    let reuse = &report.reuse_distance;
    let mut lines = vec![line("first uses", &format!("{} of the requests", percent(reuse.cold_share)))];
    if let Some(distances) = &reuse.distances {
        lines.push(line("reuse", &format!("{} keys ({})", quantiles(distances, count), reuse.method)));
    }
    if let Some(times) = &report.reuse_time_s {
        lines.push(line("", &format!("after {}", quantiles(times, seconds))));
    }
    lines
}

fn working_set(report: &Report) -> String {
    let set = &report.working_set;
    let length = match (set.stretch_s, set.stretch_requests) {
        (Some(length), _) => seconds(length),
        (None, requests) => format!("{} requests", requests.unwrap_or(0)),
    };
    let mut keys: Vec<f64> = set.stretches.iter().map(|stretch: &WorkingSetInterval| stretch.keys).collect();
    keys.sort_unstable_by(f64::total_cmp);
    let Some(((least, most), median)) = keys.first().zip(keys.last()).zip(keys.get(keys.len() / 2)) else {
        return "none".to_owned();
    };
    let [least, median, most] = [least, median, most].map(|keys| count(*keys));
    format!("{least} to {most} keys, median {median}, in {} windows of {length}", keys.len())
}

fn burstiness(bursts: &Burstiness) -> Vec<String> {
    let dispersion: Vec<String> =
        bursts.dispersion.iter().map(|of| format!("{} at {}", number(of.index), seconds(of.window_s))).collect();
    let hurst = |hurst: Option<Hurst>| match hurst {
        None => "none".to_owned(),
        Some(Hurst { value, standard_error: Some(error), .. }) => with_error(value, error),
        Some(Hurst { value, .. }) => format!("{value:.2} (not stationary)"),
    };
    let hurst = match &bursts.reason {
        Some(reason) => format!("none: {reason}"),
        None => format!("{} by R/S, {} by DFA", hurst(bursts.hurst_rs), hurst(bursts.hurst_dfa)),
    };
    let mut lines = Vec::new();
    if !dispersion.is_empty() {
        lines.push(line("dispersion", &dispersion.join(", ")));
    }
    lines.push(line("Hurst", &hurst));
    lines
}

fn day(report: &Report) -> String {
    let Some(day) = &report.diurnal else {
        return format!("no daily pattern: {}", report.diurnal_reason.as_deref().unwrap_or_default());
    };
    let explained =
        day.explained.map(|share| format!(", {} of the hours' variance", percent(share))).unwrap_or_default();
    format!(
        "busiest from {} to {} h, {:.2} times the mean{explained}",
        day.peak_hour,
        day.peak_hour + 1,
        day.peak_to_mean
    )
}

fn sessions(report: &Report) -> String {
    let Some(sessions) = &report.sessions else {
        return format!("none: {}", report.sessions_reason.as_deref().unwrap_or_default());
    };
    let requests = &sessions.requests_per_session;
    let below = match (sessions.below_latency_share, sessions.latency_s) {
        (Some(share), Some(latency)) => {
            format!("; {} of a client's times between requests are below {}", percent(share), seconds(latency))
        }
        _ => String::new(),
    };
    format!(
        "{} of {} clients, requests of a session: {}{below}",
        count(sessions.sessions),
        count(sessions.clients),
        quantiles(requests, number)
    )
}

fn device(device: &BlockDeviceLoad) -> Vec<String> {
    let kinds = [("read", &device.read), ("write", &device.write), ("discard", &device.discard)];
    let share = |(name, kind): &(&str, &RequestKind)| {
        let bytes = kind.bytes_share.map(|share| format!(", {} of the bytes", percent(share))).unwrap_or_default();
        format!("{name} {} of the requests{bytes}", percent(kind.requests_share))
    };
    let kinds: Vec<String> = kinds.iter().filter(|(_, kind)| kind.requests > 0).map(share).collect();
    let common: Vec<String> = device
        .common_sizes
        .iter()
        .take(4)
        .map(|size| format!("{} {}", human::bytes(size.bytes), percent(size.requests_share)))
        .collect();
    let mut lines = vec![line("device", &kinds.join("; ")), line("request size", &common.join(", "))];
    if let (Some(seeks), Some(sequential)) = (&device.seek_bytes, device.sequential_share) {
        let backward = device.backward_share.map(percent).unwrap_or_default();
        lines.push(line("seeks", &format!("{}, {backward} back", quantiles(seeks, size))));
        lines.push(line("", &seek_shares(seeks)));
        lines.push(line("sequential", &format!("{} of the requests", percent(sequential))));
    }
    lines
}

/// The shares of the seeks between the bounds, to the accuracy of an octave.
fn seek_shares(seeks: &Distribution) -> String {
    let below =
        |bound: f64| seeks.histogram.iter().filter(|bin| bin.below <= bound).map(|bin| bin.samples).sum::<f64>();
    let mut before = 0.0;
    let mut shares: Vec<String> = Vec::new();
    for bound in SEEK_BOUNDS {
        shares.push(format!("below {} {}", size(bound), percent((below(bound) - before) / seeks.samples)));
        before = below(bound);
    }
    shares.push(format!("more {}", percent(1.0 - before / seeks.samples)));
    shares.join(", ")
}

fn replay(report: &Report) -> String {
    let model = match report.replay_model.model {
        RecommendedModel::Open => "open",
        RecommendedModel::ClosedPerClient => "closed per client",
    };
    let unknown = report.replay_model.unknown.as_ref().map(|unknown| format!("\n{:<14}Not known: {unknown}.", ""));
    format!("{model}. {}{}", report.replay_model.why, unknown.unwrap_or_default())
}
