//! The kernel's numbers and the paths that they stand for.

use std::collections::HashMap;

pub(super) const ROOT: u64 = 1;

/// A number is known as long as the kernel remembers it; it has every path under which it was looked up.
#[derive(Debug, Default)]
pub(super) struct Nodes(HashMap<u64, Node>);

#[derive(Debug, Default)]
struct Node {
    paths: Vec<Box<[u8]>>,
    lookups: u64,
}

impl Nodes {
    pub fn path(&self, number: u64) -> Option<&[u8]> {
        match number {
            ROOT => Some(b"/"),
            _ => self.0.get(&number)?.paths.first().map(|path| &**path),
        }
    }

    /// The kernel was told this number for this path.
    pub fn remember(&mut self, number: u64, path: &[u8]) {
        let node = self.0.entry(number).or_default();
        node.lookups += 1;
        if !node.paths.iter().any(|known| **known == *path) {
            node.paths.push(path.into());
        }
    }

    /// The kernel forgets as many look-ups of a number.
    pub fn forget(&mut self, number: u64, lookups: u64) {
        if let Some(node) = self.0.get_mut(&number) {
            node.lookups = node.lookups.saturating_sub(lookups);
            if node.lookups == 0 {
                self.0.remove(&number);
            }
        }
    }

    /// The path is gone.
    pub fn unlink(&mut self, path: &[u8]) {
        self.0.values_mut().for_each(|node| node.paths.retain(|known| **known != *path));
    }

    /// What was at or below `from` is at or below `to`, and what was there is gone.
    pub fn rename(&mut self, from: &[u8], to: &[u8]) {
        for node in self.0.values_mut() {
            node.paths.retain(|path| rest(path, to).is_none());
            for path in &mut node.paths {
                if let Some(rest) = rest(path, from) {
                    *path = [to, rest].concat().into();
                }
            }
        }
    }
}

/// What of a path is below another; nothing for the other itself.
fn rest<'a>(path: &'a [u8], above: &[u8]) -> Option<&'a [u8]> {
    path.strip_prefix(above).filter(|rest| rest.is_empty() || rest[0] == b'/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_follow_renames_and_numbers_are_forgotten() {
        let mut nodes = Nodes::default();
        nodes.remember(2, b"/a");
        nodes.remember(3, b"/a/f");
        nodes.remember(3, b"/ab");
        nodes.remember(4, b"/b/old");
        nodes.rename(b"/a", b"/b");
        assert_eq!(nodes.path(2), Some(b"/b".as_slice()));
        assert_eq!(nodes.path(3), Some(b"/b/f".as_slice()));
        assert_eq!(nodes.path(4), None, "it was replaced");
        nodes.unlink(b"/b/f");
        assert_eq!(nodes.path(3), Some(b"/ab".as_slice()), "the other name is left");
        nodes.forget(3, 1);
        assert!(nodes.path(3).is_some());
        nodes.forget(3, 1);
        assert_eq!(nodes.path(3), None);
        assert_eq!(nodes.path(ROOT), Some(b"/".as_slice()));
    }
}
