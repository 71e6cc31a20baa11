//! Lines of a policy are shown; tokens and passwords that stand in them are not.

/// Settings whose values are starred out, whatever is wrong with them.
const HIDDEN: [&str; 3] = ["token", "url", "key_secret"];

/// A line with every secret in it starred out, column by column: what is wrong with the line can
/// still be pointed at.
pub(super) fn without_secrets(line: &str) -> String {
    let mut shown = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(end) = name_end(rest) {
        let (head, tail) = rest.split_at(end);
        shown.push_str(head);
        rest = tail;
        let quoted_name = tail.trim_start_matches(['"', '\'']);
        let Some(value) = quoted_name.trim_start().strip_prefix('=') else {
            continue;
        };
        let value = value.trim_start();
        let (before, _) = tail.split_at(tail.len() - value.len());
        shown.push_str(before);
        let secret = secret_len(value);
        let (secret, after) = value.split_at(secret);
        shown.extend(secret.chars().map(|_| '*'));
        rest = after;
    }
    without_users(shown + rest)
}

/// Where the name of the first hidden setting ends.
fn name_end(text: &str) -> Option<usize> {
    let ends = HIDDEN.iter();
    ends.filter_map(|name| text.find(name).map(|at| at + name.len()))
        .min()
}

/// A text with the user and password of every URL in it starred out, wherever it stands: under a
/// name that nobody knows, or in the place of a word.
pub(super) fn without_users(text: String) -> String {
    if !text.contains("://") {
        return text;
    }
    let mut shown = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(at) = rest.find("://") {
        let (head, tail) = rest.split_at(at + "://".len());
        shown.push_str(head);
        let is_end = |letter: char| letter.is_whitespace() || "\"'".contains(letter);
        let url = tail.find(is_end).unwrap_or(tail.len());
        let (user, after) = tail.split_at(tail[..url].rfind('@').unwrap_or(0));
        shown.extend(user.chars().map(|_| '*'));
        rest = after;
    }
    shown + rest
}

/// How many bytes of a value not to show: a text up to its closing quote, and what is no text, up
/// to the end, for it may be one without quotes. A reference shows nothing.
fn secret_len(value: &str) -> usize {
    let quote = match value.chars().next() {
        Some('{') | None => return 0,
        Some(quote @ ('"' | '\'')) => quote,
        Some(_) => return value.len(),
    };
    let mut escaped = false;
    for (at, letter) in value.char_indices().skip(1) {
        match letter {
            _ if escaped => escaped = false,
            '\\' if quote == '"' => escaped = true,
            letter if letter == quote => {
                let end = at + 1;
                // Three quotes begin a text of several lines, and a quote within a text ends it
                // early.
                let rest = value.get(end..).unwrap_or_default().trim_start();
                let ends = rest.is_empty() || rest.starts_with([',', '}', ']', '#', ';']);
                return if ends { end } else { value.len() };
            }
            _ => {}
        }
    }
    value.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_starred_out_in_place() {
        for (line, shown) in [
            ("token = \"hunter2\" # mine", "token = ********* # mine"),
            ("admin_token='a\\'", "admin_token=****"),
            (
                "api = { token = \"a\\\"b\", listen = \"x\" }",
                "api = { token = ******, listen = \"x\" }",
            ),
            ("token = hunter2", "token = *******"),
            ("token = \"hunter2", "token = ********"),
            ("token = \"\"\"hunter2", "token = **********"),
            ("token = \"hun\"ter2\" # mine", "token = *****************"),
            ("\"token\" = \"hünter2\"", "\"token\" = *********"),
            (
                "api.token = \"x\"; token=\"y\"",
                "api.token = ***; token=***",
            ),
            ("token = { env = \"TOKEN\" }", "token = { env = \"TOKEN\" }"),
            (
                "algorithm = \"token-bucket\"",
                "algorithm = \"token-bucket\"",
            ),
            (
                "url = \"redis://:hunter2@h\"; x",
                "url = ********************; x",
            ),
            ("key_secret = 'abc'", "key_secret = *****"),
            (
                "store = { url = \"redis://h\", key_secret = \"x\", lease = 2 }",
                "store = { url = ***********, key_secret = ***, lease = 2 }",
            ),
            (
                "ulr = \"redis://me:hunter@2@h,b\"",
                "ulr = \"redis://***********@h,b\"",
            ),
            (
                "x = [\"a://b@c\", 'd://e@f']",
                "x = [\"a://*@c\", 'd://*@f']",
            ),
            ("see http://a.b/c me@d", "see http://a.b/c me@d"),
            ("token", "token"),
            ("token =", "token ="),
        ] {
            assert_eq!(without_secrets(line), shown);
            assert_eq!(shown.chars().count(), line.chars().count());
        }
    }
}
