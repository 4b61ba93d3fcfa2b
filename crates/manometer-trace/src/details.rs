//! What a trace records of its requests beyond [`Record`](crate::Record): the bytes of keys, the bounds and lengths of
//! scans, and the command in the protocol of its server. Kept for one batch at a time, so that memory does not grow with
//! the trace.

use std::ops::Range;

/// What a reader keeps beyond records.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kept {
    /// The keys' texts, of the whole trace.
    pub(crate) keys: bool,
    /// The details of the last batch.
    pub(crate) details: bool,
}

/// What a trace records of one request beyond its record.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RequestDetails<'a> {
    /// The key's bytes, where the trace has them.
    pub key: Option<&'a [u8]>,
    /// The key before which a scan ends.
    pub scan_end: Option<&'a [u8]>,
    /// The records that a scan reads.
    pub scan_length: Option<u32>,
    /// Whether a scan goes to lower keys.
    pub is_backward: bool,
    /// The command in Redis's protocol, where its operation alone does not say what was asked. The first request of a
    /// command for several keys has it.
    pub command: Option<&'a [u8]>,
    /// Whether the request belongs to the same command as the one before it.
    pub is_joined: bool,
}

impl RequestDetails<'_> {
    /// What is left of them where the keys get other names. A command has the keys' names in it: the requests of one, which
    /// `of_command` says, then stand alone.
    pub(crate) fn without_names(self, of_command: bool) -> Self {
        Self { key: None, scan_end: None, command: None, is_joined: self.is_joined && !of_command, ..self }
    }
}

/// The details of the requests of one batch.
#[derive(Debug, Default)]
pub struct BatchDetails {
    bytes: Vec<u8>,
    requests: Vec<DetailRanges>,
}

/// The details of one request, as places in the batch's bytes. An empty command is none.
#[derive(Debug, Clone, Default)]
pub(crate) struct DetailRanges {
    key: Option<Range<usize>>,
    scan_end: Option<Range<usize>>,
    scan_length: Option<u32>,
    is_backward: bool,
    command: Range<usize>,
    is_joined: bool,
}

impl BatchDetails {
    /// The details of the request with this index in its batch; empty where the trace has none.
    pub fn of(&self, index: usize) -> RequestDetails<'_> {
        let Some(ranges) = self.requests.get(index) else { return RequestDetails::default() };
        let bytes = |range: &Range<usize>| &self.bytes[range.clone()];
        RequestDetails {
            key: ranges.key.as_ref().map(bytes),
            scan_end: ranges.scan_end.as_ref().map(bytes),
            scan_length: ranges.scan_length,
            is_backward: ranges.is_backward,
            command: (!ranges.command.is_empty()).then(|| bytes(&ranges.command)),
            is_joined: ranges.is_joined,
        }
    }

    /// The requests of the command that begins with the request `from`, of a batch of `records`.
    pub(crate) fn command(&self, from: usize, records: usize) -> Range<usize> {
        let joined = self.requests.iter().skip(from + 1).take_while(|request| request.is_joined).count();
        from..(from + 1 + joined).min(records)
    }

    /// The details of those requests of the batch for which `kept` is true. A command of which a request is left out
    /// would ask for more than what is left: its other requests then stand alone, without it.
    pub(crate) fn selected(&self, kept: &[bool]) -> Self {
        let mut requests = Vec::with_capacity(kept.len());
        let mut from = 0;
        while from < kept.len() {
            let command = self.command(from, kept.len());
            let is_whole = kept[command.clone()].iter().all(|kept| *kept);
            for at in command.clone().filter(|at| kept[*at]) {
                let mut request = self.requests.get(at).cloned().unwrap_or_default();
                if !is_whole {
                    (request.command, request.is_joined) = (0..0, false);
                }
                requests.push(request);
            }
            from = command.end;
        }
        Self { bytes: self.bytes.clone(), requests }
    }

    /// Appends the request at the place `at` of the batch.
    pub(crate) fn push(&mut self, at: usize, request: &RequestDetails<'_>) {
        let RequestDetails { key, scan_end, scan_length, is_backward, command, is_joined } = *request;
        let ranges = DetailRanges {
            key: key.map(|key| self.keep(key)),
            scan_end: scan_end.map(|end| self.keep(end)),
            scan_length,
            is_backward,
            command: command.map(|command| self.keep(command)).unwrap_or_default(),
            is_joined,
        };
        self.requests.resize_with(at, DetailRanges::default);
        self.requests.push(ranges);
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.requests.clear();
    }

    fn keep(&mut self, bytes: &[u8]) -> Range<usize> {
        let begin = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        begin..self.bytes.len()
    }
}

/// Collects the details of a batch while its records are made.
#[derive(Debug, Default)]
pub(crate) struct DetailCollector {
    batch: BatchDetails,
    /// Of the next record.
    next: DetailRanges,
}

impl DetailCollector {
    pub(crate) fn batch(&self) -> &BatchDetails {
        &self.batch
    }

    pub(crate) fn clear(&mut self) {
        self.batch.clear();
        self.next = DetailRanges::default();
    }

    /// Keeps the first `records` records of the batch only.
    pub(crate) fn truncate(&mut self, records: usize) {
        self.batch.requests.truncate(records);
        self.next = DetailRanges::default();
    }

    /// The key's bytes of the next record.
    pub(crate) fn key(&mut self, text: &[u8]) {
        self.next.key = Some(self.batch.keep(text));
    }

    /// The bound, the length and the direction of the next record, which scans.
    pub(crate) fn scan(&mut self, end: Option<&[u8]>, length: Option<u32>, is_backward: bool) {
        self.next.scan_end = end.map(|end| self.batch.keep(end));
        (self.next.scan_length, self.next.is_backward) = (length, is_backward);
    }

    /// The command of the next record.
    pub(crate) fn command(&mut self, command: &[u8]) {
        self.next.command = self.batch.keep(command);
    }

    /// The next record belongs to the same command as the one before it.
    pub(crate) fn join(&mut self) {
        self.next.is_joined = true;
    }

    /// Ends the record at the place `at` of the batch.
    pub(crate) fn end_record(&mut self, at: usize) {
        self.batch.requests.resize_with(at, DetailRanges::default);
        self.batch.requests.push(std::mem::take(&mut self.next));
    }

    /// The key's bytes of the next record, which is then none's.
    pub(crate) fn take_key(&mut self) -> Option<Box<[u8]>> {
        let key = std::mem::take(&mut self.next).key?;
        Some(self.batch.bytes[key].into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn details_belong_to_the_record_that_ends_after_them() {
        let mut details = DetailCollector::default();
        details.key(b"a");
        details.scan(Some(b"z"), Some(7), true);
        details.end_record(0);
        // A record without details lies between.
        details.command(b"*1");
        details.join();
        details.end_record(2);
        let batch = details.batch();
        let scan = RequestDetails {
            key: Some(b"a"),
            scan_end: Some(b"z"),
            scan_length: Some(7),
            is_backward: true,
            ..RequestDetails::default()
        };
        assert_eq!(
            [batch.of(0), batch.of(1), batch.of(9)],
            [scan, RequestDetails::default(), RequestDetails::default()]
        );
        assert_eq!((batch.of(2).command, batch.of(2).is_joined), (Some(&b"*1"[..]), true));
    }

    #[test]
    fn a_command_of_which_a_request_is_left_out_is_none() {
        let mut details = DetailCollector::default();
        for at in 0..5 {
            details.key(&[b'a' + at as u8]);
            match at {
                0 | 2 => details.command(b"*"),
                _ => details.join(),
            }
            details.end_record(at);
        }
        // Commands for a, b and for c, d, e; then a request without details.
        let of = |kept: &[bool]| {
            let selected = details.batch().selected(kept);
            let shown = (0..kept.iter().filter(|kept| **kept).count()).map(|at| {
                let RequestDetails { key, command, is_joined, .. } = selected.of(at);
                format!(
                    "{}{}{}",
                    u8::from(command.is_some()),
                    u8::from(is_joined),
                    key.map_or('-', |key| key[0] as char)
                )
            });
            shown.collect::<Vec<String>>().join(" ")
        };
        assert_eq!(of(&[true; 6]), "10a 01b 10c 01d 01e 00-");
        assert_eq!(of(&[true, true, false, true, true, true]), "10a 01b 00d 00e 00-");
        assert_eq!(of(&[false, true, true, true, false, false]), "00b 00c 00d");
        assert_eq!(of(&[false; 6]), "");
        assert_eq!(DetailCollector::default().batch().selected(&[true, false]).of(0), RequestDetails::default());
    }

    #[test]
    fn pushed_details_are_those_of_the_request() {
        let command = RequestDetails { key: Some(b"a"), command: Some(b"*1"), ..RequestDetails::default() };
        let scan = RequestDetails {
            key: Some(b"b"),
            scan_end: Some(b"z"),
            scan_length: Some(7),
            is_backward: true,
            is_joined: true,
            ..RequestDetails::default()
        };
        let mut batch = BatchDetails::default();
        batch.push(0, &command);
        batch.push(2, &scan);
        assert_eq!([batch.of(0), batch.of(1), batch.of(2)], [command, RequestDetails::default(), scan]);
        let nameless = RequestDetails { scan_length: Some(7), is_backward: true, ..RequestDetails::default() };
        assert_eq!(scan.without_names(true), nameless);
        assert_eq!(scan.without_names(false), RequestDetails { is_joined: true, ..nameless });
    }

    #[test]
    fn what_is_cut_off_leaves_no_details() {
        let mut details = DetailCollector::default();
        details.key(b"a");
        details.end_record(0);
        details.key(b"b");
        details.truncate(0);
        details.end_record(0);
        assert_eq!(details.batch().of(0), RequestDetails::default());
    }
}
