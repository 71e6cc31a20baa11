//! Problems as bytes.

use super::{Format, Kind, Problem, phrase::phrase};
use crate::decimal::push_decimal;

const BODY_CAPACITY: usize = 320;

impl Problem<'_> {
    /// The body in one of the formats; its media type is [`Format::content_type`].
    #[must_use]
    pub fn body(&self, format: Format) -> String {
        let mut out = String::with_capacity(BODY_CAPACITY);
        match format {
            Format::Json => self.push_json(&mut out),
            Format::Text => self.push_text(&mut out),
        }
        out
    }

    fn push_json(&self, out: &mut String) {
        out.push_str("{\"type\":");
        push_string(out, self.kind.uri());
        out.push_str(",\"title\":");
        push_string(
            out,
            self.kind.title().unwrap_or_else(|| phrase(self.status)),
        );
        out.push_str(",\"status\":");
        push_decimal(out, u64::from(self.status));
        out.push_str(",\"detail\":\"");
        self.push_sentences(out, push_escaped);
        out.push('"');
        if let Some(field) = &self.field {
            out.push_str(",\"field\":");
            push_string(out, field);
        }
        if self.kind != Kind::Status {
            out.push_str(",\"violated-policies\":[");
            for (index, name) in self.violated.iter().enumerate() {
                out.push_str(if index == 0 { "" } else { "," });
                push_string(out, name);
            }
            out.push(']');
        }
        if let Some(retry_after_s) = self.retry_after_s {
            out.push_str(",\"retry-after\":");
            push_decimal(out, retry_after_s);
        }
        out.push('}');
    }

    fn push_text(&self, out: &mut String) {
        push_decimal(out, u64::from(self.status));
        out.push(' ');
        out.push_str(phrase(self.status));
        out.push_str(". ");
        self.push_sentences(out, String::push_str);
        out.push('\n');
    }

    fn push_sentences(&self, out: &mut String, push: fn(&mut String, &str)) {
        push(out, &self.detail);
        if let Some(retry_after_s) = self.retry_after_s {
            out.push_str(" Try again in ");
            push_decimal(out, retry_after_s);
            out.push_str(if retry_after_s == 1 {
                " second."
            } else {
                " seconds."
            });
        }
    }
}

impl Kind {
    const fn uri(self) -> &'static str {
        match self {
            Self::Status => "about:blank",
            Self::QuotaExceeded => "https://iana.org/assignments/http-problem-types#quota-exceeded",
            Self::TemporaryReducedCapacity => {
                "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity"
            }
        }
    }

    /// The titles of the draft, to the letter: some clients show or compare them.
    const fn title(self) -> Option<&'static str> {
        match self {
            Self::Status => None,
            Self::QuotaExceeded => {
                Some("Request cannot be satisfied as assigned quota has been exceeded")
            }
            Self::TemporaryReducedCapacity => {
                Some("Request cannot be satisfied due to temporary server capacity constraints")
            }
        }
    }
}

fn push_string(out: &mut String, text: &str) {
    out.push('"');
    push_escaped(out, text);
    out.push('"');
}

/// The inside of a JSON string (RFC 8259 section 7).
fn push_escaped(out: &mut String, text: &str) {
    let mut plain = 0;
    let special = |byte: u8| matches!(byte, b'"' | b'\\' | 0..=0x1f);
    for (at, byte) in text.bytes().enumerate().filter(|(_, byte)| special(*byte)) {
        out.push_str(text.get(plain..at).unwrap_or_default());
        plain = at + 1;
        let digit = |value| char::from_digit(u32::from(value), 16).unwrap_or('0');
        match byte {
            b'\n' => out.push_str("\\n"),
            0..=0x1f => out.extend(['\\', 'u', '0', '0', digit(byte >> 4), digit(byte & 0xf)]),
            _ => out.extend(['\\', char::from(byte)]),
        }
    }
    out.push_str(text.get(plain..).unwrap_or_default());
}
