//! The layout of files and their metadata: block groups with the inodes of their files at their start, as in ext4.

use crate::tier::page_cache::PAGE;

/// The size of a block group in bytes.
const GROUP: u64 = 128 << 20;
/// The size of a group's metadata in bytes.
const GROUP_METADATA: u64 = 2 << 20;
/// Inodes per page.
const INODES_PER_PAGE: u64 = 16;
/// Directory entries per page.
const ENTRIES_PER_PAGE: u64 = 100;

/// Files of equal size in numerical order.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FileLayout {
    start: u64,
    files_start: u64,
    slot: u64,
    files: u64,
    /// The size of a group's metadata.
    metadata: u64,
    per_group: u64,
    /// The distance of groups.
    stride: u64,
}

impl FileLayout {
    /// Files of `size` bytes from `start` on, after their directory, group by group; groups are divided by `scale`.
    pub fn new(start: u64, files: u64, size: u64, scale: u64) -> Self {
        let slot = size.next_multiple_of(PAGE).max(PAGE);
        let directory = files.div_ceil(ENTRIES_PER_PAGE) * PAGE;
        let metadata = (GROUP_METADATA / scale).next_multiple_of(PAGE).max(3 * PAGE);
        let inodes = (metadata / PAGE - 2) * INODES_PER_PAGE;
        let per_group = ((GROUP / scale).saturating_sub(metadata) / slot).clamp(1, inodes);
        let stride = metadata + per_group * slot;
        Self { start, files_start: start + directory, slot, files, metadata, per_group, stride }
    }

    /// The end of the last file.
    pub fn end(&self) -> u64 {
        self.files_start + self.files.div_ceil(self.per_group) * self.stride
    }

    /// The layout with its groups spread up to `end`, as those of many directories are.
    #[must_use]
    pub fn spread(self, end: u64) -> Self {
        let room = end.saturating_sub(self.files_start) / self.files.div_ceil(self.per_group).max(1);
        Self { stride: self.stride.max(room / PAGE * PAGE), ..self }
    }

    fn group(&self, file: u64) -> u64 {
        self.files_start + file / self.per_group * self.stride
    }

    /// The address of a file's data.
    pub fn data(&self, file: u64) -> u64 {
        self.group(file) + self.metadata + file % self.per_group * self.slot
    }

    /// The page of its inode.
    pub fn inode(&self, file: u64) -> u64 {
        self.group(file) + (2 + file % self.per_group / INODES_PER_PAGE) * PAGE
    }

    /// The page of its group's block bitmap; the inode bitmap follows.
    pub fn bitmap(&self, file: u64) -> u64 {
        self.group(file)
    }

    /// The page of its directory entry, by a hash of the name.
    pub fn entry(&self, file: u64) -> u64 {
        let pages = self.files.div_ceil(ENTRIES_PER_PAGE);
        self.start + file.wrapping_mul(0x9e37_79b9_7f4a_7c15) % pages * PAGE
    }

    /// The pages changed by creating or deleting a file.
    pub fn named(&self, file: u64) -> [Option<u64>; 4] {
        let inodes = self.bitmap(file) + PAGE;
        [Some(self.inode(file)), Some(self.bitmap(file)), Some(inodes), Some(self.entry(file))]
    }

    /// The pages changed by appending to a file.
    pub fn grown(&self, file: u64) -> [Option<u64>; 4] {
        [Some(self.inode(file)), Some(self.bitmap(file)), None, None]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_overlaps() {
        for (files, size, scale) in
            [(3000, 128 << 10, 1), (3000, 128 << 10, 64), (50_000, 16 << 10, 4), (10, 1 << 30, 1)]
        {
            let packed = FileLayout::new(4096, files, size, scale);
            let spread = packed.spread(3 * packed.end());
            assert!(spread.end() > 2 * packed.end() && spread.end() <= 3 * packed.end());
            assert_eq!(packed.spread(0), packed);
            for layout in [packed, spread] {
                let mut data: Vec<u64> = (0..files).map(|file| layout.data(file)).collect();
                data.push(layout.end());
                assert!(data.windows(2).all(|pair| pair[0] + size <= pair[1]), "{files} of {size}");
                for file in 0..files {
                    let metadata = [layout.inode(file), layout.bitmap(file), layout.entry(file)];
                    assert!(metadata.iter().all(|at| at % PAGE == 0 && *at >= 4096 && *at < layout.data(file)));
                    assert_ne!(layout.inode(file), layout.bitmap(file));
                }
            }
        }
    }
}
