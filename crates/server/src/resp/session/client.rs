//! `CLIENT`: what clients say of themselves when they connect.

use super::super::protocol::{Version, Writer};
use super::{Session, Turn};

/// The most bytes of a client's name.
const LONGEST: usize = 128;

/// What a client calls itself.
#[derive(Clone, Debug, Default)]
pub(super) struct ClientName(Box<[u8]>);

impl ClientName {
    /// A name, or why it is none.
    pub(super) fn new(name: &[u8]) -> Result<Self, &'static str> {
        if name.len() > LONGEST {
            return Err("a client's name has at most 128 bytes");
        }
        if !name.iter().all(u8::is_ascii_graphic) {
            return Err("Client names cannot contain spaces, newlines or special characters.");
        }
        Ok(Self(name.into()))
    }
}

impl Session {
    pub(super) fn client(&mut self, arguments: &[&[u8]], turn: &mut Turn) {
        let Some((word, rest)) = arguments.split_first() else {
            return;
        };
        match (word.to_ascii_lowercase().as_slice(), rest) {
            (b"setname", [name]) => match ClientName::new(name) {
                Ok(name) => {
                    self.name = name;
                    self.say(turn, |out| out.simple("OK"));
                }
                Err(why) => self.say(turn, |out| out.error("ERR", why)),
            },
            (b"getname", []) => self.say(turn, |out| match &*self.name.0 {
                [] => out.null(),
                name => out.bulk(name),
            }),
            (b"id", []) => self.say(turn, |out| {
                out.integer(i64::try_from(self.id).unwrap_or(i64::MAX));
            }),
            (b"info", []) => self.say(turn, |out| self.info(out)),
            // What is said so is not kept: nobody here asks for it.
            (b"setinfo", [_, _]) => self.say(turn, |out| out.simple("OK")),
            (b"no-evict" | b"no-touch", [_]) => self.say(turn, |out| out.simple("OK")),
            (b"reply", [on]) if on.eq_ignore_ascii_case(b"on") => {
                self.say(turn, |out| out.simple("OK"));
            }
            _ => self.say(turn, |out| {
                out.error(
                    "ERR",
                    "CLIENT knows ID, INFO, GETNAME, SETNAME name, SETINFO attribute value, NO-EVICT, \
                     NO-TOUCH and REPLY ON",
                );
            }),
        }
    }

    fn info(&self, out: &mut Writer<'_>) {
        let name = String::from_utf8_lossy(&self.name.0);
        let resp = match self.version {
            Version::Two => 2,
            Version::Three => 3,
        };
        let text = format!("id={} name={name} db=0 resp={resp}\n", self.id);
        out.bulk(text.as_bytes());
    }
}
