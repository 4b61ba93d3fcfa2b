//! The fidelity of a replay as text.

use manometer_analysis::fidelity::Fidelity;

/// The fidelity in a few lines, after a line break.
pub fn fidelity_text(fidelity: &Fidelity) -> String {
    let mut lines = vec![String::new(), format!("fidelity         {}", fidelity.verdict.describe())];
    lines.extend(fidelity.why.iter().map(|why| format!("                 {why}")));
    let or_gap = |value: Option<f64>, digits: usize| value.map_or("-".to_owned(), |value| format!("{value:.digits$}"));
    if let Some(error) = &fidelity.error_us {
        lines.push(format!(
            "sent late by     p25 {} µs, p50 {} µs, p75 {} µs, p90 {} µs, p99 {} µs, max {} µs",
            error.p25, error.p50, error.p75, error.p90, error.p99, error.max
        ));
        lines.push(format!("span             {} × that of the trace", or_gap(fidelity.span_ratio, 5)));
        lines.push(format!("inter-arrivals   Kolmogorov-Smirnov distance {}", or_gap(fidelity.ks, 4)));
        let (trace, replay) = (or_gap(fidelity.hurst.trace, 4), or_gap(fidelity.hurst.replay, 4));
        lines.push(format!("Hurst exponent   {trace} in the trace, {replay} replayed"));
    }
    let late = fidelity.late.map_or("-".to_owned(), |late| late.to_string());
    lines.push(format!(
        "requests         {late} late, {} not sent, {} out of order, {} failed",
        fidelity.dropped, fidelity.order_violations, fidelity.errors
    ));
    if fidelity.given_up > 0 {
        lines.push(format!(
            "                 {} of those that failed were given up without an answer",
            fidelity.given_up
        ));
    }
    if let Some(reason) = &fidelity.reason {
        lines.push(format!("                 (- : {reason})"));
    }
    lines.join("\n")
}
