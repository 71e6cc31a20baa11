//! Slots of Redis Cluster.
//!
//! Source: the Redis Cluster specification, "Key distribution model" and appendix A (CRC16, XMODEM).

/// How many there are.
pub(crate) const SLOTS: u16 = 16384;

/// The slot of a key named by `names.rs`: that of its hash tag.
pub(crate) fn slot_of(key: &[u8]) -> u16 {
    let open = key
        .iter()
        .position(|byte| *byte == b'{')
        .map_or(0, |at| at + 1);
    let inner = key.get(open..).unwrap_or_default();
    let tag = inner.split(|byte| *byte == b'}').next().unwrap_or_default();
    crc16(tag) % SLOTS
}

fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc, byte| {
        (0..8).fold(crc ^ u16::from(*byte) << 8, |crc, _| {
            let carry = if crc & 0x8000 == 0 { 0 } else { 0x1021 };
            crc << 1 ^ carry
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_those_of_the_specification() {
        assert_eq!(crc16(b"123456789"), 0x31C3);
        assert_eq!(slot_of(b"jeton1:{123456789}AAAAAAAAAAE5"), 0x31C3 % SLOTS);
    }
}
