//! Lines of a policy are shown; the tokens that stand in them are not.

/// A line with every token in it starred out, column by column: what is wrong with the line can
/// still be pointed at.
pub(super) fn without_secrets(line: &str) -> String {
    let mut shown = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find("token") {
        let (head, tail) = rest.split_at(at + "token".len());
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
                // Three quotes begin a text of several lines.
                let longer = value.get(end..).is_some_and(|rest| rest.starts_with(quote));
                return if longer { value.len() } else { end };
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
    fn tokens_are_starred_out_in_place() {
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
            ("token", "token"),
            ("token =", "token ="),
        ] {
            assert_eq!(without_secrets(line), shown);
            assert_eq!(shown.chars().count(), line.chars().count());
        }
    }
}
