//! A folder of files of descriptors.

use std::collections::HashMap;

use super::doubts::{self, Replaced};
use super::faults;
use super::limit::Descriptor;
use super::read::{self, File};
use super::rules::Domain;
use crate::diagnostic::{Fault, Findings, code};
use crate::raw::{Context, Unresolved};
use crate::source::{Mark, Source};

/// What is known of a domain that was read before.
struct Before {
    at: usize,
    file: String,
}

/// Reads every file of a folder, in the order of their names. All mistakes become findings of their own
/// files; `None` if there is any.
pub(crate) fn load(
    cx: &mut Context<'_>,
    folder: &str,
    mark: Mark,
    merges_domains: bool,
) -> Option<Vec<Domain>> {
    let files = match cx.folder(folder) {
        Ok(files) => files,
        Err(why) => return cx.error(mark, unreadable(folder, &why, true)),
    };
    if files.is_empty() {
        let fault = Fault::new(code::DESCRIPTORS, format!("the folder {folder:?} is empty"));
        let fault = fault.label("so no file limits any descriptor");
        cx.findings.warning(
            mark,
            fault.fix("files of envoyproxy/ratelimit; or leave envoy_config out"),
        );
    }
    let mut domains = Domains {
        merges: merges_domains,
        before: HashMap::new(),
        list: Vec::new(),
    };
    let mut replaced: Vec<(Source, String, Vec<Replaced>)> = Vec::new();
    let mut is_sound = true;
    for path in &files {
        let text = match cx.text(path) {
            Ok(text) => text,
            Err(why) => {
                let _: Option<()> = cx.error(mark, unreadable(path, &why, false));
                is_sound = false;
                continue;
            }
        };
        let source = Source::new(cx.shown(path), text);
        let mut findings = Findings::new(&source);
        let mut names = None;
        if let Some(mut file) = read::read(source.text(), &mut findings) {
            names = Some((file.domain.clone(), std::mem::take(&mut file.replaced)));
            domains.add(file, source.name(), &mut findings);
        }
        is_sound &= !findings.has_errors();
        cx.beside.extend(findings.into_report());
        let names = names.filter(|(_, names)| !names.is_empty());
        replaced.extend(names.map(|(domain, names)| (source, domain, names)));
    }
    // A name may stand in another file of its domain.
    let replaced = replaced.iter().filter(|_| is_sound);
    for (source, domain, names) in replaced {
        let domain = domains.list.iter().find(|own| own.name == *domain);
        let mut findings = Findings::new(source);
        doubts::replaces_nothing(domain, names, &mut findings);
        cx.beside.extend(findings.into_report());
    }
    is_sound.then_some(domains.list)
}

struct Domains {
    merges: bool,
    before: HashMap<String, Before>,
    list: Vec<Domain>,
}

impl Domains {
    fn add(&mut self, file: File, name: &str, findings: &mut Findings<'_>) {
        let File {
            domain,
            domain_mark,
            descriptors,
            replaced: _,
        } = file;
        let Some(before) = self.before.get(&domain) else {
            let at = self.list.len();
            let file = name.to_owned();
            self.before.insert(domain.clone(), Before { at, file });
            self.list.push(Domain {
                name: domain,
                descriptors: descriptors.into_iter().map(|(one, _)| one).collect(),
                files: 1,
            });
            return;
        };
        if !self.merges {
            let what = format!("the domain {domain:?} has a file already");
            let fault = Fault::new(code::DUPLICATE, what)
                .label(format!("it is {}", before.file))
                .fix("one file for each domain, or merge_domains = true in [rls]");
            let _: Option<()> = findings.error(domain_mark, fault);
            return;
        }
        let Some(own) = self.list.get_mut(before.at) else {
            return;
        };
        own.files += 1;
        let tuple = |one: &Descriptor| (one.key.clone(), one.value.clone());
        for (descriptor, mark) in descriptors {
            if own
                .descriptors
                .iter()
                .any(|one| tuple(one) == tuple(&descriptor))
            {
                let fault =
                    faults::duplicate(&descriptor).label(format!("also in {}", before.file));
                let _: Option<()> = findings.error(mark, fault);
            } else {
                own.descriptors.push(descriptor);
            }
        }
    }
}

fn unreadable(path: &str, why: &Unresolved, is_folder: bool) -> Fault {
    let kind = if is_folder { "folder" } else { "file" };
    let fault = |why: &str| Fault::new(code::REFERENCE, format!("the {kind} {path:?} {why}"));
    match why {
        Unresolved::Absent => {
            fault("does not exist").fix("create it; relative paths begin beside the policy")
        }
        Unresolved::NotText => fault("is not text in UTF-8").fix("save it as UTF-8"),
        Unresolved::NotAFile if is_folder => {
            fault("is no folder").fix("the folder in which the files are")
        }
        Unresolved::NotAFile => fault("is a pipe or a device").fix("take it out of the folder"),
        Unresolved::TooLong => fault("is too large").fix("at most 4 MiB, and 1000 files"),
        Unresolved::Other(why) => {
            fault(&format!("cannot be read: {why}")).fix("let this process read it")
        }
    }
}
