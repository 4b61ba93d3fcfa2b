//! What a format cannot hold, or a transform cannot carry.

use std::collections::BTreeMap;

use crate::details::RequestDetails;

/// The kind of each loss, and the number of records.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DroppedFields(pub BTreeMap<&'static str, u64>);

impl DroppedFields {
    /// Counts a loss if `lost`.
    pub(crate) fn count(&mut self, lost: bool, what: &'static str) {
        if lost {
            *self.0.entry(what).or_default() += 1;
        }
    }

    /// Counts what `left` lacks of `recorded`, but for the key's text.
    pub(crate) fn count_details(&mut self, recorded: &RequestDetails<'_>, left: &RequestDetails<'_>) {
        let bound = recorded.scan_end.is_some() && left.scan_end.is_none();
        let direction = recorded.is_backward && !left.is_backward;
        self.count(recorded.scan_length.is_some() && left.scan_length.is_none(), "length of a scan");
        self.count(bound || direction, "bound or direction of a scan");
        self.count(recorded.command.is_some() && left.command.is_none(), "recorded command");
        let joined = "that it belongs to the command of the request before it";
        self.count(recorded.is_joined && !left.is_joined, joined);
    }

    /// Counts the text of a request's key, if it has one.
    pub(crate) fn count_key_text(&mut self, recorded: &RequestDetails<'_>) {
        self.count(recorded.key.is_some(), "text of a key");
    }

    /// Adds the losses of another.
    pub(crate) fn add(&mut self, other: &Self) {
        for (what, count) in &other.0 {
            *self.0.entry(what).or_default() += count;
        }
    }
}
