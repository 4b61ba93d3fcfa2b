//! The processes of this host that listen at an address: the sockets in `/proc/net/tcp`, and the processes that have them
//! open.

use std::collections::HashSet;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs as _, UdpSocket};
use std::path::Path;

/// The state of a listening socket.
const LISTENING: &str = "0A";

/// Those of `addresses` (`host:port`, several separated by commas) that belong to this host; none for a server on another
/// host.
pub(super) fn local_addresses(addresses: &str) -> Vec<SocketAddr> {
    let resolved = addresses.split(',').filter_map(|address| address.trim().to_socket_addrs().ok()).flatten();
    resolved.filter(|address| is_local(address.ip())).collect()
}

/// Whether this host has the address `ip`: a socket can only be bound to a local address.
fn is_local(ip: IpAddr) -> bool {
    UdpSocket::bind((ip, 0)).is_ok()
}

/// The processes that listen at any of `addresses`, as far as this user may see them.
pub(super) fn listeners(proc: &Path, addresses: &[SocketAddr]) -> Vec<u32> {
    let sockets: HashSet<String> = ["tcp", "tcp6"]
        .iter()
        .filter_map(|table| fs::read_to_string(proc.join("net").join(table)).ok())
        .flat_map(|table| listening_sockets(&table))
        .filter(|(listening, _)| addresses.iter().any(|wanted| accepts(listening, wanted)))
        .map(|(_, inode)| format!("socket:[{inode}]"))
        .collect();
    if sockets.is_empty() {
        return Vec::new();
    }
    let entries = fs::read_dir(proc).into_iter().flatten();
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| has_open(proc, *pid, &sockets)).collect()
}

fn has_open(proc: &Path, pid: u32, sockets: &HashSet<String>) -> bool {
    let descriptors = fs::read_dir(proc.join(pid.to_string()).join("fd")).into_iter().flatten();
    let mut targets = descriptors.filter_map(|descriptor| fs::read_link(descriptor.ok()?.path()).ok());
    targets.any(|target| target.to_str().is_some_and(|target| sockets.contains(target)))
}

/// Whether a socket that listens at `listening` accepts connections to `wanted`, also if it listens at any address.
fn accepts(listening: &SocketAddr, wanted: &SocketAddr) -> bool {
    let (here, there) = (listening.ip().to_canonical(), wanted.ip().to_canonical());
    let any = here.is_unspecified() && (here.is_ipv6() || there.is_ipv4());
    listening.port() == wanted.port() && (here == there || any)
}

/// The listening sockets in the text of `/proc/net/tcp` or `tcp6`: their addresses and inodes.
fn listening_sockets(table: &str) -> Vec<(SocketAddr, u64)> {
    let socket = |line: &str| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let listens = *fields.get(3)? == LISTENING;
        Some((parse_address(fields.get(1)?)?, fields.get(9)?.parse().ok()?)).filter(|_| listens)
    };
    table.lines().skip(1).filter_map(socket).collect()
}

/// An address as the kernel writes it: 32-bit words in the host's byte order, and the port.
fn parse_address(text: &str) -> Option<SocketAddr> {
    let (ip, port) = text.split_once(':')?;
    let word = |place: usize| {
        let digits = ip.get(8 * place..8 * place + 8)?;
        Some(u32::from_str_radix(digits, 16).ok()?.to_ne_bytes())
    };
    let ip = match ip.len() {
        8 => IpAddr::V4(Ipv4Addr::from(word(0)?)),
        32 => {
            let words = [word(0)?, word(1)?, word(2)?, word(3)?];
            IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(words.concat()).ok()?))
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip, u16::from_str_radix(port, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// Recorded on a little-endian host, cut to what is read.
    const TCP: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
        \x20  0: 0100007F:18EB 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 51234 1 0 100 0 0 10 0\n\
        \x20  1: 0100007F:9C42 0100007F:18EB 01 00000000:00000000 00:00000000 00000000     0        0 51300 1 0 20 4 30 10 -1\n\
        \x20  2: 00000000:2BCB 00000000:0000 0A 00000000:00000000 00:00000000 00000000   112        0 9001 1 0 100 0 0 10 0\n";
    const TCP6: &str = "  sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
        \x20  0: 00000000000000000000000001000000:18EB 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 51235 1 0 100 0 0 10 0\n\
        \x20  1: 00000000000000000000000000000000:0050 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 7 1 0 100 0 0 10 0\n";

    fn at(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    #[cfg(target_endian = "little")]
    #[test]
    fn listening_sockets_are_read() {
        assert_eq!(listening_sockets(TCP), [(at("127.0.0.1:6379"), 51234), (at("0.0.0.0:11211"), 9001)]);
        assert_eq!(listening_sockets(TCP6), [(at("[::1]:6379"), 51235), (at("[::]:80"), 7)]);
        for odd in ["", "sl\n1: x\n", "sl\n1: 01:1 0 0A 0 0 0 0 0 5\n", "sl\n1: 0100007F:18EB 0 0A 0 0 0 0 0 x\n"] {
            assert_eq!(listening_sockets(odd), [], "{odd}");
        }
    }

    #[test]
    fn a_socket_that_listens_at_any_address_accepts_each() {
        for (listening, wanted, expected) in [
            ("127.0.0.1:6379", "127.0.0.1:6379", true),
            ("127.0.0.1:6379", "127.0.0.1:6380", false),
            ("127.0.0.1:6379", "10.0.0.7:6379", false),
            ("0.0.0.0:6379", "10.0.0.7:6379", true),
            ("0.0.0.0:6379", "[::1]:6379", false),
            ("[::]:6379", "127.0.0.1:6379", true),
            ("[::]:6379", "[::1]:6379", true),
            ("[::ffff:127.0.0.1]:6379", "127.0.0.1:6379", true),
        ] {
            assert_eq!(accepts(&at(listening), &at(wanted)), expected, "{listening} {wanted}");
        }
    }

    #[test]
    fn the_owner_of_a_socket_on_this_host_is_found_and_one_elsewhere_is_not() {
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap();
        let here = local_addresses(&format!("{address}, 192.0.2.1:6379, nonsense"));
        assert_eq!(here, [address], "192.0.2.0/24 belongs to no host");
        let (proc, own) = (Path::new("/proc"), std::process::id());
        assert!(listeners(proc, &here).contains(&own));
        assert!(listeners(proc, &[]).is_empty() && listeners(Path::new("/nowhere"), &here).is_empty());
        drop(socket);
        assert!(!listeners(proc, &here).contains(&own));
    }
}
