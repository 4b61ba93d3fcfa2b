//! External servers that several workloads of one run share.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs as _, UdpSocket};

use manometer_workload::kv::ExternalServers;
use manometer_workload::settings::WorkloadSettings;

use crate::definition::Experiment;

/// The first two workloads of `run` on one server that one of them flushes: the other's records would be lost.
pub(super) fn flush_conflict(run: &Experiment) -> Option<String> {
    let users: Vec<(&str, ExternalServers)> = run
        .workloads()
        .filter_map(|workload| {
            let servers = match &workload.settings {
                WorkloadSettings::Kv(kv) => kv.servers(),
                WorkloadSettings::Replay(replay) => replay.options.as_ref().and_then(ExternalServers::of),
                WorkloadSettings::Io(_)
                | WorkloadSettings::Files(_)
                | WorkloadSettings::Paths(_)
                | WorkloadSettings::Command(_) => None,
            };
            Some((workload.name.as_str(), servers?))
        })
        .collect();
    let pairs =
        users.iter().enumerate().flat_map(|(place, one)| users[place + 1..].iter().map(move |other| (one, other)));
    pairs.filter(|((_, one), (_, other))| one.flush || other.flush).find_map(|((name, one), (other_name, other))| {
        let shared = shared_server(one, other)?;
        Some(format!(
            "`{name}` and `{other_name}` both use {shared}, and `flush = true` deletes all its records before loading: \
             give each workload a separate server"
        ))
    })
}

/// The server that both use, as far as addresses show it.
fn shared_server(one: &ExternalServers, other: &ExternalServers) -> Option<String> {
    if one.cluster && other.cluster {
        return Some("a cluster, possibly the same".to_owned());
    }
    let address =
        one.addresses.iter().find(|address| other.addresses.iter().any(|other| is_same_server(address, other)))?;
    Some(format!("the server at {address}"))
}

/// Whether two addresses lead to one server, which may have many names.
fn is_same_server(one: &str, other: &str) -> bool {
    one == other || resolve(one).iter().any(|address| resolve(other).contains(address))
}

/// The socket addresses of `address`; none for an unknown name.
fn resolve(address: &str) -> Vec<SocketAddr> {
    let all = address.to_socket_addrs().map(Iterator::collect).unwrap_or_else(|_| Vec::new());
    all.into_iter().map(|one| if is_local(one.ip()) { localhost(one.port()) } else { one }).collect()
}

/// One address for all addresses of this host: a server usually listens on all of them.
fn localhost(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}

/// Whether `ip` is an address of this host: a port can be bound on such an address only.
fn is_local(ip: IpAddr) -> bool {
    ip.is_loopback() || ip.is_unspecified() || UdpSocket::bind((ip, 0)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn servers(address: &str, cluster: bool) -> ExternalServers {
        ExternalServers { addresses: address.split(',').map(str::to_owned).collect(), cluster, flush: true }
    }

    #[test]
    fn a_server_is_recognised_by_each_of_its_addresses() {
        let one = servers("127.0.0.1:6379", false);
        for same in ["localhost:6379", "127.1.2.3:6379", "[::1]:6379", "0.0.0.0:6379", "192.0.2.1:1,localhost:6379"] {
            assert_eq!(
                shared_server(&one, &servers(same, false)).as_deref(),
                Some("the server at 127.0.0.1:6379"),
                "{same}"
            );
        }
        for other in ["localhost:6380", "192.0.2.1:6379", "no-such-name.invalid:6379"] {
            assert_eq!(shared_server(&one, &servers(other, false)), None, "{other}");
        }
        let nowhere = servers("no-such-name.invalid:6379", false);
        assert!(shared_server(&nowhere, &nowhere).is_some(), "equal addresses are one server");
    }

    #[test]
    fn two_clusters_may_be_the_same() {
        let [one, other] = ["192.0.2.1:6379", "192.0.2.2:6379"].map(|seed| servers(seed, true));
        assert!(shared_server(&one, &other).is_some());
        assert_eq!(shared_server(&one, &servers("192.0.2.2:6379", false)), None);
    }
}
