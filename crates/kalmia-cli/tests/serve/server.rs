//! A running service, and requests to it.

use crate::harness::{Folder, PATIENCE, Uniform, wait_until};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Instant;
use ureq::Agent;
use ureq::http::{Request, Response};

/// The service in a folder of its own, killed with the test.
pub struct Server {
    child: Child,
    pub address: String,
    agent: Agent,
    log: Arc<Mutex<String>>,
}

/// What was answered.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub bytes: Vec<u8>,
    response: Response<()>,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.response.headers().get(name).and_then(|value| value.to_str().ok())
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.bytes).unwrap_or_else(|error| panic!("{error} in {self}"))
    }

    /// The JSON of a success.
    #[track_caller]
    pub fn ok(&self) -> Value {
        assert!((200..300).contains(&self.status), "expected success: {self}");
        self.json()
    }

    /// The error, which must have this status and code, and words to act on.
    #[track_caller]
    pub fn refused(&self, status: u16, code: &str) -> Value {
        assert_eq!(self.status, status, "{self}");
        let error = self.json()["error"].clone();
        assert_eq!(error["code"], code, "{self}");
        assert!(error["message"].as_str().is_some_and(|text| !text.is_empty()), "{self}");
        error
    }
}

impl std::fmt::Display for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = String::from_utf8_lossy(&self.bytes);
        write!(f, "{} {}", self.status, text.chars().take(2000).collect::<String>())
    }
}

impl Server {
    /// Starts it on the folder `data` with further words.
    pub fn start(folder: &Folder, words: &str) -> Self {
        let command = folder.command(&format!("serve --data data --listen 127.0.0.1:0 {words}"));
        Self::run(command)
    }

    /// Starts a command that ends up as the service.
    pub fn run(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let log = Arc::new(Mutex::new(String::new()));
        let stderr = child.stderr.take().unwrap();
        let lines = log.clone();
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                let mut log = lines.lock().unwrap();
                log.push_str(&line);
                log.push('\n');
            }
        });
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let Some(address) = line.trim().strip_prefix("listening on http://") else {
            let status = child.wait().unwrap();
            std::thread::sleep(std::time::Duration::from_millis(50));
            panic!("expected the address, got `{line}`; {status}; {}", log.lock().unwrap());
        };
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(PATIENCE))
            .build();
        Self { address: address.into(), child, agent: config.into(), log }
    }

    /// What it wrote to standard error so far.
    pub fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    fn builder(&self, method: &str, path: &str) -> ureq::http::request::Builder {
        Request::builder().method(method).uri(format!("http://{}{path}", self.address))
    }

    /// Sends a request with headers and a body; an error if there was no answer.
    pub fn try_send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Result<Answer, ureq::Error> {
        let mut request = self.builder(method, path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let mut response = match method {
            "GET" | "DELETE" => self.agent.run(request.body(()).unwrap())?,
            _ => self.agent.run(request.body(body).unwrap())?,
        };
        let bytes = response.body_mut().with_config().limit(1 << 30).read_to_vec()?;
        let status = response.status().as_u16();
        Ok(Answer { status, bytes, response: response.map(|_| ()) })
    }

    #[track_caller]
    pub fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let sent = self.try_send(method, path, headers, body);
        sent.unwrap_or_else(|error| panic!("{method} {path}: {error}\n{}", self.log()))
    }

    #[track_caller]
    pub fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[], b"")
    }

    #[track_caller]
    pub fn put(&self, path: &str, body: &Value) -> Answer {
        self.send("PUT", path, &[("content-type", "application/json")], &to_bytes(body))
    }

    #[track_caller]
    pub fn post(&self, path: &str, body: &Value) -> Answer {
        self.send("POST", path, &[("content-type", "application/json")], &to_bytes(body))
    }

    /// Posts bytes of a content type.
    #[track_caller]
    pub fn post_as(&self, path: &str, kind: &str, body: &[u8]) -> Answer {
        self.send("POST", path, &[("content-type", kind)], body)
    }

    /// Learns rows; what was answered.
    #[track_caller]
    pub fn learn(&self, model: &str, rows: &Value) -> Value {
        self.post(&format!("/v1/models/{model}/learn"), rows).ok()
    }

    /// Predicts rows; the predictions.
    #[track_caller]
    pub fn predict(&self, model: &str, rows: &Value) -> Value {
        self.post(&format!("/v1/models/{model}/predict"), rows).ok()["predictions"].clone()
    }

    /// The model as it is shown.
    #[track_caller]
    pub fn model(&self, name: &str) -> Value {
        self.get(&format!("/v1/models/{name}")).ok()
    }

    /// Posts under an idempotency key.
    #[track_caller]
    pub fn post_key(&self, path: &str, key: &str, body: &Value) -> Answer {
        let headers = [("content-type", "application/json"), ("idempotency-key", key)];
        self.send("POST", path, &headers, &to_bytes(body))
    }

    /// The model file.
    #[track_caller]
    pub fn snapshot(&self, model: &str) -> Vec<u8> {
        let answer = self.get(&format!("/v1/models/{model}/snapshot"));
        assert_eq!(answer.status, 200, "{answer}");
        answer.bytes
    }

    /// A stream of server-sent events.
    pub fn events(&self, model: &str) -> Box<dyn Read + Send> {
        let request = self.builder("GET", &format!("/v1/models/{model}/events"));
        let response = self.agent.run(request.body(()).unwrap()).unwrap();
        Box::new(response.into_body().into_reader())
    }

    /// Sends bytes as they are and reads until the service closes the connection.
    pub fn raw(&self, request: &[u8]) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        // it may refuse a request before its end
        let _ = stream.write_all(request);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// The most memory that it ever used, in bytes; 0 on systems that do not say it.
    pub fn peak_memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()));
        let status = status.unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let number = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        number.map_or(0, |kilobytes| kilobytes << 10)
    }

    /// Ends it as `kill -9` does.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &id]).status().unwrap().success());
    }

    /// Ends it by SIGTERM; its exit status.
    pub fn stop(mut self) -> ExitStatus {
        self.signal("TERM");
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(start.elapsed() < PATIENCE, "it does not stop\n{}", self.log());
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
    }

    /// Waits until its log says something.
    pub fn wait_for_log(&self, text: &str) {
        wait_until(text, || self.log().contains(text));
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn to_bytes(value: &Value) -> Vec<u8> {
    serde_json::to_vec(value).unwrap()
}

/// The declaration that most tests use.
pub fn late() -> Value {
    json!({"family": "bernoulli", "target": "late"})
}

/// Rows whose label follows the hour and the carrier; the same for the same seed.
pub fn flights(seed: u64, rows: usize) -> Value {
    let mut uniform = Uniform(seed);
    let carriers = ["AA", "UA", "DL"];
    let mut row = || {
        let hour = (uniform.next() * 24.0).floor();
        let dist = (uniform.next() * 3000.0).round();
        let carrier = (uniform.next() * 3.0) as usize;
        let u = (hour - 12.0) / 4.0 + carrier as f64 - 1.0 + 2.0 * uniform.next() - 1.0;
        let late = u8::from(u > 0.0);
        json!({"hour": hour, "dist": dist, "carrier": carriers[carrier], "late": late})
    };
    Value::Array((0..rows).map(|_| row()).collect())
}

/// The same rows without the label.
pub fn unlabelled(rows: &Value) -> Value {
    without(rows, "late")
}

/// The same rows without a column.
pub fn without(rows: &Value, column: &str) -> Value {
    let mut rows = rows.clone();
    for row in rows.as_array_mut().unwrap() {
        row.as_object_mut().unwrap().remove(column);
    }
    rows
}

/// The declaration of a model of several classes.
pub fn species() -> Value {
    json!({"family": "categorical", "target": "species"})
}

/// Rows of three classes that follow two numbers and a category; the same for the same seed.
pub fn flowers(seed: u64, rows: usize) -> Value {
    let mut uniform = Uniform(seed);
    let names = ["setosa", "versicolor", "virginica"];
    let mut row = || {
        let class = (uniform.next() * 3.0) as usize;
        let petal = (20.0 * (class as f64 + 1.6 * uniform.next())).round() / 10.0;
        let sepal = (10.0 * (5.0 + 0.5 * class as f64 + 2.0 * uniform.next())).round() / 10.0;
        let place = if uniform.next() < 0.2 + 0.3 * class as f64 { "east" } else { "west" };
        json!({"petal": petal, "sepal": sepal, "place": place, "species": names[class]})
    };
    Value::Array((0..rows).map(|_| row()).collect())
}

/// The declaration of a model of several quantiles.
pub fn minutes() -> Value {
    json!({"family": "quantile:0.1,0.5,0.9", "target": "minutes"})
}

/// Rows of a skewed number whose spread follows a feature; the same for the same seed.
pub fn times(seed: u64, rows: usize) -> Value {
    let mut uniform = Uniform(seed);
    let mut row = || {
        let size = (100.0 * uniform.next()).round() / 10.0;
        let queue = (8.0 * uniform.next()).floor();
        let noise = -uniform.next().max(1e-9).ln();
        let minutes = (100.0 * (5.0 + size + queue + (1.0 + queue) * noise)).round() / 100.0;
        json!({"size": size, "queue": queue, "minutes": minutes})
    };
    Value::Array((0..rows).map(|_| row()).collect())
}

/// A service with the model `late`.
pub fn with_model(folder: &Folder, words: &str) -> Server {
    let server = Server::start(folder, words);
    assert_eq!(server.put("/v1/models/late", &late()).status, 201);
    server
}
