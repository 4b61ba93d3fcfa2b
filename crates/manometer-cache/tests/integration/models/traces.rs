//! Random traces: stretches of uniform and skewed choice, loops and scans.

use proptest::prelude::*;

/// A key and its weight.
pub type Object = (u64, u64);

fn stretch(keys: u64, len: usize) -> impl Strategy<Value = Vec<u64>> {
    let uniform = prop::collection::vec(0..keys, 1..len);
    let skewed = prop::collection::vec(0.0_f64..1.0, 1..len)
        .prop_map(move |points| points.into_iter().map(|point| (point.powi(3) * keys as f64) as u64).collect());
    let looped = (1..keys, 1..len).prop_map(|(keys, len)| (0..len as u64).map(|at| at % keys).collect());
    let scan = (0_u64..1000, 1..len).prop_map(|(from, len)| (1000 + from..1000 + from + len as u64 / 2).collect());
    prop_oneof![3 => uniform, 3 => skewed, 1 => looped, 1 => scan]
}

fn keys(keys: u64, len: usize) -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(stretch(keys, len), 1..6).prop_map(|stretches| stretches.concat())
}

/// Objects of one size.
pub fn by_object() -> impl Strategy<Value = Vec<Object>> {
    (2_u64..40).prop_flat_map(|most| keys(most, 60)).prop_map(|keys| keys.into_iter().map(|key| (key, 1)).collect())
}

/// More objects of one size.
pub fn long() -> impl Strategy<Value = Vec<Object>> {
    keys(300, 300).prop_map(|keys| keys.into_iter().map(|key| (key, 1)).collect())
}

/// Thousands of objects of one size, of few keys.
pub fn very_long() -> impl Strategy<Value = Vec<Object>> {
    keys(150, 2500).prop_map(|keys| keys.into_iter().map(|key| (key, 1)).collect())
}

/// Objects of several sizes, which change now and then.
pub fn by_size() -> impl Strategy<Value = Vec<Object>> {
    let sizes = (2_u64..30).prop_flat_map(|most| keys(most, 60)).prop_flat_map(|keys| {
        let changed = prop::collection::vec(prop::option::weighted(0.1, 1_u64..30), keys.len());
        (Just(keys), changed)
    });
    sizes.prop_map(|(keys, changed)| {
        std::iter::zip(keys, changed).map(|(key, changed)| (key, changed.unwrap_or(1 + key * 7 % 9))).collect()
    })
}
