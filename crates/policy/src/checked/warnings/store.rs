//! What a store outside the process brings with it.

use std::time::Duration;

use super::{place, written};
use crate::checked::Draft;
use crate::diagnostic::{Fault, code};
use crate::raw::{Context, Section};
use crate::redis_url::RedisUrl;
use crate::rule::{OnFailure, Rule};
use crate::setting::Origin;
use crate::settings::{Disk, DiskSync, Redis, Settings, Store};
use crate::sharing::{Ahead, Leased};

pub(super) fn warn(
    cx: &mut Context<'_>,
    root: &Section<'_>,
    settings: &Settings,
    drafts: &[Draft],
) {
    let store = &settings.store;
    if let Some(disk) = store.disk() {
        no_time_to_sync(cx, root, store, disk);
    }
    let Some(redis) = store.redis() else {
        return;
    };
    password_in_file(cx, root, redis);
    // Of a policy that is refused nobody knows its rules.
    if !cx.findings.has_errors() {
        bounds_of_nothing(cx, root, store, drafts);
        lease_of_nothing(cx, root, store, drafts);
    }
}

/// What comes while a sync is under way waits for that one and its own, each of 1 to 5 ms on a usual
/// disk of today.
const TWO_SYNCS: Duration = Duration::from_millis(10);

/// An answer that is to be on disk before anything can be.
fn no_time_to_sync(cx: &mut Context<'_>, root: &Section<'_>, store: &Store, disk: &Disk) {
    if disk.sync != DiskSync::Always || store.timeout >= TWO_SYNCS {
        return;
    }
    let what =
        "with `sync = \"always\"` an answer waits for up to two syncs, and `timeout` is shorter";
    let fault = Fault::new(code::NO_TIME_TO_SYNC, what)
        .label("then on_failure decides, and the charge stays")
        .fix("timeout = \"100ms\", or sync = \"1s\", with which answers do not wait");
    cx.findings.warning(place(root, "store", "timeout"), fault);
}

fn password_in_file(cx: &mut Context<'_>, root: &Section<'_>, redis: &Redis) {
    let url = RedisUrl::parse(redis.url.expose());
    if redis.origin == Origin::Literal && url.is_ok_and(|url| url.has_password) {
        let fault = Fault::new(code::SECRET_IN_FILE, "a password stands in the file")
            .label("whoever reads the policy has the store")
            .fix("url = { env = \"REDIS_URL\" }, or { file = \"/run/secrets/redis\" }");
        cx.findings.warning(place(root, "store", "url"), fault);
    }
}

/// Bounds of the process's own memory, in which nothing is kept.
fn bounds_of_nothing(cx: &mut Context<'_>, root: &Section<'_>, store: &Store, drafts: &[Draft]) {
    let own = drafts.iter().filter_map(|draft| draft.rule.on_failure);
    let is_local = |on_failure| matches!(on_failure, OnFailure::Local(_));
    if own.chain([store.on_failure]).any(is_local) {
        return;
    }
    let words = ["max_keys", "max_memory", "overflow"].into_iter();
    let mut written = words.filter_map(|word| Some((word, written(root, "store", word)?)));
    if let Some((word, mark)) = written.next() {
        let what = format!("`{word}` is of the process's own memory, where nothing is kept");
        let fault = Fault::new(code::BOUND_OF_NOTHING, what)
            .label("the server has `maxmemory` for that")
            .fix("leave it out, or on_failure = { local = 0.5 } for limits of each process");
        cx.findings.warning(mark, fault);
    }
}

/// A lease that nobody can use.
fn lease_of_nothing(cx: &mut Context<'_>, root: &Section<'_>, store: &Store, drafts: &[Draft]) {
    let rules: Vec<Rule> = drafts.iter().map(|draft| draft.rule.clone()).collect();
    let all = Ahead::of(&rules, store);
    if all.iter().flatten().any(|ahead| ahead.lease().is_some()) {
        return;
    }
    let never = |(rule, ahead): (&Rule, &Option<Ahead>)| match &ahead.as_ref()?.leased {
        Leased::Never(why) => Some(format!("{:?}: {why}", rule.name)),
        Leased::Aside { .. } | Leased::Ahead { .. } => None,
    };
    if let Some(why) = rules.iter().zip(&all).find_map(never) {
        let what = "`lease` has no effect: of no rule are units taken ahead";
        let fault = Fault::new(code::LEASE_OF_NOTHING, what)
            .label(why)
            .fix("leave it out");
        cx.findings.warning(place(root, "store", "lease"), fault);
    }
}
