//! Chooses the replay model of a trace, as section 3.3 of the KV-replay thesis does.

use serde::Serialize;

use super::sessions::Sessions;

/// Up to this many requests per session a load is close to open (Schroeder and others 2006).
pub const OPEN_REQUESTS_MAX: f64 = 5.0;
/// If a smaller share of a client's inter-arrival times is below the latency, open and closed loop behave alike.
const ALIKE_SHARE: f64 = 0.01;

/// Where a trace was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CapturePoint {
    /// At the store, behind a proxy or a tier of servers.
    Store,
    /// At a proxy in front of the store.
    Proxy,
    /// At the clients, or at a store that they access directly.
    Clients,
}

/// A replay model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RecommendedModel {
    /// Open loop: requests are sent when they are due.
    Open,
    /// Closed loop per client: a client's next request waits for the answer to the one before.
    ClosedPerClient,
}

/// The recommended model and the reason.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ModelRecommendation {
    /// The model.
    pub model: RecommendedModel,
    /// The reason, in sentences.
    pub why: String,
    /// What would make the recommendation surer.
    pub unknown: Option<String>,
}

/// Decides by the place of recording and the clients' sessions. For block devices the place does not matter.
pub fn recommend(
    taken_at: Option<CapturePoint>,
    sessions: Option<&Sessions>,
    is_of_devices: bool,
) -> ModelRecommendation {
    let (model, why) = match (taken_at, sessions) {
        (Some(CapturePoint::Store), _) => (
            RecommendedModel::ClosedPerClient,
            "At the store each connection waits for its answers, so that a closed model behaves as the store's clients \
             did. Where they are servers that send without waiting (a layer of microservices), take the open model."
                .to_owned(),
        ),
        (_, Some(sessions)) => by_sessions(sessions),
        (_, None) if is_of_devices => (
            RecommendedModel::Open,
            "Many processes use a device at once, and the trace does not show which request waited for which."
                .to_owned(),
        ),
        (_, None) => (
            RecommendedModel::Open,
            "The trace has no clients with times, so nothing speaks against requests that come when they are due."
                .to_owned(),
        ),
    };
    let alike = sessions.and_then(|sessions| sessions.below_latency_share).filter(|share| *share < ALIKE_SHARE);
    let why = match alike {
        Some(share) => format!(
            "{why} Of a client's times between requests {:.3} % are below the latency: open and closed hardly \
             differ.",
            share * 100.0
        ),
        None => why,
    };
    ModelRecommendation { model, why, unknown: unknown(taken_at.is_none() && !is_of_devices, sessions) }
}

fn by_sessions(sessions: &Sessions) -> (RecommendedModel, String) {
    let mean = sessions.requests_per_session.mean;
    let gap = sessions.gap_s;
    if mean <= OPEN_REQUESTS_MAX {
        let why = format!(
            "A session (no pause above {gap} s) has {mean:.2} requests on average: five or fewer are as good as open."
        );
        return (RecommendedModel::Open, why);
    }
    let why = format!(
        "A session (no pause above {gap} s) has {mean:.1} requests on average: with more than five, a request waits \
         for the answer to the one before."
    );
    (RecommendedModel::ClosedPerClient, why)
}

fn unknown(place: bool, sessions: Option<&Sessions>) -> Option<String> {
    let place = place.then_some(
        "where the trace was taken (--taken-at store, proxy or clients): at a store behind a proxy the closed model \
         fits better",
    );
    let latency = sessions.is_some_and(|sessions| sessions.latency_s.is_none()).then_some(
        "the store's latency (--latency): it shows how many of a client's requests came before an answer could",
    );
    let unknown: Vec<&str> = place.into_iter().chain(latency).collect();
    (!unknown.is_empty()).then(|| unknown.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::character::sessions::SessionCounter;

    /// One client whose sessions have `requests` requests, one per second.
    fn sessions(requests: u64, latency_ns: Option<u64>) -> Sessions {
        let mut counter = SessionCounter::new(60_000_000_000);
        (0..10 * requests).for_each(|number| {
            counter.add(1, (number + number / requests * 1000) * 1_000_000_000);
        });
        counter.finish(latency_ns).unwrap()
    }

    #[test]
    fn few_requests_a_session_are_open() {
        for taken_at in [None, Some(CapturePoint::Proxy), Some(CapturePoint::Clients)] {
            assert_eq!(recommend(taken_at, Some(&sessions(5, None)), false).model, RecommendedModel::Open);
            assert_eq!(recommend(taken_at, Some(&sessions(6, None)), false).model, RecommendedModel::ClosedPerClient);
            assert_eq!(recommend(taken_at, None, false).model, RecommendedModel::Open);
        }
        assert_eq!(
            recommend(Some(CapturePoint::Store), Some(&sessions(5, None)), false).model,
            RecommendedModel::ClosedPerClient
        );
    }

    #[test]
    fn unknown_facts_are_listed() {
        assert!(recommend(None, None, false).unknown.unwrap().contains("--taken-at"));
        assert_eq!(recommend(None, None, true).unknown, None);
        assert!(
            recommend(Some(CapturePoint::Proxy), Some(&sessions(5, None)), false)
                .unknown
                .unwrap()
                .contains("--latency")
        );
        let recommended = recommend(Some(CapturePoint::Proxy), Some(&sessions(6, Some(1_000_000))), false);
        assert_eq!(recommended.unknown, None);
        assert!(recommended.why.contains("0.000 %"));
    }
}
