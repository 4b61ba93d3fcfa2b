//! The manual is one book: its contents have every page once, and every link leads somewhere.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use manometer_testing::manual::{files, without_blocks};
use manometer_testing::repository_file;

/// The targets of the links in `text`, without code in back-quotes.
fn links(text: &str) -> Vec<String> {
    let plain: String = text.split('`').step_by(2).collect();
    plain.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0.to_owned())).collect()
}

/// The anchors of a page's headings, as GitHub and mdBook make them.
fn anchors(page: &str) -> BTreeSet<String> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let text = without_blocks(page);
    let headings = text.lines().filter(|line| line.starts_with('#'));
    headings
        .map(|line| {
            let anchor = anchor(line.trim_start_matches('#').trim());
            let before = seen.entry(anchor.clone()).or_default();
            *before += 1;
            if *before == 1 { anchor } else { format!("{anchor}-{}", *before - 1) }
        })
        .collect()
}

fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter_map(|letter| match letter {
        ' ' => Some('-'),
        '-' | '_' => Some(letter),
        _ if letter.is_alphanumeric() => Some(letter),
        _ => None,
    });
    kept.collect::<String>().to_lowercase()
}

/// Why `link` of the page at `path` leads nowhere, if it does.
fn fault(path: &Path, link: &str) -> Option<String> {
    if link.starts_with("https://") || link.starts_with("mailto:") {
        return None;
    }
    let (file, fragment) = link.split_once('#').map_or((link, None), |(file, fragment)| (file, Some(fragment)));
    let target = if file.is_empty() { path.to_owned() } else { path.parent().unwrap().join(file) };
    if !target.exists() {
        return Some("there is no such file".to_owned());
    }
    let is_anchor = |fragment: &&str| anchors(&std::fs::read_to_string(&target).unwrap()).contains(*fragment);
    fragment.filter(|fragment| !is_anchor(fragment)).map(|fragment| format!("it has no heading #{fragment}"))
}

fn pages() -> Vec<PathBuf> {
    let mut pages = files("docs", &[".md"]);
    pages.extend(["README.md", "CONTRIBUTING.md", "CHANGELOG.md"].map(repository_file));
    pages
}

#[test]
fn every_link_of_the_manual_leads_somewhere() {
    let mut count = 0;
    let mut faults = Vec::new();
    for path in pages() {
        let text = without_blocks(&std::fs::read_to_string(&path).unwrap());
        for link in links(&text) {
            count += 1;
            faults.extend(fault(&path, &link).map(|fault| format!("{}: {link}: {fault}", path.display())));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(count > 300, "only {count} links were found");
}

#[test]
fn a_link_to_nowhere_is_found() {
    let path = repository_file("docs/testing.md");
    assert_eq!(links("[a](b.md#c) `[d](e)` and [f\ng](#h)."), ["b.md#c", "#h"]);
    assert_eq!(fault(&path, "#layout"), None);
    assert!(fault(&path, "#lay-out").is_some());
    assert!(fault(&path, "no-page.md").is_some());
    assert!(fault(&path, "kv.md#keys-and-value").is_some());
    let page = "# `a`: B, c_d\n## E\n```sh\n# no heading\n```\n## E\n";
    assert_eq!(anchors(page).into_iter().collect::<Vec<_>>(), ["a-b-c_d", "e", "e-1"]);
}

#[test]
fn the_book_has_every_page_once() {
    let docs = repository_file("docs");
    let listed = links(&std::fs::read_to_string(docs.join("SUMMARY.md")).unwrap());
    let pages = files("docs", &[".md"]).into_iter().map(|page| page.strip_prefix(&docs).unwrap().display().to_string());
    let mut pages: Vec<String> = pages.filter(|page| page != "SUMMARY.md").collect();
    pages.sort();
    let mut sorted = listed.clone();
    sorted.sort();
    assert_eq!(sorted, pages, "docs/SUMMARY.md has every page of docs/ once");
}
