//! Sessions of clients, which decide the replay model of a trace.
//!
//! A client's session ends when it has sent nothing for a while. With few requests per session the load is close to
//! open; with many, each request waits for the answer to the one before (Schroeder, Wierman and Harchol-Balter, NSDI
//! 2006).

use std::collections::HashMap;

use serde::Serialize;

use super::histogram::{Distribution, Histogram};
use crate::key::IdHasher;
use crate::transform::sample::SpatialFilter;

/// The most clients tracked at a time; above that, half of them are dropped by their hashes.
const CLIENTS_MAX: usize = 1 << 20;

/// The sessions of clients.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Sessions {
    /// The number of clients; an estimate if they are sampled.
    pub clients: f64,
    /// The share of the clients that is tracked.
    pub clients_rate: f64,
    /// The time without a request after which a session ends.
    pub gap_s: f64,
    /// The number of sessions.
    pub sessions: f64,
    /// Requests per session.
    pub requests_per_session: Distribution,
    /// Inter-arrival times of a client's requests, within and between sessions.
    pub inter_arrival_s: Option<Distribution>,
    /// The latency for comparison.
    pub latency_s: Option<f64>,
    /// The share of the inter-arrival times below the latency.
    pub below_latency_share: Option<f64>,
}

/// Accumulates sessions.
#[derive(Debug)]
pub struct SessionCounter {
    gap_ns: u64,
    clients_max: usize,
    filter: SpatialFilter,
    clients: HashMap<u64, Client, IdHasher>,
    ended: Histogram,
    between: Histogram,
}

#[derive(Debug, Clone, Copy)]
struct Client {
    last_ns: u64,
    requests: u64,
}

impl SessionCounter {
    /// Sessions end after `gap_ns` without a request.
    pub fn new(gap_ns: u64) -> Self {
        Self {
            gap_ns,
            clients_max: CLIENTS_MAX,
            filter: SpatialFilter::ALL,
            clients: HashMap::default(),
            ended: Histogram::default(),
            between: Histogram::default(),
        }
    }

    /// Adds a client's request. A time that goes back is taken as that of the client's request before.
    pub fn add(&mut self, client: u64, time_ns: u64) {
        if !self.filter.keeps(client) {
            return;
        }
        let weight = 1.0 / self.filter.rate();
        let Some(known) = self.clients.get_mut(&client) else {
            self.clients.insert(client, Client { last_ns: time_ns, requests: 1 });
            if self.clients.len() > self.clients_max {
                self.filter = self.filter.halved();
                let filter = self.filter;
                self.clients.retain(|client, _| filter.keeps(*client));
            }
            return;
        };
        let between = time_ns.saturating_sub(known.last_ns);
        self.between.add(between, weight);
        if between > self.gap_ns {
            self.ended.add(known.requests, weight);
            known.requests = 0;
        }
        known.requests += 1;
        known.last_ns = known.last_ns.max(time_ns);
    }

    /// The sessions so far; `None` without clients.
    pub fn finish(&self, latency_ns: Option<u64>) -> Option<Sessions> {
        let weight = 1.0 / self.filter.rate();
        let mut sessions = self.ended.clone();
        self.clients.values().for_each(|client| sessions.add(client.requests, weight));
        let times = self.between.weight();
        Some(Sessions {
            clients: self.clients.len() as f64 * weight,
            clients_rate: self.filter.rate(),
            gap_s: self.gap_ns as f64 / 1e9,
            sessions: sessions.weight(),
            requests_per_session: sessions.distribution(1.0)?,
            inter_arrival_s: self.between.distribution(1e-9),
            latency_s: latency_ns.map(|latency| latency as f64 / 1e9),
            below_latency_share: latency_ns.filter(|_| times > 0.0).map(|latency| self.between.below(latency) / times),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_gap_ends_a_session() {
        let mut counter = SessionCounter::new(100);
        for (client, time) in [(1, 0), (1, 50), (1, 150), (1, 251), (2, 0), (2, 40), (3, 7)] {
            counter.add(client, time);
        }
        let sessions = counter.finish(Some(51)).unwrap();
        assert_eq!((sessions.clients, sessions.sessions, sessions.requests_per_session.mean), (3.0, 4.0, 1.75));
        assert_eq!((sessions.requests_per_session.max, sessions.below_latency_share), (3.0, Some(0.5)));
    }

    #[test]
    fn a_time_that_goes_back_is_no_gap() {
        let mut counter = SessionCounter::new(100);
        [500, 10, 550].into_iter().for_each(|time| counter.add(1, time));
        assert_eq!(counter.finish(None).unwrap().sessions, 1.0);
        assert_eq!(SessionCounter::new(1).finish(None), None);
    }

    #[test]
    fn many_clients_are_a_sample() {
        let mut counter = SessionCounter { clients_max: 1000, ..SessionCounter::new(100) };
        (0..20_000_u64).for_each(|number| counter.add(number % 10_000, number));
        let sessions = counter.finish(None).unwrap();
        assert!(sessions.clients_rate < 0.2 && (sessions.clients / 10_000.0 - 1.0).abs() < 0.1, "{}", sessions.clients);
        assert!((sessions.requests_per_session.mean - 1.0).abs() < 1e-9);
    }
}
