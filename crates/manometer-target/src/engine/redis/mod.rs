//! Redis: a server of our own below the folder of the database, or one of yours.

mod node;
mod options;
mod resp;
mod state;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use manometer_measure::plan::Settings;
use manometer_measure::{Clock as _, MonotonicClock};
use serde_json::json;

use self::node::Node;
use self::options::Asked;
use self::resp::Resp;
use super::server::{Launch, MARKER_KEY, Process, Remote, ServerSession, installed_version, load_sorted};
use super::{
    Ability, Elsewhere, Engine, EngineError, EngineInfo, Keeps, OpenRequest, Session, SortedRecords, State, directory,
};

const ENGINE: &str = "redis";
const PROGRAM: &str = "redis-server";
const PACKAGE: &str = "redis-server";

/// A server of our own may write its last snapshot for this long.
const LAST_SNAPSHOT_LIMIT_NS: u64 = 600_000_000_000;

/// Between two looks at whether a server has come to rest.
const LOOK_NS: u64 = 20_000_000;

const SETTLING: &str = "settling";
const PREPARING: &str = "preparing for our data";

pub(super) const INFO: EngineInfo = EngineInfo {
    name: ENGINE,
    about: "Redis: a server of our own, or with `address` one of yours",
    version,
    abilities: &[Ability::MultiGet, Ability::Pipeline, Ability::State],
    durability: "snapshots (`save 3600 1 300 100 60 10000`): a put since the last one does not survive the server",
    keeps: Keeps::Disk,
    open: |request| Ok(Box::new(Redis::open(request)?)),
    check: |options| options::read(options).map(drop),
};

/// Directives that shape what is measured; told with the results.
const TOLD: [&str; 8] = [
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

/// A server to speak to.
struct Redis {
    flush: bool,
    /// Its administration; a cluster has many.
    nodes: Vec<Node>,
    /// The server, when it is our own, and where it keeps its data.
    process: Option<Process>,
    directory: Option<PathBuf>,
}

impl Redis {
    fn open(request: &OpenRequest) -> Result<Self, EngineError> {
        let asked = options::read(request.options)?;
        if asked.cluster {
            return Err(EngineError::Unsupported { engine: ENGINE, what: "speak to a cluster yet" });
        }
        let process = if asked.addresses.is_empty() { Some(start(request.directory, &asked)?) } else { None };
        let own = process.iter().map(|process| process.address().to_owned());
        let remotes = own.chain(asked.addresses).map(|address| Remote { engine: ENGINE, address });
        let nodes = remotes.map(Node::connect).collect::<Result<_, _>>()?;
        let directory = process.as_ref().map(|_| request.directory.to_owned());
        Ok(Self { flush: asked.flush, nodes, process, directory })
    }

    fn remote(&self) -> &Remote {
        &self.nodes[0].remote
    }

    /// The sum over all servers of what `INFO` says under `name`.
    fn sum(&self, doing: &'static str, name: &str) -> Result<f64, EngineError> {
        self.nodes.iter().map(|node| Ok(node.info(doing)?.number(name).unwrap_or(0.0))).sum()
    }

    /// Waits until no snapshot or log is being written and nothing is being freed.
    fn wait_for_rest(&self) -> Result<(), EngineError> {
        const WORK: [&str; 3] = ["rdb_bgsave_in_progress", "aof_rewrite_in_progress", "lazyfree_pending_objects"];
        loop {
            self.check()?;
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

    /// Writes what was loaded to a server of our own to its disk: from then on it is there again whatever
    /// becomes of the process.
    fn snapshot(&self) -> Result<(), EngineError> {
        for node in self.nodes.iter().filter(|node| !is_logged(node)) {
            node.ask::<()>(SETTLING, &["BGSAVE"])?;
        }
        self.wait_for_rest()?;
        for node in self.nodes.iter().filter(|node| !is_logged(node)) {
            let status = node.info(SETTLING)?.text("rdb_last_bgsave_status").unwrap_or("unknown").to_owned();
            if status != "ok" {
                let full = self.process.as_ref().is_some_and(|process| process.log_says("No space left on device"));
                if let Some(path) = self.directory.clone().filter(|_| full) {
                    return Err(EngineError::NoSpace { path, doing: SETTLING });
                }
                return Err(node.remote.failed(SETTLING, format_args!("its snapshot failed ({status}); see its log")));
            }
        }
        Ok(())
    }
}

/// Whether every put goes to an append-only file.
fn is_logged(node: &Node) -> bool {
    node.directive("appendonly").as_deref() == Some("yes")
}

fn start(directory: &Path, asked: &Asked) -> Result<Process, EngineError> {
    let not_writable = |reason| EngineError::NotWritable { path: directory.to_owned(), reason };
    std::fs::create_dir_all(directory).map_err(not_writable)?;
    let place = directory.display().to_string();
    let arguments = |port: u16| {
        let port = port.to_string();
        let own = ["--port", &port, "--bind", "127.0.0.1", "--dir", &place, "--daemonize", "no", "--logfile", ""];
        let given = asked
            .directives
            .iter()
            .flat_map(|(name, words)| std::iter::once(format!("--{name}")).chain(words.iter().cloned()));
        own.iter().map(|word| (*word).to_owned()).chain(given).collect()
    };
    let log = directory.with_file_name(directory::LOG);
    Launch { engine: ENGINE, program: PROGRAM, package: PACKAGE, log, arguments: &arguments, ask: &node::how_far }
        .start()
}

impl Engine for Redis {
    fn session(&self) -> Box<dyn Session + '_> {
        Box::new(ServerSession::<Resp>::new(self.remote()))
    }

    fn load_sorted(&self, records: &mut dyn SortedRecords) -> Result<(), EngineError> {
        const LOADING: &str = "loading";
        let before = self.sum(LOADING, "evicted_keys")?;
        load_sorted::<Resp>(self.remote(), records)?;
        let evicted = self.sum(LOADING, "evicted_keys")? - before;
        if evicted > 0.0 {
            let text =
                format!("it evicted {evicted} keys: give it more memory (`maxmemory`), or ask for fewer records");
            return Err(self.remote().failed(LOADING, text));
        }
        Ok(())
    }

    fn settle(&self) -> Result<(), EngineError> {
        self.wait_for_rest()?;
        if self.process.is_some() { self.snapshot() } else { Ok(()) }
    }

    fn check(&self) -> Result<(), EngineError> {
        self.process.as_ref().map_or(Ok(()), Process::check)
    }

    fn elsewhere(&self) -> Option<&dyn Elsewhere> {
        self.process.is_none().then_some(self)
    }

    fn state(&self) -> Box<dyn State + '_> {
        Box::new(state::RedisState::new(self))
    }

    fn facts(&self) -> Settings {
        let node = &self.nodes[0];
        let options: Settings =
            TOLD.iter().filter_map(|name| Some(((*name).to_owned(), json!(node.directive(name)?)))).collect();
        let mut facts = Settings::new();
        if let Some(durability) = durability(&options) {
            facts.insert("durability".to_owned(), json!(durability));
        }
        if let Ok(info) = node.info("telling its version") {
            facts.insert("engine_version".to_owned(), json!(info.text("redis_version")));
        }
        facts.insert("options".to_owned(), options.into());
        facts.insert("address".to_owned(), json!(self.place()));
        facts.insert("own_server".to_owned(), json!(self.process.is_some()));
        facts.extend(self.process.iter().map(|process| ("pid".to_owned(), json!(process.id()))));
        facts
    }
}

impl Elsewhere for Redis {
    fn place(&self) -> &str {
        &self.remote().address
    }

    fn keys(&self) -> Result<u64, EngineError> {
        self.nodes.iter().map(|node| node.ask::<u64>(PREPARING, &["DBSIZE"])).sum()
    }

    fn marker(&self) -> Result<Option<String>, EngineError> {
        let mut session = self.session();
        let text = session.get(MARKER_KEY)?;
        Ok(text.map(|text| String::from_utf8_lossy(text).into_owned()))
    }

    fn set_marker(&self, text: &str) -> Result<(), EngineError> {
        self.session().put(MARKER_KEY, text.as_bytes())
    }

    fn may_clear(&self) -> bool {
        self.flush
    }

    fn clear(&self) -> Result<(), EngineError> {
        if !self.flush {
            return Err(EngineError::Unsupported {
                engine: ENGINE,
                what: "empty a server of yours without `flush = true`",
            });
        }
        self.nodes.iter().try_for_each(|node| node.ask(PREPARING, &["FLUSHDB", "ASYNC"]))
    }
}

/// What a put that was answered survives, with these directives.
fn durability(options: &Settings) -> Option<String> {
    let of = |name: &str| options.get(name)?.as_str();
    Some(match (of("appendonly")?, of("appendfsync"), of("save")?) {
        ("yes", Some("always"), _) => {
            "append-only file, synced before a put is answered: it survives the host".to_owned()
        }
        ("yes", Some("everysec"), _) => {
            "append-only file, synced each second: a put survives the server, and after a second or two the host"
                .to_owned()
        }
        ("yes", _, _) => "append-only file without sync: a put survives the server, not the host".to_owned(),
        (_, _, "") => "none while it runs: a put is in memory alone".to_owned(),
        (_, _, save) => {
            format!("snapshots (`save {save}`): a put since the last one does not survive the server")
        }
    })
}

impl Drop for Redis {
    /// Lets a server of our own write what it holds, so that it is there when opened again.
    fn drop(&mut self) {
        let Some(process) = &self.process else { return };
        let node = &self.nodes[0];
        let how = if is_logged(node) { "NOSAVE" } else { "SAVE" };
        match node.try_ask::<()>(&["SHUTDOWN", how]) {
            Err(error) if error.is_connection_dropped() || error.is_timeout() || error.is_io_error() => {
                if !process.wait_for_end(LAST_SNAPSHOT_LIMIT_NS) {
                    tracing::warn!(
                        "redis did not write its last snapshot in time: what was put since the one before is lost"
                    );
                }
            }
            said => tracing::warn!("redis does not write its last snapshot: {said:?}"),
        }
    }
}
