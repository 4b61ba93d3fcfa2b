//! Redis: a managed server or cluster below the database's directory, or an external one.

mod cluster;
mod node;
mod options;
mod own;
mod resp;
mod state;

use std::path::PathBuf;
use std::sync::OnceLock;

use manometer_measure::plan::Settings;
use manometer_measure::{Clock as _, MonotonicClock};
use serde_json::json;

use self::cluster::{Cluster, ClusterSession};
use self::node::Node;
use self::options::ServerOptions;
use self::resp::Resp;
use super::server::{Process, Remote, ServerConnections, ServerSession, installed_version, load_sorted};
use super::{
    Capability, Engine, EngineError, EngineInfo, EngineSession, ExternalServer, OpenLoop, OpenRequest, SortedRecords,
    StateSampler, StorageKind, server,
};

const ENGINE: &str = "redis";
const PROGRAM: &str = "redis-server";
const PACKAGE: &str = "redis-server";

/// How long a managed server may take to write its last snapshot, in nanoseconds.
const LAST_SNAPSHOT_LIMIT_NS: u64 = 600_000_000_000;

/// The interval between two polls whether a server is idle, in nanoseconds.
const LOOK_NS: u64 = 20_000_000;

const SETTLING: &str = "settling";
const PREPARING: &str = "preparing for our data";

/// The longest string of Redis (`proto-max-bulk-len`), in bytes.
const KEY_BYTES_MAX: u64 = 512 << 20;

pub(super) const INFO: EngineInfo = EngineInfo {
    name: ENGINE,
    about: "Redis: a server that Manometer starts, a cluster with `cluster = true`, yours with `address`",
    version,
    capabilities: &[
        Capability::MultiGet,
        Capability::Pipeline,
        Capability::TimeToLive,
        Capability::Command,
        Capability::OpenLoop,
        Capability::State,
    ],
    durability: "snapshots (`save 3600 1 300 100 60 10000`): a put since the last one does not survive the server",
    storage: StorageKind::Disk,
    key_bytes_max: Some(KEY_BYTES_MAX),
    memtable_option: None,
    options: options::OPTIONS,
    state: state::STATE,
    immutable_files: &[],
    open: |request| Ok(Box::new(Redis::open(request)?)),
    check_options: |options| options::read(options).map(drop),
};

/// Directives that affect what is measured; the recording lists them.
const REPORTED: [&str; 8] = [
    "appendfsync",
    "appendonly",
    "io-threads",
    "maxmemory",
    "maxmemory-policy",
    "no-appendfsync-on-rewrite",
    "rdbcompression",
    "save",
];

fn version() -> String {
    static VERSION: OnceLock<String> = OnceLock::new();
    VERSION.get_or_init(|| installed_version(PROGRAM)).clone()
}

/// A connected server or cluster.
struct Redis {
    flush: bool,
    /// The administrative connections, one for each master.
    nodes: Vec<Node>,
    cluster: Option<Cluster>,
    /// Managed servers in the order of `nodes`, and their data directories.
    processes: Vec<Process>,
    directory: PathBuf,
    /// Keys evicted before the run.
    evicted: f64,
}

impl Redis {
    fn open(request: &OpenRequest) -> Result<Self, EngineError> {
        let options = options::read(request.options)?;
        let processes =
            if options.addresses.is_empty() { own::start(request.directory, &options)? } else { Vec::new() };
        let (nodes, cluster) = connect(&options, &processes)?;
        let directory = request.directory.to_owned();
        let mut redis = Self { flush: options.flush, nodes, cluster, processes, directory, evicted: 0.0 };
        redis.evicted = redis.sum(PREPARING, "evicted_keys")?;
        Ok(redis)
    }

    fn remote(&self) -> &Remote {
        self.cluster.as_ref().map_or(&self.nodes[0].remote, |cluster| &cluster.remote)
    }

    fn is_our_own(&self) -> bool {
        !self.processes.is_empty()
    }

    /// The sum of the `INFO` field `name` over all servers.
    fn sum(&self, doing: &'static str, name: &str) -> Result<f64, EngineError> {
        self.nodes.iter().map(|node| Ok(node.info(doing)?.number(name).unwrap_or(0.0))).sum()
    }

    /// Waits until no snapshot or log is being written and nothing is being freed.
    fn wait_for_rest(&self) -> Result<(), EngineError> {
        const WORK: [&str; 3] = ["rdb_bgsave_in_progress", "aof_rewrite_in_progress", "lazyfree_pending_objects"];
        loop {
            self.check_background()?;
            let mut busy = false;
            for node in &self.nodes {
                let info = node.info(SETTLING)?;
                busy |= WORK.iter().any(|name| info.number(name).is_some_and(|running| running > 0.0));
            }
            if !busy {
                return Ok(());
            }
            MonotonicClock.sleep(LOOK_NS);
        }
    }

    /// Has a managed server write the loaded data to its disk, so that it outlives the process.
    fn snapshot(&self) -> Result<(), EngineError> {
        for node in self.nodes.iter().filter(|node| !is_logged(node)) {
            node.query_once::<()>(SETTLING, &["BGSAVE"])?;
        }
        self.wait_for_rest()?;
        for node in self.nodes.iter().filter(|node| !is_logged(node)) {
            let status = node.info(SETTLING)?.text("rdb_last_bgsave_status").unwrap_or("unknown").to_owned();
            if status != "ok" {
                if self.processes.iter().any(|process| process.log_contains("No space left on device")) {
                    return Err(EngineError::NoSpace { path: self.directory.clone(), doing: SETTLING });
                }
                return Err(node.remote.failed(SETTLING, format_args!("its snapshot failed ({status}); see its log")));
            }
        }
        Ok(())
    }
}

/// Whether puts are logged to an append-only file.
fn is_logged(node: &Node) -> bool {
    node.directive("appendonly").as_deref() == Some("yes")
}

/// The administrative connections to the servers, and the slots of a cluster.
fn connect(options: &ServerOptions, processes: &[Process]) -> Result<(Vec<Node>, Option<Cluster>), EngineError> {
    if options.cluster && processes.is_empty() {
        let (nodes, cluster) = cluster::masters(&options.addresses)?;
        return Ok((nodes, Some(cluster)));
    }
    let own = processes.iter().map(Process::address);
    let addresses = own.chain(options.addresses.iter().map(String::as_str));
    let remotes = addresses.map(|address| Remote { engine: ENGINE, address: address.to_owned() });
    let nodes = remotes.map(Node::connect).collect::<Result<Vec<_>, _>>()?;
    let cluster = if options.cluster { Some(own::form(&nodes)?) } else { None };
    Ok((nodes, cluster))
}

impl Engine for Redis {
    fn session(&self) -> Box<dyn EngineSession + '_> {
        match &self.cluster {
            Some(cluster) => Box::new(ClusterSession::new(cluster)),
            None => Box::new(ServerSession::<Resp>::new(self.remote())),
        }
    }

    fn load_sorted(&self, records: &mut dyn SortedRecords) -> Result<(), EngineError> {
        match &self.cluster {
            Some(cluster) => ClusterSession::new(cluster).load(records),
            None => load_sorted::<Resp>(self.remote(), records),
        }
    }

    /// Checks that no record is missing: some may have been evicted while loading.
    fn settle(&self) -> Result<(), EngineError> {
        let evicted = self.sum(SETTLING, "evicted_keys")? - self.evicted;
        if evicted > 0.0 {
            let text = format!("it evicted {evicted} keys: give it more memory (`maxmemory`), or load fewer records");
            return Err(self.remote().failed(SETTLING, text));
        }
        self.wait_for_rest()?;
        if self.is_our_own() { self.snapshot() } else { Ok(()) }
    }

    fn check_background(&self) -> Result<(), EngineError> {
        self.processes.iter().try_for_each(Process::check)
    }

    fn external_server(&self) -> Option<&dyn ExternalServer> {
        (!self.is_our_own()).then_some(self)
    }

    fn open_loop(&self, connections: u32) -> Option<Result<Box<dyn OpenLoop + '_>, EngineError>> {
        let remotes = self.cluster.as_ref().map_or_else(|| vec![self.remote()], |cluster| cluster.masters());
        let server_of = |key: &[u8]| self.cluster.as_ref().map_or(0, |cluster| cluster.holder(key));
        let made = ServerConnections::<Resp>::new(remotes, Box::new(server_of), connections);
        Some(made.map(|made| Box::new(made) as Box<dyn OpenLoop>))
    }

    fn state_sampler(&self) -> Box<dyn StateSampler + '_> {
        Box::new(state::RedisState::new(self))
    }

    fn facts(&self) -> Settings {
        let node = &self.nodes[0];
        let options: Settings =
            REPORTED.iter().filter_map(|name| Some(((*name).to_owned(), json!(node.directive(name)?)))).collect();
        let mut facts = Settings::new();
        facts.insert("durability".to_owned(), json!(durability(&options)));
        if let Ok(info) = node.info("reporting its version") {
            facts.insert("engine_version".to_owned(), json!(info.text("redis_version")));
        }
        facts.insert("options".to_owned(), options.into());
        facts.insert("address".to_owned(), json!(self.place()));
        facts.insert("own_server".to_owned(), json!(self.is_our_own()));
        facts.extend(self.cluster.is_some().then(|| ("masters".to_owned(), json!(self.nodes.len()))));
        let pids: Vec<u32> = self.processes.iter().map(Process::id).collect();
        facts.extend(match pids.as_slice() {
            [] => None,
            [pid] => Some(("pid".to_owned(), json!(pid))),
            pids => Some(("pids".to_owned(), json!(pids))),
        });
        facts
    }
}

impl ExternalServer for Redis {
    fn place(&self) -> &str {
        &self.remote().address
    }

    fn keys(&self) -> Result<u64, EngineError> {
        self.nodes.iter().map(|node| node.query::<u64>(PREPARING, &["DBSIZE"])).sum()
    }

    fn marker(&self) -> Result<Option<String>, EngineError> {
        server::marker(&mut *self.session())
    }

    fn set_marker(&self, text: &str) -> Result<(), EngineError> {
        server::set_marker(&mut *self.session(), text)
    }

    fn may_clear(&self) -> bool {
        self.flush
    }

    fn clear(&self) -> Result<(), EngineError> {
        server::may_clear(ENGINE, self.flush)?;
        self.nodes.iter().try_for_each(|node| node.query(PREPARING, &["FLUSHDB", "ASYNC"]))
    }
}

/// The durability of an answered put with these directives.
fn durability(options: &Settings) -> String {
    let of = |name: &str| options.get(name)?.as_str();
    match (of("appendonly"), of("appendfsync"), of("save")) {
        (Some("yes"), Some("always"), _) => {
            "append-only file, synced before a put is answered: a put survives the host".to_owned()
        }
        (Some("yes"), Some("everysec"), _) => {
            "append-only file, synced each second: a put survives the server, and after a second or two the host"
                .to_owned()
        }
        (Some("yes"), Some(_), _) => {
            "append-only file without sync: a put survives the server, not the host".to_owned()
        }
        (Some("no"), _, Some("")) => "none while it runs: a put is in memory only".to_owned(),
        (Some("no"), _, Some(save)) => {
            format!("snapshots (`save {save}`): a put since the last one does not survive the server")
        }
        _ => "unknown: the server does not report its directives".to_owned(),
    }
}

impl Drop for Redis {
    /// Lets managed servers persist their data before they end.
    fn drop(&mut self) {
        self.processes.iter().zip(&self.nodes).for_each(|(process, node)| shut_down(process, node));
    }
}

fn shut_down(process: &Process, node: &Node) {
    let how = if is_logged(node) { "NOSAVE" } else { "SAVE" };
    match node.execute::<()>(&["SHUTDOWN", how]) {
        Err(error) if error.is_connection_dropped() || error.is_timeout() || error.is_io_error() => {
            if !process.wait_for_end(LAST_SNAPSHOT_LIMIT_NS) {
                tracing::warn!(
                    "redis did not write its last snapshot in time: what was put since the one before is lost"
                );
            }
        }
        answer => tracing::warn!("redis does not write its last snapshot: {answer:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durability_follows_from_the_directives_and_is_unknown_otherwise() {
        let of = |appendonly: &str, save: &str| {
            let directives = [("appendonly", appendonly), ("appendfsync", "always"), ("save", save)];
            durability(&directives.into_iter().map(|(name, value)| (name.to_owned(), json!(value))).collect())
        };
        assert!(of("yes", "").starts_with("append-only file, synced before"));
        assert!(of("no", "").starts_with("none"));
        assert!(of("no", "60 1").contains("`save 60 1`"));
        assert_eq!(durability(&Settings::new()), "unknown: the server does not report its directives");
    }
}
