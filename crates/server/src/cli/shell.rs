//! What a shell and a manual want to know of the command line.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::CommandFactory;

use super::args::{Cli, Completions, Man};
use super::failure::Failure;

/// `jeton completions SHELL`.
pub(super) fn completions(flags: &Completions) -> Result<ExitCode, Failure> {
    // Into memory first: the generator takes no error of a closed pipe.
    let mut script = Vec::new();
    clap_complete::generate(flags.shell, &mut Cli::command(), "jeton", &mut script);
    print(&script)
}

/// `jeton man [COMMAND]`.
pub(super) fn man(flags: &Man) -> Result<ExitCode, Failure> {
    let mut jeton = Cli::command();
    jeton.build();
    let named = flags.command.as_deref();
    let command = named.and_then(|name| jeton.find_subcommand(name));
    let command = command.unwrap_or(&jeton);
    let page =
        clap_mangen::Man::new(command.clone()).source(concat!("jeton ", env!("CARGO_PKG_VERSION")));
    let mut text = Vec::new();
    page.render_title(&mut text)?;
    page.render_name_section(&mut text)?;
    page.render_synopsis_section(&mut text)?;
    page.render_description_section(&mut text)?;
    page.render_options_section(&mut text)?;
    if command.has_subcommands() {
        page.render_subcommands_section(&mut text)?;
    }
    let examples = command
        .get_after_long_help()
        .or_else(|| command.get_after_help());
    if let Some(examples) = examples {
        writeln!(
            text,
            ".SH EXAMPLES\n.nf\n{}\n.fi",
            verbatim(&examples.to_string())
        )?;
    }
    print(&text)
}

/// Text that a formatter of manual pages leaves as it is.
fn verbatim(text: &str) -> String {
    let escaped = text.replace('\\', "\\e").replace('-', "\\-");
    let lines: Vec<String> = escaped
        .lines()
        // A line that begins with one of these would be a request to the formatter.
        .map(|line| {
            let is_request = line.starts_with(['.', '\'']);
            format!("{}{line}", if is_request { "\\&" } else { "" })
        })
        .collect();
    lines.join("\n")
}

fn print(text: &[u8]) -> Result<ExitCode, Failure> {
    io::stdout().lock().write_all(text)?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_formatter_takes_no_text_for_a_request() {
        assert_eq!(verbatim("a -b\n.so x\n'c\n"), "a \\-b\n\\&.so x\n\\&'c");
        assert_eq!(verbatim(r"printf '%s\n'"), r"printf '%s\en'");
    }
}
