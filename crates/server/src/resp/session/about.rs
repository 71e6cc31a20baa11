//! `INFO`, and what is said to commands that are not here.

use std::fmt::Write as _;

use super::super::protocol::Writer;
use super::House;

/// Answers `INFO`, whatever sections are asked for: there is little to tell. Clients wait until
/// `loading` is 0.
pub(super) fn info(house: &House, out: &mut Writer<'_>) {
    let mut text = String::new();
    let (keeper, uptime) = (&house.keeper, house.started.elapsed().as_secs());
    // Writing to a text does not fail.
    let _ = write!(
        text,
        "# Server\r\n\
         server_name:jeton\r\n\
         jeton_version:{version}\r\n\
         redis_mode:standalone\r\n\
         process_id:{process}\r\n\
         uptime_in_seconds:{uptime}\r\n\
         \r\n\
         # Clients\r\n\
         connected_clients:{clients}\r\n\
         maxclients:{most}\r\n\
         \r\n\
         # Stats\r\n\
         rejected_connections:{turned_away}\r\n\
         shed_decisions:{shed}\r\n\
         \r\n\
         # Persistence\r\n\
         loading:0\r\n\
         \r\n\
         # Replication\r\n\
         role:master\r\n",
        version = env!("CARGO_PKG_VERSION"),
        process = std::process::id(),
        clients = keeper.connections(),
        most = keeper.most_connections(),
        turned_away = keeper.turned_away(),
        shed = keeper.shed(),
    );
    out.bulk(text.as_bytes());
}

/// Such commands reset a limit that redis-cell keeps.
const REMOVING: [&[u8]; 2] = [b"del", b"unlink"];

/// The longest part of a command's name that is repeated.
const SHOWN: usize = 32;

/// What is said to a command that is not here.
pub(super) fn unknown(word: &[u8], out: &mut Writer<'_>) {
    let shown = word.get(..SHOWN).unwrap_or(word).escape_ascii();
    if REMOVING.iter().any(|it| it.eq_ignore_ascii_case(word)) {
        let what = format!(
            "unknown command '{shown}': JETON.RESET resp key forgets what CL.THROTTLE and THROTTLE used"
        );
        return out.error("ERR", what);
    }
    let what = format!(
        "unknown command '{shown}': this server only limits; CL.THROTTLE, THROTTLE, JETON.TAKE, JETON.CHECK, \
         JETON.REFUND and JETON.RESET do, COMMAND DOCS tells how"
    );
    out.error("ERR", what);
}
