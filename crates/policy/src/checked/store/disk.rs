//! What `kind = "disk"` takes.

use std::time::Duration;

use crate::checked::sections::within;
use crate::diagnostic::{Fault, code};
use crate::raw::{Context, Section};
use crate::setting::Setting;
use crate::settings::{Disk, DiskSync};

/// Settings that no other kind takes.
pub(crate) const WORDS: [&str; 2] = ["path", "sync"];

const ALWAYS: &str = "always";

/// The fix where nothing nearer is known.
const EITHER: &str = "sync = \"1s\", or sync = \"always\" to forget nothing that was answered";

const SHORTEST: Duration = Duration::from_millis(10);
const LONGEST: Duration = Duration::from_secs(3_600);

pub(super) fn disk(cx: &mut Context<'_>, section: &Section<'_>) -> Disk {
    let defaults = Disk::new(cx.path(Disk::PATH));
    let path = section.parsed(cx, "path", path);
    let path = path.map(|path| {
        let (written, origin) = (path.value.get(), path.value.origin().clone());
        Setting::new(cx.path(written), origin)
    });
    let sync = section.parsed(cx, "sync", sync);
    Disk {
        path: path.unwrap_or(defaults.path),
        sync: sync.map_or(defaults.sync, |sync| *sync.value.get()),
    }
}

fn path(text: &str) -> Result<String, Fault> {
    match text {
        "" => Err(Fault::new(code::EMPTY, "`path` names no folder")
            .fix(format!("path = {:?}", Disk::PATH))),
        path => Ok(path.to_owned()),
    }
}

fn sync(text: &str) -> Result<DiskSync, Fault> {
    if text == ALWAYS {
        return Ok(DiskSync::Always);
    }
    if text.starts_with(|first: char| first.is_ascii_digit()) {
        let span = within("sync", text, SHORTEST, LONGEST).map(DiskSync::Every);
        // Whoever writes 0 wants nothing to be forgotten.
        return span.map_err(|fault| match fault.code {
            code::ZERO => fault.fix(EITHER),
            _ => fault,
        });
    }
    let what = format!("`sync` does not know the word {text:?}");
    Err(Fault::new(code::WORD, what)
        .label("how much a crash may forget")
        .fix(EITHER))
}
