//! A PROXY header of any bytes: an answer stands, whatever follows; before it, more is wanted.
#![no_main]
use jeton_wire::proxy_protocol::parse;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (&[u8], &[u8])| {
    let (bytes, more) = input;
    let answer = parse(bytes);
    let longer = parse(&[bytes, more].concat());
    match answer {
        Ok(None) => {}
        Ok(Some(header)) => {
            assert_eq!(longer, answer);
            assert_eq!(parse(&bytes[..header.len]), answer);
            assert_eq!(parse(&bytes[..header.len - 1]), Ok(None));
        }
        Err(_) => assert!(longer.is_err()),
    }
});
