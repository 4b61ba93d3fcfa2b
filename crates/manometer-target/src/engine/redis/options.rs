//! Redis's options: the access to an external server, or the directives of a managed one.

use serde_json::Value;

use super::ENGINE;
use crate::engine::server::{addresses, bad_option, flag, table};
use crate::engine::{EngineError, EngineOption, EngineOptions};

/// Its options, in the order of the manual.
pub(super) const OPTIONS: &[EngineOption] = &[
    EngineOption {
        name: "address",
        values: "`\"host:port\"` of a running server, which is used instead of a new one; of a cluster, any of its servers, or several separated by commas",
        default: "none",
    },
    EngineOption {
        name: "flush",
        values: "`true`, `false`; with `address` only: the server may be emptied",
        default: "`false`",
    },
    EngineOption {
        name: "cluster",
        values: "`true`, `false`: the `address` belongs to a cluster; without `address`, servers are started as one",
        default: "`false`",
    },
    EngineOption {
        name: "servers",
        values: "with `cluster` and without `address`: how many servers are started, 3 to 100",
        default: "3",
    },
];

/// Directives that are refused: they make a server write, listen or replicate elsewhere, or lock Manometer out.
const NOT_YOURS: [&str; 28] = [
    "aclfile",
    "bind",
    "cluster-announce-bus-port",
    "cluster-announce-hostname",
    "cluster-announce-ip",
    "cluster-announce-port",
    "cluster-announce-tls-port",
    "cluster-config-file",
    "cluster-enabled",
    "cluster-port",
    "daemonize",
    "dir",
    "include",
    "loadmodule",
    "logfile",
    "masterauth",
    "pidfile",
    "port",
    "protected-mode",
    "rename-command",
    "replicaof",
    "requirepass",
    "slaveof",
    "supervised",
    "syslog-enabled",
    "tls-port",
    "unixsocket",
    "user",
];

/// The parsed options.
#[derive(Debug, PartialEq)]
pub(super) struct ServerOptions {
    /// The addresses of external servers; empty for a managed server.
    pub(super) addresses: Vec<String>,
    /// Whether the servers form a cluster.
    pub(super) cluster: bool,
    /// How many servers of a managed cluster there are.
    pub(super) servers: usize,
    /// Whether they may be emptied.
    pub(super) flush: bool,
    /// For a managed server: directives and their arguments.
    pub(super) directives: Vec<(String, Vec<String>)>,
}

impl Default for ServerOptions {
    fn default() -> Self {
        let (addresses, directives) = (Vec::new(), Vec::new());
        Self { addresses, cluster: false, servers: SERVERS_MIN, flush: false, directives }
    }
}

/// The smallest number of masters of which a majority remains when one fails.
const SERVERS_MIN: usize = 3;
/// More servers than this are a mistake on one host.
const SERVERS_MAX: usize = 100;

/// Parses and checks the options, as far as possible without a server.
pub(super) fn read(options: &EngineOptions) -> Result<ServerOptions, EngineError> {
    let table = table(ENGINE, options)?;
    let mut options = ServerOptions::default();
    for (name, value) in &table {
        match name.as_str() {
            "address" => options.addresses = addresses(ENGINE, value)?,
            "cluster" => options.cluster = flag(ENGINE, name, value)?,
            "flush" => options.flush = flag(ENGINE, name, value)?,
            "servers" => options.servers = servers(value)?,
            _ => options.directives.push((name.clone(), directive(name, value)?)),
        }
    }
    options.cluster |= options.addresses.len() > 1;
    let ours = options.addresses.is_empty();
    match (&table.get("flush"), options.directives.first()) {
        (Some(value), _) if ours => {
            Err(bad_option(ENGINE, "flush", value, "it applies to an external server: give `address`"))
        }
        _ if table.contains_key("servers") && !(ours && options.cluster) => {
            let reason = "it is the number of servers that Manometer starts: give `cluster = true`, and no `address`";
            Err(bad_option(ENGINE, "servers", &table["servers"], reason))
        }
        (_, Some((name, _))) if !ours => {
            let reason = "an external server has its own settings: leave this out, or `address`";
            Err(bad_option(ENGINE, name, &table[name], reason))
        }
        _ => Ok(options),
    }
}

fn servers(value: &Value) -> Result<usize, EngineError> {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let count = text.parse::<usize>().ok();
    count.filter(|count| (SERVERS_MIN..=SERVERS_MAX).contains(count)).ok_or_else(|| {
        bad_option(ENGINE, "servers", value, format!("write a number from {SERVERS_MIN} to {SERVERS_MAX}"))
    })
}

/// The arguments of a directive, as passed to the server.
fn directive(name: &str, value: &Value) -> Result<Vec<String>, EngineError> {
    let refuse = |reason: &str| Err(bad_option(ENGINE, name, value, reason));
    let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if !name.starts_with(|c: char| c.is_ascii_lowercase()) || !name.chars().all(is_name) {
        return refuse("no directive of Redis is spelt like this");
    }
    if NOT_YOURS.contains(&name) {
        return refuse("Manometer sets this itself for servers that it starts");
    }
    let text = match value {
        Value::Bool(flag) => if *flag { "yes" } else { "no" }.to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.clone(),
        _ => return refuse("write a text, a number, true or false"),
    };
    let words: Vec<String> = text.split(' ').filter(|word| !word.is_empty()).map(str::to_owned).collect();
    if text.contains(char::is_control) || words.iter().any(|word| word.starts_with("--")) {
        return refuse("this would be taken for another directive");
    }
    Ok(if words.is_empty() { vec![String::new()] } else { words })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read_options(value: Value) -> Result<ServerOptions, String> {
        let Value::Object(table) = value else { panic!("{value}") };
        read(&EngineOptions::Table(table)).map_err(|error| error.to_string())
    }

    #[test]
    fn directives_go_by_their_own_names() {
        let options =
            read_options(json!({"appendonly": true, "save": "", "io-threads": 2, "maxmemory-policy": "noeviction",
            "client-output-buffer-limit": "normal 0 0 0"}))
            .unwrap();
        let words = |name: &str| options.directives.iter().find(|(found, _)| found == name).unwrap().1.clone();
        assert_eq!(words("appendonly"), ["yes"]);
        assert_eq!(words("save"), [""]);
        assert_eq!(words("io-threads"), ["2"]);
        assert_eq!(words("client-output-buffer-limit"), ["normal", "0", "0", "0"]);
    }

    #[test]
    fn what_would_lead_elsewhere_is_refused() {
        for (name, value) in [
            ("dir", "/tmp"),
            ("port", "1"),
            ("replicaof", "a 1"),
            ("Save", ""),
            ("save", "1 --dir /tmp"),
            ("save", "1\ndir /tmp"),
        ] {
            let error = read_options(json!({name: value})).unwrap_err();
            assert!(error.contains(&format!("`{name}`")), "{error}");
        }
    }

    #[test]
    fn addresses_are_host_and_port_and_come_without_directives() {
        let one = read_options(json!({"address": "localhost:6379", "flush": "true"})).unwrap();
        assert!(one.flush && !one.cluster);
        assert!(read_options(json!({"address": "a:1, b:2"})).unwrap().cluster);
        for table in [
            json!({"address": "localhost"}),
            json!({"address": "a:1,"}),
            json!({"address": "a:1", "appendonly": "yes"}),
            json!({"flush": true}),
            json!({"address": "a:1", "flush": "perhaps"}),
            json!({"address": "a:1", "cluster": true, "servers": 10}),
            json!({"servers": 10}),
            json!({"cluster": true, "servers": 2}),
        ] {
            assert!(read_options(table.clone()).is_err(), "{table}");
        }
        assert_eq!(read_options(json!({"cluster": true, "servers": 10})).unwrap().servers, 10);
        assert_eq!(read_options(json!({"cluster": true})).unwrap().servers, 3);
    }
}
