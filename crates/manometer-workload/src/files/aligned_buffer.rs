//! Memory for direct I/O.

/// Any device's and any file system's block at most.
const ALIGNMENT: usize = 64 << 10;

/// Bytes whose first one lies at a multiple of any block.
pub(super) struct AlignedBuffer {
    memory: Vec<u8>,
    start: usize,
    length: usize,
}

impl AlignedBuffer {
    pub(super) fn new(length: usize) -> Self {
        let memory = vec![0; length + ALIGNMENT];
        let start = memory.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT);
        Self { memory, start, length }
    }

    pub(super) fn bytes(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..self.start + self.length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_begins_at_a_block() {
        for length in [1, 2048, 256 << 10] {
            let mut memory = AlignedBuffer::new(length);
            assert_eq!(memory.bytes().len(), length);
            assert!(memory.bytes().as_ptr().addr().is_multiple_of(ALIGNMENT));
        }
    }
}
