//! The contents of the page, which stay in view.

use std::fmt::Write as _;

use super::html::escape;

/// A place on the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    /// Where it leads, with the `#` of an anchor.
    pub(super) href: String,
    /// Its title.
    pub(super) title: String,
    /// The places in it.
    pub(super) within: Vec<Entry>,
}

impl Entry {
    /// A place without others in it.
    pub(super) fn of(href: impl Into<String>, title: impl Into<String>) -> Self {
        Self { href: href.into(), title: title.into(), within: Vec::new() }
    }
}

/// The contents: a list with a button that opens it where the window is narrow.
pub(super) fn nav(entries: &[Entry]) -> String {
    format!(
        "<nav class=\"contents\" aria-label=\"Contents\">\n<button type=\"button\" aria-expanded=\"false\" \
         aria-controls=\"contents\">Contents</button>\n<div id=\"contents\">{}</div></nav>\n",
        list(entries)
    )
}

fn list(entries: &[Entry]) -> String {
    if entries.is_empty() {
        return String::new();
    }
    let mut html = String::from("<ol>");
    for Entry { href, title, within } in entries {
        _ = write!(html, "<li><a href=\"{}\">{}</a>{}</li>", escape(href), escape(title), list(within));
    }
    html + "</ol>\n"
}
