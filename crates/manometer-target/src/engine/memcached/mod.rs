//! memcached: a managed server, or an external one.

mod meta;
mod options;
mod state;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use manometer_measure::directory::remove_directory;
use manometer_measure::plan::Settings;
use manometer_measure::{Clock as _, Directory, MonotonicClock};
use serde_json::json;

use self::meta::Meta;
use self::options::ServerOptions;
use super::server::{
    Launch, Process, Readiness, Refusal, Remote, ServerConnections, ServerSession, Wire, free_port, installed_version,
    load_sorted,
};
use super::{
    Capability, Engine, EngineError, EngineInfo, EngineSession, ExternalServer, OpenLoop, OpenRequest, SortedRecords,
    StateSampler, StorageKind, server,
};

const ENGINE: &str = "memcached";
const PROGRAM: &str = "memcached";
const PACKAGE: &str = "memcached";
const PREPARING: &str = "preparing for our data";
const LOADING: &str = "loading";

/// How long to wait for memcached to remove flushed items, in nanoseconds: it removes them when it comes across them.
const CLEAR_LIMIT_NS: u64 = 10_000_000_000;

/// The interval between two polls for that, in nanoseconds.
const LOOK_NS: u64 = 50_000_000;

pub(super) const INFO: EngineInfo = EngineInfo {
    name: ENGINE,
    about: "memcached: a server that Manometer starts, yours with `address`",
    version,
    capabilities: &[
        Capability::MultiGet,
        Capability::Pipeline,
        Capability::TimeToLive,
        Capability::OpenLoop,
        Capability::State,
    ],
    durability: "none: data is in memory only and may be evicted",
    storage: StorageKind::Memory,
    key_bytes_max: Some(meta::KEY_BYTES_MAX as u64),
    memtable_option: None,
    options: options::OPTIONS,
    state: state::STATE,
    immutable_files: &[],
    open: |request| Ok(Box::new(Memcached::open(request)?)),
    check_options: |options| options::read(options).map(drop),
};

/// Server settings that affect what is measured; the recording lists them.
const REPORTED: [&str; 6] = ["maxbytes", "maxconns", "num_threads", "item_size_max", "evictions", "slab_chunk_max"];

fn version() -> String {
    static VERSION: OnceLock<String> = OnceLock::new();
    VERSION.get_or_init(|| installed_version(PROGRAM)).clone()
}

/// A connected server.
struct Memcached {
    flush: bool,
    remote: Remote,
    /// Items that it had evicted before the run.
    evicted: f64,
    /// The administrative connection; reopened after an error.
    wire: Mutex<Option<Wire>>,
    /// A managed server and the directory of its log.
    own: Option<(Process, Folder)>,
}

impl Memcached {
    fn open(request: &OpenRequest) -> Result<Self, EngineError> {
        let options = options::read(request.options)?;
        let (own, address) = match options.address {
            Some(address) => (None, address),
            None => {
                let own = start(request.directory, &options)?;
                let address = own.0.address().to_owned();
                (Some(own), address)
            }
        };
        let remote = Remote { engine: ENGINE, address };
        let wire = Mutex::new(Some(remote.connect()?));
        let mut server = Self { flush: options.flush, remote, evicted: 0.0, wire, own };
        server.evicted = server.evictions()?;
        Ok(server)
    }

    /// The server's answer to a `stats` command.
    fn stats(&self, doing: &'static str, command: &str) -> Result<Stats, EngineError> {
        self.exchange(doing, |wire| Stats::query(wire, command))
    }

    fn exchange<T>(
        &self,
        doing: &'static str,
        talk: impl FnOnce(&mut Wire) -> Result<T, Refusal>,
    ) -> Result<T, EngineError> {
        let mut held = self.wire.lock().unwrap_or_else(PoisonError::into_inner);
        let mut wire = match held.take() {
            Some(wire) => wire,
            None => self.remote.connect()?,
        };
        let answer = talk(&mut wire).map_err(|refusal| self.remote.refused(doing, &refusal))?;
        *held = Some(wire);
        Ok(answer)
    }

    /// Sends a command that is answered with one line.
    fn command(&self, doing: &'static str, command: &str) -> Result<String, EngineError> {
        self.exchange(doing, |wire| {
            send(wire, command)?;
            let line = wire.line()?;
            Ok(wire.text(line))
        })
    }

    fn evictions(&self) -> Result<f64, EngineError> {
        Ok(self.stats(LOADING, "stats")?.number("evictions").unwrap_or(0.0))
    }
}

fn send(wire: &mut Wire, command: &str) -> std::io::Result<()> {
    wire.out().extend_from_slice(command.as_bytes());
    wire.out().extend_from_slice(b"\r\n");
    wire.send()
}

/// The answer to `stats`, by name.
#[derive(Debug, Default)]
struct Stats(BTreeMap<String, String>);

impl Stats {
    fn query(wire: &mut Wire, command: &str) -> Result<Self, Refusal> {
        send(wire, command)?;
        let mut stats = BTreeMap::new();
        loop {
            let line = wire.line()?;
            let line = wire.text(line);
            match line.strip_prefix("STAT ").and_then(|rest| rest.split_once(' ')) {
                Some((name, value)) => drop(stats.insert(name.to_owned(), value.to_owned())),
                None if line == "END" => return Ok(Self(stats)),
                None if line.contains("ERROR") => return Err(Refusal::Refused(line)),
                None => return Err(meta::unexpected().into()),
            }
        }
    }

    fn number(&self, name: &str) -> Option<f64> {
        self.0.get(name)?.parse().ok()
    }
}

fn start(directory: &Path, options: &ServerOptions) -> Result<(Process, Folder), EngineError> {
    let not_writable = |reason| EngineError::NotWritable { path: directory.to_owned(), reason };
    let folder = Folder(Directory::create(directory).map_err(not_writable)?);
    let arguments = |port: u16| {
        let port = port.to_string();
        // Without `-u` the server refuses to run as root; for other users `-u` has no effect.
        let own = ["-l", "127.0.0.1", "-p", &port, "-U", "0", "-u", "root"].map(str::to_owned);
        own.into_iter().chain(options.arguments.iter().cloned()).collect()
    };
    let log = folder.log();
    let launch = Launch {
        engine: ENGINE,
        program: PROGRAM,
        package: PACKAGE,
        log,
        port: free_port,
        arguments: &arguments,
        probe: &readiness,
    };
    Ok((launch.start()?, folder))
}

fn readiness(address: &str) -> Readiness {
    let Ok(mut wire) = Wire::connect(address) else { return Readiness::Silence };
    match Stats::query(&mut wire, "stats").ok().and_then(|stats| stats.number("pid")) {
        Some(id) => Readiness::Ready(id as u32),
        None => Readiness::Silence,
    }
}

/// The log of a managed server, under a name that no other engine's database uses.
const LOG: &str = "memcached.log";

/// The directory with the log of a managed server. It holds nothing else.
struct Folder(Directory);

impl Folder {
    fn log(&self) -> PathBuf {
        self.0.path().join(LOG)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = self.0.remove_file(LOG);
        // The directory stays if it holds other files.
        let _ = remove_directory(self.0.path());
    }
}

impl Engine for Memcached {
    fn session(&self) -> Box<dyn EngineSession + '_> {
        Box::new(ServerSession::<Meta>::new(&self.remote))
    }

    fn load_sorted(&self, records: &mut dyn SortedRecords) -> Result<(), EngineError> {
        load_sorted::<Meta>(&self.remote, records)?;
        self.settle()
    }

    /// Checks that all records are present: memcached evicts silently.
    fn settle(&self) -> Result<(), EngineError> {
        let evicted = self.evictions()? - self.evicted;
        if evicted == 0.0 {
            return Ok(());
        }
        let text = format!(
            "it evicted {evicted} records: its memory is too small; give it more (`memory_mib`, for an external server \
             `-m`), or load fewer records"
        );
        Err(self.remote.failed(LOADING, text))
    }

    fn check_background(&self) -> Result<(), EngineError> {
        self.own.as_ref().map_or(Ok(()), |(process, _)| process.check())
    }

    fn external_server(&self) -> Option<&dyn ExternalServer> {
        self.own.is_none().then_some(self)
    }

    fn open_loop(&self, connections: u32) -> Option<Result<Box<dyn OpenLoop + '_>, EngineError>> {
        let made = ServerConnections::<Meta>::new(vec![&self.remote], Box::new(|_| 0), connections);
        Some(made.map(|made| Box::new(made) as Box<dyn OpenLoop>))
    }

    fn state_sampler(&self) -> Box<dyn StateSampler + '_> {
        Box::new(state::MemcachedState::new(self))
    }

    fn facts(&self) -> Settings {
        const REPORTING: &str = "reporting its settings";
        let mut facts = Settings::new();
        if let Ok(settings) = self.stats(REPORTING, "stats settings") {
            let reported = REPORTED.iter().filter_map(|name| Some(((*name).to_owned(), json!(settings.0.get(*name)?))));
            facts.insert("options".to_owned(), reported.collect::<Settings>().into());
        }
        if let Ok(stats) = self.stats(REPORTING, "stats") {
            facts.insert("engine_version".to_owned(), json!(stats.0.get("version")));
        }
        facts.insert("address".to_owned(), json!(self.remote.address));
        facts.insert("own_server".to_owned(), json!(self.own.is_some()));
        facts.extend(self.own.iter().map(|(process, _)| ("pid".to_owned(), json!(process.id()))));
        facts
    }
}

impl ExternalServer for Memcached {
    fn place(&self) -> &str {
        &self.remote.address
    }

    fn keys(&self) -> Result<u64, EngineError> {
        let items = self.stats(PREPARING, "stats")?.number("curr_items");
        items.map(|items| items as u64).ok_or_else(|| self.remote.failed(PREPARING, "it does not count its items"))
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
        let answer = self.command(PREPARING, "flush_all")?;
        if answer != "OK" {
            return Err(self.remote.failed(PREPARING, answer));
        }
        // Flushed items are counted until the crawler finds them. It is no error if that takes longer.
        self.command(PREPARING, "lru_crawler crawl all")?;
        let deadline_ns = MonotonicClock.now_ns() + CLEAR_LIMIT_NS;
        while self.keys()? > 0 && MonotonicClock.now_ns() < deadline_ns {
            MonotonicClock.sleep(LOOK_NS);
        }
        Ok(())
    }
}
