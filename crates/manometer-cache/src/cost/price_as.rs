//! Devices of the results at the prices of others.

use std::collections::HashMap;

use super::price::Prices;
use super::result::ArrangementResult;
use crate::error::CacheError;

/// Replaces devices of the results by others, all at once; each of `exchanges` is such as `ssd=intel-320`.
///
/// # Errors
/// One is written otherwise, or its device has no result, no price or two.
pub fn price_as(exchanges: &[String], outcomes: &mut [ArrangementResult], prices: &Prices) -> Result<(), CacheError> {
    let wrong = |exchange: &str, reason: &str| CacheError::Invalid(format!("--priced-as {exchange}: {reason}"));
    let mut renamed = HashMap::new();
    for exchange in exchanges {
        let (from, to) = exchange.split_once('=').ok_or_else(|| wrong(exchange, "write it as ssd=intel-320"))?;
        prices.of(to).map_err(|error| wrong(exchange, &error.to_string()))?;
        if !outcomes.iter().flat_map(ArrangementResult::levels).any(|level| level.device == from) {
            return Err(wrong(exchange, &format!("the results have no `{from}`")));
        }
        if renamed.insert(from, to).is_some() {
            return Err(wrong(exchange, &format!("`{from}` is priced twice")));
        }
    }
    for outcome in outcomes {
        for level in std::iter::once(&mut outcome.origin).chain(&mut outcome.cache) {
            if let Some(to) = renamed.get(level.device.as_str()) {
                level.device = (*to).to_owned();
            }
        }
    }
    Ok(())
}
