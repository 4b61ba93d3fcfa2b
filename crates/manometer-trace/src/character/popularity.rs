//! The popularity of keys.

use serde::Serialize;

use super::zipf::{self, RankedKeys, ZipfFit};

/// The number of hot keys reported.
const HOT_KEYS: usize = 10;
/// The shares of most popular keys whose share of the requests is reported.
const TOP_SHARES: [f64; 5] = [0.001, 0.01, 0.1, 0.2, 0.5];

/// The popularity of keys.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Popularity {
    /// The mean number of requests per key.
    pub requests_per_key: f64,
    /// Keys that are requested once.
    pub one_hit_wonders: OneHitWonders,
    /// The shares of requests for the most popular keys.
    pub top: Vec<TopShare>,
    /// The best fit of Zipf's law.
    pub zipf: Option<ZipfFit>,
    /// Why there is no fit.
    pub zipf_reason: Option<String>,
    /// The most popular keys.
    pub hot_keys: Vec<HotKey>,
    /// Keys by number of requests, in octaves.
    pub keys_by_requests: Vec<KeysOfRequests>,
}

/// Keys that are requested once.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct OneHitWonders {
    /// The number of such keys; an estimate if keys are sampled.
    pub keys: f64,
    /// Their share of the keys.
    pub keys_share: f64,
    /// Their share of the requests.
    pub requests_share: f64,
}

/// A share of the keys and its share of the requests.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TopShare {
    /// The share of the keys, most popular first.
    pub keys_share: f64,
    /// Their share of the requests.
    pub requests_share: f64,
}

/// A popular key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct HotKey {
    /// The key's id.
    pub key: u64,
    /// The number of requests.
    pub requests: u64,
}

/// The number of keys requested at least `from` and less than `below` times.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct KeysOfRequests {
    /// The fewest requests, inclusive.
    pub from: u64,
    /// The most requests, exclusive.
    pub below: u64,
    /// The number of keys.
    pub keys: f64,
}

/// Request counts of keys.
#[derive(Debug)]
pub struct KeyCounts {
    /// Keys with their counts: all keys, or a sample.
    pub sample: Vec<(u64, u64)>,
    /// The number of keys that each sampled key represents.
    pub weight: f64,
    /// The most requested keys with their counts.
    pub most: Vec<(u64, u64)>,
    /// The list of most requested keys contains every key with at least this many requests.
    pub least: u64,
    /// The number of all requests.
    pub requests: u64,
}

/// The popularity of keys; `None` without keys.
pub fn popularity(mut counted: KeyCounts) -> Option<Popularity> {
    sort(&mut counted.sample);
    sort(&mut counted.most);
    let sample: Vec<u64> = counted.sample.iter().map(|(_, requests)| *requests).collect();
    let most: Vec<u64> = counted.most.iter().map(|(_, requests)| *requests).collect();
    if counted.requests == 0 || sample.is_empty() {
        return None;
    }
    let KeyCounts { weight, least, requests, .. } = counted;
    let (keys, all) = (sample.len() as f64 * weight, requests as f64);
    let once = (sample.len() - sample.partition_point(|requests| *requests > 1)) as f64 * weight;
    let zipf =
        zipf::fit_known(&RankedKeys { requests: &most, least, keys: keys.round() as usize, all_requests: requests });
    let zipf_reason = zipf.is_none().then(|| {
        let least = least.max(zipf::REQUESTS_MIN);
        format!("fewer than {} keys are requested {least} times or more", zipf::RANKS_MIN)
    });
    let hot = counted.most.iter().take(HOT_KEYS).map(|(key, requests)| HotKey { key: *key, requests: *requests });
    Some(Popularity {
        requests_per_key: all / keys,
        one_hit_wonders: OneHitWonders { keys: once, keys_share: once / keys, requests_share: once / all },
        top: top(&sample, &most, weight, requests),
        zipf,
        zipf_reason,
        hot_keys: hot.collect(),
        keys_by_requests: by_octaves(&sample, weight),
    })
}

/// Sorts by requests, descending, then by key.
fn sort(keys: &mut [(u64, u64)]) {
    keys.sort_unstable_by(|one, other| other.1.cmp(&one.1).then(one.0.cmp(&other.0)));
}

/// The reported shares, leaving out those below one key.
fn top(sample: &[u64], most: &[u64], weight: f64, requests: u64) -> Vec<TopShare> {
    let shares = TOP_SHARES.into_iter().filter(|keys_share| (keys_share * sample.len() as f64).round() > 0.0);
    let theirs = top_shares(sample, most, weight, requests, &shares.clone().collect::<Vec<_>>());
    shares.zip(theirs).map(|(keys_share, requests_share)| TopShare { keys_share, requests_share }).collect()
}

/// The shares of requests for the given shares of most requested keys.
///
/// Beyond the keys that are known individually, they are all requests minus those for the remaining keys: a sample
/// represents the many unpopular keys better than the few popular ones.
pub fn top_shares(sample: &[u64], most: &[u64], weight: f64, requests: u64, keys_shares: &[f64]) -> Vec<f64> {
    let mut others: Vec<u64> = sample
        .iter()
        .rev()
        .scan(0_u64, |sum, requests| {
            *sum += requests;
            Some(*sum)
        })
        .collect();
    others.reverse();
    others.push(0);
    let share = |keys_share: &f64| {
        let wanted = keys_share * sample.len() as f64;
        let known = (wanted * weight).round() as usize;
        match most.get(..known) {
            Some(most) => most.iter().sum::<u64>() as f64 / requests as f64,
            None => 1.0 - others[(wanted.round() as usize).min(sample.len())] as f64 * weight / requests as f64,
        }
    };
    keys_shares.iter().map(|keys_share| share(keys_share).clamp(0.0, 1.0)).collect()
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

    fn exact(keys: Vec<(u64, u64)>) -> KeyCounts {
        let requests = keys.iter().map(|(_, requests)| requests).sum();
        KeyCounts { most: keys.clone(), sample: keys, weight: 1.0, least: 1, requests }
    }

    #[test]
    fn shares_are_counted() {
        let keys = vec![(7, 1), (8, 1), (9, 6), (10, 2)];
        let popularity = popularity(exact(keys)).unwrap();
        assert_eq!(popularity.one_hit_wonders, OneHitWonders { keys: 2.0, keys_share: 0.5, requests_share: 0.2 });
        assert_eq!(popularity.hot_keys[..2], [HotKey { key: 9, requests: 6 }, HotKey { key: 10, requests: 2 }]);
        assert_eq!(
            popularity.top,
            [TopShare { keys_share: 0.2, requests_share: 0.6 }, TopShare { keys_share: 0.5, requests_share: 0.8 }]
        );
        let octaves: Vec<(u64, f64)> = popularity.keys_by_requests.iter().map(|of| (of.from, of.keys)).collect();
        assert_eq!(octaves, [(1, 2.0), (2, 1.0), (4, 1.0)]);
        assert!(popularity.zipf.is_none() && popularity.zipf_reason.is_some());
    }

    #[test]
    fn no_keys_have_no_popularity() {
        assert_eq!(popularity(exact(Vec::new())), None);
    }
}
