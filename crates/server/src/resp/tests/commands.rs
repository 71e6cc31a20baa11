//! What clients say when they connect, and who they have to be.

use super::{Client, DOOR};

fn with_tokens(token: bool, admin: bool) -> Client {
    let mut policy = DOOR.to_owned();
    if token {
        policy += "token = \"0123456789abcdef-user\"\n";
    }
    if admin {
        policy += "admin_token = \"0123456789abcdef-admin\"\n";
    }
    policy +=
        "[[rule]]\nname = \"api\"\nkey = [\"global\"]\nalgorithm = \"gcra\"\nrate = \"1/s\"\n";
    Client::new(&policy)
}

const USER: &str = "AUTH 0123456789abcdef-user";
const ADMIN: &str = "AUTH default 0123456789abcdef-admin";

#[test]
fn hello_agrees_on_a_version() {
    let mut client = Client::new(DOOR);
    assert_eq!(client.say("CLIENT GETNAME"), "$-1\r\n");
    let two = client.say("HELLO");
    assert!(
        two.starts_with("*14\r\n$6\r\nserver\r\n$5\r\njeton\r\n"),
        "{two}"
    );
    let three = client.say("HELLO 3 SETNAME me");
    assert!(
        three.starts_with("%7\r\n") && three.contains("$5\r\nproto\r\n:3\r\n"),
        "{three}"
    );
    assert_eq!(client.say("CLIENT GETNAME"), "$2\r\nme\r\n");
    assert!(client.say("HELLO 9").starts_with("-NOPROTO"));
    assert!(
        client
            .say("COMMAND DOCS ping")
            .starts_with("%1\r\n$4\r\nping\r\n%4\r\n")
    );
    assert!(client.say("HELLO 2").starts_with("*14\r\n"));
    assert!(
        client
            .say("COMMAND DOCS ping")
            .starts_with("*2\r\n$4\r\nping\r\n*8\r\n")
    );
    assert_eq!(client.say("CLIENT ID"), ":1\r\n");
    for line in [
        "CLIENT SETINFO LIB-NAME some-client",
        "client setinfo lib-ver 1.0",
        "CLIENT NO-EVICT on",
        "CLIENT REPLY ON",
        "SELECT 0",
    ] {
        assert_eq!(client.say(line), "+OK\r\n", "{line}");
    }
    assert!(client.say("INFO server").contains("loading:0\r\n"));
    assert_eq!(client.say("COMMAND COUNT"), ":18\r\n");
    assert!(
        client
            .say("COMMAND LIST")
            .contains("$11\r\ncl.throttle\r\n")
    );
    assert_eq!(client.say("COMMAND INFO nothing"), "*1\r\n$-1\r\n");
}

#[test]
fn without_a_token_nothing_is_done_where_one_is_set() {
    let mut client = with_tokens(true, false);
    for line in [
        "PING",
        "CL.THROTTLE k 1 1 1",
        "JETON.TAKE api k",
        "INFO",
        "COMMAND",
        "CLIENT ID",
        "HELLO 3",
    ] {
        assert!(client.say(line).starts_with("-NOAUTH "), "{line}");
    }
    assert!(
        client
            .say("AUTH 0123456789abcdef")
            .starts_with("-WRONGPASS ")
    );
    assert!(
        client
            .say("HELLO 3 AUTH default guess")
            .starts_with("-WRONGPASS ")
    );
    assert!(client.say("PING").starts_with("-NOAUTH "));
    assert_eq!(client.say(USER), "+OK\r\n");
    assert_eq!(client.say("PING"), "+PONG\r\n");
    assert_eq!(client.five("JETON.TAKE api k")[0], 1);
    // Whoever was known stays so.
    assert!(client.say("AUTH guess").starts_with("-WRONGPASS "));
    assert_eq!(client.say("PING"), "+PONG\r\n");
    let refused = client.say("JETON.RESET api k");
    assert!(
        refused.starts_with("-NOPERM ") && refused.contains("`admin_token`"),
        "{refused}"
    );
}

#[test]
fn resets_are_for_operators() {
    let mut client = with_tokens(true, true);
    assert!(client.say("JETON.RESET api k").starts_with("-NOAUTH "));
    assert_eq!(client.say(USER), "+OK\r\n");
    assert!(client.say("JETON.RESET api k").starts_with("-NOPERM "));
    assert_eq!(client.say(ADMIN), "+OK\r\n");
    assert_eq!(client.five("JETON.RESET api k")[0], 1);
    assert_eq!(client.five("JETON.TAKE api k")[0], 1);

    let mut client = with_tokens(false, true);
    assert_eq!(client.five("JETON.TAKE api k")[0], 1);
    assert!(client.say("JETON.RESET api k").starts_with("-NOAUTH "));
    let hello = "HELLO 3 AUTH ops 0123456789abcdef-admin SETNAME ops";
    assert!(client.say(hello).starts_with("%7\r\n"));
    assert_eq!(client.five("JETON.RESET api k")[0], 1);
}

#[test]
fn a_token_in_a_pipeline_counts_from_the_next_command_on() {
    let mut client = with_tokens(true, false);
    let (_, out) = client.hear(format!("PING\r\n{USER}\r\nPING\r\n").as_bytes());
    let out = String::from_utf8(out).unwrap();
    assert_eq!(out, "-NOAUTH Authentication required.\r\n+OK\r\n+PONG\r\n");
}

#[test]
fn other_tokens_count_from_the_next_command_on_whoever_showed_the_old_ones() {
    let mut client = Client::new(DOOR);
    assert_eq!(client.say("PING"), "+PONG\r\n");
    let door = |tokens: &[(&str, &str)]| {
        let token = |(word, token): &(&str, &str)| format!("{word} = \"{token}\"\n");
        DOOR.to_owned() + &tokens.iter().map(token).collect::<String>()
    };
    let (user, admin) = ("0123456789abcdef-user", "0123456789abcdef-admin");
    client.reload(&door(&[("token", user)]));
    assert!(client.say("PING").starts_with("-NOAUTH "));
    assert_eq!(client.say(USER), "+OK\r\n");
    assert_eq!(client.say("PING"), "+PONG\r\n");

    client.reload(&door(&[("token", admin)]));
    assert!(client.say("PING").starts_with("-NOAUTH "));
    client.reload(&door(&[("token", admin), ("admin_token", user)]));
    assert_eq!(client.five("JETON.RESET resp k")[0], 1);
    client.reload(&door(&[("token", user), ("admin_token", admin)]));
    assert_eq!(client.say("PING"), "+PONG\r\n");
    assert!(client.say("JETON.RESET resp k").starts_with("-NOPERM "));
}
