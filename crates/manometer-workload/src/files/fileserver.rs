//! A file server: whole files are written, appended to, read, deleted and looked up.

use super::hands::Hands;
use super::shared::Halt;

/// One turn, in the order of Filebench's `fileserver`.
pub(super) fn turn(hands: &mut Hands<'_>) -> Result<(), Halt> {
    hands.create(|hands, entry, file, path| hands.write_whole(entry, file, path))?;
    hands.open(|hands, file, path| hands.append(file, path))?;
    hands.open(|hands, file, path| hands.read_whole(file, path))?;
    hands.delete()?;
    hands.stat()
}
