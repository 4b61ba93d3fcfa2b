//! bcache's metadata: a B-tree whose nodes are logs. Entries are buffered until they fill a page or a time has passed.

use crate::key_id::KeyId;

/// The size of a node in bytes.
const NODE: u64 = 256 << 10;
/// Bytes appended to a node at once.
const SET: u64 = 4096;
/// Entries appended at once: those that fit into a page after the header, at 24 bytes each.
const SET_ENTRIES: u32 = (SET as u32 - 48) / 24;

/// A write of a part of the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeWrite {
    /// The start address.
    pub offset: u64,
    /// The length.
    pub bytes: u64,
}

/// The result of changing an entry.
#[derive(Debug, PartialEq, Eq)]
pub enum NodeUpdate {
    /// It is buffered with others.
    Buffered,
    /// It is the first of its node, which must be written after a time.
    FirstChange(usize),
    /// It fills its node's buffer, which is written now.
    NodeFull(NodeWrite),
}

/// The B-tree.
#[derive(Debug)]
pub struct MetadataTree {
    nodes: Vec<TreeNode>,
    start: u64,
    node_bytes: u64,
    blocks_per_node: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct TreeNode {
    /// Buffered entries.
    gathered: u32,
    /// Whether it is scheduled to be written.
    is_due: bool,
    filled_table: u64,
}

impl MetadataTree {
    /// A tree over `blocks` blocks in the `bytes` from `start` on.
    pub fn new(start: u64, bytes: u64, blocks: u64) -> Self {
        let node_bytes = NODE.min(bytes / SET * SET).max(SET);
        let nodes = (bytes / node_bytes).max(1);
        let blocks_per_node = blocks.div_ceil(nodes).max(1);
        Self { nodes: vec![TreeNode::default(); nodes as usize], start, node_bytes, blocks_per_node }
    }

    /// Changes the entry of a block, or of a run of blocks that starts with it.
    pub fn change(&mut self, id: KeyId) -> NodeUpdate {
        let at = (u64::from(id) / self.blocks_per_node) as usize;
        let node = &mut self.nodes[at];
        node.gathered += 1;
        if node.gathered == SET_ENTRIES {
            return NodeUpdate::NodeFull(self.append(at));
        }
        match std::mem::replace(&mut node.is_due, true) {
            true => NodeUpdate::Buffered,
            false => NodeUpdate::FirstChange(at),
        }
    }

    /// Writes a node whose time has passed. Returns the write, if any.
    pub fn flush_node(&mut self, at: usize) -> Option<NodeWrite> {
        self.nodes[at].is_due = false;
        (self.nodes[at].gathered > 0).then(|| self.append(at))
    }

    /// Appends to a node; a full one is rewritten, half as full.
    fn append(&mut self, at: usize) -> NodeWrite {
        let node = &mut self.nodes[at];
        node.gathered = 0;
        let start = self.start + at as u64 * self.node_bytes;
        if node.filled_table + SET <= self.node_bytes {
            node.filled_table += SET;
            return NodeWrite { offset: start + node.filled_table - SET, bytes: SET };
        }
        node.filled_table = (self.node_bytes / 2).next_multiple_of(SET);
        NodeWrite { offset: start, bytes: node.filled_table }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_gather_until_they_fill_a_set_or_their_time_has_passed() {
        let mut tree = MetadataTree::new(4096, 2 * NODE, 1000);
        assert_eq!(
            (tree.change(0), tree.change(1), tree.change(500)),
            (NodeUpdate::FirstChange(0), NodeUpdate::Buffered, NodeUpdate::FirstChange(1))
        );
        for _ in 3..SET_ENTRIES {
            assert_eq!(tree.change(499), NodeUpdate::Buffered);
        }
        assert_eq!(tree.change(2), NodeUpdate::NodeFull(NodeWrite { offset: 4096, bytes: SET }));
        assert_eq!(tree.flush_node(0), None, "all of it is written");
        assert_eq!(tree.flush_node(1), Some(NodeWrite { offset: 4096 + NODE, bytes: SET }));
        assert_eq!(
            (tree.change(0), tree.flush_node(0)),
            (NodeUpdate::FirstChange(0), Some(NodeWrite { offset: 8192, bytes: SET }))
        );
    }

    #[test]
    fn a_full_node_is_written_anew() {
        let mut tree = MetadataTree::new(0, 3 * SET, 10);
        let mut written = Vec::new();
        for _ in 0..5 {
            tree.change(9);
            written.extend(tree.flush_node(0).map(|append| (append.offset / SET, append.bytes / SET)));
        }
        assert_eq!(written, [(0, 1), (1, 1), (2, 1), (0, 2), (2, 1)]);
        assert_eq!(MetadataTree::new(0, 0, 10).flush_node(0), None);
    }
}
