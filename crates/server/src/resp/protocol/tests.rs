//! Bytes of any kind, split anywhere.

use jeton_testkit::random::Random;

use super::*;

/// The commands of `input`, as they are read when it comes in pieces that end there; and what ended it.
fn read_in_pieces(input: &[u8], ends: &[usize]) -> (Vec<Vec<Vec<u8>>>, Option<Mistake>) {
    let (mut commands, mut taken) = (Vec::new(), 0);
    for end in ends.iter().copied().chain([input.len()]) {
        loop {
            let mut arguments = Arguments::new();
            match read(&input[taken..end.max(taken)], &mut arguments) {
                Ok(Found::Command(length)) => {
                    assert!(length > 0, "an endless loop");
                    taken += length;
                    commands.push(arguments.iter().map(|it| it.to_vec()).collect());
                }
                Ok(Found::Part) => break,
                Err(mistake) => return (commands, Some(mistake)),
            }
        }
    }
    (commands, None)
}

fn array(arguments: &[&[u8]]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut writer = Writer::new(&mut out, Version::Two);
    writer.array(arguments.len());
    for argument in arguments {
        writer.bulk(argument);
    }
    out
}

/// Mostly commands.
fn traffic(random: &mut Random) -> Vec<u8> {
    const NASTY: [&[u8]; 14] = [
        b"*",
        b"*1\r\n",
        b"*-1\r\n",
        b"*0\r\n",
        b"$3\r\n",
        b"\r\n",
        b"PING\r\n",
        b"PING \"a b\"\n",
        b"SET 'x",
        b"*2\r\n$4\r\nPING\r\n:1\r\n",
        b"*1\r\n$536870912\r\n",
        b"*99\r\n",
        b"POST / HTTP/1.1\r\n",
        b"*1\r\n$1\r\nab",
    ];
    let mut input = Vec::new();
    for _ in 0..random.between(1, 6) {
        if random.below(5) == 0 {
            input.extend_from_slice(NASTY[random.below(NASTY.len() as u64) as usize]);
            continue;
        }
        let arguments: Vec<Vec<u8>> = (0..random.between(1, 9))
            .map(|_| {
                let length = random.scaled(0, 300);
                (0..length).map(|_| random.below(256) as u8).collect()
            })
            .collect();
        let arguments: Vec<&[u8]> = arguments.iter().map(Vec::as_slice).collect();
        input.extend(array(&arguments));
    }
    input
}

#[test]
fn any_split_of_bytes_gives_the_same_commands() {
    for seed in 0..3_000 {
        let mut random = Random::new(seed);
        let input = traffic(&mut random);
        let whole = read_in_pieces(&input, &[]);
        let mut ends: Vec<usize> = (0..random.below(12))
            .map(|_| random.below(input.len() as u64 + 1) as usize)
            .collect();
        ends.sort_unstable();
        assert_eq!(
            read_in_pieces(&input, &ends),
            whole,
            "seed {seed}, {ends:?}"
        );
        if input.len() < 400 {
            let each: Vec<usize> = (0..input.len()).collect();
            assert_eq!(
                read_in_pieces(&input, &each),
                whole,
                "seed {seed}, byte by byte"
            );
        }
    }
}

#[test]
fn what_is_written_is_read_back() {
    let mut random = Random::new(7);
    for _ in 0..500 {
        let argument: Vec<u8> = (0..random.below(200))
            .map(|_| random.below(256) as u8)
            .collect();
        let command = [&b"ECHO"[..], &argument];
        let (commands, mistake) = read_in_pieces(&array(&command), &[]);
        assert_eq!((commands.len(), mistake), (1, None));
        assert_eq!(commands[0], command);
    }
}

fn mistake(input: &[u8]) -> Option<Mistake> {
    read_in_pieces(input, &[]).1
}

#[test]
fn what_is_too_long_is_refused_by_its_claim() {
    let too_long = Some(Mistake::TooLong);
    assert_eq!(mistake(b"*1\r\n$536870912\r\n"), too_long);
    assert_eq!(mistake(b"*2\r\n$4\r\nECHO\r\n$16384\r\n"), too_long);
    assert_eq!(mistake(b"*2\r\n$4\r\nECHO\r\n$16361\r\n"), too_long);
    assert_eq!(mistake(b"*2\r\n$4\r\nECHO\r\n$16352\r\n"), None);
    assert_eq!(mistake(b"*65\r\n"), Some(Mistake::TooMany));
    assert_eq!(mistake(b"*64\r\n"), None);
    assert_eq!(mistake(b"*1\r\n$99999999999\r\n"), Some(Mistake::Length));
    assert_eq!(mistake(&[b'x'; MAX_COMMAND - 1]), None);
    assert_eq!(mistake(&[b'x'; MAX_COMMAND]), too_long);
}

#[test]
fn the_longest_command_is_read_and_one_more_byte_is_not() {
    for (length, fits) in [(16_352, true), (16_360, true), (16_361, false)] {
        let command = array(&[b"ECHO", &vec![b'x'; length]]);
        assert_eq!(command.len() <= MAX_COMMAND, fits, "{length}");
        let (commands, mistake) = read_in_pieces(&command, &[]);
        assert_eq!((commands.len() == 1, mistake.is_none()), (fits, fits));
    }
}

/// A buffer that holds the longest command and the head of another argument is never full of a part.
#[test]
fn a_part_is_never_longer_than_the_longest_command_and_a_head() {
    let mut long = array(&[b"ECHO", &vec![b'x'; 16_360]]);
    long.splice(0..4, b"*3\r\n".iter().copied());
    long.extend_from_slice(b"$0000000001\r\n");
    for end in MAX_COMMAND..=long.len() {
        let found = read(&long[..end], &mut Arguments::new());
        let is_part = found == Ok(Found::Part);
        assert!(!is_part || end < MAX_COMMAND + 64, "{end}: {found:?}");
    }
    assert_eq!(mistake(&long), Some(Mistake::TooLong));
}

#[test]
fn what_breaks_the_protocol_is_named() {
    for (input, expected) in [
        (&b"*x\r\n"[..], Mistake::Length),
        (b"*\r\n", Mistake::Length),
        (b"*1\rx", Mistake::Length),
        (b"*1\r\n$-1\r\n", Mistake::Length),
        (b"*1\r\n:1\r\n", Mistake::NoBulk(b':')),
        (b"*1\r\n$1\r\nab\r\n", Mistake::NoEnd),
        (b"PING \"a\r\n", Mistake::Quotes),
        (b"PING \"\\n\"\r\n", Mistake::Quotes),
        (b"PING \"a\"b\r\n", Mistake::Quotes),
        (b"PI\"NG\"\r\n", Mistake::Quotes),
        (b"GET / HTTP/1.1\r\n", Mistake::Http),
    ] {
        assert_eq!(mistake(input), Some(expected), "{}", input.escape_ascii());
        assert!(expected.to_string().starts_with("Protocol error: "));
    }
}

#[test]
fn lines_are_commands_too() {
    let input = b"ping\r\n\r\n  ECHO  'a \"b' \"\" \n\techo\tx\r\n*-1\r\n*0\r\n";
    let (commands, mistake) = read_in_pieces(input, &[]);
    assert_eq!(mistake, None);
    let expected: [&[&[u8]]; 6] = [
        &[b"ping"],
        &[],
        &[b"ECHO", b"a \"b", b""],
        &[b"echo", b"x"],
        &[],
        &[],
    ];
    assert_eq!(commands, expected);
}

#[test]
fn values_are_written_as_each_version_has_them() {
    let written = |version| {
        let mut out = Vec::new();
        let mut writer = Writer::new(&mut out, version);
        writer.null();
        writer.map(2);
        writer.set(3);
        writer.integer(i64::MIN);
        writer.error("ERR", "two\r\nlines");
        writer.five([0, 16, 15, -1, 2]);
        String::from_utf8(out).unwrap()
    };
    let tail =
        ":-9223372036854775808\r\n-ERR two  lines\r\n*5\r\n:0\r\n:16\r\n:15\r\n:-1\r\n:2\r\n";
    assert_eq!(written(Version::Two), format!("$-1\r\n*4\r\n*3\r\n{tail}"));
    assert_eq!(written(Version::Three), format!("_\r\n%2\r\n~3\r\n{tail}"));
}
