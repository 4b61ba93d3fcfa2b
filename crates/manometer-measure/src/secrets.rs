//! Secrets in what is written: passwords in addresses, and values whose names say that they are secret. A recording is shared.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};

/// How the names of secrets end, in any case.
const NAMES: &str = "password|passwd|passphrase|secret|token|api_?key|access_?key|private_?key|credentials?|\
    [_-]pwd|[_-]pass|[_-]auth|\\bpass|\\bauth";

/// What a secret is replaced by.
const HIDDEN: &str = "***";

/// Values without quotes that hide nothing.
const PLAIN: [&str; 3] = ["true", "false", "null"];

/// The password in an address: `redis://user:password@host`.
static IN_ADDRESS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#"(://[^/\s:@"']*:)[^/\s@"']+@"#).expect("a regular expression"));

/// A name, an equals sign or a colon, and a text: `DB_PASSWORD=text`, `"token": "text"`, `secret = "text"`.
static AFTER_NAME: LazyLock<Regex> = LazyLock::new(|| {
    let name = format!(r#"(?i)((?:{NAMES})(?:\\?["'])?\s*[=:]\s*)"#);
    let text = r#"(?:(\\?["'])([^"'\\]+)|([^\s"'\\,;&{}\[\]]+))"#;
    Regex::new(&(name + text)).expect("a regular expression")
});

/// A secret that is a word of its own: `--password text`, `"--password", "text"` in a list, `Authorization: Bearer text`.
static AFTER_OPTION: LazyLock<Regex> = LazyLock::new(|| {
    let option = format!(r#"(?:^|[\s"'])-{{1,2}}[\w-]*(?:{NAMES})"#);
    let quoted = format!(r#"({option}(?:\s+|\\?["']\s*,\s*)\\?["'])[^"'\\-][^"'\\]*"#);
    let bare = format!(r#"({option}\s+|\bauthorization:\s*(?:basic|bearer)\s+)[^\s"'\\;|&-][^\s"'\\;|&]*"#);
    Regex::new(&format!("(?i){quoted}|{bare}")).expect("a regular expression")
});

/// `text` without its secrets.
pub fn redact(text: &str) -> Cow<'_, str> {
    let text = replaced(&IN_ADDRESS, Cow::Borrowed(text), |found| format!("{}{HIDDEN}@", &found[1]));
    let text = replaced(&AFTER_OPTION, text, |found| {
        let before = found.get(1).or_else(|| found.get(2)).map_or("", |before| before.as_str());
        format!("{before}{HIDDEN}")
    });
    let hide = |found: &Captures<'_>| match (found.get(2), found.get(4)) {
        (Some(quote), _) => format!("{}{}{HIDDEN}", &found[1], quote.as_str()),
        // Numbers, true and false are no secrets.
        (None, Some(bare)) if is_number(bare.as_str()) || PLAIN.contains(&bare.as_str()) => found[0].to_owned(),
        (None, _) => format!("{}{HIDDEN}", &found[1]),
    };
    replaced(&AFTER_NAME, text, hide)
}

fn replaced<'a>(pattern: &Regex, text: Cow<'a, str>, by: impl Fn(&Captures<'_>) -> String) -> Cow<'a, str> {
    match pattern.replace_all(&text, by) {
        Cow::Borrowed(_) => text,
        Cow::Owned(text) => Cow::Owned(text),
    }
}

/// Whether `text` is a number of JSON or TOML, as `250_000` is.
fn is_number(text: &str) -> bool {
    text.replace('_', "").parse::<f64>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_hidden_in_addresses_texts_toml_and_json() {
        for (text, shown) in [
            ("redis://user:hunter2@host:6379/0", "redis://user:***@host:6379/0"),
            ("at tls://:hunter2@host, and", "at tls://:***@host, and"),
            ("password = \"hunter 2, it is\"", "password = \"***\""),
            ("{\"password\": \"12345\"}", "{\"password\": \"***\"}"),
            (
                "environment = { DB_PASSWORD = \"hunter2\", HOME = \"/x\" }",
                "environment = { DB_PASSWORD = \"***\", HOME = \"/x\" }",
            ),
            ("{\"api_key\": \"hunter2\", \"a\": 1}", "{\"api_key\": \"***\", \"a\": 1}"),
            (
                "{\"command\":\"AWS_SECRET=hunter2 run --token=hunter2\"}",
                "{\"command\":\"AWS_SECRET=*** run --token=***\"}",
            ),
            ("{\"text\":\"said \\\"token\\\": \\\"hunter2\\\"\"}", "{\"text\":\"said \\\"token\\\": \\\"***\\\"\"}"),
            ("Authorization-Token: hunter2", "Authorization-Token: ***"),
            ("PGPASSWORD=hunter2 MYSQL_PWD=hunter2 PWD=/x", "PGPASSWORD=*** MYSQL_PWD=*** PWD=/x"),
            ("REDISCLI_AUTH = \"hunter2\"", "REDISCLI_AUTH = \"***\""),
            ("AUTH=hunter2 MY_PASS=hunter2", "AUTH=*** MY_PASS=***"),
            ("https://h/x?token=hunter2&a=1", "https://h/x?token=***&a=1"),
            ("\"run --password hunter2 --db-token hunter2 -v\"", "\"run --password *** --db-token *** -v\""),
            ("[\"--password\", \"hunter 2\", \"-v\"]", "[\"--password\", \"***\", \"-v\"]"),
            ("[\"a\",\n  \"--auth\",\n  \"hunter2\"]", "[\"a\",\n  \"--auth\",\n  \"***\"]"),
            ("{\"c\":[\"--api_key\",\"hunter2\"]}", "{\"c\":[\"--api_key\",\"***\"]}"),
            ("[\"--db-password hunter2\"]", "[\"--db-password ***\"]"),
            ("\"sh -c \\\"x --token hunter2\\\"\"", "\"sh -c \\\"x --token ***\\\"\""),
            ("x --password 'hunter 2' -v", "x --password '***' -v"),
            ("x --password hunter2; y", "x --password ***; y"),
            ("-H 'Authorization: Bearer hunter2' x", "-H 'Authorization: Bearer ***' x"),
        ] {
            assert_eq!(redact(text), shown);
        }
    }

    #[test]
    fn what_is_no_secret_stays() {
        for text in [
            "token = 5",
            "max_token = 250_000",
            "secret = true",
            "tokens = \"a\"",
            "http://host:80/a@b",
            "the password",
            "run --password --verbose",
            "[\"--password\", \"--verbose\"]",
            "--bypass a, --tokens b, author=c",
            "monkey=\"b\"",
            "a@b: c",
            "directory = \"/data/secrets/x\"",
            "\"foreign_processes\": \"x\"",
        ] {
            assert_eq!(redact(text), text);
        }
    }
}
