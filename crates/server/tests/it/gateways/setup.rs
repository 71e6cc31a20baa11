//! The gateways of `examples/gateways`, started with the very files that lie there; only addresses
//! are put in place.

use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::support::binary::Running;
use crate::support::tools::tool;
use crate::support::upstream::Upstream;
use crate::support::{Folder, curl, eventually};

/// Which gateway, by its folder, and which build of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gateway {
    Nginx,
    DebianCaddy,
    PypiCaddy,
    Traefik,
}

pub(crate) const ALL: [Gateway; 4] = [
    Gateway::Nginx,
    Gateway::DebianCaddy,
    Gateway::PypiCaddy,
    Gateway::Traefik,
];

impl Gateway {
    /// Whether it can put fields of Jeton's on answers that pass.
    pub(crate) const fn shows_what_is_left(self) -> bool {
        !matches!(self, Self::Traefik)
    }
}

/// What the service behind answers.
const SERVICE: &str =
    "HTTP/1.1 200 OK\r\nContent-Length: 8\r\nContent-Type: text/plain\r\n\r\nservice\n";

/// A service, a gateway before it, and Jeton beside the gateway.
pub(crate) struct Setup {
    pub(crate) service: Upstream,
    pub(crate) jeton: Option<Running>,
    address: SocketAddr,
    started: Started,
}

/// Addresses as they stand in the examples, and what stands there in a test.
struct Moves {
    web: SocketAddr,
    asking: SocketAddr,
    jeton: SocketAddr,
    service: SocketAddr,
}

impl Moves {
    fn apply(&self, text: &str) -> String {
        text.replace("127.0.0.1:8080", &self.web.to_string())
            .replace("127.0.0.1:8079", &self.asking.to_string())
            .replace("127.0.0.1:7070", &self.jeton.to_string())
            .replace("127.0.0.1:3000", &self.service.to_string())
    }
}

pub(crate) fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/gateways")
}

fn example(name: &str) -> String {
    let path = examples().join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Port 0 of another socket: free a moment ago, and unlikely to be taken since.
fn free() -> SocketAddr {
    let address = TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr());
    address.expect("a free port")
}

impl Setup {
    pub(crate) fn start(gateway: Gateway) -> Self {
        Self::adjusted(gateway, str::to_owned)
    }

    /// With a change to the gateway's file.
    pub(crate) fn adjusted(gateway: Gateway, adjust: impl Fn(&str) -> String) -> Self {
        Self::with(gateway, Upstream::answering(SERVICE), adjust)
    }

    pub(crate) fn with(
        gateway: Gateway,
        service: Upstream,
        adjust: impl Fn(&str) -> String,
    ) -> Self {
        let policy = example("jeton.toml");
        let jeton = Running::serve(&policy.replace("127.0.0.1:7070", "127.0.0.1:0"));
        let service_at = service.url()["http://".len()..]
            .parse()
            .expect("an address");
        // A port that was free may be somebody else's by the time the gateway wants it.
        let started = (0..5).find_map(|_| {
            let moves = Moves {
                web: free(),
                asking: free(),
                jeton: jeton.api_address(),
                service: service_at,
            };
            let (child, folder) = spawn(gateway, &moves, &adjust);
            let started = Started { child, folder };
            started
                .listens(gateway, moves.web)
                .then_some((moves, started))
        });
        let (moves, started) = started.expect("a port that nobody took");
        let setup = Self {
            service,
            jeton: Some(jeton),
            address: moves.web,
            started,
        };
        // Traefik listens before its routes are there.
        eventually("the gateway routes", || {
            setup.ask(&["/ready"]).status == 200
        });
        setup
    }

    /// What the gateway has to say.
    pub(crate) fn log(&self) -> String {
        self.started.log()
    }

    /// Asks through the gateway, with these arguments of curl before the path.
    pub(crate) fn ask(&self, arguments: &[&str]) -> Seen {
        let (path, flags) = arguments.split_last().expect("a path");
        let url = format!("http://{}{path}", self.address);
        let always = ["-i", "--path-as-is"];
        Seen::of(&curl(&[&always[..], flags, &[&url]].concat()))
    }

    /// The head of the last request that reached the service, in lower case.
    pub(crate) fn last_head(&self) -> String {
        let heads = self.service.heads();
        heads.last().expect("a request").to_ascii_lowercase()
    }
}

/// A gateway's process, and where its files are.
struct Started {
    child: Child,
    folder: Folder,
}

fn spawn(gateway: Gateway, moves: &Moves, adjust: impl Fn(&str) -> String) -> (Child, Folder) {
    let folder = Folder::new();
    let mut command = command(gateway, &folder, |name| {
        moves.apply(&adjust(&example(name)))
    });
    let log = fs::File::create(folder.path().join("log")).expect("a log");
    let child = command
        .stdout(Stdio::null())
        .stderr(log)
        .env("HOME", folder.path())
        .spawn()
        .unwrap_or_else(|error| panic!("{gateway:?}: {error}; install it with `make prereqs`"));
    (child, folder)
}

impl Started {
    fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    /// Waits until it listens; `false` if one of its ports is taken.
    fn listens(&self, gateway: Gateway, address: SocketAddr) -> bool {
        let begun = std::time::Instant::now();
        loop {
            let log = self.log().to_ascii_lowercase();
            if log.contains("address already in use") {
                return false;
            }
            if TcpStream::connect(address).is_ok() {
                return true;
            }
            assert!(begun.elapsed().as_secs() < 20, "{gateway:?}: {log}");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        // nginx's master ends its workers when it is told to, not when it is killed.
        let pid = self.child.id().to_string();
        drop(Command::new("kill").arg(pid).status());
        drop(self.child.wait());
    }
}

/// The command of a gateway, its files written into `folder`.
fn command(gateway: Gateway, folder: &Folder, file: impl Fn(&str) -> String) -> Command {
    let place = |name: &str, text: &str| folder.file(name, text.as_bytes());
    match gateway {
        Gateway::Nginx => {
            place("jeton.conf", &file("nginx/jeton.conf"));
            let main = place("nginx.conf", &nginx_main(folder));
            let mut command = Command::new("/usr/sbin/nginx");
            command
                .arg("-e")
                .arg(folder.path().join("log"))
                .arg("-c")
                .arg(main);
            command
        }
        Gateway::DebianCaddy | Gateway::PypiCaddy => {
            let caddyfile = place("Caddyfile", &file("caddy/Caddyfile"));
            let program = if gateway == Gateway::PypiCaddy {
                tool("caddy")
            } else {
                "caddy".into()
            };
            let mut command = Command::new(program);
            command.arg("run").arg("--config").arg(caddyfile);
            command
        }
        Gateway::Traefik => {
            place("dynamic.yaml", &file("traefik/dynamic.yaml"));
            let fixed = place("traefik.yaml", &file("traefik/traefik.yaml"));
            let mut command = Command::new(tool("traefik"));
            command.current_dir(folder.path());
            command.arg(format!("--configFile={}", fixed.display()));
            command
        }
    }
}

/// What stands in `/etc/nginx/nginx.conf` elsewhere.
fn nginx_main(folder: &Folder) -> String {
    let base = folder.path().display();
    format!(
        "daemon off; user root; worker_processes 1; pid {base}/pid; error_log {base}/log;\n\
         events {{ worker_connections 1024; }}\n\
         http {{\n access_log off;\n client_body_temp_path {base}/body; proxy_temp_path {base}/proxy;\n\
         fastcgi_temp_path {base}/fastcgi; uwsgi_temp_path {base}/uwsgi; scgi_temp_path {base}/scgi;\n\
         include {base}/jeton.conf;\n}}\n"
    )
}

/// An answer as the client sees it.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) status: u16,
    fields: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Seen {
    fn of(text: &str) -> Self {
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((text, ""));
        let mut lines = head.lines();
        let status = lines.next().and_then(|line| line.split_whitespace().nth(1));
        let status = status.and_then(|it| it.parse().ok());
        let fields = lines.filter_map(|line| line.split_once(':'));
        Self {
            status: status.unwrap_or_else(|| panic!("no status in {text}")),
            fields: fields
                .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
                .collect(),
            body: body.to_owned(),
        }
    }

    /// All values of a field, joined as HTTP says.
    pub(crate) fn field(&self, name: &str) -> Option<String> {
        let values = self.fields.iter().filter(|(found, _)| found == name);
        let values: Vec<&str> = values.map(|(_, value)| value.as_str()).collect();
        (!values.is_empty()).then(|| values.join(", "))
    }
}
