//! Counts what the requests of a trace record beyond operations, times and sizes.

use manometer_trace::{Record, RequestDetails, TraceOperation};

use super::request::{KeyForm, stores_string};
use crate::kv::values::VALUE_BYTES_MAX;

/// What the requests of a trace record, in numbers of requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct DetailCounts {
    /// Keys with the bytes of the trace; of these, behind the number of a device.
    pub(super) keys_recorded: u64,
    pub(super) keys_on_device: u64,
    /// Keys as ids; of these, longer than recorded, and without a recorded length.
    pub(super) ids: u64,
    pub(super) ids_longer: u64,
    pub(super) ids_of_no_length: u64,
    /// Stores of values that expire, and of values that are cut.
    pub(super) expiring: u64,
    pub(super) values_cut: u64,
    /// Scans with a recorded length, and with a bound that can be sent.
    pub(super) scans_of_length: u64,
    pub(super) scans_bounded: u64,
    pub(super) scan_bounds: u64,
    /// Requests of recorded commands; of these, stores of strings, and scans.
    pub(crate) commands: u64,
    pub(super) command_stores: u64,
    pub(crate) command_scans: u64,
    /// Requests of commands for another database than the first, which are not sent as commands.
    pub(crate) commands_elsewhere: u64,
    /// Reads of several keys in one request.
    pub(super) multi_gets: u64,
}

impl DetailCounts {
    /// Adds a request; `by_command` is whether it belongs to a recorded command, `in_multi_get` whether it reads together
    /// with others.
    pub(crate) fn add(&mut self, record: &Record, details: &RequestDetails<'_>, by_command: bool, in_multi_get: bool) {
        let count = |counter: &mut u64, is: bool| *counter += u64::from(is);
        let form = KeyForm::of(record, details);
        match form {
            KeyForm::Recorded(_) => self.keys_recorded += 1,
            KeyForm::OnDevice(..) => self.keys_on_device += 1,
            KeyForm::Id(_, bytes) => {
                self.ids += 1;
                count(&mut self.ids_longer, record.key_size.is_some_and(|recorded| bytes > recorded));
                count(&mut self.ids_of_no_length, record.key_size.is_none());
            }
        }
        let is_scan = record.operation == TraceOperation::Scan;
        if by_command {
            self.commands += 1;
            count(&mut self.command_stores, stores_string(record.operation));
            count(&mut self.command_scans, is_scan);
            return;
        }
        count(&mut self.multi_gets, in_multi_get);
        let stores = record.operation.stores();
        count(&mut self.expiring, stores && record.ttl_s.is_some_and(|ttl_s| ttl_s > 0));
        count(&mut self.values_cut, stores && record.value_size.is_some_and(|bytes| bytes > VALUE_BYTES_MAX));
        if is_scan {
            count(&mut self.scans_of_length, details.scan_length.is_some());
            count(&mut self.scan_bounds, details.scan_end.is_some());
            count(&mut self.scans_bounded, details.scan_end.is_some() && !matches!(form, KeyForm::Id(..)));
        }
    }
}
