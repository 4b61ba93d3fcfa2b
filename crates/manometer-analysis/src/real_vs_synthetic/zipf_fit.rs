//! How well Zipf's law describes a trace.

use manometer_trace::character::zipf::{ZipfFit, ZipfFitQuality};
use serde::Serialize;

/// Zipf's law fitted to the popularity of all keys, and to the miss-ratio curve.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ZipfFits {
    /// The exponent whose draws have the mean logarithm of the rank of the trace, over all keys.
    pub all_keys_exponent: f64,
    /// The largest difference between the shares of requests of the k most popular keys of the trace and of the load.
    pub all_keys_distance: f64,
    /// The exponent whose load has the miss ratios closest to those of the trace, root mean square.
    pub curve_exponent: f64,
    /// The root mean square of their differences.
    pub curve_rmse: f64,
    /// The maximum-likelihood fit to keys of ten requests and more; null if there are fewer than 20.
    pub head: Option<ZipfFit>,
}

/// A largest difference of shares below which the law describes the popularity.
const DISTANCE_MAX: f64 = 0.05;
/// The exponent below which a law is nearly uniform.
const EXPONENT_MIN: f64 = 0.1;
/// The least share of requests that the fitted keys should get.
const COVERED_MIN: f64 = 0.5;

impl ZipfFits {
    /// Whether all keys are nearly equally popular: a fit of an exponent near 0 that describes them, of enough requests to
    /// tell.
    pub fn is_flat(&self) -> bool {
        self.head.is_some() && self.all_keys_exponent < EXPONENT_MIN && self.all_keys_distance <= DISTANCE_MAX
    }

    /// What is poor about the fits. A flat popularity has no head that could follow a steeper law.
    pub fn weaknesses(&self) -> Vec<String> {
        let mut weaknesses = Vec::new();
        if self.is_flat() {
            return weaknesses;
        }
        if self.all_keys_distance > DISTANCE_MAX {
            weaknesses.push(format!(
                "its most popular keys get a share of the requests that differs from the trace's by up to {:.1} points",
                100.0 * self.all_keys_distance
            ));
        }
        match &self.head {
            None => {
                weaknesses.push("fewer than 20 keys have ten requests, which is too few to test the law".to_owned())
            }
            Some(head) if head.requests_share < COVERED_MIN => weaknesses.push(format!(
                "keys of ten requests and more, on which the law can be tested, get only {:.0} % of the requests",
                100.0 * head.requests_share
            )),
            Some(_) => {}
        }
        match self.head.as_ref().map(|head| head.verdict) {
            Some(ZipfFitQuality::NearlyZipf) => weaknesses.push("popular keys only nearly follow it".to_owned()),
            Some(ZipfFitQuality::NotZipf) => weaknesses.push("popular keys do not follow it".to_owned()),
            Some(ZipfFitQuality::Zipf) | None => {}
        }
        weaknesses
    }
}
