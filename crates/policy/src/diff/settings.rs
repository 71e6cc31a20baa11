//! Settings other than rules: those that are only read when a process starts, and the others.
//!
//! Sections are taken apart without a `..`, so that no setting that comes later is forgotten here.

use crate::setting::Setting;
use crate::settings::{
    Answer, Api, Disk, DoorLimits, Lease, Lists, Proxy, Redis, Resp, Rls, Settings, Store,
    StoreKind,
};

/// Those that differ and need a restart.
pub(super) fn refused(new: &Settings, old: &Settings) -> Vec<&'static str> {
    let mut all = Vec::new();
    match (&new.proxy, &old.proxy) {
        (Some(new), Some(old)) => all.extend(proxy(new, old)),
        (None, None) => {}
        _ => all.push("[proxy]"),
    }
    match (&new.api, &old.api) {
        (Some(new), Some(old)) => all.extend(api(new, old)),
        (None, None) => {}
        _ => all.push("[api]"),
    }
    match (&new.rls, &old.rls) {
        (Some(new), Some(old)) => all.extend(rls(new, old).0),
        (None, None) => {}
        _ => all.push("[rls]"),
    }
    match (&new.resp, &old.resp) {
        (Some(new), Some(old)) => all.extend(resp(new, old)),
        (None, None) => {}
        _ => all.push("[resp]"),
    }
    all.extend(store(&new.store, &old.store));
    all
}

/// Those that differ and hold from the next request on.
pub(super) fn adopted(new: &Settings, old: &Settings) -> Vec<&'static str> {
    let Settings {
        proxy: _,
        api,
        rls,
        resp,
        store: _,
        client_ip,
        answer,
        lists,
    } = new;
    let mut all = Vec::new();
    if let (Some(new), Some(old)) = (api, &old.api) {
        all.extend(differing([
            ("[api] token", new.token != old.token),
            ("[api] admin_token", new.admin_token != old.admin_token),
            ("[api] gateways", new.gateways != old.gateways),
        ]));
    }
    if let (Some(new), Some(old)) = (rls, &old.rls) {
        all.extend(self::rls(new, old).1);
    }
    if let (Some(new), Some(old)) = (resp, &old.resp) {
        all.extend(differing([
            ("[resp] token", new.token != old.token),
            ("[resp] admin_token", new.admin_token != old.admin_token),
        ]));
    }
    if *client_ip != old.client_ip {
        all.push("[client_ip]");
    }
    let Answer { headers, cors } = answer;
    let Lists { exempt, block } = lists;
    all.extend(differing([
        ("[answer] headers", *headers != old.answer.headers),
        ("[answer] cors", *cors != old.answer.cors),
        ("[lists] exempt", *exempt != old.lists.exempt),
        ("[lists] block", *block != old.lists.block),
    ]));
    all
}

/// Of `[api]` tokens and gateways are read by each call; where it listens and how much it does at once is
/// settled when it begins to.
fn api(new: &Api, old: &Api) -> Vec<&'static str> {
    let Api {
        listen,
        token: _,
        admin_token: _,
        gateways: _,
        limits,
    } = new;
    let [connections, in_flight] = differing_limits(*limits, old.limits);
    differing([
        ("[api] listen", listen.get() != old.listen.get()),
        ("[api] max_connections", connections),
        ("[api] max_in_flight", in_flight),
    ])
}

/// Tokens are read when a client shows one.
fn resp(new: &Resp, old: &Resp) -> Vec<&'static str> {
    let Resp {
        listen,
        token: _,
        admin_token: _,
        limits,
        idle_timeout,
    } = new;
    let [connections, in_flight] = differing_limits(*limits, old.limits);
    differing([
        ("[resp] listen", listen.get() != old.listen.get()),
        ("[resp] max_connections", connections),
        ("[resp] max_in_flight", in_flight),
        ("[resp] idle_timeout", *idle_timeout != old.idle_timeout),
    ])
}

/// Where a value was read is not compared: moving it from the file into the environment changes
/// nothing.
fn proxy(new: &Proxy, old: &Proxy) -> Vec<&'static str> {
    let Proxy {
        listen,
        upstream,
        header_timeout,
        idle_timeout,
        connect_timeout,
        response_timeout,
        limits,
    } = new;
    let [connections, in_flight] = differing_limits(*limits, old.limits);
    differing([
        ("[proxy] listen", listen.get() != old.listen.get()),
        ("[proxy] upstream", upstream.get() != old.upstream.get()),
        (
            "[proxy] header_timeout",
            *header_timeout != old.header_timeout,
        ),
        ("[proxy] idle_timeout", *idle_timeout != old.idle_timeout),
        (
            "[proxy] connect_timeout",
            *connect_timeout != old.connect_timeout,
        ),
        (
            "[proxy] response_timeout",
            *response_timeout != old.response_timeout,
        ),
        ("[proxy] max_connections", connections),
        ("[proxy] max_in_flight", in_flight),
    ])
}

/// Of `[rls]` what its listener goes by is settled when it begins to, and the rest holds at once: here
/// the one, and then the other.
fn rls(new: &Rls, old: &Rls) -> (Vec<&'static str>, Vec<&'static str>) {
    let Rls {
        listen,
        tls,
        open,
        limits,
        envoy_config,
        merge_domains,
        on_deny,
        shadow_mode,
        quota_mode,
        dynamic_metadata,
    } = new;
    let folder = |config: &Option<Setting<String>>| config.as_ref().map(|own| own.get().clone());
    let [connections, in_flight] = differing_limits(*limits, old.limits);
    let settled = differing([
        ("[rls] listen", listen.get() != old.listen.get()),
        ("[rls] tls", *tls != old.tls),
        ("[rls] max_connections", connections),
        ("[rls] max_in_flight", in_flight),
    ]);
    let read = differing([
        ("[rls] open", *open != old.open),
        (
            "[rls] envoy_config",
            folder(envoy_config) != folder(&old.envoy_config),
        ),
        ("[rls] merge_domains", *merge_domains != old.merge_domains),
        ("[rls] on_deny", *on_deny != old.on_deny),
        ("[rls] shadow_mode", *shadow_mode != old.shadow_mode),
        ("[rls] quota_mode", *quota_mode != old.quota_mode),
        (
            "[rls] dynamic_metadata",
            *dynamic_metadata != old.dynamic_metadata,
        ),
    ]);
    (settled, read)
}

fn store(new: &Store, old: &Store) -> Vec<&'static str> {
    let Store {
        kind,
        max_keys,
        max_memory,
        overflow,
        timeout,
        on_failure,
    } = new;
    let mut all = match (kind, &old.kind) {
        (StoreKind::Redis(new), StoreKind::Redis(old)) => redis(new, old),
        (StoreKind::Disk(new), StoreKind::Disk(old)) => disk(new, old),
        (new, old) => differing([("[store] kind", new != old)]),
    };
    all.extend(differing([
        ("[store] max_keys", *max_keys != old.max_keys),
        ("[store] max_memory", *max_memory != old.max_memory),
        ("[store] overflow", *overflow != old.overflow),
        ("[store] timeout", *timeout != old.timeout),
        ("[store] on_failure", *on_failure != old.on_failure),
    ]));
    all
}

fn disk(new: &Disk, old: &Disk) -> Vec<&'static str> {
    let Disk { path, sync } = new;
    differing([
        ("[store] path", path.get() != old.path.get()),
        ("[store] sync", *sync != old.sync),
    ])
}

fn redis(new: &Redis, old: &Redis) -> Vec<&'static str> {
    let Redis {
        url,
        origin: _,
        tls_root,
        prefix,
        key_secret,
        deny_cache,
        lease,
    } = new;
    let units = |lease: &Option<Lease>| lease.map(|lease| lease.units);
    let keep_for = |lease: &Option<Lease>| lease.map(|lease| lease.keep_for);
    differing([
        ("[store] url", *url != old.url),
        ("[store] tls_root", *tls_root != old.tls_root),
        ("[store] prefix", *prefix != old.prefix),
        ("[store] key_secret", *key_secret != old.key_secret),
        ("[store] deny_cache", *deny_cache != old.deny_cache),
        ("[store] lease", units(lease) != units(&old.lease)),
        ("[store] lease_for", keep_for(lease) != keep_for(&old.lease)),
    ])
}

/// How many there may be is settled when a door opens.
fn differing_limits(new: DoorLimits, old: DoorLimits) -> [bool; 2] {
    let DoorLimits {
        max_connections,
        max_in_flight,
    } = new;
    [
        max_connections != old.max_connections,
        max_in_flight != old.max_in_flight,
    ]
}

fn differing<const N: usize>(compared: [(&'static str, bool); N]) -> Vec<&'static str> {
    let differ = compared.into_iter().filter(|(_, differs)| *differs);
    differ.map(|(name, _)| name).collect()
}
