//! The pages of the manual.

use std::path::PathBuf;

use crate::paths::repository_file;

/// Every file below `directory` of the repository whose name ends with one of `ends`, sorted.
pub fn files(directory: &str, ends: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut pending = vec![repository_file(directory)];
    while let Some(path) = pending.pop() {
        if path.is_dir() {
            pending.extend(path.read_dir().unwrap().map(|entry| entry.unwrap().path()));
        } else if ends.iter().any(|end| path.to_string_lossy().ends_with(end)) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The fenced blocks of a page, each after its language.
pub fn fenced_blocks(page: &str) -> Vec<&str> {
    let blocks = page.split("```").skip(1).step_by(2);
    blocks.filter_map(|block| Some(block.split_once('\n')?.1)).collect()
}

/// A page without its fenced blocks, in which nothing is a link or a heading.
pub fn without_blocks(page: &str) -> String {
    page.split("```").step_by(2).collect()
}
