//! What is left of a batch's details where all keys get other names.

use crate::details::BatchDetails;
use crate::dropped_fields::DroppedFields;

/// The details of the `records` requests of a batch without what names keys. `dropped` counts what is lost but for the
/// keys' texts.
pub(super) fn nameless(recorded: &BatchDetails, records: usize, dropped: &mut DroppedFields) -> BatchDetails {
    let (mut left, mut of_command) = (BatchDetails::default(), false);
    for at in 0..records {
        let request = recorded.of(at);
        if !request.is_joined {
            of_command = request.command.is_some();
        }
        let without = request.without_names(of_command);
        dropped.count_details(&request, &without);
        left.push(at, &without);
    }
    left
}
