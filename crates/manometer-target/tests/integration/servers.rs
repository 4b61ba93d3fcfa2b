//! Engines that are servers, managed and external. Tests of a server that is not installed are skipped.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use manometer_measure::{Clock as _, Column, ManualClock, MonotonicClock};
use manometer_target::engine::directory::{DatabaseManifest, DatabaseReuse};
use manometer_target::engine::external::ExternalData;
use manometer_target::engine::{
    self, Capability, Engine, EngineError, EngineOptions, OpenRequest, PipelinedRequest, SortedRecords,
};
use manometer_testing::{Cause, skip};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

const SERVERS: [&str; 2] = ["redis", "memcached"];

/// A directory for a database, as a run prepares it.
struct TestDatabase {
    _dir: tempfile::TempDir,
    database: PathBuf,
}

impl TestDatabase {
    fn new() -> Self {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let database = dir.path().join("primary/db");
        Self { _dir: dir, database }
    }

    fn open(&self, name: &str, options: Value) -> Result<Box<dyn Engine>, EngineError> {
        open(name, &self.database, options)
    }
}

fn open(name: &str, database: &Path, options: Value) -> Result<Box<dyn Engine>, EngineError> {
    let Value::Object(table) = options else { panic!("{options}") };
    let options = EngineOptions::Table(table);
    let request = OpenRequest { directory: database, options: &options, value_bytes: 100 };
    (engine::find(name)?.open)(&request)
}

/// The servers of this build that are installed here.
fn installed() -> impl Iterator<Item = &'static str> {
    SERVERS.into_iter().filter(|name| {
        let there = engine::find(name).is_ok_and(|engine| (engine.version)() != "not installed");
        if !there {
            skip(Cause::Program, format_args!("{name} is not installed"));
        }
        there
    })
}

/// The installed servers, and a cluster of those that support one, each with the options for it.
fn installed_in_every_form() -> impl Iterator<Item = (&'static str, Value)> {
    let alone = installed().map(|name| (name, json!({})));
    alone.chain(installed().filter(|name| *name == "redis").map(|name| (name, json!({"cluster": true}))))
}

fn is_installed(name: &str) -> bool {
    installed().any(|installed| installed == name)
}

fn address(engine: &dyn Engine) -> String {
    engine.facts()["address"].as_str().unwrap().to_owned()
}

fn pid(engine: &dyn Engine) -> i32 {
    pids(engine)[0]
}

fn pids(engine: &dyn Engine) -> Vec<i32> {
    let facts = engine.facts();
    let pids = facts.get("pids").map_or_else(|| vec![facts["pid"].clone()], |pids| pids.as_array().unwrap().clone());
    pids.iter().map(|pid| i32::try_from(pid.as_u64().unwrap()).unwrap()).collect()
}

fn kill(pid: i32) {
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
}

/// Waits until the process has ended, or is a zombie.
fn is_gone(pid: i32) -> bool {
    (0..500).any(|_| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let gone = stat.is_empty() || stat.contains(") Z ");
        if !gone {
            MonotonicClock.sleep(10_000_000);
        }
        gone
    })
}

/// The error of an engine whose managed server was killed: its last threads may outlive its first.
fn ended(engine: &dyn Engine) -> EngineError {
    let look = |_| {
        let error = engine.check_background().err();
        if error.is_none() {
            MonotonicClock.sleep(10_000_000);
        }
        error
    };
    (0..500).find_map(look).unwrap()
}

/// Keys from `000000` on with distinct values.
struct Counted {
    next: u32,
    end: u32,
    key: String,
    value: Vec<u8>,
}

impl Counted {
    fn new(end: u32, value_bytes: usize) -> Self {
        Self { next: 0, end, key: String::new(), value: vec![b'v'; value_bytes] }
    }
}

impl SortedRecords for Counted {
    fn next(&mut self) -> Option<(&[u8], &[u8])> {
        if self.next == self.end {
            return None;
        }
        self.key = format!("{:06}", self.next);
        self.value[..4].copy_from_slice(&self.next.to_le_bytes());
        self.next += 1;
        Some((self.key.as_bytes(), &self.value))
    }

    fn keep_going(&mut self) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

#[test]
fn a_server_of_our_own_answers_and_is_gone_afterwards() {
    for (name, options) in installed_in_every_form() {
        let place = TestDatabase::new();
        let engine = place.open(name, options).unwrap();
        let pids = pids(&*engine);
        let is_there = |pid: &i32| Path::new(&format!("/proc/{pid}")).exists();
        assert!(pids.iter().all(is_there));
        let mut session = engine.session();
        assert_eq!(session.get(b"a").unwrap(), None);
        session.put(b"a", b"1").unwrap();
        session.put(b"a", b"22").unwrap();
        assert_eq!(session.get(b"a").unwrap(), Some(b"22".as_slice()));
        session.put(b"empty", b"").unwrap();
        assert_eq!(session.get(b"empty").unwrap(), Some(b"".as_slice()));
        session.delete(b"a").unwrap();
        session.delete(b"a").unwrap();
        assert_eq!(session.get(b"a").unwrap(), None);
        engine.check_background().unwrap();
        drop(session);
        drop(engine);
        assert!(!pids.iter().any(is_there), "{name}");
    }
}

#[test]
fn keys_and_values_are_any_bytes() {
    let keys: [&[u8]; 5] = [b"\0\0\0\x01", b"a b", b"line\r\nend", &[0xff; 16], b"VA 1"];
    let long = vec![b'\n'; 300_000];
    for (name, options) in installed_in_every_form() {
        let place = TestDatabase::new();
        let engine = place.open(name, options).unwrap();
        let mut session = engine.session();
        for value in [b"END\r\n".as_slice(), &long] {
            for key in keys {
                session.put(key, value).unwrap();
                assert_eq!(session.get(key).unwrap(), Some(value), "{name}");
            }
        }
    }
}

#[test]
fn many_requests_are_answered_in_order() {
    // Far more than fits into the buffers between client and server, in both directions.
    let values: Vec<Vec<u8>> = (0..200_usize).map(|place| vec![b'0' + (place % 10) as u8; 1 + place * 311]).collect();
    let keys: Vec<String> = (0..200).map(|place| format!("key{place}")).collect();
    for (name, options) in installed_in_every_form() {
        let info = engine::find(name).unwrap();
        assert!(info.capabilities.contains(&Capability::Pipeline) && info.capabilities.contains(&Capability::MultiGet));
        let place = TestDatabase::new();
        let engine = place.open(name, options).unwrap();
        let mut session = engine.session();
        let requests: Vec<PipelinedRequest> = keys
            .iter()
            .zip(&values)
            .flat_map(|(key, value)| {
                let key = key.as_bytes();
                [PipelinedRequest::Get { key }, PipelinedRequest::Put { key, value }, PipelinedRequest::Get { key }]
            })
            .collect();
        let mut received = Vec::new();
        session.pipeline(&requests, &mut |place, value| received.push((place, value.map(<[u8]>::to_vec)))).unwrap();
        assert_eq!(received.len(), 600);
        for (place, (answered, value)) in received.into_iter().enumerate() {
            let wanted = (place % 3 == 2).then(|| values[place / 3].clone());
            assert!(answered == place && value == wanted, "{name}: {place}");
        }
        let mut requested: Vec<&[u8]> = keys.iter().map(String::as_bytes).collect();
        requested.insert(7, b"missing");
        let mut found = vec![None; requested.len()];
        session.get_many(&requested, &mut |place, value| found[place] = value.map(<[u8]>::to_vec)).unwrap();
        assert_eq!(found.remove(7), None);
        assert!(found.into_iter().map(Option::unwrap).eq(values.iter().cloned()), "{name}");
        session.get_many(&[], &mut |_, _| panic!("nothing was asked")).unwrap();
        session.pipeline(&[], &mut |_, _| panic!("nothing was asked")).unwrap();
    }
}

#[test]
fn every_record_is_loaded_and_every_column_reported() {
    for (name, mut options) in installed_in_every_form() {
        let place = TestDatabase::new();
        if name == "redis" {
            options["appendonly"] = json!("yes");
        }
        let engine = place.open(name, options).unwrap();
        let mut state = engine.state_sampler();
        let first = state.sample(&ManualClock::at(0));
        assert!(!first.is_empty() && first.len() < state.columns().len());
        engine.load_sorted(&mut Counted::new(12_345, 100)).unwrap();
        engine.settle().unwrap();
        let mut session = engine.session();
        for record in [0_u32, 999, 1000, 12_344] {
            let found = session.get(format!("{record:06}").as_bytes()).unwrap().unwrap();
            assert_eq!(found[..4], record.to_le_bytes());
        }
        let row = state.sample(&ManualClock::at(1_000_000_000));
        // A slab class without pages has no values.
        let columns: Vec<String> = state.columns().into_iter().map(|Column { name, .. }| name).collect();
        for column in columns.iter().filter(|column| !column.starts_with("slab_")) {
            assert!(row.contains_key(column), "{name}: {column} is missing: {row:?}");
        }
        assert!(row.keys().all(|name| columns.contains(name)), "{name}: {row:?}");
        let keys = if name == "redis" { "keys" } else { "curr_items" };
        assert_eq!(row[keys], 12_345.0);
    }
}

#[test]
fn a_slab_class_that_comes_later_reports_its_numbers_as_well() {
    if !is_installed("memcached") {
        return;
    }
    let place = TestDatabase::new();
    let engine = place.open("memcached", json!({})).unwrap();
    let mut session = engine.session();
    session.put(b"small", &[1; 10]).unwrap();
    let mut state = engine.state_sampler();
    let columns: Vec<String> = state.columns().into_iter().map(|column| column.name).collect();
    let used = |row: &BTreeMap<String, f64>| -> Vec<(String, f64)> {
        let all = row.iter().filter_map(|(name, value)| Some((name.strip_suffix(".used_chunks")?.to_owned(), *value)));
        all.filter(|(_, chunks)| *chunks > 0.0).collect()
    };
    assert_eq!(used(&state.sample(&ManualClock::at(0))).len(), 1);
    for key in 0..20_u8 {
        session.put(&[b'k', key + b'0'], &[1; 10]).unwrap();
    }
    session.put(b"large", &[1; 10_000]).unwrap();
    session.put(b"larger", &[1; 100_000]).unwrap();
    let row = state.sample(&ManualClock::at(1_000_000_000));
    assert!(row.keys().all(|name| columns.contains(name)), "{row:?}");
    let used = used(&row);
    assert_eq!(used.len(), 3, "{used:?}");
    let (class, _) = used.iter().find(|(_, chunks)| *chunks == 21.0).expect("21 small records");
    assert!(row[&format!("{class}.chunk_size")] < 200.0, "{row:?}");
    assert_eq!(row[&format!("{class}.cmd_set")], 20.0);
}

#[test]
fn what_redis_holds_is_there_when_it_is_opened_again() {
    if !is_installed("redis") {
        return;
    }
    for options in [
        json!({}),
        json!({"save": ""}),
        json!({"appendonly": true}),
        json!({"cluster": true}),
        json!({"cluster": true, "appendonly": true}),
    ] {
        let place = TestDatabase::new();
        for round in 0..2 {
            let engine = place.open("redis", options.clone()).unwrap();
            let mut session = engine.session();
            for key in 0..100_u8 {
                if round == 0 {
                    session.put(&[key], b"kept").unwrap();
                }
                assert_eq!(session.get(&[key]).unwrap(), Some(b"kept".as_slice()), "{options}");
            }
        }
    }
}

#[test]
fn what_redis_has_loaded_survives_its_death() {
    if !is_installed("redis") {
        return;
    }
    for options in [json!({"save": ""}), json!({"save": "", "cluster": true})] {
        let place = TestDatabase::new();
        let engine = place.open("redis", options.clone()).unwrap();
        engine.load_sorted(&mut Counted::new(500, 100)).unwrap();
        engine.settle().unwrap();
        pids(&*engine).into_iter().for_each(kill);
        drop(engine);
        let engine = place.open("redis", options).unwrap();
        let mut session = engine.session();
        for record in 0..500 {
            assert!(session.get(format!("{record:06}").as_bytes()).unwrap().is_some(), "{record}");
        }
    }
}

/// The number of keys in the server at `address`.
fn keys_at(address: &str) -> u64 {
    let engine = open("redis", Path::new("/nowhere/at/all"), json!({"address": address})).unwrap();
    engine.external_server().unwrap().keys().unwrap()
}

#[test]
fn a_cluster_has_as_many_servers_as_it_is_given() {
    if !is_installed("redis") {
        return;
    }
    let place = TestDatabase::new();
    let ours = place.open("redis", json!({"cluster": true, "servers": 5})).unwrap();
    assert_eq!(ours.facts()["masters"], 5);
    ours.load_sorted(&mut Counted::new(1000, 10)).unwrap();
    let held: Vec<u64> = address(&*ours).split(',').map(keys_at).collect();
    assert!(held.len() == 5 && held.iter().all(|keys| *keys > 100), "{held:?}");
}

#[test]
fn the_keys_of_a_cluster_lie_on_all_of_its_servers() {
    if !is_installed("redis") {
        return;
    }
    let place = TestDatabase::new();
    let ours = place.open("redis", json!({"cluster": true})).unwrap();
    assert_eq!(ours.facts()["masters"], 3);
    ours.load_sorted(&mut Counted::new(3000, 100)).unwrap();
    let addresses = address(&*ours);
    let held: Vec<u64> = addresses.split(',').map(keys_at).collect();
    assert!(held.iter().all(|keys| *keys > 800) && held.iter().sum::<u64>() == 3000, "{held:?}");
    // One address is enough to find all masters; an address without a server is skipped.
    let last = addresses.rsplit_once(',').unwrap().1;
    for given in [json!({"address": last, "cluster": true}), json!({"address": format!("127.0.0.1:1,{last}")})] {
        let theirs = open("redis", Path::new("/nowhere/at/all"), given).unwrap();
        let server = theirs.external_server().unwrap();
        assert_eq!(server.keys().unwrap(), 3000);
        let mut named: Vec<&str> = server.place().split(',').collect();
        named.sort_unstable();
        let mut known: Vec<&str> = addresses.split(',').collect();
        known.sort_unstable();
        assert_eq!(named, known);
        let mut session = theirs.session();
        for record in (0..3000_u32).step_by(7) {
            let found = session.get(format!("{record:06}").as_bytes()).unwrap().unwrap();
            assert_eq!(found[..4], record.to_le_bytes());
        }
    }
}

#[test]
fn a_server_of_a_cluster_that_goes_away_is_an_error_and_no_wait() {
    if !is_installed("redis") {
        return;
    }
    let place = TestDatabase::new();
    let engine = place.open("redis", json!({"cluster": true})).unwrap();
    engine.load_sorted(&mut Counted::new(300, 100)).unwrap();
    let (pids, addresses) = (pids(&*engine), address(&*engine));
    let mut session = engine.session();
    kill(pids[1]);
    assert!(is_gone(pids[1]));
    let gone = addresses.split(',').nth(1).unwrap();
    let keys: Vec<String> = (0..300).map(|record| format!("{record:06}")).collect();
    let started_ns = MonotonicClock.now_ns();
    let (mut found, mut failed) = (0, 0);
    for key in &keys {
        match session.get(key.as_bytes()) {
            Ok(value) => found += u32::from(value.is_some()),
            Err(error) => {
                assert!(matches!(error, EngineError::Failed { .. }) && error.to_string().contains(gone), "{error}");
                failed += 1;
            }
        }
    }
    assert!(found > 150 && failed > 50 && found + failed == 300, "{found} {failed}");
    let requests: Vec<PipelinedRequest> =
        keys.iter().map(|key| PipelinedRequest::Get { key: key.as_bytes() }).collect();
    for _ in 0..2 {
        let error = session.pipeline(&requests, &mut |_, _| {}).unwrap_err().to_string();
        assert!(error.contains(gone), "{error}");
    }
    // Pending answers of the other masters are not taken for the answer to the next request.
    let left: Vec<&String> = keys.iter().filter(|key| session.get(key.as_bytes()).is_ok()).collect();
    for key in left {
        let value = session.get(key.as_bytes()).unwrap().unwrap();
        assert_eq!(value[..4], key.parse::<u32>().unwrap().to_le_bytes());
    }
    let error = ended(&*engine).to_string();
    assert!(error.contains("signal 9") && error.contains(gone), "{error}");
    assert!(engine.load_sorted(&mut Counted::new(300, 100)).is_err() && engine.settle().is_err());
    assert!(engine.state_sampler().sample(&ManualClock::at(0)).is_empty());
    assert!(MonotonicClock.now_ns() - started_ns < 10_000_000_000);
}

#[test]
fn a_cluster_that_is_not_ours_keeps_what_it_holds() {
    if !is_installed("redis") {
        return;
    }
    let place = TestDatabase::new();
    let theirs = place.open("redis", json!({"cluster": true})).unwrap();
    let addresses = address(&*theirs);
    let there = |flush: bool| {
        let mut options = json!({"address": &addresses});
        if flush {
            options["flush"] = json!(true);
        }
        open("redis", Path::new("/nowhere/at/all"), options).unwrap()
    };
    let mut session = theirs.session();
    for key in 0..50_u8 {
        session.put(&[key], b"precious").unwrap();
    }
    let engine = there(false);
    let server = engine.external_server().unwrap();
    let error = ExternalData::prepare(server, marker(100), DatabaseReuse::Remake).unwrap_err().to_string();
    assert!(error.contains("holds 50 keys") && error.contains("flush = true"), "{error}");
    assert!(server.clear().is_err());
    assert_eq!(server.keys().unwrap(), 50);

    let flushed = there(true);
    let server = flushed.external_server().unwrap();
    let mut data = ExternalData::prepare(server, marker(1000), DatabaseReuse::Remake).unwrap();
    assert!(!data.is_reused());
    assert_eq!(server.keys().unwrap(), 1, "the marker alone");
    assert_eq!(session.get(&[0]).unwrap(), None);
    flushed.load_sorted(&mut Counted::new(1000, 100)).unwrap();
    data.set_loaded(&*flushed).unwrap();
    drop(flushed);
    let reused = ExternalData::prepare(engine.external_server().unwrap(), marker(1000), DatabaseReuse::Reuse).unwrap();
    assert!(reused.is_reused());
}

#[test]
fn servers_that_are_no_cluster_are_not_taken_for_one() {
    if !is_installed("redis") {
        return;
    }
    let place = TestDatabase::new();
    let alone = place.open("redis", json!({})).unwrap();
    let options = json!({"address": address(&*alone), "cluster": true});
    let error = open("redis", Path::new("/nowhere/at/all"), options).err().unwrap().to_string();
    assert!(error.contains(&address(&*alone)) && error.contains("cluster support disabled"), "{error}");
    let place = TestDatabase::new();
    let cluster = place.open("redis", json!({"cluster": true})).unwrap();
    let addresses = address(&*cluster);
    let one = json!({"address": addresses.split(',').next().unwrap()});
    let engine = open("redis", Path::new("/nowhere/at/all"), one).unwrap();
    let mut session = engine.session();
    let error = (0..50_u8).find_map(|key| session.get(&[key]).err()).unwrap().to_string();
    assert!(error.contains("MOVED") && error.contains("cluster = true"), "{error}");
}

#[test]
fn a_server_that_does_not_report_its_directives_has_an_unknown_durability() {
    if !is_installed("redis") {
        return;
    }
    let place = TestDatabase::new();
    let theirs = place.open("redis", json!({})).unwrap();
    let mut line = TcpStream::connect(address(&*theirs)).unwrap();
    line.write_all(b"ACL SETUSER default -config\r\n").unwrap();
    let mut answer = String::new();
    BufReader::new(&line).read_line(&mut answer).unwrap();
    assert_eq!(answer, "+OK\r\n");
    let facts = open("redis", &place.database, json!({"address": address(&*theirs)})).unwrap().facts();
    assert_eq!(facts["durability"], "unknown: the server does not report its directives");
}

#[test]
fn the_facts_say_what_is_in_force() {
    for name in installed() {
        let place = TestDatabase::new();
        let options = match name {
            "redis" => json!({"appendonly": "yes", "appendfsync": "always", "maxmemory": "64mb"}),
            _ => json!({"memory_mib": 96, "threads": 2}),
        };
        let facts = place.open(name, options).unwrap().facts();
        assert_eq!(facts["own_server"], true);
        let version = facts["engine_version"].as_str().unwrap();
        assert_eq!(version, (engine::find(name).unwrap().version)());
        if name == "redis" {
            assert_eq!(facts["options"]["maxmemory"], "67108864");
            assert!(facts["durability"].as_str().unwrap().contains("before a put is answered"));
        } else {
            assert_eq!(facts["options"]["maxbytes"], (96 << 20).to_string());
            assert_eq!(facts["options"]["num_threads"], "2");
        }
    }
}

fn marker(records: u64) -> DatabaseManifest {
    DatabaseManifest {
        engine: "redis".to_owned(),
        engine_version: "1".to_owned(),
        options: Value::Null,
        records,
        form: "test".to_owned(),
        value_bytes: 100,
        load: "bulk".to_owned(),
        seed: 1,
        changed: false,
        made_at_unix_ns: 0,
        loaded: false,
    }
}

#[test]
fn a_server_that_is_not_ours_keeps_what_it_holds() {
    for name in installed() {
        let place = TestDatabase::new();
        let theirs = place.open(name, json!({})).unwrap();
        assert!(theirs.external_server().is_none());
        let mut session = theirs.session();
        session.put(b"precious", b"1").unwrap();
        let engine = open(name, Path::new("/nowhere/at/all"), json!({"address": address(&*theirs)})).unwrap();
        let server = engine.external_server().unwrap();
        assert_eq!(server.place(), address(&*theirs));
        let error = ExternalData::prepare(server, marker(100), DatabaseReuse::Remake).unwrap_err().to_string();
        assert!(error.contains("holds 1 keys") && error.contains("flush = true"), "{error}");
        assert!(server.clear().is_err());
        drop(engine);
        assert_eq!(session.get(b"precious").unwrap(), Some(b"1".as_slice()), "{name}");

        let flushed = json!({"address": address(&*theirs), "flush": true});
        let engine = open(name, Path::new("/nowhere/at/all"), flushed).unwrap();
        let server = engine.external_server().unwrap();
        assert!(!ExternalData::prepare(server, marker(100), DatabaseReuse::Remake).unwrap().is_reused());
        assert_eq!(session.get(b"precious").unwrap(), None, "{name}");
        assert_eq!(server.keys().unwrap(), 1, "{name}: the marker alone");
    }
}

#[test]
fn our_data_in_a_server_that_is_not_ours_is_known_again() {
    for name in installed() {
        let place = TestDatabase::new();
        let theirs = place.open(name, json!({})).unwrap();
        let there = || open(name, Path::new("/nowhere/at/all"), json!({"address": address(&*theirs)})).unwrap();
        let engine = there();
        let mut data =
            ExternalData::prepare(engine.external_server().unwrap(), marker(1000), DatabaseReuse::Remake).unwrap();
        engine.load_sorted(&mut Counted::new(1000, 100)).unwrap();
        engine.settle().unwrap();
        data.set_loaded(&*engine).unwrap();
        drop(engine);
        let engine = there();
        let prepare =
            |existing| ExternalData::prepare(engine.external_server().unwrap(), marker(1000), existing).unwrap();
        assert!(prepare(DatabaseReuse::Reuse).is_reused(), "{name}");
        assert!(!prepare(DatabaseReuse::Remake).is_reused(), "{name}");
        assert!(engine.session().get(b"000999").unwrap().is_some());
        // An engine that only read leaves the server as it was.
        drop(engine);
        theirs.check_background().unwrap();
    }
}

#[test]
fn a_server_that_is_not_there_is_named() {
    for name in SERVERS.into_iter().filter(|name| engine::find(name).is_ok()) {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        drop(listener);
        let error = open(name, Path::new("/nowhere/at/all"), json!({ "address": address })).err().unwrap().to_string();
        assert!(error.contains(&address) && error.contains("no server listens there"), "{error}");
    }
}

#[test]
fn a_server_that_goes_away_is_an_error_and_no_wait() {
    for name in installed() {
        let place = TestDatabase::new();
        let engine = place.open(name, json!({})).unwrap();
        let (pid, address) = (pid(&*engine), address(&*engine));
        let mut session = engine.session();
        session.put(b"a", b"1").unwrap();
        kill(pid);
        assert!(is_gone(pid));
        for attempt in 0..2 {
            let error = session.get(b"a").unwrap_err().to_string();
            assert!(
                error.contains(&address) && error.contains("reading") | error.contains("connecting"),
                "{attempt}: {error}"
            );
        }
        assert!(session.pipeline(&[PipelinedRequest::Get { key: b"a" }], &mut |_, _| {}).is_err());
        assert!(engine.state_sampler().sample(&ManualClock::at(0)).is_empty());
        let error = ended(&*engine).to_string();
        assert!(error.contains("signal 9"), "{error}");
        assert!(
            engine.load_sorted(&mut Counted::new(10, 100)).is_err() && engine.settle().is_err() | (name == "memcached")
        );
    }
}

#[test]
fn a_value_that_is_refused_says_why() {
    for name in installed() {
        let place = TestDatabase::new();
        let options = match name {
            "redis" => json!({"maxmemory": "2mb", "maxmemory-policy": "noeviction"}),
            _ => json!({}),
        };
        let engine = place.open(name, options).unwrap();
        let mut session = engine.session();
        let value = vec![b'x'; 3 << 20];
        let mut error = session.put(b"a", &value).err();
        if error.is_none() {
            error = session.put(b"b", b"small").err();
        }
        let error = error.unwrap().to_string();
        let (says, remedy) = match name {
            "redis" => ("OOM", "maxmemory"),
            _ => ("too large", "max_item_size"),
        };
        assert!(error.contains(says) && error.contains(remedy), "{error}");
        // The next request does not get the answer of the last.
        assert_eq!(session.get(b"missing").unwrap(), None);
    }
}

#[test]
fn loading_more_than_there_is_room_for_is_no_success() {
    for name in installed() {
        let place = TestDatabase::new();
        let (options, remedy) = match name {
            "redis" => (json!({"maxmemory": "3mb", "maxmemory-policy": "allkeys-lru"}), "maxmemory"),
            _ => (json!({"memory_mib": 2}), "memory_mib"),
        };
        let engine = place.open(name, options).unwrap();
        let error =
            engine.load_sorted(&mut Counted::new(20_000, 1000)).and_then(|()| engine.settle()).unwrap_err().to_string();
        assert!(error.contains("evicted") && error.contains(remedy), "{error}");
    }
}

#[test]
fn what_the_server_does_not_accept_is_quoted() {
    if is_installed("redis") {
        let error = TestDatabase::new().open("redis", json!({"apendonly": "yes"})).err().unwrap().to_string();
        assert!(error.contains("Bad directive") && error.contains("apendonly"), "{error}");
    }
    if is_installed("memcached") {
        let error = TestDatabase::new().open("memcached", json!({"max_item_size": "1"})).err().unwrap().to_string();
        assert!(error.contains("Item max size"), "{error}");
        let mut key = [b'k'; 251];
        key[0] = b'l';
        let place = TestDatabase::new();
        let engine = place.open("memcached", json!({})).unwrap();
        let error = engine.session().put(&key, b"1").unwrap_err().to_string();
        assert!(error.contains("251 bytes"), "{error}");
    }
}

#[test]
fn scans_are_refused_for_want_of_an_order() {
    for name in installed() {
        let engine_info = engine::find(name).unwrap();
        assert!(!engine_info.capabilities.contains(&Capability::Scan));
        let place = TestDatabase::new();
        let engine = place.open(name, json!({})).unwrap();
        let scanned =
            engine.session().scan(None, engine::ScanDirection::Forward, &mut |_, _| ControlFlow::Continue(()));
        assert!(scanned.unwrap_err().to_string().contains("no order"));
    }
}

/// Not a test: a process that opens an engine, prints which server it started, and waits to be killed.
#[test]
#[ignore = "run by the test below in a separate process"]
fn someone_who_is_killed() {
    let name = std::env::var("MANOMETER_TEST_SERVER").expect("it is started as a child");
    let place = TestDatabase::new();
    let engine = place.open(&name, json!({})).unwrap();
    eprintln!("pid {}", pid(&*engine));
    MonotonicClock.sleep(60_000_000_000);
}

#[test]
fn a_server_of_our_own_dies_with_us() {
    for name in installed() {
        let mut us = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "servers::someone_who_is_killed", "--ignored", "--nocapture"])
            .env("MANOMETER_TEST_SERVER", name)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(us.stderr.take().unwrap()).lines();
        let pid = lines.find_map(|line| line.unwrap().strip_prefix("pid ")?.parse::<i32>().ok()).unwrap();
        us.kill().unwrap();
        us.wait().unwrap();
        assert!(is_gone(pid), "{name}");
    }
}

#[test]
fn redis_may_close_idle_connections_to_its_administration() {
    if !is_installed("redis") {
        return;
    }
    let place = TestDatabase::new();
    let engine = place.open("redis", json!({"timeout": 1})).unwrap();
    let mut state = engine.state_sampler();
    assert!(state.sample(&ManualClock::at(0)).contains_key("used_memory"));
    let pid = pid(&*engine);
    // Polls until no other client is left.
    let mut client = TcpStream::connect(address(&*engine)).unwrap();
    let mut answer = BufReader::new(client.try_clone().unwrap());
    let is_alone = |_: u32| {
        client.write_all(b"INFO clients\r\n").unwrap();
        let mut lines = String::new();
        while !lines.contains("connected_clients:") {
            lines.clear();
            answer.read_line(&mut lines).unwrap();
        }
        let alone = lines.trim() == "connected_clients:1";
        MonotonicClock.sleep(10_000_000);
        alone
    };
    assert!((0..3000).any(is_alone));
    assert!(state.sample(&ManualClock::at(1_000_000_000)).contains_key("used_memory"));
    engine.check_background().unwrap();
    drop(state);
    drop(engine);
    assert!(is_gone(pid));
}
