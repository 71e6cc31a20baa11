//! Whatever is sent, in whatever pieces: each command has one answer, and every answer is one.

use jeton_testkit::laws::full_size;
use jeton_testkit::random::Random;

use super::super::session::Stopped;
use super::Client;
use super::golden::{RULES, bulk};

const TOKENS: &str =
    "token = \"0123456789abcdef-user\"\nadmin_token = \"0123456789abcdef-admin\"\n";

/// What is in flight can only be reserved, which another door does.
const IN_FLIGHT: &str = r#"
[api]
listen = "127.0.0.1:0"

[[rule]]
name = "in-flight"
key = ["header:x-user"]
algorithm = "concurrency"
limit = 2
lease = "1min"
"#;

fn client() -> Client {
    let listen = "listen = \"127.0.0.1:0\"\n";
    let policy = RULES.replacen(listen, &format!("{listen}{TOKENS}"), 1) + IN_FLIGHT;
    Client::new(&policy)
}

const NAMES: [&[u8]; 22] = [
    b"CL.THROTTLE",
    b"cl.throttle",
    b"THROTTLE",
    b"JETON.TAKE",
    b"JETON.CHECK",
    b"JETON.REFUND",
    b"JETON.RESET",
    b"PING",
    b"ECHO",
    b"HELLO",
    b"AUTH",
    b"CLIENT",
    b"COMMAND",
    b"SELECT",
    b"DEL",
    b"GET",
    b"",
    b"\0",
    b"-ERR\r\n+OK\r\n",
    b"MULTI",
    b"EXEC",
    b"DISCARD",
];

const WORDS: [&[u8]; 41] = [
    b"",
    b"\0",
    b"a\0b",
    b"\r\n",
    b"\r\n+OK\r\n$3\r\n",
    b"\xff\xfe",
    b"0",
    b"00",
    b"1",
    b"2",
    b"3",
    b"5",
    b"60",
    b"-1",
    b"-0",
    b"+1",
    b"1.5",
    b"1e3",
    b" 1",
    b"999999999",
    b"1000000000",
    b"1000000001",
    b"4294967296",
    b"409968000",
    b"9223372036854775807",
    b"9223372036854775808",
    b"18446744073709551615",
    b"99999999999999999999999999",
    b"-9223372036854775808",
    b"api",
    b"apj",
    b"two",
    b"free",
    b"closed",
    b"dear",
    b"in-flight",
    b"resp",
    b"alice",
    b"AUTH",
    b"SETNAME",
    b"DOCS",
];

const TOKEN_WORDS: [&[u8]; 4] = [
    b"0123456789abcdef-user",
    b"0123456789abcdef-admin",
    b"0123456789abcdef",
    b"default",
];

fn command(random: &mut Random) -> Vec<u8> {
    match random.below(16) {
        0 => bulk(&[b"AUTH", *random.pick(&TOKEN_WORDS)]),
        1 => bulk(&[b"HELLO", if random.once_in(2) { b"2" } else { b"3" }]),
        2 => b"PING \"an inline one\"\r\n".to_vec(),
        3 => bulk(&[*random.pick(&NAMES[19..])]),
        4..6 => anything(random),
        _ => likely(random),
    }
}

fn anything(random: &mut Random) -> Vec<u8> {
    let mut arguments = vec![*random.pick(&NAMES)];
    let long = vec![b'x'; random.index(3_000)];
    for _ in 0..random.below(8) {
        arguments.push(match random.below(30) {
            0 => &long,
            1 => *random.pick(&TOKEN_WORDS),
            _ => *random.pick(&WORDS),
        });
    }
    bulk(&arguments)
}

/// With the right words at the right places, mostly.
fn likely(random: &mut Random) -> Vec<u8> {
    let [keyed, throttles] = [&NAMES[3..7], &NAMES[..3]];
    let [numbers, rules] = [&WORDS[6..29], &WORDS[29..37]];
    let mut arguments = if random.once_in(2) {
        vec![*random.pick(throttles), *random.pick(&WORDS)]
    } else {
        vec![
            *random.pick(keyed),
            *random.pick(rules),
            *random.pick(&WORDS),
        ]
    };
    for _ in 0..random.between(1, 4) {
        let among = match random.below(4) {
            0 => numbers,
            _ => &numbers[2..7],
        };
        arguments.push(*random.pick(among));
    }
    bulk(&arguments)
}

/// Where the answer that `bytes` begin with ends.
fn answer_end(bytes: &[u8]) -> Option<usize> {
    let line_end = 2 + bytes.windows(2).position(|two| two == b"\r\n")?;
    let (head, rest) = bytes[..line_end - 2].split_first()?;
    let count = || std::str::from_utf8(rest).ok()?.parse::<i64>().ok();
    let several =
        |times: usize| (0..times).try_fold(line_end, |at, _| Some(at + answer_end(&bytes[at..])?));
    match head {
        b'+' | b'-' if !rest.contains(&b'\n') => Some(line_end),
        b':' => count().map(|_| line_end),
        b'_' if rest.is_empty() => Some(line_end),
        b'$' if count()? == -1 => Some(line_end),
        b'$' => {
            let end = line_end + usize::try_from(count()?).ok()?;
            (bytes.get(end..end + 2)? == b"\r\n").then_some(end + 2)
        }
        b'*' | b'~' => several(usize::try_from(count()?).ok()?),
        b'%' => several(2 * usize::try_from(count()?).ok()?),
        _ => None,
    }
}

fn answers(mut bytes: &[u8]) -> Vec<&[u8]> {
    let mut all = Vec::new();
    while !bytes.is_empty() {
        let end = answer_end(bytes).unwrap_or_else(|| panic!("{}", bytes.escape_ascii()));
        all.push(&bytes[..end]);
        bytes = &bytes[end..];
    }
    all
}

/// What is answered if so many bytes come at once, at most.
fn in_pieces(input: &[u8], mut piece: impl FnMut() -> usize) -> Vec<u8> {
    let (mut client, mut out) = (client(), Vec::new());
    let (mut from, mut to) = (0, 0);
    loop {
        let (read, answer) = client.hear(&input[from..to]);
        from += read.taken;
        out.extend(answer);
        match read.why {
            Stopped::End => return out,
            Stopped::Enough => {}
            Stopped::NoMore if to == input.len() => return out,
            Stopped::NoMore => to = input.len().min(to + piece()),
        }
    }
}

#[test]
fn each_command_has_one_answer_however_it_comes() {
    let mut random = Random::new(8);
    let (mut five, mut refused) = (0, 0);
    for round in 0..if full_size() { 5_000 } else { 200 } {
        let mut commands = vec![bulk(&[b"AUTH", *random.pick(&TOKEN_WORDS)])];
        commands.extend((0..random.below(40)).map(|_| command(&mut random)));
        let input = commands.concat();
        let whole = in_pieces(&input, || input.len());
        let told = answers(&whole);
        assert_eq!(told.len(), commands.len(), "round {round}");
        five += told.iter().filter(|it| it.starts_with(b"*5\r\n:")).count();
        refused += told.iter().filter(|it| it.starts_with(b"-")).count();
        let dripped = in_pieces(&input, || 1 + random.index(60));
        assert!(dripped == whole, "round {round}");
        if round % 10 > 0 {
            continue;
        }
        // A farewell, and what breaks the protocol, are the last that is answered.
        for (last, answer) in [
            (&b"*1\r\n$4\r\nQUIT\r\n"[..], &b"+OK\r\n"[..]),
            (b"*1\r\n$-1\r\n", b"-ERR Protocol error: a length"),
            (
                b"*1\r\n$536870912\r\n",
                b"-ERR Protocol error: invalid bulk",
            ),
            (b"*99\r\n", b"-ERR Protocol error: invalid multibulk"),
            (b"PING \"\r\n", b"-ERR Protocol error: unbalanced quotes"),
        ] {
            let ended = in_pieces(&[&input, last, &input].concat(), || 1 << 14);
            let rest = ended
                .strip_prefix(&*whole)
                .expect("the same, and then the end");
            assert!(rest.starts_with(answer), "{}", rest.escape_ascii());
            assert_eq!(answers(rest).len(), 1);
        }
    }
    assert!(five > 100 && refused > 100, "{five} {refused}");
}
