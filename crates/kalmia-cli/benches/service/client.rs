//! The service as a process, and a client that costs as little as possible: one connection, one
//! prepared request after the other.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A folder below `target/tmp`, removed at the end.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("service-{name}"));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("the folder can be made");
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A running service, killed at the end.
pub struct Server {
    child: Child,
    pub address: String,
}

impl Server {
    /// Starts it and waits until it takes requests, the log learned again.
    pub fn start(data: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_kalmia"))
            .args(["serve", "--listen", "127.0.0.1:0", "--snapshot-every", "1000000", "--data"])
            .arg(data)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the service starts");
        let mut line = String::new();
        let out = child.stdout.take().expect("its output is piped");
        BufReader::new(out).read_line(&mut line).expect("it says where it listens");
        let address = line.trim().strip_prefix("listening on http://").expect("an address").into();
        Self { child, address }
    }

    pub fn connect(&self) -> Connection {
        Connection::new(&self.address)
    }

    /// Creates a model of labels with so many numbers as features.
    pub fn create(&self, name: &str, features: usize) {
        let columns: Vec<_> = (0..features).map(|j| format!("\"x{j}\":\"number\"")).collect();
        let body = format!(
            "{{\"family\":\"bernoulli\",\"target\":\"y\",\"columns\":{{{}}}}}",
            columns.join(",")
        );
        let path = format!("/v1/models/{name}");
        let status = self.connect().send("PUT", &path, "application/json", "", body.as_bytes());
        assert_eq!(status, 201);
    }

    /// The resident memory in bytes, where the system tells.
    pub fn memory(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
        line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib * 1024)
    }

    /// Ends it as a power cut would.
    pub fn kill(&mut self) {
        self.child.kill().expect("it can be killed");
        self.child.wait().expect("it ends");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One connection that is kept open.
pub struct Connection {
    stream: BufReader<TcpStream>,
    request: Vec<u8>,
    /// The body of the last answer.
    pub answer: Vec<u8>,
}

impl Connection {
    pub fn new(address: &str) -> Self {
        let stream = TcpStream::connect(address).expect("it accepts connections");
        stream.set_nodelay(true).expect("TCP");
        Self { stream: BufReader::new(stream), request: Vec::new(), answer: Vec::new() }
    }

    /// Sends a request and reads the answer; its status. `headers` are whole lines.
    pub fn send(
        &mut self,
        method: &str,
        path: &str,
        kind: &str,
        headers: &str,
        body: &[u8],
    ) -> u16 {
        self.request.clear();
        write!(
            self.request,
            "{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: {kind}\r\n\
             content-length: {}\r\n{headers}\r\n",
            body.len()
        )
        .expect("memory");
        self.request.extend_from_slice(body);
        self.stream.get_mut().write_all(&self.request).expect("it reads requests");
        self.read_answer()
    }

    fn read_answer(&mut self) -> u16 {
        let mut line = String::new();
        self.stream.read_line(&mut line).expect("it answers");
        let status = line.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a status");
        let mut length = 0;
        loop {
            line.clear();
            self.stream.read_line(&mut line).expect("headers");
            if line.trim().is_empty() {
                break;
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().expect("a length");
            }
        }
        self.answer.resize(length, 0);
        self.stream.read_exact(&mut self.answer).expect("a body");
        status
    }
}
