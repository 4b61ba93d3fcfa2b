//! Text made harmless: every word of a recording passes through here on its way into the page.

use std::fmt::Write as _;

use serde::Serialize;

/// `text` as the text of an element or the value of a quoted attribute.
pub(crate) fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            // Controls that could turn the direction of the text around a name, or that HTML forbids.
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => safe.push('\u{fffd}'),
            control if control.is_control() && !control.is_whitespace() => safe.push('\u{fffd}'),
            other => safe.push(other),
        }
    }
    safe
}

/// `text` as a heading: what is within backticks as code, and no line that begins with the sign of its per cent.
pub(crate) fn heading(text: &str) -> String {
    let safe = escape(text).replace(" %", "\u{a0}%");
    let parts: Vec<&str> = safe.split('`').collect();
    if parts.len().is_multiple_of(2) {
        return safe;
    }
    let part = |(place, part): (usize, &&str)| match place % 2 {
        0 => (*part).to_owned(),
        _ => format!("<code>{part}</code>"),
    };
    parts.iter().enumerate().map(part).collect()
}

/// `value` as the text of a `script` element of JSON: without any `<`, so that it cannot end early.
pub(crate) fn json(value: &impl Serialize) -> String {
    let text = serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned());
    text.replace('<', "\\u003c")
}

/// `path` as a relative link: each part percent-encoded, and never read as a scheme or a host.
pub(crate) fn link(path: &str) -> String {
    let mut link = String::from("./");
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b'/' => link.push(char::from(byte)),
            other => _ = write!(link, "%{other:02X}"),
        }
    }
    link
}

/// Fills each `{{name}}` of `template` with its value, once: what a value holds is not filled again.
pub(crate) fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let mut page = String::with_capacity(template.len() + values.iter().map(|(_, value)| value.len()).sum::<usize>());
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        page.push_str(before);
        let Some((name, after)) = after.split_once("}}") else {
            rest = after;
            continue;
        };
        let value = values.iter().find(|(known, _)| *known == name).map_or("", |(_, value)| value);
        page.push_str(value);
        rest = after;
    }
    page.push_str(rest);
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_becomes_markup() {
        let text = escape("</script><b onload='x'>\"&\u{202e}\0");
        assert_eq!(text, "&lt;/script&gt;&lt;b onload=&#39;x&#39;&gt;&quot;&amp;\u{fffd}\u{fffd}");
        assert_eq!(json(&"</script><!--"), "\"\\u003c/script>\\u003c!--\"");
    }

    #[test]
    fn a_heading_shows_names_as_code_and_keeps_per_cents_together() {
        assert_eq!(heading("`a<b` costs 9 %, `c` 1 %"), "<code>a&lt;b</code> costs 9\u{a0}%, <code>c</code> 1\u{a0}%");
        assert_eq!(heading("a ` alone"), "a ` alone");
    }

    #[test]
    fn a_link_stays_below_its_folder_and_has_no_scheme() {
        assert_eq!(link("javascript:alert(1)"), "./javascript%3Aalert%281%29");
        assert_eq!(link("samples/a b.parquet"), "./samples/a%20b.parquet");
    }

    #[test]
    fn values_are_not_filled_again() {
        assert_eq!(fill("a {{x}} b {{y}}", &[("x", "{{y}}"), ("y", "1")]), "a {{y}} b 1");
    }
}
