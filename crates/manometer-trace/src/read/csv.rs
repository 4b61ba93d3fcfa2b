//! CSV: lines of fields, each with a role that a header, a preset or the user gives it.
//!
//! Fields may be quoted; a quoted field ends on its own line.

use std::borrow::Cow;
use std::str::FromStr;

use crate::error::{Fault, TraceError};
use crate::format::{Format, Head};
use crate::reader::{LineFormat, Lines, Reader, Sink};
use crate::record::{Operation, Record};
use crate::text;

use super::operation_name;

/// The columns that are looked at.
const COLUMNS_MAX: usize = 256;
const SECOND_NS: u64 = 1_000_000_000;
/// The unit of addresses that count sectors.
const SECTOR_BYTES: u64 = 512;

/// The format's entry in the list.
pub(crate) static FORMAT: Format =
    Format { name: "csv", about: "CSV with a header, or with --columns", recognise, open };

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Nothing of interest.
    Ignored,
    /// The time, in units of so many nanoseconds.
    Time(u64),
    /// The time, in a unit that the reader is told; seconds unless it is.
    TimeInUnit,
    /// The key.
    Key,
    /// The key as it was, where another column holds its id.
    KeyText,
    /// The id of a key: a number that tells the keys of all devices apart.
    KeyId,
    /// Bytes of the key.
    KeySize,
    /// Bytes of the value.
    ValueSize,
    /// Who asks.
    Client,
    /// What is asked for.
    Operation,
    /// Seconds to live.
    TimeToLive,
    /// Where in the device or object, in bytes.
    Offset,
    /// Where in the device, in sectors of 512 bytes.
    Sector,
    /// Which device.
    Device,
    /// Whether it succeeded: 1 or 0.
    Succeeded,
    /// How many requests the line stands for.
    Count,
    /// How many of them found something.
    Hits,
}

/// What the columns mean, as a user says it: `time_ms=0,key=user id,op=3`, by number from 0 or by the header's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Columns {
    delimiter: u8,
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
                    "names no field; there are time (also time_s, time_ms, time_us, time_ns), key, key_text, \
                     key_size, value_size, client, op, ttl, offset, lbn, device, succeeded, op_count and cache_hits",
                )
            })?;
            let column = match column.trim().parse() {
                Ok(number) if number < COLUMNS_MAX => Column::Number(number),
                Ok(_) => return Err(wrong("lies beyond column 255")),
                Err(_) => Column::Name(column.trim().to_owned()),
            };
            roles.push((role, column));
        }
        if !roles.iter().any(|(role, _)| role.tells_key()) {
            let what = format!("the columns `{text}` hold no key: add for example `key=1`, or `offset=1` of a device");
            return Err(TraceError::Wrong(what));
        }
        Ok(Self { delimiter: b',', roles })
    }
}

impl Columns {
    /// The same with fields parted by another byte.
    pub fn parted_by(mut self, delimiter: u8) -> Self {
        self.delimiter = delimiter;
        self
    }

    fn has_names(&self) -> bool {
        self.roles.iter().any(|(_, column)| matches!(column, Column::Name(_)))
    }

    /// The roles in the order of the columns, given the header's names.
    fn resolve(&self, names: &[&[u8]]) -> Result<Vec<Role>, Fault> {
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
    /// Whether it says which key is meant; a place on a device does.
    fn tells_key(self) -> bool {
        matches!(self, Self::Key | Self::KeyText | Self::KeyId | Self::Sector | Self::Offset)
    }
}

/// Where a column of its own has the keys' texts, the keys are ids.
fn with_ids(mut roles: Vec<Role>) -> Vec<Role> {
    if roles.contains(&Role::KeyText) {
        roles.iter_mut().filter(|role| **role == Role::Key).for_each(|role| *role = Role::KeyId);
    }
    roles
}

/// The role of a column of this name, in the words of the published traces.
fn role(name: &[u8]) -> Option<Role> {
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
        b"offset" => Role::Offset,
        b"lbn" | b"lba" | b"sector" => Role::Sector,
        b"device" => Role::Device,
        b"succeeded" => Role::Succeeded,
        b"op_count" => Role::Count,
        b"cache_hits" => Role::Hits,
        _ => return None,
    })
}

fn recognise(head: &Head) -> bool {
    let Some(header) = head.lines().next() else { return false };
    let roles = roles_of(&names_of(header, b','));
    let known = roles.iter().filter(|role| **role != Role::Ignored).count();
    known >= 2 && roles.iter().any(|role| role.tells_key())
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
    Ok(Box::new(Reader::new(Lines::new(source, format), options.keep_keys)))
}

/// Times without a unit of their own get the one that is told, which has to be for some.
fn in_unit(mut roles: Vec<Role>, time_unit_ns: Option<u64>) -> Result<Vec<Role>, TraceError> {
    let Some(unit_ns) = time_unit_ns else { return Ok(roles) };
    if !roles.contains(&Role::TimeInUnit) {
        let what = match roles.iter().any(|role| matches!(role, Role::Time(_))) {
            true => "a unit of times is told, and the name of the column of times tells one: leave out one of them",
            false => "a unit of times is told, and no column has times: leave it out, or name the column as `time`",
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

/// The reader's state: what the columns mean, once that is known.
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
    /// The first line says what the columns mean.
    pub(crate) fn with_header(name: &'static str) -> Self {
        Self { name, delimiter: b',', time_unit_ns: None, columns: None, roles: None, started: false, exactly: false }
    }

    /// The columns mean this, and there is no header.
    pub(crate) fn of(name: &'static str, roles: Vec<Role>) -> Self {
        Self { roles: Some(roles), ..Self::with_header(name) }
    }

    /// Every line has exactly these columns, and an operation that is known: to tell formats apart.
    pub(crate) fn exactly(mut self) -> Self {
        self.exactly = true;
        self
    }

    /// What the columns mean by their header.
    fn roles_by(&self, header: &[u8]) -> Result<Vec<Role>, Fault> {
        let names = names_of(header, self.delimiter);
        match &self.columns {
            Some(columns) => columns.resolve(&names),
            None => Ok(roles_of(&names)),
        }
    }

    fn header(&mut self, line: &[u8]) -> Result<(), Fault> {
        let roles = in_unit(self.roles_by(line)?, self.time_unit_ns).map_err(|error| error.to_string())?;
        if !roles.iter().any(|role| role.tells_key()) {
            let shown = text::show(line);
            return Err(format!("the header {shown} names no key: say what the columns mean with --columns").into());
        }
        self.roles = Some(roles);
        Ok(())
    }
}

impl LineFormat for Csv {
    fn name(&self) -> &'static str {
        self.name
    }

    fn line(&mut self, line: &[u8], sink: &mut Sink) -> Result<(), Fault> {
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
            // Columns by number may still have a header above them.
            if self.columns.is_some() && Fields::default().read(line, self.delimiter, roles).is_err() {
                sink.skip();
                return Ok(());
            }
        }
        let mut fields = Fields::default();
        fields.read(line, self.delimiter, roles)?;
        if self.exactly && (fields.columns != roles.len() || !fields.has_operation) {
            return Err("the line has other columns".into());
        }
        fields.put(sink)
    }
}

/// What one line says.
struct Fields<'a> {
    record: Record,
    /// The key's text, in the quotes that it has.
    key: Option<&'a [u8]>,
    /// The key's id, where the line has it.
    id: Option<u64>,
    has_operation: bool,
    count: u64,
    hits: Option<u64>,
    columns: usize,
}

impl Default for Fields<'_> {
    fn default() -> Self {
        let record = Record::new(Operation::Get, 0);
        Self { record, key: None, id: None, has_operation: false, count: 1, hits: None, columns: 0 }
    }
}

impl<'a> Fields<'a> {
    #[inline]
    fn read(&mut self, line: &'a [u8], delimiter: u8, roles: &[Role]) -> Result<(), Fault> {
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

    /// Takes one field in, or says what would be right.
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
            Role::Offset => record.offset = Some(text::number(field).ok_or("an offset in bytes")?),
            Role::Device => record.device = text::number_u32(field).ok_or("the number of a device")?,
            Role::Succeeded => record.succeeded = Some(flag(field).ok_or("1 or 0")?),
            Role::Count => self.count = text::number(field).ok_or("a number of requests")?,
            Role::Hits => self.hits = Some(text::number(field).ok_or("a number of hits")?),
        }
        Ok(())
    }

    fn put(mut self, sink: &mut Sink) -> Result<(), Fault> {
        self.record.key = self.key_id(sink)?;
        if let Some(hits) = self.hits.filter(|_| self.record.operation == Operation::Get) {
            self.record.succeeded = if hits >= self.count { Some(true) } else { (hits == 0).then_some(false) };
        }
        sink.run(self.record, self.count, 0, 0);
        Ok(())
    }

    /// The id that the line has, that of the key's text on its device, or that of the place on it.
    #[inline]
    fn key_id(&self, sink: &mut Sink) -> Result<u64, Fault> {
        let record = &self.record;
        let of = |text: &[u8], sink: &mut Sink| match self.id {
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
fn named_operation(field: &[u8]) -> Option<Operation> {
    operation_name::operation(field).or_else(|| operation_name::scsi(text::hexadecimal(field)?))
}

/// The first field of what is left of a line, and what is left after it.
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

/// A key without its quotes, in which two quotes stand for one.
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
mod tests {
    use super::*;
    use crate::ReadOptions;
    use crate::read::tests::{damage, found, records, records_with};

    #[test]
    fn the_header_says_what_the_columns_mean() {
        let read = records(&FORMAT, b"# time, object, size, next_access_vtime\n0, 13053225291711363978, 737, 13\n");
        assert_eq!(read.len(), 1);
        assert_eq!(
            (read[0].key, read[0].value_size, read[0].time_ns),
            (13_053_225_291_711_363_978, Some(737), Some(0))
        );
        let read = records(&FORMAT, b"version,time,op,size,lbn\n1,5633898,2a,512,42932745\n");
        assert_eq!((read[0].operation, read[0].offset), (Operation::Write, Some(42_932_745 * 512)));
    }

    #[test]
    fn the_user_says_what_the_columns_mean() {
        let columns: Columns = "time_ms=1,key=0,op=3".parse().unwrap();
        let options = ReadOptions { columns: Some(columns.parted_by(b';')), ..ReadOptions::default() };
        let read = records_with(&options, b"who;when;x;what\nuser1;2.5;;set\n");
        assert_eq!((read[0].time_ns, read[0].operation), (Some(2_500_000), Operation::Put));
        let columns: Columns = "time=when,key=who".parse().unwrap();
        let options = ReadOptions { columns: Some(columns), time_unit_ns: Some(1000), ..ReadOptions::default() };
        assert_eq!(records_with(&options, b"when,who\n5,x\n")[0].time_ns, Some(5000));
    }

    #[test]
    fn wrong_columns_are_refused_with_an_example() {
        for wrong in ["", "key", "key=999", "colour=1", "time=0"] {
            let error = wrong.parse::<Columns>().unwrap_err().to_string();
            assert!(error.contains("key="), "{error}");
        }
    }

    #[test]
    fn keys_may_be_quoted() {
        let read = records(&FORMAT, b"key,size\n\"a,\"\"b\",5\n\"7\",6\n");
        assert_eq!(read[0].key, crate::key_id(b"a,\"b"));
        assert_eq!((read[1].key, read[1].value_size), (7, Some(6)));
    }

    #[test]
    fn equal_keys_of_different_devices_are_different_keys() {
        for trace in [&b"device,key\n0,5\n1,5\n2,5\n1,5\n"[..], b"key,device\n5,0\n5,1\n5,2\n5,1\n"] {
            let keys: Vec<u64> = records(&FORMAT, trace).iter().map(|record| record.key).collect();
            assert_eq!((keys[0], keys[1]), (5, keys[3]));
            assert!(keys[1] != 5 && keys[2] != 5 && keys[1] != keys[2]);
        }
        let read = records(&FORMAT, b"device,lbn,size\n0,8,512\n1,8,512\n");
        for record in &read {
            assert_eq!(record.key, Record::block(Operation::Get, record.device, 4096, 512, 512).key);
        }
        assert!(read[0].key == 8 && read[1].key != 8);
    }

    #[test]
    fn keys_beside_their_texts_are_ids() {
        let trace = b"device,key,key_text\n0,5,5\n1,77,5\n1,78,\n2,79,\"\"\n";
        let options = ReadOptions { format: Some(&FORMAT), keep_keys: true, ..ReadOptions::default() };
        let mut reader = crate::open_stream(Box::new(std::io::Cursor::new(trace)), &options).unwrap().reader;
        let mut batch = Vec::new();
        reader.read(&mut batch).unwrap();
        assert_eq!(batch.iter().map(|record| record.key).collect::<Vec<_>>(), [5, 77, 78, 79]);
        let text = |id| reader.keys().unwrap().text(id);
        assert_eq!((text(77), text(78), text(79)), (Some(&b"5"[..]), None, Some(&b""[..])));
        let (_, what) = damage(&FORMAT, b"key,key_text\nuser1,user1\n");
        assert!(what.contains("the id of a key"), "{what}");
        let alone = records(&FORMAT, b"key_text,size\nuser1,6\n");
        assert_eq!(alone[0].key, crate::key_id(b"user1"));
    }

    #[test]
    fn without_a_key_the_place_on_the_device_is_the_key() {
        let options = |columns: &str| ReadOptions { columns: Some(columns.parse().unwrap()), ..ReadOptions::default() };
        let trace = b"1.5,write,4096,512,0\n2,read,8192,512,3\n";
        let read = records_with(&options("time_ms=0,op=1,offset=2,size=3,device=4"), trace);
        let block = |operation, device, offset| Record::block(operation, device, offset, 512, 512);
        assert_eq!(read[0], Record { time_ns: Some(1_500_000), ..block(Operation::Write, 0, 4096) });
        assert_eq!(read[1], Record { time_ns: Some(2_000_000), ..block(Operation::Read, 3, 8192) });
        let read = records_with(&options("key=0,offset=2"), trace);
        assert_eq!((read[1].key, read[1].offset), (2, Some(8192)));
        assert_eq!(records(&FORMAT, b"offset,size,op\n1024,512,read\n")[0].key, 2);
        let (at, what) = damage(&FORMAT, b"offset,size,op\n1024,512,read\n,512,read\n");
        assert!(at == 29 && what.contains("the key"), "{at} {what}");
    }

    #[test]
    fn an_empty_line_is_no_header_that_contradicts_the_unit_of_times() {
        let options = ReadOptions { format: Some(&FORMAT), time_unit_ns: Some(1_000_000), ..ReadOptions::default() };
        let mut trace = crate::open_stream(Box::new(&b"\ntime,key\n3,1\n"[..]), &options).unwrap();
        let mut batch = Vec::new();
        trace.reader.read(&mut batch).unwrap();
        assert_eq!(batch[0].time_ns, Some(3_000_000));
    }

    #[test]
    fn a_unit_of_times_is_for_times_without_one() {
        let open = |trace: &'static [u8], columns: Option<&str>| {
            let columns = columns.map(|columns| columns.parse().unwrap());
            let options = ReadOptions { columns, time_unit_ns: Some(1_000_000), ..ReadOptions::default() };
            crate::open_stream(Box::new(std::io::Cursor::new(trace)), &options)
        };
        for (trace, columns, time_ns) in [
            (&b"time,key\n3,1\n"[..], None, 3_000_000),
            (b"3,1\n", Some("time=0,key=1"), 3_000_000),
            (b"at,who\n3,1\n", Some("time=at,key=who"), 3_000_000),
        ] {
            let mut batch = Vec::new();
            open(trace, columns).unwrap().reader.read(&mut batch).unwrap();
            assert_eq!(batch[0].time_ns, Some(time_ns));
        }
        for (trace, columns, word) in [
            (&b"time_s,key\n3,1\n"[..], None, "tells one"),
            (b"3,1\n", Some("time_s=0,key=1"), "tells one"),
            (b"at,who\n3,1\n", Some("time_us=at,key=who"), "tells one"),
            (b"key,size\n3,1\n", None, "no column has times"),
            (b"0,a,1,2,4,get,0\n1,b,1,2,4,set,5\n", None, "csv, kv-replay"),
        ] {
            let error = open(trace, columns).err().unwrap();
            assert!(matches!(error, TraceError::Wrong(_)) && error.to_string().contains(word), "{error}");
        }
        let columns = Some("key=0".parse().unwrap());
        let options = ReadOptions { format: Some(Format::find("keys").unwrap()), columns, ..ReadOptions::default() };
        let error = crate::open_stream(Box::new(std::io::Cursor::new(b"a\n")), &options).err().unwrap();
        assert!(error.to_string().contains("keys"), "{error}");
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        for (trace, offset, word) in [
            (&b"key,size\n1,2\n1,x\n"[..], 13, "column 2 is `x`"),
            (b"key,size\n,2\n", 9, "a key"),
            (b"colour,size\n1,2\n", 0, "--columns"),
            (b"time,key\n1\n", 9, "before the key"),
            (b"key,op\n1,fetch\n", 7, "an operation"),
        ] {
            let (at, text) = damage(&FORMAT, trace);
            assert_eq!(at, offset, "{text}");
            assert!(text.contains(word), "{text}");
        }
        assert_eq!(found(b"key,size\n1,2\n"), "csv");
    }

    #[test]
    fn a_count_of_requests_cannot_fill_the_memory() {
        let trace = b"key,op_count\n1,18446744073709551615\n";
        let mut reader =
            crate::open_stream(Box::new(std::io::Cursor::new(trace)), &ReadOptions::default()).unwrap().reader;
        let mut batch = Vec::new();
        for _ in 0..10 {
            assert_eq!(reader.read(&mut batch).unwrap(), crate::BATCH_RECORDS);
        }
        assert!(batch.capacity() < 2 * crate::BATCH_RECORDS);
    }
}
