//! Servers that are not ours and that several workloads of one run use.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs as _, UdpSocket};

use manometer_workload::kv::Servers;
use manometer_workload::settings::WorkloadSettings;

use crate::file::experiment::Experiment;

/// Why two workloads of `run` cannot use the same server: one would empty it of the other's records.
pub(super) fn emptied_by_another(run: &Experiment) -> Option<String> {
    let users: Vec<(&str, Servers)> = run
        .workloads()
        .filter_map(|workload| {
            let servers = match &workload.settings {
                WorkloadSettings::Kv(kv) => kv.servers(),
                WorkloadSettings::Replay(replay) => replay.options.as_ref().and_then(Servers::of),
                WorkloadSettings::Io(_) | WorkloadSettings::Files(_) | WorkloadSettings::Command(_) => None,
            };
            Some((workload.name.as_str(), servers?))
        })
        .collect();
    let pairs =
        users.iter().enumerate().flat_map(|(place, one)| users[place + 1..].iter().map(move |other| (one, other)));
    pairs.filter(|((_, one), (_, other))| one.flush || other.flush).find_map(|((name, one), (other_name, other))| {
        let shared = shared(one, other)?;
        Some(format!(
            "`{name}` and `{other_name}` both use {shared}, which `flush = true` has emptied before it is loaded: one \
             would take the other's records away; give each a server of its own"
        ))
    })
}

/// What both use, as far as can be told without asking them.
fn shared(one: &Servers, other: &Servers) -> Option<String> {
    if one.cluster && other.cluster {
        return Some("a cluster, perhaps the same".to_owned());
    }
    let address = one.addresses.iter().find(|address| other.addresses.iter().any(|other| is_same(address, other)))?;
    Some(format!("the server at {address}"))
}

/// Whether two addresses lead to one server: a server has many names, and this host many addresses.
fn is_same(one: &str, other: &str) -> bool {
    one == other || places(one).iter().any(|place| places(other).contains(place))
}

/// Where `address` leads; nowhere when its name is not known.
fn places(address: &str) -> Vec<SocketAddr> {
    let places = address.to_socket_addrs().map(Iterator::collect).unwrap_or_else(|_| Vec::new());
    places.into_iter().map(|place| if is_here(place.ip()) { here(place.port()) } else { place }).collect()
}

/// One address for all that this host has: a server usually listens on every one of them.
fn here(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}

/// Whether `ip` is this host's: only of such a one can a port be taken.
fn is_here(ip: IpAddr) -> bool {
    ip.is_loopback() || ip.is_unspecified() || UdpSocket::bind((ip, 0)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn servers(address: &str, cluster: bool) -> Servers {
        Servers { addresses: address.split(',').map(str::to_owned).collect(), cluster, flush: true }
    }

    #[test]
    fn a_server_is_known_under_each_of_its_names() {
        let one = servers("127.0.0.1:6379", false);
        for same in ["localhost:6379", "127.1.2.3:6379", "[::1]:6379", "0.0.0.0:6379", "192.0.2.1:1,localhost:6379"] {
            assert_eq!(shared(&one, &servers(same, false)).as_deref(), Some("the server at 127.0.0.1:6379"), "{same}");
        }
        for other in ["localhost:6380", "192.0.2.1:6379", "no-such-name.invalid:6379"] {
            assert_eq!(shared(&one, &servers(other, false)), None, "{other}");
        }
        let nowhere = servers("no-such-name.invalid:6379", false);
        assert!(shared(&nowhere, &nowhere).is_some(), "what is written alike is the same");
    }

    #[test]
    fn two_clusters_may_be_one() {
        let [one, other] = ["192.0.2.1:6379", "192.0.2.2:6379"].map(|seed| servers(seed, true));
        assert!(shared(&one, &other).is_some());
        assert_eq!(shared(&one, &servers("192.0.2.2:6379", false)), None);
    }
}
