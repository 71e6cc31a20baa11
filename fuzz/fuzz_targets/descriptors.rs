//! A file of envoyproxy/ratelimit: any text loads or is refused with places in it, and what loads rules
//! on every descriptor.
#![no_main]

use jeton_policy::{AskedDescriptor, Policy, Resolve, Rulings, Source, Unresolved};
use libfuzzer_sys::fuzz_target;

struct OneFile<'t>(&'t str);

impl Resolve for OneFile<'_> {
    fn env(&self, _: &str) -> Result<String, Unresolved> {
        Err(Unresolved::Absent)
    }

    fn file(&self, _: &str) -> Result<String, Unresolved> {
        Ok(self.0.to_owned())
    }

    fn folder(&self, _: &str) -> Result<Vec<String>, Unresolved> {
        Ok(vec!["a.yaml".to_owned()])
    }
}

fuzz_target!(|text: &str| {
    let policy = "rls = { listen = '127.0.0.1:0', envoy_config = 'folder' }";
    let source = Source::new("jeton.toml", policy);
    match Policy::load(&source, &OneFile(text)) {
        Err(report) => assert!(report.errors() > 0 && report.iter().all(|found| found.line > 0)),
        Ok(loaded) => {
            let mut rulings = Rulings::default();
            // Words of the file itself are what its patterns are about.
            let words: Vec<&str> = text.split([' ', '\n', ':', ',', '{', '}']).take(64).collect();
            for pair in words.windows(2) {
                let entries = [(pair[0], pair[1]), (pair[1], pair[0])];
                let asked = [1, 2].map(|depth| AskedDescriptor {
                    entries: &entries[..depth],
                    limit: None,
                });
                let descriptors = loaded.policy.descriptors();
                descriptors.rule(words[0], &asked, &mut rulings);
                assert_eq!(rulings.list().len(), asked.len());
            }
        }
    }
});
