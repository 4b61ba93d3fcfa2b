//! CSV: lines of fields whose roles come from a header, a preset or the user.
//!
//! Fields may be quoted; a quoted field ends on its own line.

use std::borrow::Cow;

use crate::csv_columns::{COLUMNS_MAX, Columns, Role, role, with_ids};
use crate::error::{RecordFault, TraceError};
use crate::format::{Format, FormatSetting, Head};
use crate::reader::{LineFormat, Lines, Reader, RecordSink};
use crate::record::{Record, TraceOperation};
use crate::text;

use super::operation_name;

const SECOND_NS: u64 = 1_000_000_000;
/// The size of a sector in bytes.
const SECTOR_BYTES: u64 = 512;

/// No host answers more requests for one key within a second: a larger number is damage.
const MOST_REQUESTS_OF_A_LINE: u64 = 10_000_000;

/// The entry in the registry.
pub(crate) static FORMAT: Format = Format {
    name: "csv",
    about: "CSV with a header, or with --columns",
    settings: &[FormatSetting::Columns, FormatSetting::TimeUnit],
    recognise,
    open,
};

fn recognise(head: &Head) -> bool {
    let Some(header) = head.lines().next() else { return false };
    let roles = roles_of(&names_of(header, b','));
    let known = roles.iter().filter(|role| **role != Role::Ignored).count();
    known >= 2 && roles.iter().any(|role| role.has_key())
}

fn open(
    mut source: crate::source::Source,
    options: &crate::ReadOptions,
) -> Result<Box<dyn crate::TraceReader>, TraceError> {
    let mut format = Csv::with_header(FORMAT.name);
    format.time_unit_ns = options.time_unit_ns;
    if let Some(columns) = &options.columns {
        format.delimiter = columns.delimiter;
        if !columns.has_names() {
            let roles = columns.resolve(&[]).map_err(|fault| TraceError::Wrong(fault.into_owned()))?;
            format.roles = Some(in_unit(roles, format.time_unit_ns)?);
        }
        format.columns = Some(columns.clone());
    }
    // A unit of times that contradicts the header is refused before anything is read.
    if format.time_unit_ns.is_some()
        && format.roles.is_none()
        && let Ok(Some((length, _))) = source.line()
        && !text::trim(&source.window()[..length]).is_empty()
        && let Ok(roles) = format.roles_by(&source.window()[..length])
    {
        in_unit(roles, format.time_unit_ns)?;
    }
    Ok(Box::new(Reader::new(Lines::new(source, format), options.kept())))
}

/// Sets the unit of times without one. Fails if there are none.
fn in_unit(mut roles: Vec<Role>, time_unit_ns: Option<u64>) -> Result<Vec<Role>, TraceError> {
    let Some(unit_ns) = time_unit_ns else { return Ok(roles) };
    if !roles.contains(&Role::TimeInUnit) {
        let what = match roles.iter().any(|role| matches!(role, Role::Time(_))) {
            true => "a time unit is given, and the name of the time column has one: leave one of them out",
            false => "a time unit is given, but no column holds times: leave it out, or name the column `time`",
        };
        return Err(TraceError::Wrong(what.to_owned()));
    }
    roles.iter_mut().filter(|role| **role == Role::TimeInUnit).for_each(|role| *role = Role::Time(unit_ns));
    Ok(roles)
}

fn names_of(header: &[u8], delimiter: u8) -> Vec<&[u8]> {
    let header = header.strip_prefix(b"\xef\xbb\xbf").unwrap_or(header);
    let header = header.strip_prefix(b"#").unwrap_or(header);
    let names = header.split(|byte| *byte == delimiter).take(COLUMNS_MAX);
    names.map(|name| text::trim(unquoted(text::trim(name)))).collect()
}

fn roles_of(names: &[&[u8]]) -> Vec<Role> {
    let small = names.iter().map(|name| name.to_ascii_lowercase());
    with_ids(small.map(|name| role(&name).unwrap_or(Role::Ignored)).collect())
}

fn unquoted(field: &[u8]) -> &[u8] {
    field.strip_prefix(b"\"").and_then(|field| field.strip_suffix(b"\"")).unwrap_or(field)
}

/// The reader's state: the roles of the columns, once known.
pub(crate) struct Csv {
    name: &'static str,
    delimiter: u8,
    time_unit_ns: Option<u64>,
    columns: Option<Columns>,
    roles: Option<Vec<Role>>,
    started: bool,
    exactly: bool,
}

impl Csv {
    /// The first line is the header.
    pub(crate) fn with_header(name: &'static str) -> Self {
        Self { name, delimiter: b',', time_unit_ns: None, columns: None, roles: None, started: false, exactly: false }
    }

    /// The columns have these roles, and there is no header.
    pub(crate) fn of(name: &'static str, roles: Vec<Role>) -> Self {
        Self { roles: Some(roles), ..Self::with_header(name) }
    }

    /// Requires every line to have exactly these columns and a known operation, to distinguish formats.
    pub(crate) fn exactly(mut self) -> Self {
        self.exactly = true;
        self
    }

    /// The roles by the header.
    fn roles_by(&self, header: &[u8]) -> Result<Vec<Role>, RecordFault> {
        let names = names_of(header, self.delimiter);
        match &self.columns {
            Some(columns) => columns.resolve(&names),
            None => Ok(roles_of(&names)),
        }
    }

    fn header(&mut self, line: &[u8]) -> Result<(), RecordFault> {
        let roles = in_unit(self.roles_by(line)?, self.time_unit_ns).map_err(|error| error.to_string())?;
        if !roles.iter().any(|role| role.has_key()) {
            let shown = text::show(line);
            return Err(format!("the header {shown} names no key: name the columns with --columns").into());
        }
        self.roles = Some(roles);
        Ok(())
    }
}

impl LineFormat for Csv {
    fn name(&self) -> &'static str {
        self.name
    }

    fn line(&mut self, line: &[u8], sink: &mut RecordSink) -> Result<(), RecordFault> {
        if line.is_empty() {
            sink.skip();
            return Ok(());
        }
        let Some(roles) = &self.roles else {
            self.started = true;
            return self.header(line);
        };
        if !self.started {
            self.started = true;
            // A header may precede columns given by number.
            if self.columns.is_some() && Fields::default().read(line, self.delimiter, roles).is_err() {
                sink.skip();
                return Ok(());
            }
        }
        let mut fields = Fields::default();
        fields.read(line, self.delimiter, roles)?;
        if self.exactly && fields.columns != roles.len() {
            let found = if fields.columns > roles.len() { "more".to_owned() } else { fields.columns.to_string() };
            return Err(format!("expected {} columns, found {found}", roles.len()).into());
        }
        if self.exactly && !fields.has_operation {
            return Err("the line has no operation".into());
        }
        fields.put(sink)
    }
}

/// The fields of a line.
struct Fields<'a> {
    record: Record,
    /// The key's text, with its quotes.
    key: Option<&'a [u8]>,
    /// The key's id, if the line has one.
    id: Option<u64>,
    has_operation: bool,
    scan_length: Option<u32>,
    count: u64,
    hits: Option<u64>,
    columns: usize,
}

impl Default for Fields<'_> {
    fn default() -> Self {
        let record = Record::new(TraceOperation::Get, 0);
        Self { record, key: None, id: None, has_operation: false, scan_length: None, count: 1, hits: None, columns: 0 }
    }
}

impl<'a> Fields<'a> {
    #[inline]
    fn read(&mut self, line: &'a [u8], delimiter: u8, roles: &[Role]) -> Result<(), RecordFault> {
        let mut rest = Some(line);
        let has_quotes = memchr::memchr(b'"', line).is_some();
        for role in roles {
            let Some(left) = rest else { break };
            let (field, after) = next_field(left, delimiter, has_quotes);
            rest = after;
            self.columns += 1;
            if *role != Role::Ignored {
                self.field(*role, text::trim(field))
                    .map_err(|wanted| format!("column {} is {}: expected {wanted}", self.columns, text::show(field)))?;
            }
        }
        self.columns += usize::from(rest.is_some());
        let has_key = self.key.is_some() || self.id.is_some() || self.record.offset.is_some();
        if has_key { Ok(()) } else { Err("the line ends before the key, or has none".into()) }
    }

    /// Parses a field; the error says what would be right.
    #[inline]
    fn field(&mut self, role: Role, field: &'a [u8]) -> Result<(), &'static str> {
        let record = &mut self.record;
        let absent = field.is_empty();
        match role {
            Role::Ignored => {}
            Role::Key if absent => return Err("a key"),
            Role::Key => self.key = Some(field),
            Role::KeyId => self.id = Some(text::number(field).ok_or("the id of a key, a number")?),
            Role::Sector => {
                let sector = text::number(field).ok_or("a sector")?;
                record.offset = Some(sector.checked_mul(SECTOR_BYTES).ok_or("a sector below 2^55")?);
            }
            _ if absent => {}
            Role::KeyText => self.key = Some(field),
            Role::Time(unit_ns) => record.time_ns = Some(text::time_ns(field, unit_ns).ok_or("a time")?),
            Role::TimeInUnit => record.time_ns = Some(text::time_ns(field, SECOND_NS).ok_or("a time")?),
            Role::KeySize => record.key_size = Some(text::number_u32(field).ok_or("the bytes of the key")?),
            Role::ValueSize => record.value_size = Some(text::number(field).ok_or("the bytes of the value")?),
            Role::Client => record.client = Some(crate::key_id(field)),
            Role::Operation => {
                record.operation = named_operation(field).ok_or("an operation such as get, set, read or delete")?;
                self.has_operation = true;
            }
            Role::TimeToLive => record.ttl_s = Some(text::number_u32(field).ok_or("seconds to live")?),
            Role::ScanLength => {
                self.scan_length = Some(text::number_u32(field).ok_or("the records that a scan reads")?)
            }
            Role::Offset => record.offset = Some(text::number(field).ok_or("an offset in bytes")?),
            Role::Device => record.device = text::number_u32(field).ok_or("the number of a device")?,
            Role::Succeeded => record.succeeded = Some(flag(field).ok_or("1 or 0")?),
            Role::Count => {
                let count = text::number(field).filter(|count| *count <= MOST_REQUESTS_OF_A_LINE);
                self.count = count.ok_or("a number of requests, 10000000 at most")?;
            }
            Role::Hits => self.hits = Some(text::number(field).ok_or("a number of hits")?),
        }
        Ok(())
    }

    fn put(mut self, sink: &mut RecordSink) -> Result<(), RecordFault> {
        self.record.key = self.key_id(sink)?;
        if let Some(hits) = self.hits.filter(|_| self.record.operation == TraceOperation::Get) {
            self.record.succeeded = if hits >= self.count { Some(true) } else { (hits == 0).then_some(false) };
        }
        if let Some(details) = sink.details().filter(|_| self.scan_length.is_some()) {
            details.scan(None, self.scan_length, false);
        }
        sink.run(self.record, self.count, 0, 0);
        Ok(())
    }

    /// The key's id: that of the line, of the key's text on its device, or of the offset on it.
    #[inline]
    fn key_id(&self, sink: &mut RecordSink) -> Result<u64, RecordFault> {
        let record = &self.record;
        let of = |text: &[u8], sink: &mut RecordSink| match self.id {
            Some(id) => sink.key_as(Some(id), text),
            None => sink.key_in(record.device, text),
        };
        match (self.key, self.id, record.offset) {
            (Some(text), ..) if text.contains(&b'"') => of(&unquoted_key(text), sink),
            (Some(text), ..) => of(text, sink),
            (None, Some(id), _) => Ok(id),
            (None, None, offset) => {
                let offset = offset.ok_or("the line has no key")?;
                Ok(Record::block(record.operation, record.device, offset, SECTOR_BYTES, 0).key)
            }
        }
    }
}

fn flag(field: &[u8]) -> Option<bool> {
    match field {
        b"1" | b"true" => Some(true),
        b"0" | b"false" => Some(false),
        _ => None,
    }
}

/// An operation by name, or by the hexadecimal code of a SCSI command.
fn named_operation(field: &[u8]) -> Option<TraceOperation> {
    operation_name::operation(field).or_else(|| operation_name::scsi(text::hexadecimal(field)?))
}

/// The first field of the rest of a line, and the rest after it.
#[inline]
fn next_field(left: &[u8], delimiter: u8, has_quotes: bool) -> (&[u8], Option<&[u8]>) {
    let end = match has_quotes {
        false => left.iter().position(|byte| *byte == delimiter),
        true => delimiter_outside_quotes(left, delimiter),
    };
    match end {
        Some(end) => (&left[..end], Some(&left[end + 1..])),
        None => (left, None),
    }
}

#[cold]
fn delimiter_outside_quotes(left: &[u8], delimiter: u8) -> Option<usize> {
    let mut quoted = false;
    left.iter().position(|byte| {
        quoted ^= *byte == b'"';
        *byte == delimiter && !quoted
    })
}

/// A key without its quotes; two quotes stand for one.
#[cold]
fn unquoted_key(field: &[u8]) -> Cow<'_, [u8]> {
    let Some(inner) = field.strip_prefix(b"\"").and_then(|field| field.strip_suffix(b"\"")) else {
        return Cow::Borrowed(field);
    };
    let mut key = Vec::with_capacity(inner.len());
    let mut bytes = inner.iter().peekable();
    while let Some(byte) = bytes.next() {
        key.push(*byte);
        if *byte == b'"' {
            bytes.next_if_eq(&&b'"');
        }
    }
    Cow::Owned(key)
}

#[cfg(test)]
#[path = "csv_tests.rs"]
mod tests;
