//! A proxy in front of a server, with the faults of one.

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crate::server::Server;

/// What becomes of a call and of its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    /// The call does not arrive.
    Hang,
    /// The answer comes later.
    Slow(Duration),
    /// The call arrives, its answer does not.
    Swallow,
    /// The call arrives, and then the line is cut.
    Cut,
    /// The call does not arrive, and this is the answer.
    Say(&'static str),
}

pub(crate) struct Proxy {
    folder: tempfile::TempDir,
    fault: Arc<Mutex<Fault>>,
}

impl Proxy {
    pub(crate) fn before(server: &Server) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(folder.path().join("proxy.sock")).unwrap();
        let fault = Arc::new(Mutex::new(Fault::None));
        let (faults, upstream) = (Arc::clone(&fault), server.socket.clone());
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let (faults, upstream) = (Arc::clone(&faults), upstream.clone());
                thread::spawn(move || relay(client, &upstream, &faults));
            }
        });
        Self { folder, fault }
    }

    pub(crate) fn url(&self) -> String {
        format!("unix://{}", self.folder.path().join("proxy.sock").display())
    }

    pub(crate) fn set(&self, fault: Fault) {
        *self.fault.lock().unwrap() = fault;
    }
}

fn relay(client: UnixStream, upstream: &PathBuf, fault: &Arc<Mutex<Fault>>) {
    let Ok(server) = UnixStream::connect(upstream) else {
        return;
    };
    let back = {
        let (server, client) = (server.try_clone().unwrap(), client.try_clone().unwrap());
        let fault = Arc::clone(fault);
        thread::spawn(move || answers(server, client, &fault))
    };
    calls(client, server, fault);
    let _ = back.join();
}

fn calls(mut client: UnixStream, mut server: UnixStream, fault: &Mutex<Fault>) {
    let mut bytes = vec![0; 1 << 16];
    while let Ok(many @ 1..) = client.read(&mut bytes) {
        let fault = fault.lock().unwrap().clone();
        match fault {
            Fault::Hang => {}
            Fault::Say(words) => drop(write!(client, "-{words}\r\n")),
            _ => {
                if server.write_all(&bytes[..many]).is_err() {
                    break;
                }
            }
        }
    }
    let _ = server.shutdown(std::net::Shutdown::Both);
}

fn answers(mut server: UnixStream, mut client: UnixStream, fault: &Mutex<Fault>) {
    let mut bytes = vec![0; 1 << 16];
    while let Ok(many @ 1..) = server.read(&mut bytes) {
        let fault = fault.lock().unwrap().clone();
        match fault {
            Fault::Swallow => continue,
            Fault::Cut => break,
            Fault::Slow(time) => thread::sleep(time),
            _ => {}
        }
        if client.write_all(&bytes[..many]).is_err() {
            break;
        }
    }
    let _ = client.shutdown(std::net::Shutdown::Both);
}
