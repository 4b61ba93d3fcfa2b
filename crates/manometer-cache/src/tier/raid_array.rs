//! Maps requests to an array to its members.

use manometer_measure::ByteSize;

use crate::raid_level::RaidLevel;

/// An array of equal devices.
#[derive(Debug, Clone, Copy)]
pub struct RaidArray {
    /// The level.
    pub raid: RaidLevel,
    /// The number of devices.
    pub members: u64,
    /// The bytes of a chunk.
    pub chunk: u64,
}

/// The default chunk size.
pub fn default_chunk() -> ByteSize {
    ByteSize(512 << 10)
}

/// The default number of devices.
pub fn one_device() -> u64 {
    1
}

/// A range of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemberRange {
    /// The member, or the pair of mirrors.
    pub member: usize,
    /// The start address on the member.
    pub offset: u64,
    /// The length.
    pub bytes: u64,
}

/// The operations for a RAID 5 write to one stripe.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StripeWrite {
    /// The ranges to read first, for the parity.
    pub reads: Vec<MemberRange>,
    /// The ranges to write then, including the parity.
    pub writes: Vec<MemberRange>,
}

impl RaidArray {
    /// What is wrong with the array, if anything.
    pub fn validation_error(&self) -> Option<String> {
        let Self { raid, members, chunk } = *self;
        let text = match raid {
            RaidLevel::None if members != 1 => "without `raid` a level has one device: name a `raid`",
            RaidLevel::Raid0 | RaidLevel::Raid1 if members < 2 => "an array needs two devices or more",
            RaidLevel::Raid10 if members < 4 || members % 2 == 1 => "RAID 10 needs an even `count` of 4 or more",
            RaidLevel::Raid5 if members < 3 => "RAID 5 needs a `count` of 3 or more",
            _ if chunk == 0 || !chunk.is_multiple_of(4096) => "`chunk` has to be a multiple of 4KiB",
            _ => return None,
        };
        Some(text.to_owned())
    }

    /// The number of members whose capacity holds data.
    pub fn data_members(&self) -> u64 {
        match self.raid {
            RaidLevel::None | RaidLevel::Raid1 => 1,
            RaidLevel::Raid0 => self.members,
            RaidLevel::Raid10 => self.members / 2,
            RaidLevel::Raid5 => self.members - 1,
        }
    }

    /// The members that mirror a member or pair: the first, and their number.
    pub fn mirrors(&self, member: usize) -> (usize, usize) {
        match self.raid {
            RaidLevel::Raid1 => (0, self.members as usize),
            RaidLevel::Raid10 => (2 * member, 2),
            _ => (member, 1),
        }
    }

    /// The member ranges of a range, consecutive ones merged.
    pub fn pieces(&self, offset: u64, bytes: u64, pieces: &mut Vec<MemberRange>) {
        pieces.clear();
        let stripes = self.data_members();
        if stripes == 1 {
            return pieces.push(MemberRange { member: 0, offset, bytes });
        }
        let (mut at, end) = (offset, offset + bytes);
        while at < end {
            let piece = self.piece(at, end.min((at / self.chunk + 1) * self.chunk) - at);
            at += piece.bytes;
            join(pieces, piece);
        }
    }

    /// The member range of a range within one chunk.
    fn piece(&self, at: u64, bytes: u64) -> MemberRange {
        let stripes = self.data_members();
        let (chunk, inside) = (at / self.chunk, at % self.chunk);
        let (row, column) = (chunk / stripes, chunk % stripes);
        let member = match self.raid {
            RaidLevel::Raid5 => (self.parity(row) + 1 + column) % self.members,
            _ => column,
        };
        MemberRange { member: member as usize, offset: row * self.chunk + inside, bytes }
    }

    /// The parity member of a stripe, from the last one backwards (left-symmetric).
    fn parity(&self, row: u64) -> u64 {
        self.members - 1 - row % self.members
    }

    /// The reads and writes of a RAID 5 write, by stripe: the parity is computed from the replaced data or from the
    /// rest of the stripe, whichever reads less.
    pub fn stripe_writes(&self, offset: u64, bytes: u64) -> Vec<StripeWrite> {
        let row_bytes = self.chunk * self.data_members();
        let (mut at, end) = (offset, offset + bytes);
        let mut rows = Vec::new();
        while at < end {
            let row = at / row_bytes;
            let until = end.min((row + 1) * row_bytes);
            rows.push(self.row(row, at, until));
            at = until;
        }
        rows
    }

    /// A stripe is divided where a range starts or ends, so that each part of a member is written completely or not at
    /// all.
    fn row(&self, row: u64, at: u64, until: u64) -> StripeWrite {
        let mut data = Vec::new();
        self.pieces(at, until - at, &mut data);
        let mut cuts: Vec<u64> = data.iter().flat_map(|piece| [piece.offset, piece.offset + piece.bytes]).collect();
        cuts.sort_unstable();
        cuts.dedup();
        let mut wanted = StripeWrite { reads: Vec::new(), writes: data.clone() };
        for cut in cuts.windows(2) {
            self.cut(self.parity(row) as usize, &data, cut[0]..cut[1], &mut wanted);
        }
        wanted
    }

    /// Adds the parity of a part of a stripe, and the reads to compute it.
    fn cut(&self, parity: usize, data: &[MemberRange], cut: std::ops::Range<u64>, row: &mut StripeWrite) {
        let is_written = |member: &usize| {
            let covers = |piece: &&MemberRange| piece.offset <= cut.start && cut.end <= piece.offset + piece.bytes;
            data.iter().filter(covers).any(|piece| piece.member == *member)
        };
        let members = (0..self.members as usize).filter(|member| *member != parity);
        let (replaced, mut rest): (Vec<usize>, Vec<usize>) = members.partition(is_written);
        if replaced.is_empty() {
            return;
        }
        if replaced.len() < rest.len() {
            rest = replaced;
            rest.push(parity);
        }
        let piece = |member| MemberRange { member, offset: cut.start, bytes: cut.end - cut.start };
        rest.into_iter().for_each(|member| join(&mut row.reads, piece(member)));
        join(&mut row.writes, piece(parity));
    }
}

/// Adds a range, merged with the one that it continues.
fn join(pieces: &mut Vec<MemberRange>, piece: MemberRange) {
    let mut others = pieces.iter_mut();
    match others.find(|other| other.member == piece.member && other.offset + other.bytes == piece.offset) {
        Some(other) => other.bytes += piece.bytes,
        None => pieces.push(piece),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHUNK: u64 = 512 << 10;

    fn array(raid: RaidLevel, members: u64) -> RaidArray {
        RaidArray { raid, members, chunk: CHUNK }
    }

    fn pieces(array: RaidArray, offset: u64, bytes: u64) -> Vec<(usize, u64, u64)> {
        let mut pieces = Vec::new();
        array.pieces(offset, bytes, &mut pieces);
        pieces.iter().map(|piece| (piece.member, piece.offset, piece.bytes)).collect()
    }

    #[test]
    fn below_the_chunk_one_member_serves() {
        assert_eq!(pieces(array(RaidLevel::Raid0, 4), 5 * CHUNK + 4096, 65536), [(1, CHUNK + 4096, 65536)]);
        assert_eq!(pieces(array(RaidLevel::Raid10, 4), 5 * CHUNK, 65536), [(1, 2 * CHUNK, 65536)]);
        assert_eq!(pieces(array(RaidLevel::None, 1), 7, 9), [(0, 7, 9)]);
        assert_eq!(pieces(array(RaidLevel::Raid1, 3), 7, 9), [(0, 7, 9)]);
    }

    #[test]
    fn above_the_chunk_each_member_serves_one_stretch() {
        let four = pieces(array(RaidLevel::Raid0, 4), 0, 8 * CHUNK);
        assert_eq!(four, [(0, 0, 2 * CHUNK), (1, 0, 2 * CHUNK), (2, 0, 2 * CHUNK), (3, 0, 2 * CHUNK)]);
        let two = pieces(array(RaidLevel::Raid0, 2), CHUNK - 10, 20);
        assert_eq!(two, [(0, CHUNK - 10, 10), (1, 0, 10)]);
    }

    #[test]
    fn parity_goes_round() {
        let five = array(RaidLevel::Raid5, 4);
        let members: Vec<usize> = (0..8).map(|chunk| pieces(five, chunk * CHUNK, 1)[0].0).collect();
        assert_eq!(members, [0, 1, 2, 3, 0, 1, 2, 3]);
        let written: Vec<usize> = five.stripe_writes(0, 1).remove(0).writes.iter().map(|piece| piece.member).collect();
        assert_eq!(written, [0, 3]);
    }

    #[test]
    fn what_a_write_to_raid_5_reads() {
        let five = array(RaidLevel::Raid5, 4);
        let counts = |offset, bytes| -> Vec<(usize, usize)> {
            five.stripe_writes(offset, bytes).iter().map(|row| (row.reads.len(), row.writes.len())).collect()
        };
        assert_eq!(counts(0, 4096), [(2, 2)]);
        assert_eq!(counts(0, 2 * CHUNK), [(1, 3)]);
        assert_eq!(counts(0, 3 * CHUNK), [(0, 4)]);
        assert_eq!(counts(2 * CHUNK, 2 * CHUNK), [(2, 2), (2, 2)]);
    }

    #[test]
    fn a_write_over_the_edge_of_a_chunk_takes_no_more_parity_than_it_changes() {
        let five = array(RaidLevel::Raid5, 4);
        let rows = |offset: u64, bytes: u64| {
            let row = five.stripe_writes(offset, bytes).remove(0);
            let ranges = |pieces: &[MemberRange]| -> Vec<(usize, u64, u64)> {
                pieces.iter().map(|piece| (piece.member, piece.offset, piece.bytes)).collect()
            };
            (ranges(&row.reads), ranges(&row.writes))
        };
        // Member 3 holds the parity of the first stripe.
        let (reads, writes) = rows(CHUNK - 4096, 8192);
        let (tail, head) = (CHUNK - 4096, 4096);
        assert_eq!(writes, [(0, tail, 4096), (1, 0, 4096), (3, 0, head), (3, tail, 4096)]);
        assert_eq!(reads, [(1, 0, 4096), (3, 0, 4096), (0, tail, 4096), (3, tail, 4096)]);
        // Where two of three members are written, the parity follows from the third; elsewhere from the replaced data.
        let (reads, writes) = rows(CHUNK - 4096, CHUNK + 4096);
        assert_eq!(writes, [(0, tail, 4096), (1, 0, CHUNK), (3, 0, CHUNK)]);
        assert_eq!(reads, [(1, 0, tail), (3, 0, tail), (2, tail, 4096)]);
    }

    #[test]
    fn arrays_that_cannot_be_are_refused() {
        for (raid, members) in [
            (RaidLevel::None, 2),
            (RaidLevel::Raid0, 1),
            (RaidLevel::Raid10, 2),
            (RaidLevel::Raid10, 5),
            (RaidLevel::Raid5, 2),
        ] {
            assert!(array(raid, members).validation_error().is_some());
        }
        assert!(RaidArray { raid: RaidLevel::Raid0, members: 2, chunk: 100 }.validation_error().is_some());
        assert_eq!(array(RaidLevel::Raid10, 4).validation_error(), None);
    }
}
