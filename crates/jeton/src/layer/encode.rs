//! The few encodings that a gRPC status needs: protobuf and percent signs.

use jeton_core::Span;

/// A `google.rpc.Status` with this code and message, and one detail: a `google.rpc.RetryInfo`.
pub(super) fn retry_info(code: u8, message: &str, wait: Span) -> Vec<u8> {
    let (seconds, micros) = (wait.as_micros() / 1_000_000, wait.as_micros() % 1_000_000);
    let mut delay = Vec::new(); // google.protobuf.Duration
    put_number(&mut delay, 1, seconds);
    put_number(&mut delay, 2, micros * 1_000);
    let mut info = Vec::new(); // google.rpc.RetryInfo
    put_bytes(&mut info, 1, &delay);
    let mut any = Vec::new(); // google.protobuf.Any
    put_bytes(&mut any, 1, b"type.googleapis.com/google.rpc.RetryInfo");
    put_bytes(&mut any, 2, &info);
    let mut status = Vec::new();
    put_number(&mut status, 1, u64::from(code));
    put_bytes(&mut status, 2, message.as_bytes());
    put_bytes(&mut status, 3, &any);
    status
}

/// A field of type `int32` or `int64`; zero is the default, and not written.
fn put_number(out: &mut Vec<u8>, field: u8, number: u64) {
    if number > 0 {
        out.push(field << 3);
        put_varint(out, number);
    }
}

/// A field of type `bytes`, `string` or a message.
fn put_bytes(out: &mut Vec<u8>, field: u8, bytes: &[u8]) {
    out.push(field << 3 | 2);
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

fn put_varint(out: &mut Vec<u8>, mut number: u64) {
    loop {
        let [low, ..] = number.to_le_bytes();
        number >>= 7;
        if number == 0 {
            out.push(low & 0x7f);
            return;
        }
        out.push(low | 0x80);
    }
}

/// What `grpc-message` carries: printable ASCII as it is, anything else and `%` as `%XX`.
pub(super) fn percent(message: &str) -> String {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let mut text = String::with_capacity(message.len());
    for &byte in message.as_bytes() {
        if matches!(byte, 0x20..=0x7e) && byte != b'%' {
            text.push(char::from(byte));
        } else {
            text.push('%');
            text.push(char::from(HEX[usize::from(byte >> 4)]));
            text.push(char::from(HEX[usize::from(byte & 15)]));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percent_signs_and_what_is_not_printable_are_escaped() {
        assert_eq!(percent("50% \u{e9}\n"), "50%25 %C3%A9%0A");
    }

    #[test]
    fn numbers_of_several_bytes_and_zero() {
        let mut out = Vec::new();
        put_number(&mut out, 1, 300);
        put_number(&mut out, 2, 0);
        assert_eq!(out, [8, 0xac, 0x02]);
    }
}
