//! A mail server: messages are delivered, read and marked, read, and removed; what is written is made durable.

use super::hands::Hands;
use super::shared::Halt;

/// One turn, in the order of Filebench's `varmail`.
pub(super) fn turn(hands: &mut Hands<'_>) -> Result<(), Halt> {
    hands.delete()?;
    hands.create(|hands, _, file, path| {
        hands.append(file, path)?;
        hands.fsync(file, path)
    })?;
    hands.open(|hands, file, path| {
        hands.read_whole(file, path)?;
        hands.append(file, path)?;
        hands.fsync(file, path)
    })?;
    hands.open(|hands, file, path| hands.read_whole(file, path))
}
