//! `HELLO` and `AUTH`.

use jeton::policy::{Policy, Secret};

use super::super::protocol::{Version, Writer};
use super::client::ClientName;
use super::standing::{Needs, Standing, known};
use super::{Session, Turn};
use crate::doors::Caller;

/// What `HELLO` asks for.
#[derive(Default)]
struct Asked<'a> {
    version: Option<Version>,
    password: Option<&'a [u8]>,
    name: Option<ClientName>,
}

type Refusal = (&'static str, &'static str);

const WRONG: Refusal = (
    "WRONGPASS",
    "invalid username-password pair or user is disabled.",
);

/// In the words that Redis has for it, which its clients know.
const NO_PASSWORD: Refusal = (
    "ERR",
    "AUTH <password> called without any password configured for the default user. Are you sure your \
     configuration is correct?",
);

const NOT_YET: Refusal = (
    "NOAUTH",
    "HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> \
     <pass> option can be used to authenticate the client and select the RESP protocol version at the \
     same time",
);

impl Session {
    pub(super) fn hello(
        &mut self,
        arguments: &[&[u8]],
        standing: Standing,
        policy: &Policy,
        turn: &mut Turn,
    ) {
        match self.agree(arguments, standing, policy) {
            Ok(()) => {
                let (id, version) = (self.id, self.version);
                self.say(turn, |out| greet(id, version, out));
            }
            Err((code, what)) => self.say(turn, |out| out.error(code, what)),
        }
    }

    fn agree(
        &mut self,
        arguments: &[&[u8]],
        standing: Standing,
        policy: &Policy,
    ) -> Result<(), Refusal> {
        let asked = asked(arguments)?;
        match asked.password {
            Some(password) => self.show(password, policy)?,
            None => standing.may(Needs::User).map_err(|_| NOT_YET)?,
        }
        self.version = asked.version.unwrap_or(self.version);
        if let Some(name) = asked.name {
            self.name = name;
        }
        Ok(())
    }

    pub(super) fn auth(&mut self, arguments: &[&[u8]], policy: &Policy, turn: &mut Turn) {
        // There are no users here, so a name tells nothing.
        let password = arguments.last().copied().unwrap_or_default();
        let shown = self.show(password, policy);
        self.say(turn, |out| match shown {
            Ok(()) => out.simple("OK"),
            Err((code, what)) => out.error(code, what),
        });
    }

    /// Who was somebody before stays so if a token is not known.
    fn show(&mut self, password: &[u8], policy: &Policy) -> Result<(), Refusal> {
        let known = known(policy);
        if !known.has_token() && !known.has_admin() {
            return Err(NO_PASSWORD);
        }
        match known.who(password) {
            caller @ (Caller::User | Caller::Operator) => {
                self.caller = caller;
                // What is known is text.
                let token = String::from_utf8_lossy(password).into_owned();
                self.shown = Some(Secret::new(token));
                Ok(())
            }
            Caller::Nobody | Caller::Stranger => Err(WRONG),
        }
    }
}

/// Reads `[protover [AUTH username password] [SETNAME clientname]]`.
fn asked<'a>(arguments: &[&'a [u8]]) -> Result<Asked<'a>, Refusal> {
    let mut asked = Asked::default();
    let Some((version, mut rest)) = arguments.split_first() else {
        return Ok(asked);
    };
    asked.version = Some(match *version {
        b"2" => Version::Two,
        b"3" => Version::Three,
        _ => return Err(("NOPROTO", "unsupported protocol version")),
    });
    loop {
        rest = match rest {
            [] => return Ok(asked),
            [word, _, password, rest @ ..] if word.eq_ignore_ascii_case(b"auth") => {
                asked.password = Some(password);
                rest
            }
            [word, name, rest @ ..] if word.eq_ignore_ascii_case(b"setname") => {
                asked.name = Some(ClientName::new(name).map_err(|why| ("ERR", why))?);
                rest
            }
            _ => {
                return Err((
                    "ERR",
                    "HELLO takes [protover [AUTH username password] [SETNAME name]]",
                ));
            }
        };
    }
}

fn greet(id: u64, version: Version, out: &mut Writer<'_>) {
    out.map(7);
    let text = |field: &str, value: &str, out: &mut Writer<'_>| {
        out.bulk(field.as_bytes());
        out.bulk(value.as_bytes());
    };
    text("server", "jeton", out);
    text("version", env!("CARGO_PKG_VERSION"), out);
    out.bulk(b"proto");
    out.integer(version.number());
    out.bulk(b"id");
    out.integer(i64::try_from(id).unwrap_or(i64::MAX));
    text("mode", "standalone", out);
    text("role", "master", out);
    out.bulk(b"modules");
    out.array(0);
}
