//! How requests are spread over keys.

use serde::Serialize;

use super::zipf::{self, Zipf};

/// How many hot keys are named.
const HOT_KEYS: usize = 10;
/// The shares of the most popular keys of which it is told how many requests are theirs.
const TOP_SHARES: [f64; 5] = [0.001, 0.01, 0.1, 0.2, 0.5];

/// The popularity of keys.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Popularity {
    /// The mean requests of a key.
    pub requests_per_key: f64,
    /// Keys that are requested once.
    pub one_hit_wonders: OneHitWonders,
    /// How many requests are for the most popular keys.
    pub top: Vec<Top>,
    /// Zipf's law as it fits best.
    pub zipf: Option<Zipf>,
    /// Why none was fitted.
    pub zipf_reason: Option<String>,
    /// The most popular keys, of those that are known where the keys are sampled.
    pub hot_keys: Vec<HotKey>,
    /// Keys by their requests, in octaves.
    pub keys_by_requests: Vec<KeysOfRequests>,
}

/// Keys that are requested once.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct OneHitWonders {
    /// How many; an estimate where the keys are sampled.
    pub keys: f64,
    /// Their share of the keys.
    pub keys_share: f64,
    /// Their share of the requests.
    pub requests_share: f64,
}

/// This share of the keys has that share of the requests.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Top {
    /// The share of the keys, the most popular ones.
    pub keys_share: f64,
    /// Their share of the requests.
    pub requests_share: f64,
}

/// A popular key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct HotKey {
    /// Its id.
    pub key: u64,
    /// Its requests.
    pub requests: u64,
}

/// So many keys are requested `from` times or more, and less than `below` times.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct KeysOfRequests {
    /// The fewest requests.
    pub from: u64,
    /// One more than the most requests.
    pub below: u64,
    /// How many keys.
    pub keys: f64,
}

/// The popularity of these keys with their requests, each of which stands for `weight` keys. Nothing of no keys.
pub fn popularity(mut keys: Vec<(u64, u64)>, weight: f64) -> Option<Popularity> {
    keys.sort_unstable_by(|one, other| other.1.cmp(&one.1).then(one.0.cmp(&other.0)));
    let requests: Vec<u64> = keys.iter().map(|(_, requests)| *requests).collect();
    let total: u64 = requests.iter().sum();
    if total == 0 {
        return None;
    }
    let once = requests.len() - requests.partition_point(|requests| *requests > 1);
    let zipf = zipf::fit(&requests);
    let zipf_reason = zipf
        .is_none()
        .then(|| format!("fewer than {} keys are requested {} times or more", zipf::RANKS_MIN, zipf::REQUESTS_MIN));
    Some(Popularity {
        requests_per_key: total as f64 / requests.len() as f64,
        one_hit_wonders: OneHitWonders {
            keys: once as f64 * weight,
            keys_share: once as f64 / requests.len() as f64,
            requests_share: once as f64 / total as f64,
        },
        top: top(&requests, total),
        zipf,
        zipf_reason,
        hot_keys: keys.iter().take(HOT_KEYS).map(|(key, requests)| HotKey { key: *key, requests: *requests }).collect(),
        keys_by_requests: by_octaves(&requests, weight),
    })
}

/// Shares of keys that come to one key at least.
fn top(requests: &[u64], total: u64) -> Vec<Top> {
    let of = |keys_share: f64| {
        let keys = (keys_share * requests.len() as f64).round() as usize;
        let theirs: u64 = requests[..keys].iter().sum();
        (keys > 0).then(|| Top { keys_share, requests_share: theirs as f64 / total as f64 })
    };
    TOP_SHARES.into_iter().filter_map(of).collect()
}

fn by_octaves(requests: &[u64], weight: f64) -> Vec<KeysOfRequests> {
    let octave = |octave: u32| {
        let (from, below) = (1_u64 << octave, 2_u64.saturating_pow(octave + 1));
        let keys = requests.partition_point(|requests| *requests >= from)
            - requests.partition_point(|requests| *requests >= below);
        KeysOfRequests { from, below, keys: keys as f64 * weight }
    };
    (0..64).map(octave).filter(|octave| octave.keys > 0.0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_counted() {
        let keys = vec![(7, 1), (8, 1), (9, 6), (10, 2)];
        let popularity = popularity(keys, 1.0).unwrap();
        assert_eq!(popularity.one_hit_wonders, OneHitWonders { keys: 2.0, keys_share: 0.5, requests_share: 0.2 });
        assert_eq!(popularity.hot_keys[..2], [HotKey { key: 9, requests: 6 }, HotKey { key: 10, requests: 2 }]);
        assert_eq!(
            popularity.top,
            [Top { keys_share: 0.2, requests_share: 0.6 }, Top { keys_share: 0.5, requests_share: 0.8 }]
        );
        let octaves: Vec<(u64, f64)> = popularity.keys_by_requests.iter().map(|of| (of.from, of.keys)).collect();
        assert_eq!(octaves, [(1, 2.0), (2, 1.0), (4, 1.0)]);
        assert!(popularity.zipf.is_none() && popularity.zipf_reason.is_some());
    }

    #[test]
    fn no_keys_have_no_popularity() {
        assert_eq!(popularity(Vec::new(), 1.0), None);
    }
}
