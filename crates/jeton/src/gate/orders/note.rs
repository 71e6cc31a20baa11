//! Orders as stores keep them.
//!
//! ```text
//! name    kind (b, o, m), length of the rule's name (1 byte), the rule's name, the key
//! value   version (1), and as text: nothing, the settings (one `name=value` a line), the mode
//! ```

use jeton_core::{Micros, Note};
use jeton_policy::{Alternative, Mode, Order};

const VERSION: u8 = 1;

const BLOCK: u8 = b'b';
const OVERRIDE: u8 = b'o';
const MODE: u8 = b'm';

pub(super) fn write(order: &Order) -> Note {
    let text = match order {
        Order::Block { .. } => String::new(),
        Order::Override { settings, .. } => settings.to_text(),
        Order::Mode { mode, .. } => mode.word().to_owned(),
    };
    let mut value = vec![VERSION];
    value.extend_from_slice(text.as_bytes());
    Note {
        name: name(order),
        value: value.into(),
        until: until(order),
    }
}

/// The same for orders that replace each other.
pub(super) fn name(order: &Order) -> Box<[u8]> {
    let kind = match order {
        Order::Block { .. } => BLOCK,
        Order::Override { .. } => OVERRIDE,
        Order::Mode { .. } => MODE,
    };
    let rule = order.rule();
    // Names of rules are short.
    let length = u8::try_from(rule.len()).unwrap_or(u8::MAX);
    let mut name = vec![kind, length];
    name.extend_from_slice(rule.as_bytes());
    name.extend_from_slice(key(order).unwrap_or_default());
    name.into()
}

/// The order that a note says; none for one that this release cannot have written.
pub(super) fn read(note: &Note) -> Option<Order> {
    let (&kind, rest) = note.name.split_first()?;
    let (&length, rest) = rest.split_first()?;
    let (rule, key) = rest.split_at_checked(usize::from(length))?;
    let rule = String::from_utf8(rule.to_vec()).ok()?;
    let (key, until) = (key.to_vec(), note.until);
    let text = match note.value.split_first()? {
        (&VERSION, text) => std::str::from_utf8(text).ok()?,
        _ => return None,
    };
    Some(match kind {
        BLOCK => Order::Block { rule, key, until },
        OVERRIDE => Order::Override {
            rule,
            key,
            settings: Alternative::parse(text).ok()?,
            until,
        },
        MODE => Order::Mode {
            rule,
            mode: Mode::of_word(text)?,
        },
        _ => return None,
    })
}

pub(super) fn until(order: &Order) -> Option<Micros> {
    match order {
        Order::Block { until, .. } | Order::Override { until, .. } => *until,
        Order::Mode { .. } => None,
    }
}

pub(super) fn key(order: &Order) -> Option<&[u8]> {
    match order {
        Order::Block { key, .. } | Order::Override { key, .. } => Some(key),
        Order::Mode { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_read_back() {
        let settings = Alternative::new([("rate", "50/s"), ("burst", "7")]).unwrap();
        let (rule, key) = ("api".to_owned(), vec![0, 255, 7]);
        let until = Some(Micros::new(9));
        let orders = [
            Order::Block {
                rule: rule.clone(),
                key: key.clone(),
                until,
            },
            Order::Override {
                rule: rule.clone(),
                key,
                settings,
                until: None,
            },
            Order::Mode {
                rule,
                mode: Mode::Mark,
            },
        ];
        for order in &orders {
            assert_eq!(read(&write(order)).as_ref(), Some(order));
        }
        let names: Vec<_> = orders.iter().map(name).collect();
        assert!(names[0] != names[1] && names[1] != names[2]);
    }

    #[test]
    fn what_nobody_wrote_is_no_order() {
        for (name, value) in [
            (&b""[..], &b"\x01"[..]),
            (b"b", b"\x01"),
            (b"b\x04api", b"\x01"),
            (b"x\x03api", b"\x01"),
            (b"b\x03api", b""),
            (b"b\x03api", b"\x02"),
            (b"o\x03api", b"\x01limit"),
            (b"m\x03api", b"\x01off"),
            (b"m\x03a\xffi", b"\x01mark"),
        ] {
            let note = Note {
                name: name.into(),
                value: value.into(),
                until: None,
            };
            assert_eq!(read(&note), None, "{name:?} {value:?}");
        }
    }
}
