//! The roles of a CSV trace's columns, by its header or as the user names them.

use std::str::FromStr;

use crate::error::{RecordFault, TraceError};
use crate::text;

/// The largest number of columns read.
pub(crate) const COLUMNS_MAX: usize = 256;
const SECOND_NS: u64 = 1_000_000_000;

/// The role of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Nothing of interest.
    Ignored,
    /// The time, in units of this many nanoseconds.
    Time(u64),
    /// The time, in the configured unit; seconds by default.
    TimeInUnit,
    /// The key.
    Key,
    /// The key's text, if another column holds its id.
    KeyText,
    /// The key's id: a number that identifies the key on all devices.
    KeyId,
    /// Bytes of the key.
    KeySize,
    /// Bytes of the value.
    ValueSize,
    /// The client.
    Client,
    /// The operation.
    Operation,
    /// Seconds to live.
    TimeToLive,
    /// The records that a scan reads.
    ScanLength,
    /// The offset on the device or in the object, in bytes.
    Offset,
    /// The offset on the device, in sectors of 512 bytes.
    Sector,
    /// The device.
    Device,
    /// Whether it succeeded: 1 or 0.
    Succeeded,
    /// The number of requests that the line stands for.
    Count,
    /// The number of those requests that hit.
    Hits,
}

/// The columns as the user names them: `time_ms=0,key=user id,op=3`, by number from 0 or by the header's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Columns {
    pub(crate) delimiter: u8,
    roles: Vec<(Role, Column)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Column {
    Number(usize),
    Name(String),
}

impl FromStr for Columns {
    type Err = TraceError;

    fn from_str(text: &str) -> Result<Self, TraceError> {
        let mut roles = Vec::new();
        for piece in text.split(',') {
            let wrong = |what: &str| {
                TraceError::Wrong(format!(
                    "`{piece}` in the columns {what}: write for example `time=0,key=1,value_size=3,op=5`"
                ))
            };
            let (name, column) = piece.split_once('=').ok_or_else(|| wrong("has no `=`"))?;
            let role = role(name.trim().as_bytes()).ok_or_else(|| {
                wrong(
                    "is not a field; the fields are time (also time_s, time_ms, time_us, time_ns), key, key_text, \
                     key_size, value_size, client, op, ttl, scan_length, offset, lbn, device, succeeded, op_count and cache_hits",
                )
            })?;
            let column = match column.trim().parse() {
                Ok(number) if number < COLUMNS_MAX => Column::Number(number),
                Ok(_) => return Err(wrong("exceeds column 255")),
                Err(_) => Column::Name(column.trim().to_owned()),
            };
            roles.push((role, column));
        }
        if !roles.iter().any(|(role, _)| role.has_key()) {
            let what = format!("the columns `{text}` hold no key: add for example `key=1`, or `offset=1` of a device");
            return Err(TraceError::Wrong(what));
        }
        Ok(Self { delimiter: b',', roles })
    }
}

impl Columns {
    /// The same columns with another delimiter.
    pub fn delimited_by(mut self, delimiter: u8) -> Self {
        self.delimiter = delimiter;
        self
    }

    pub(crate) fn has_names(&self) -> bool {
        self.roles.iter().any(|(_, column)| matches!(column, Column::Name(_)))
    }

    /// The roles in column order, given the header's names.
    pub(crate) fn resolve(&self, names: &[&[u8]]) -> Result<Vec<Role>, RecordFault> {
        let mut resolved = Vec::new();
        for (role, column) in &self.roles {
            let number = match column {
                Column::Number(number) => *number,
                Column::Name(name) => names.iter().position(|known| *known == name.as_bytes()).ok_or_else(|| {
                    let header = text::show(&names.join(&b','));
                    format!("the header {header} has no column `{name}`")
                })?,
            };
            if resolved.len() <= number {
                resolved.resize(number + 1, Role::Ignored);
            }
            resolved[number] = *role;
        }
        Ok(with_ids(resolved))
    }
}

impl Role {
    /// Whether it identifies the key, as an offset on a device does.
    pub(crate) fn has_key(self) -> bool {
        matches!(self, Self::Key | Self::KeyText | Self::KeyId | Self::Sector | Self::Offset)
    }
}

/// If a column holds the keys' texts, the key column holds ids.
pub(crate) fn with_ids(mut roles: Vec<Role>) -> Vec<Role> {
    if roles.contains(&Role::KeyText) {
        roles.iter_mut().filter(|role| **role == Role::Key).for_each(|role| *role = Role::KeyId);
    }
    roles
}

/// The role of a column of this name, by the headers of published traces.
pub(crate) fn role(name: &[u8]) -> Option<Role> {
    Some(match name {
        b"time" | b"timestamp" | b"ts" | b"op_time" | b"clock_time" => Role::TimeInUnit,
        b"time_ns" => Role::Time(1),
        b"time_us" => Role::Time(1_000),
        b"time_ms" => Role::Time(1_000_000),
        b"time_s" => Role::Time(SECOND_NS),
        b"key" | b"object" | b"obj" | b"obj_id" | b"object_id" | b"key_id" | b"id" => Role::Key,
        b"key_text" => Role::KeyText,
        b"key_size" => Role::KeySize,
        b"value_size" | b"size" | b"obj_size" | b"object_size" | b"val_size" => Role::ValueSize,
        b"client" | b"client_id" => Role::Client,
        b"op" | b"operation" | b"command" => Role::Operation,
        b"ttl" | b"ttl_s" => Role::TimeToLive,
        b"scan_length" | b"scan_len" => Role::ScanLength,
        b"offset" => Role::Offset,
        b"lbn" | b"lba" | b"sector" => Role::Sector,
        b"device" => Role::Device,
        b"succeeded" => Role::Succeeded,
        b"op_count" => Role::Count,
        b"cache_hits" => Role::Hits,
        _ => return None,
    })
}
