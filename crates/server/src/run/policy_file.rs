//! A policy file on disk, and the files that it refers to.

mod folder;
mod spared;

use std::cell::RefCell;
use std::fmt;
use std::fs::{self, File};
use std::hash::{BuildHasher, Hash, RandomState};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use jeton::policy::{
    Loaded, MAX_REFERENCE_BYTES, MAX_TEXT_BYTES, Policy, Report, Resolve, Source, Unresolved,
};

use spared::Spared;

/// A larger file is not a policy that somebody wrote.
const LONGEST: usize = 4 << 20;

/// A policy file on disk. Symbolic links are followed whenever it is read, so that the file is
/// whatever stands behind its path then.
#[derive(Debug)]
pub struct PolicyFile {
    path: PathBuf,
    prints: RandomState,
}

/// What a policy file and the files it refers to held when they were read: enough to tell a
/// change, and nothing of what they say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    text: u64,
    references: Vec<(Reference, u64)>,
}

/// What a policy refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Reference {
    /// A file that holds one value.
    File(String),
    /// A file that is part of the policy.
    Text(String),
    /// The files of a folder.
    Folder(String),
}

/// Why a file is not the text of a policy; says what to do.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Unreadable(String);

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unreadable {}

impl PolicyFile {
    /// The file at `path`.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            prints: RandomState::new(),
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its text.
    ///
    /// # Errors
    /// [`Unreadable`]: there is no such file, or it is no text.
    pub fn read(&self) -> Result<String, Unreadable> {
        let shown = self.path.display();
        let bytes = read_at_most(&self.path, LONGEST).map_err(|error| {
            Unreadable(match error.kind() {
                io::ErrorKind::NotFound => format!(
                    "there is no file {shown}; name one with --config FILE, or start without one: \
                     jeton proxy --upstream http://127.0.0.1:3000 --limit 100/min"
                ),
                io::ErrorKind::IsADirectory => format!("{shown} is a folder; name the file in it"),
                _ => format!("{shown} cannot be read: {error}"),
            })
        })?;
        let bytes = bytes.ok_or_else(|| {
            Unreadable(format!(
                "{shown} is larger than 4 MiB, so it is no policy; name the policy with --config \
                 FILE"
            ))
        })?;
        String::from_utf8(bytes).map_err(|error| {
            let valid = error.utf8_error().valid_up_to();
            let (before, _) = error.as_bytes().split_at(valid);
            let (line, column) = place(&String::from_utf8_lossy(before));
            Unreadable(format!(
                "{shown}:{line}:{column}: this is not text in UTF-8; save the file as UTF-8"
            ))
        })
    }

    /// Checks a text that was read from it, and what that refers to.
    ///
    /// # Errors
    /// Every mistake in the file.
    pub fn parse(&self, text: String) -> Result<Loaded, Report> {
        self.check(text).0
    }

    /// The same for who does without the server that it names: what `[store]` refers to need not be
    /// there, and is not read.
    ///
    /// # Errors
    /// Every other mistake in the file.
    pub fn parse_without_server(&self, text: String) -> Result<Loaded, Report> {
        let machine = self.machine();
        let spared = Spared::by(&machine, &text);
        Policy::load(&self.source(text), &spared)
    }

    /// As [`parse`](Self::parse), also telling what was read, however it ends.
    pub fn check(&self, text: String) -> (Result<Loaded, Report>, Seen) {
        let print = self.print_of(Ok(&text));
        let machine = self.machine();
        let parsed = Policy::load(&self.source(text), &machine);
        let references = machine.asked.into_inner();
        let seen = Seen {
            text: print,
            references,
        };
        (parsed, seen)
    }

    fn machine(&self) -> Machine<'_> {
        let asked = RefCell::default();
        Machine { file: self, asked }
    }

    fn source(&self, text: String) -> Source {
        Source::new(self.path.display().to_string(), text)
    }

    /// The text as it is now, and what else was `seen` as that is now.
    pub(super) fn look(&self, seen: &Seen) -> (Result<String, Unreadable>, Seen) {
        let text = if self.is_pipe() {
            let shown = self.path.display();
            Err(Unreadable(format!("{shown} is no regular file")))
        } else {
            self.read()
        };
        let again = |(reference, _): &(Reference, u64)| {
            let print = match reference {
                Reference::File(path) => self.print_of_reference(&self.read_reference(path)),
                Reference::Text(path) => self.print_of_reference(&self.read_text(path)),
                Reference::Folder(path) => self.print_of_reference(&self.files_of(path)),
            };
            (reference.clone(), print)
        };
        let seen = Seen {
            text: self.print_of(text.as_deref()),
            references: seen.references.iter().map(again).collect(),
        };
        (text, seen)
    }

    /// What was `seen`, but that its text is `unreadable`.
    pub(super) fn without_text(&self, seen: &Seen, unreadable: &Unreadable) -> Seen {
        Seen {
            text: self.print_of(Err(unreadable)),
            references: seen.references.clone(),
        }
    }

    /// Whether reading it again gives nothing, or waits for a writer.
    pub(super) fn is_pipe(&self) -> bool {
        fs::metadata(&self.path).is_ok_and(|found| !found.is_file() && !found.is_dir())
    }

    fn print_of(&self, text: Result<&str, &Unreadable>) -> u64 {
        self.prints.hash_one(text)
    }

    fn print_of_reference(&self, read: &Result<impl Hash, Unresolved>) -> u64 {
        let why = |unresolved: &Unresolved| format!("{unresolved:?}");
        self.prints.hash_one(read.as_ref().map_err(why))
    }

    /// Relative paths begin beside the policy.
    fn beside(&self, path: &str) -> PathBuf {
        let folder = self.path.parent().unwrap_or(Path::new(""));
        folder.join(path)
    }

    /// A file that is part of the policy.
    fn read_text(&self, path: &str) -> Result<String, Unresolved> {
        self.read_within(path, MAX_TEXT_BYTES)
    }

    /// The files of a folder.
    fn files_of(&self, path: &str) -> Result<Vec<String>, Unresolved> {
        folder::files_of(&self.beside(path), path)
    }

    fn read_reference(&self, path: &str) -> Result<String, Unresolved> {
        // A line end at the end is not part of the value.
        self.read_within(path, MAX_REFERENCE_BYTES + 2)
    }

    fn read_within(&self, path: &str, most: usize) -> Result<String, Unresolved> {
        let path = self.beside(path);
        // Opening a pipe waits for a writer, so this comes first.
        if !fs::metadata(&path).map_err(unresolved)?.is_file() {
            return Err(Unresolved::NotAFile);
        }
        let bytes = read_at_most(&path, most).map_err(unresolved)?;
        String::from_utf8(bytes.ok_or(Unresolved::TooLong)?).map_err(|_| Unresolved::NotText)
    }
}

/// The environment and the files of this machine.
struct Machine<'a> {
    file: &'a PolicyFile,
    asked: RefCell<Vec<(Reference, u64)>>,
}

impl Machine<'_> {
    fn note(&self, reference: Reference, read: &Result<impl Hash, Unresolved>) {
        let print = self.file.print_of_reference(read);
        self.asked.borrow_mut().push((reference, print));
    }
}

impl Resolve for Machine<'_> {
    fn env(&self, name: &str) -> Result<String, Unresolved> {
        std::env::var(name).map_err(|error| match error {
            std::env::VarError::NotPresent => Unresolved::Absent,
            std::env::VarError::NotUnicode(_) => Unresolved::NotText,
        })
    }

    fn file(&self, path: &str) -> Result<String, Unresolved> {
        let read = self.file.read_reference(path);
        self.note(Reference::File(path.to_owned()), &read);
        read
    }

    fn text(&self, path: &str) -> Result<String, Unresolved> {
        let read = self.file.read_text(path);
        self.note(Reference::Text(path.to_owned()), &read);
        read
    }

    fn folder(&self, path: &str) -> Result<Vec<String>, Unresolved> {
        let read = self.file.files_of(path);
        self.note(Reference::Folder(path.to_owned()), &read);
        read
    }

    fn path(&self, path: &str) -> PathBuf {
        self.file.beside(path)
    }
}

#[allow(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn unresolved(error: io::Error) -> Unresolved {
    match error.kind() {
        io::ErrorKind::NotFound => Unresolved::Absent,
        kind => Unresolved::Other(kind.to_string()),
    }
}

/// Line and column of what follows a text, both from 1.
fn place(before: &str) -> (usize, usize) {
    let line = before.matches('\n').count() + 1;
    let last = before.rsplit('\n').next().unwrap_or_default();
    (line, last.chars().count() + 1)
}

/// The content of a file; none if there is more of it.
fn read_at_most(path: &Path, most: usize) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    let most_and_one = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
    File::open(path)?
        .take(most_and_one)
        .read_to_end(&mut bytes)?;
    Ok((bytes.len() <= most).then_some(bytes))
}
