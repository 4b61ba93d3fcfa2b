//! The hash slots of a Redis Cluster.

/// The number of hash slots of a cluster.
pub const HASH_SLOTS: u16 = 16_384;

/// The hash slot of `key`.
#[inline]
pub fn hash_slot(key: &[u8]) -> u16 {
    crc16(tag(key)) % HASH_SLOTS
}

/// The part of `key` that is hashed: the text in its first braces if there is any, else the whole key.
#[inline]
fn tag(key: &[u8]) -> &[u8] {
    let position = |bytes: &[u8], wanted: u8| bytes.iter().position(|byte| *byte == wanted);
    let Some(open) = position(key, b'{') else { return key };
    match position(&key[open + 1..], b'}') {
        None | Some(0) => key,
        Some(bytes) => &key[open + 1..open + 1 + bytes],
    }
}

/// The CRC-16 that the specification of Redis Cluster prescribes.
#[inline]
fn crc16(bytes: &[u8]) -> u16 {
    const REMAINDERS: [u16; 256] = remainders();
    bytes.iter().fold(0, |crc, byte| (crc << 8) ^ REMAINDERS[usize::from((crc >> 8) as u8 ^ byte)])
}

/// The remainder of each byte divided by the polynomial.
const fn remainders() -> [u16; 256] {
    const POLYNOMIAL: u16 = 0x1021;
    let mut remainders = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut remainder = (byte as u16) << 8;
        let mut bit = 0;
        while bit < 8 {
            remainder = if remainder & 0x8000 == 0 { remainder << 1 } else { (remainder << 1) ^ POLYNOMIAL };
            bit += 1;
        }
        remainders[byte] = remainder;
        byte += 1;
    }
    remainders
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_fall_into_the_slots_of_the_specification() {
        assert_eq!(crc16(b"123456789"), 0x31c3);
        assert_eq!(hash_slot(b"foo"), 12_182);
        assert_eq!(hash_slot(b"{foo}.bar"), 12_182);
        assert_eq!(tag(b"a{b}{c}"), b"b");
        for whole in [b"a{}{b}".as_slice(), b"{a", b"}a{", b""] {
            assert_eq!(tag(whole), whole);
        }
    }
}
