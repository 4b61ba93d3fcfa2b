//! The daily pattern: the request rate by the hour.

use serde::Serialize;

use super::counts::ArrivalCounts;

const HOUR_NS: i128 = 3_600_000_000_000;
const HOURS: usize = 24;

/// The request rate by the hour of the day. Hours count from the trace's zero; for times since 1970 they are UTC.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Diurnal {
    /// Requests per second in each hour of the day, over all days.
    pub rate_by_hour: Vec<f64>,
    /// The busiest hour.
    pub peak_hour: usize,
    /// Its rate divided by the mean rate.
    pub peak_to_mean: f64,
    /// The share of the variance between hours that the time of day explains. Requires two days.
    pub explained: Option<f64>,
}

/// The daily pattern, or the reason why there is none.
pub fn diurnal(counts: &ArrivalCounts) -> Result<Diurnal, String> {
    let window = i128::from(counts.window_ns());
    let windows: Vec<u32> = counts.all().collect();
    if windows.len() as i128 * window < HOURS as i128 * HOUR_NS {
        return Err("the trace spans less than the 24 hours that the shape of a day needs".to_owned());
    }
    if window > HOUR_NS {
        return Err("the trace is so long that its windows are longer than an hour".to_owned());
    }
    let mut hours: Vec<(i128, f64, f64)> = Vec::new();
    for (at, count) in windows.iter().enumerate() {
        let hour = (counts.begin_ns() + at as i128 * window).div_euclid(HOUR_NS);
        if hours.last().is_none_or(|last| last.0 != hour) {
            hours.push((hour, 0.0, 0.0));
        }
        if let Some(last) = hours.last_mut() {
            last.1 += f64::from(*count);
            last.2 += window as f64 / 1e9;
        }
    }
    Ok(shape(&hours))
}

/// The pattern of hours since zero, each with its requests and seconds.
fn shape(hours: &[(i128, f64, f64)]) -> Diurnal {
    let mut by_hour = [(0.0, 0.0); HOURS];
    for (hour, requests, seconds) in hours {
        let of_day = &mut by_hour[hour.rem_euclid(HOURS as i128) as usize];
        of_day.0 += requests;
        of_day.1 += seconds;
    }
    let rates: Vec<f64> = by_hour.iter().map(|(requests, seconds)| requests / f64::max(*seconds, 1e-9)).collect();
    let mean = hours.iter().map(|hour| hour.1).sum::<f64>() / hours.iter().map(|hour| hour.2).sum::<f64>();
    let peak_hour = (0..HOURS).max_by(|one, other| rates[*one].total_cmp(&rates[*other])).unwrap_or(0);
    let (mut explained, mut all) = (0.0, 0.0);
    for (hour, requests, seconds) in hours {
        let of_day = rates[hour.rem_euclid(HOURS as i128) as usize];
        explained += (of_day - mean).powi(2) * seconds;
        all += (requests / seconds - mean).powi(2) * seconds;
    }
    let has_two_days = hours.len() >= 2 * HOURS;
    Diurnal {
        peak_to_mean: rates[peak_hour] / mean,
        rate_by_hour: rates,
        peak_hour,
        explained: (has_two_days && all > 0.0).then(|| explained / all),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(days: u64, per_minute: impl Fn(u64) -> u64) -> ArrivalCounts {
        let mut counts = ArrivalCounts::default();
        for minute in 0..days * 24 * 60 {
            (0..per_minute(minute / 60 % 24)).for_each(|request| counts.add(minute * 60_000_000_000 + request));
        }
        counts.add(days * 24 * HOUR_NS as u64 - 1);
        counts
    }

    #[test]
    fn the_busiest_hour_is_found() {
        let day = diurnal(&counts(3, |hour| if hour == 20 { 48 } else { 24 })).unwrap();
        assert_eq!(day.peak_hour, 20);
        assert!((day.rate_by_hour[20] - 0.8).abs() < 1e-9 && (day.rate_by_hour[3] - 0.4).abs() < 1e-9);
        assert!((day.peak_to_mean - 48.0 / 25.0).abs() < 1e-4);
        assert!(day.explained.unwrap() > 0.999);
        assert_eq!(diurnal(&counts(1, |_| 1)).unwrap().explained, None);
    }

    #[test]
    fn less_than_a_day_has_no_shape() {
        let mut short = ArrivalCounts::default();
        short.add(0);
        short.add(3_600_000_000_000);
        assert!(diurnal(&short).unwrap_err().contains("less than the 24 hours"));
        assert!(diurnal(&ArrivalCounts::default()).is_err());
    }
}
