//! Upstreams that do exactly what a test wants, right or wrong.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// Runs a handler per connection, each on a thread.
pub(crate) struct Upstream {
    address: SocketAddr,
    connections: Arc<AtomicUsize>,
    heads: Arc<Mutex<Vec<String>>>,
}

/// One accepted connection.
pub(crate) struct Accepted {
    pub(crate) stream: BufReader<TcpStream>,
    /// From 0, in order of acceptance.
    pub(crate) number: usize,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Upstream {
    pub(crate) fn start(handler: impl Fn(&mut Accepted) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let address = listener.local_addr().expect("its address");
        let connections = Arc::new(AtomicUsize::new(0));
        let heads = Arc::new(Mutex::new(Vec::new()));
        let (counted, seen) = (Arc::clone(&connections), Arc::clone(&heads));
        let handler = Arc::new(handler);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let number = counted.fetch_add(1, Ordering::SeqCst);
                let stream = BufReader::new(stream);
                let mut accepted = Accepted {
                    stream,
                    number,
                    heads: Arc::clone(&seen),
                };
                let handler = Arc::clone(&handler);
                std::thread::spawn(move || handler(&mut accepted));
            }
        });
        Self {
            address,
            connections,
            heads,
        }
    }

    /// Answers every request with these bytes and goes on.
    pub(crate) fn answering(response: &'static str) -> Self {
        Self::start(move |accepted| {
            while accepted.read_request().is_some() {
                accepted.write(response);
            }
        })
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// The heads of all requests so far.
    pub(crate) fn heads(&self) -> Vec<String> {
        self.heads.lock().expect("heads").clone()
    }
}

impl Accepted {
    /// The head of the next request, or none at the end.
    pub(crate) fn read_head(&mut self) -> Option<String> {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if self.stream.read_line(&mut head).ok()? == 0 {
                return None;
            }
        }
        self.heads.lock().expect("heads").push(head.clone());
        Some(head)
    }

    /// Head and body of the next request.
    pub(crate) fn read_request(&mut self) -> Option<(String, Vec<u8>)> {
        let head = self.read_head()?;
        let lower = head.to_ascii_lowercase();
        let mut body = Vec::new();
        if lower.contains("transfer-encoding: chunked") {
            self.read_chunks(&mut body)?;
        } else if let Some((_, rest)) = lower.split_once("content-length: ") {
            let length = rest.lines().next()?.trim().parse().ok()?;
            body.resize(length, 0);
            self.stream.read_exact(&mut body).ok()?;
        }
        Some((head, body))
    }

    fn read_chunks(&mut self, body: &mut Vec<u8>) -> Option<()> {
        loop {
            let mut line = String::new();
            self.stream.read_line(&mut line).ok()?;
            let size = usize::from_str_radix(line.trim(), 16).ok()?;
            if size == 0 {
                return self.read_trailers();
            }
            let start = body.len();
            body.resize(start + size + 2, 0);
            self.stream.read_exact(&mut body[start..]).ok()?;
            body.truncate(start + size);
        }
    }

    fn read_trailers(&mut self) -> Option<()> {
        let mut trailers = String::new();
        loop {
            let mut line = String::new();
            if self.stream.read_line(&mut line).ok()? == 0 {
                return None;
            }
            if line == "\r\n" {
                break;
            }
            trailers.push_str(&line);
        }
        if !trailers.is_empty() {
            self.heads.lock().expect("heads").push(trailers);
        }
        Some(())
    }

    pub(crate) fn write(&mut self, text: &str) {
        // A proxy that has left is what some tests are about.
        drop(self.stream.get_mut().write_all(text.as_bytes()));
    }

    /// Whether the other end closes or resets, as opposed to sending more.
    pub(crate) fn is_left(&mut self) -> bool {
        let mut byte = [0];
        matches!(self.stream.read(&mut byte), Ok(0) | Err(_))
    }
}
