//! The doors of a policy, open and not yet serving.

use std::sync::Arc;

use jeton::policy::Settings;

use super::open_files::Connections;
use super::settings::{address_of, proxy_settings};
use super::start_error::StartError;
use crate::doors::Doorkeeper;
use crate::{api, proxy, resp, rls};

/// The doors that a policy names.
pub(super) struct Doors {
    pub(super) proxy: Option<proxy::Bound>,
    pub(super) api: Option<api::Bound>,
    pub(super) resp: Option<resp::Bound>,
    pub(super) rls: Option<rls::Bound>,
}

impl Doors {
    /// Opens their listeners, for so many connections each.
    pub(super) fn open(settings: &Settings, room: Connections) -> Result<Self, StartError> {
        let open_proxy = |door: &jeton::policy::Proxy| -> Result<_, StartError> {
            let mut limits = door.limits;
            limits.max_connections = room.proxy;
            Ok(proxy::bind_within(proxy_settings(door)?, limits)?)
        };
        let proxy = settings.proxy.as_ref().map(open_proxy).transpose()?;
        let open_api = |door: &jeton::policy::Api| {
            let mut limits = door.limits;
            limits.max_connections = room.api;
            api::bind(&address_of(door.listen.get()), limits)
        };
        let api = settings.api.as_ref().map(open_api).transpose()?;
        let open_resp = |door: &jeton::policy::Resp| {
            resp::bind(&address_of(door.listen.get()), door, room.resp)
        };
        let resp = settings.resp.as_ref().map(open_resp).transpose()?;
        let open_rls =
            |door: &jeton::policy::Rls| rls::bind(&address_of(door.listen.get()), door, room.rls);
        let rls = settings.rls.as_ref().map(open_rls).transpose()?;
        Ok(Self {
            proxy,
            api,
            resp,
            rls,
        })
    }

    /// Who counts at each of them.
    pub(super) fn keepers(&self) -> [Option<&Arc<Doorkeeper>>; 4] {
        [
            self.proxy.as_ref().map(proxy::Bound::keeper),
            self.api.as_ref().map(api::Bound::keeper),
            self.resp.as_ref().map(resp::Bound::keeper),
            self.rls.as_ref().map(rls::Bound::keeper),
        ]
    }
}
