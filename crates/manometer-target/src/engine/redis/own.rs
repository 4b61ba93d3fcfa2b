//! Managed servers: one, or several that form a cluster.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use manometer_measure::{Clock as _, Directory, MonotonicClock};

use super::cluster::{Cluster, slots};
use super::node::{self, Info, Node};
use super::options::ServerOptions;
use super::{ENGINE, LOOK_NS, PACKAGE, PROGRAM};
use crate::engine::hash_slot::HASH_SLOTS;
use crate::engine::server::{Launch, Process, free_port, free_port_with_bus};
use crate::engine::{EngineError, directory};

/// How many rounds of one second servers have to find each other.
const ROUNDS: u64 = 30;
const LOOKS_PER_ROUND: u64 = 1_000_000_000 / LOOK_NS;

const FORMING: &str = "forming its cluster";

/// Arguments of a server of a cluster. Its address is given, since it would otherwise have to learn it from another
/// node.
const OF_A_CLUSTER: [&str; 6] =
    ["--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf", "--cluster-announce-ip", "127.0.0.1"];

/// Starts the servers of `options` below `directory`.
pub(super) fn start(directory: &Path, options: &ServerOptions) -> Result<Vec<Process>, EngineError> {
    if !options.cluster {
        return Ok(vec![start_one(directory, directory.with_file_name(directory::LOG), options)?]);
    }
    let folders = (1..=options.servers).map(|number| directory.join(format!("node-{number}")));
    folders.map(|folder| start_one(&folder, folder.join(directory::LOG), options)).collect()
}

fn start_one(directory: &Path, log: PathBuf, options: &ServerOptions) -> Result<Process, EngineError> {
    let not_writable = |reason| EngineError::NotWritable { path: directory.to_owned(), reason };
    Directory::create(directory).map_err(not_writable)?;
    let place = directory.display().to_string();
    let arguments = |port: u16| {
        let port = port.to_string();
        let own = ["--port", &port, "--bind", "127.0.0.1", "--dir", &place, "--daemonize", "no", "--logfile", ""];
        let of_a_cluster: &[&str] = if options.cluster { &OF_A_CLUSTER } else { &[] };
        let given = options
            .directives
            .iter()
            .flat_map(|(name, words)| std::iter::once(format!("--{name}")).chain(words.iter().cloned()));
        own.iter().chain(of_a_cluster).map(|word| (*word).to_owned()).chain(given).collect()
    };
    let port = if options.cluster { free_port_with_bus } else { free_port };
    let (arguments, probe) = (&arguments, &node::readiness);
    Launch { engine: ENGINE, program: PROGRAM, package: PACKAGE, log, port, arguments, probe }.start()
}

/// Forms a cluster of `nodes`, or restores the one they formed before a restart.
pub(super) fn form(nodes: &[Node]) -> Result<Cluster, EngineError> {
    share_slots(nodes)?;
    for _ in 0..ROUNDS {
        // Repeated: a server that meets an unknown server at an old address forgets that address.
        introduce(nodes)?;
        for _ in 0..LOOKS_PER_ROUND {
            if is_whole(nodes)? {
                return found(nodes);
            }
            MonotonicClock.sleep(LOOK_NS);
        }
    }
    let text = format!("its servers do not find each other in {ROUNDS} s; see their logs");
    Err(nodes[0].remote.failed(FORMING, text))
}

fn found(nodes: &[Node]) -> Result<Cluster, EngineError> {
    let masters = nodes.iter().map(|node| node.remote.clone()).collect();
    Cluster::new(&slots(&nodes[0], FORMING)?, masters).map_err(|text| nodes[0].remote.failed(FORMING, text))
}

/// Assigns slots to each server that has none.
fn share_slots(nodes: &[Node]) -> Result<(), EngineError> {
    let begin = |number: usize| number * usize::from(HASH_SLOTS) / nodes.len();
    for (number, node) in nodes.iter().enumerate() {
        if state(node)?.number("cluster_slots_assigned") == Some(0.0) {
            let (first, last) = (begin(number).to_string(), (begin(number + 1) - 1).to_string());
            node.query::<()>(FORMING, &["CLUSTER", "ADDSLOTSRANGE", &first, &last])?;
        }
    }
    Ok(())
}

/// Tells every server the address of every other: after a restart the ports have changed.
fn introduce(nodes: &[Node]) -> Result<(), EngineError> {
    let addresses = || nodes.iter().map(|node| node.remote.address.as_str());
    for node in nodes {
        for (host, port) in addresses().filter(|other| *other != node.remote.address).filter_map(|a| a.split_once(':'))
        {
            node.query::<()>(FORMING, &["CLUSTER", "MEET", host, port])?;
        }
    }
    Ok(())
}

/// Whether every server accepts requests and knows the addresses of all.
fn is_whole(nodes: &[Node]) -> Result<bool, EngineError> {
    let listening: BTreeSet<&str> = nodes.iter().map(|node| node.remote.address.as_str()).collect();
    for node in nodes {
        let slots = slots(node, FORMING)?;
        let seen: BTreeSet<&str> = slots.iter().map(|slots| slots.address.as_str()).collect();
        if state(node)?.text("cluster_state") != Some("ok") || seen != listening {
            return Ok(false);
        }
    }
    Ok(true)
}

fn state(node: &Node) -> Result<Info, EngineError> {
    Ok(Info::read(&node.query::<String>(FORMING, &["CLUSTER", "INFO"])?))
}
