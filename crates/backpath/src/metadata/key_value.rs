//! What a key-value store has to be able to do.

/// One thing to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Read {
    /// The value of a key.
    Value(Vec<u8>),
    /// The field of a map: its key, the field.
    Field(Vec<u8>, Vec<u8>),
    /// The field of a map, and the value of the key that is made of a prefix and the field's first eight bytes: two
    /// results. The map's key, the field, the prefix.
    Through(Vec<u8>, Vec<u8>, Vec<u8>),
}

/// One thing to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Write {
    /// Sets the value of a key.
    Set(Vec<u8>, Vec<u8>),
    /// Removes a key.
    Remove(Vec<u8>),
    /// Sets a field of a map.
    SetField(Vec<u8>, Vec<u8>, Vec<u8>),
    /// Removes a field of a map.
    RemoveField(Vec<u8>, Vec<u8>),
    /// Removes a map with all its fields.
    RemoveMap(Vec<u8>),
}

/// A store of values by key, and of maps by key. Each call but [`round_trips`](Self::round_trips) is one round trip.
pub trait KeyValue: Send + Sync {
    /// Why it cannot.
    type Error: std::error::Error + Send + Sync + 'static;

    /// Reads all of these at one moment; `None` for what is not there.
    fn read(&self, reads: &[Read]) -> Result<Vec<Option<Vec<u8>>>, Self::Error>;

    /// If every key has the value expected of it, writes all of these at once. Returns whether it did.
    fn apply(&self, expected: &[(Vec<u8>, Option<Vec<u8>>)], writes: &[Write]) -> Result<bool, Self::Error>;

    /// All fields of a map and their values, in any order.
    #[expect(clippy::type_complexity, reason = "pairs, once")]
    fn fields(&self, map: &[u8]) -> Result<Vec<(Vec<u8>, Vec<u8>)>, Self::Error>;

    /// How often the store was asked so far.
    fn round_trips(&self) -> u64;
}
