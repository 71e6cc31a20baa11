//! Bytes of any kind at the Redis door's reader, whole and in two pieces: the same commands, or the same mistake.
#![no_main]
use jeton_server::resp::protocol::{Arguments, Found, MAX_ARGUMENTS, MAX_COMMAND, Mistake, Version, Writer, read};
use libfuzzer_sys::fuzz_target;

type Commands = (Vec<Vec<Vec<u8>>>, Option<Mistake>);

fn commands(pieces: &[&[u8]]) -> Commands {
    let (mut all, mut taken) = (Vec::new(), 0);
    for end in 0..pieces.len() {
        let come = pieces[..=end].concat();
        loop {
            let mut arguments = Arguments::new();
            match read(&come[taken..], &mut arguments) {
                Ok(Found::Command(length)) => {
                    assert!(length > 0 && length <= MAX_COMMAND.max(16) && arguments.len() <= MAX_ARGUMENTS);
                    taken += length;
                    all.push(arguments.iter().map(|it| it.to_vec()).collect());
                }
                Ok(Found::Part) => {
                    assert!(come.len() - taken < MAX_COMMAND + 64, "it would wait for ever");
                    break;
                }
                Err(mistake) => return (all, Some(mistake)),
            }
        }
    }
    (all, None)
}

fuzz_target!(|input: (usize, &[u8])| {
    let (at, bytes) = input;
    let (one, two) = bytes.split_at(at % (bytes.len() + 1));
    let whole = commands(&[bytes]);
    assert_eq!(commands(&[one, two]), whole);
    // What was read is read again when it is written.
    for command in &whole.0 {
        let mut out = Vec::new();
        let mut writer = Writer::new(&mut out, Version::Two);
        writer.array(command.len());
        command.iter().for_each(|argument| writer.bulk(argument));
        if out.len() <= MAX_COMMAND {
            assert_eq!(commands(&[&out]).0, [command.clone()]);
        }
    }
});
