//! The window lengths of `--window`.

use manometer_cache::CacheError;
use manometer_cache::curve::WindowLengths;

/// Nanoseconds per second.
pub(super) const SECOND_NS: f64 = 1e9;

/// Parses window lengths; without any, many lengths.
pub(super) fn read(texts: &[String]) -> Result<WindowLengths, CacheError> {
    if texts.is_empty() {
        return Ok(WindowLengths::default());
    }
    let mut windows = WindowLengths { requests: Vec::new(), times_ns: Vec::new() };
    for text in texts {
        let wrong = || {
            let wanted = "write a number of requests, or a duration with its unit, such as 10min; above zero";
            CacheError::Invalid(format!("`{text}` is not a window: {wanted}"))
        };
        match text.parse::<u64>() {
            Ok(0) => return Err(wrong()),
            Ok(requests) => windows.requests.push(requests),
            Err(_) => {
                let time = humantime::parse_duration(text).map_err(|_| wrong())?;
                let time_ns = u64::try_from(time.as_nanos()).ok().filter(|time_ns| *time_ns > 0);
                windows.times_ns.push(time_ns.ok_or_else(wrong)?);
            }
        }
    }
    Ok(windows)
}
