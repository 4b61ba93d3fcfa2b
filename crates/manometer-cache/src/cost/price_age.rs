//! The age of a price.

/// Seconds of a mean Gregorian year.
const YEAR_S: f64 = 365.2425 * 86_400.0;
/// The year of the Unix epoch.
const EPOCH_YEAR: f64 = 1970.0;
const MONTHS: f64 = 12.0;
/// The age in years from which prices are old. Those of SSDs rose by half and more from October 2025 to February 2026
/// (`arrangements/prices-2026.toml`): a year is generous.
const OLD_YEARS: f64 = 1.0;

/// The years from the end of `date`, a year, a month or a day, to `today_unix_s`, seconds since the Unix epoch; 0 for a
/// date that is not over.
pub fn price_age_years(date: &str, today_unix_s: u64) -> f64 {
    let mut parts = date.split('-').map(|part| part.parse::<f64>().unwrap_or(0.0));
    let year = parts.next().unwrap_or(0.0);
    let end = match (parts.next(), parts.next()) {
        (None, _) => year + 1.0,
        (Some(month), None) => year + month / MONTHS,
        (Some(month), Some(day)) => year + (month - 1.0) / MONTHS + day / 366.0,
    };
    (EPOCH_YEAR + today_unix_s as f64 / YEAR_S - end).max(0.0)
}

/// Whether prices of such an age say little about today's.
pub fn is_price_old(age_years: f64) -> bool {
    age_years >= OLD_YEARS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_price_ages_from_the_end_of_its_date() {
        // 2026-11-26.
        let today = 1_795_651_200;
        let age = |date| (10.0 * price_age_years(date, today)).round() / 10.0;
        assert_eq!(["2015", "2026-03", "2025-11-26", "2026", "2027-01"].map(age), [10.9, 0.7, 1.0, 0.0, 0.0]);
        assert_eq!([0.9, 1.0, 10.9].map(is_price_old), [false, true, true]);
    }
}
