//! An nginx of the test's own: stores what is PUT, serves what is stored.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use super::{Folder, eventually};

pub(crate) struct Nginx {
    child: Child,
    folder: Folder,
    address: SocketAddr,
}

const PROGRAM: &str = "/usr/sbin/nginx";

impl Nginx {
    pub(crate) fn start() -> Self {
        let folder = Folder::new();
        // Port 0 of another socket: free a moment ago, and unlikely to be taken since.
        let address = TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr());
        let address = address.expect("a free port");
        std::fs::create_dir_all(folder.path().join("files")).expect("a folder for files");
        let configuration = folder.file("nginx.conf", config(&folder, address).as_bytes());
        let child = Command::new(PROGRAM)
            .arg("-e")
            .arg(folder.path().join("error.log"))
            .arg("-c")
            .arg(configuration)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let child = child.unwrap_or_else(|error| {
            panic!("{PROGRAM}: {error}; install it, on Debian: apt-get install nginx-light")
        });
        eventually("nginx listens", || TcpStream::connect(address).is_ok());
        Self {
            child,
            folder,
            address,
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Where `PUT /files/name` ends up.
    pub(crate) fn stored(&self, name: &str) -> PathBuf {
        self.folder.path().join("files").join(name)
    }

    /// One line per request: connection number, request, status.
    pub(crate) fn log(&self) -> Vec<String> {
        let log = std::fs::read_to_string(self.folder.path().join("access.log"));
        log.expect("the access log")
            .lines()
            .map(str::to_owned)
            .collect()
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // The master ends its workers when it is told to, not when it is killed.
        let pid = self.child.id().to_string();
        drop(Command::new("kill").arg(pid).status());
        drop(self.child.wait());
    }
}

fn config(folder: &Folder, address: SocketAddr) -> String {
    let base = folder.path().display();
    format!(
        r#"
daemon off;
user root;
worker_processes 1;
pid {base}/pid;
error_log {base}/error.log;
events {{ worker_connections 1024; }}
http {{
    log_format short '$connection $request $status';
    access_log {base}/access.log short;
    client_body_temp_path {base}/body;
    proxy_temp_path {base}/proxy;
    fastcgi_temp_path {base}/fastcgi;
    uwsgi_temp_path {base}/uwsgi;
    scgi_temp_path {base}/scgi;
    client_max_body_size 0;
    keepalive_requests 1000000;
    server {{
        listen {address} backlog=1024;
        location / {{ return 200 "answer\n"; }}
        location = /quiet {{ access_log off; return 200 "answer\n"; }}
        location = /own {{
            add_header RateLimit '"inner";r=3;t=9'; add_header RateLimit-Policy '"inner";q=5;w=9';
            add_header X-RateLimit-Limit 5; add_header X-RateLimit-Remaining 3;
            add_header X-RateLimit-Reset 9; return 200 "answer\n";
        }}
        location = /204 {{ return 204; }}
        location = /304 {{ return 304; }}
        location = /limited {{ return 429 "no\n"; }}
        location = /small {{ client_max_body_size 1k; proxy_pass http://127.0.0.1:1; }}
        location /files/ {{ root {base}; dav_methods PUT; }}
    }}
}}
"#
    )
}
