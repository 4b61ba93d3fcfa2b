//! Redis's options: how to get at a server of yours, or the directives of one of our own.

use serde_json::Value;

use super::ENGINE;
use crate::engine::server::{addresses, bad_option, flag, table};
use crate::engine::{EngineError, EngineOptions};

/// Directives that lead a server to write, listen or copy elsewhere, or that lock us out.
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

/// What was asked for.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Asked {
    /// Servers of yours; none for our own.
    pub(super) addresses: Vec<String>,
    /// Whether they, or our own, are a cluster.
    pub(super) cluster: bool,
    /// Whether they may be emptied.
    pub(super) flush: bool,
    /// For our own: directives and their words.
    pub(super) directives: Vec<(String, Vec<String>)>,
}

/// The options as given, checked as far as that goes without a server.
pub(super) fn read(options: &EngineOptions) -> Result<Asked, EngineError> {
    let table = table(ENGINE, options)?;
    let mut asked = Asked::default();
    for (name, value) in &table {
        match name.as_str() {
            "address" => asked.addresses = addresses(ENGINE, value)?,
            "cluster" => asked.cluster = flag(ENGINE, name, value)?,
            "flush" => asked.flush = flag(ENGINE, name, value)?,
            _ => asked.directives.push((name.clone(), directive(name, value)?)),
        }
    }
    asked.cluster |= asked.addresses.len() > 1;
    let ours = asked.addresses.is_empty();
    match (&table.get("flush"), asked.directives.first()) {
        (Some(value), _) if ours => {
            Err(bad_option(ENGINE, "flush", value, "it is for a server of yours: give `address`"))
        }
        (_, Some((name, _))) if !ours => {
            let reason = "a server of yours is set up by you: leave this out, or `address`";
            Err(bad_option(ENGINE, name, &table[name], reason))
        }
        _ => Ok(asked),
    }
}

/// The words of a directive's value, as they are handed to the server.
fn directive(name: &str, value: &Value) -> Result<Vec<String>, EngineError> {
    let refuse = |reason: &str| Err(bad_option(ENGINE, name, value, reason));
    let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if !name.starts_with(|c: char| c.is_ascii_lowercase()) || !name.chars().all(is_name) {
        return refuse("no directive of Redis is spelt like this");
    }
    if NOT_YOURS.contains(&name) {
        return refuse("Manometer sets this itself for a server of its own");
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

    fn asked(value: Value) -> Result<Asked, String> {
        let Value::Object(table) = value else { panic!("{value}") };
        read(&EngineOptions::Table(table)).map_err(|error| error.to_string())
    }

    #[test]
    fn directives_go_by_their_own_names() {
        let asked = asked(json!({"appendonly": true, "save": "", "io-threads": 2, "maxmemory-policy": "noeviction",
            "client-output-buffer-limit": "normal 0 0 0"}))
        .unwrap();
        let words = |name: &str| asked.directives.iter().find(|(found, _)| found == name).unwrap().1.clone();
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
            let error = asked(json!({name: value})).unwrap_err();
            assert!(error.contains(&format!("`{name}`")), "{error}");
        }
    }

    #[test]
    fn addresses_are_host_and_port_and_come_without_directives() {
        let one = asked(json!({"address": "localhost:6379", "flush": "true"})).unwrap();
        assert!(one.flush && !one.cluster);
        assert!(asked(json!({"address": "a:1, b:2"})).unwrap().cluster);
        for table in [
            json!({"address": "localhost"}),
            json!({"address": "a:1,"}),
            json!({"address": "a:1", "appendonly": "yes"}),
            json!({"flush": true}),
            json!({"address": "a:1", "flush": "perhaps"}),
        ] {
            assert!(asked(table.clone()).is_err(), "{table}");
        }
    }
}
