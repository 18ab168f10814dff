"""Starts the real `kalmia serve` and Debian's Chromium for the tests of the page."""

import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import threading
import time
import urllib.error
import urllib.request
from math import exp, log

import pytest
from playwright.sync_api import sync_playwright

START_SECONDS = 20
STOP_SECONDS = 10
# What each carrier adds to the linear predictor.
CARRIERS = {"alder": 0.0, "birch": 0.7, "cedar": -0.5, "elm": 0.25}
BROWSER_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
# Runs before the page's own script. The content-security policy does not apply to it.
COLLECT_VIOLATIONS = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) => {
  window.violations.push(`${event.violatedDirective}: ${event.blockedURI} ${event.sample}`);
});
"""


class Server:
    """A `kalmia serve` on 127.0.0.1 that can be stopped and started again on its port."""

    def __init__(self, folder, token=None):
        self.data = folder / "data"
        self.token = token
        self.token_file = None
        self.process = None
        self.port = 0
        if token is not None:
            self.token_file = folder / "tokens"
            digest = hashlib.sha256(token.encode()).hexdigest()
            self.token_file.write_text(f"admin {digest}\n")
            self.token_file.chmod(0o600)

    @property
    def address(self):
        return f"http://127.0.0.1:{self.port}"

    def start(self):
        command = [os.environ["KALMIA_COMMAND"], "serve", "--data", str(self.data)]
        command += ["--listen", f"127.0.0.1:{self.port}"]
        if self.token_file is not None:
            command += ["--token-file", str(self.token_file)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        # readline has no limit of its own: a server that says nothing is killed, which ends it.
        watchdog = threading.Timer(START_SECONDS, self.process.kill)
        watchdog.start()
        try:
            for line in self.process.stdout:
                if line.startswith("listening on http://"):
                    self.port = int(line.strip().rsplit(":", 1)[1])
                    return
        finally:
            watchdog.cancel()
        self.process.wait()
        pytest.fail(f"{command} ended with {self.process.returncode} before it listened")

    def stop(self):
        """Sends SIGTERM; returns the exit code."""
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(STOP_SECONDS)
        finally:
            self.process.kill()
            self.process.stdout.close()

    def call(self, method, path, body=None):
        """The status and the decoded JSON of one request."""
        request = urllib.request.Request(self.address + path, method=method)
        request.add_header("Content-Type", "application/json")
        if self.token is not None:
            request.add_header("Authorization", f"Bearer {self.token}")
        if body is not None:
            request.data = json.dumps(body).encode()
        try:
            with urllib.request.urlopen(request, timeout=30) as response:
                text = response.read()
                return response.status, json.loads(text) if text else None
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())

    def must(self, method, path, body=None):
        """As `call`, for a request that has to succeed."""
        status, answer = self.call(method, path, body)
        assert status in (200, 201), (method, path, status, answer)
        return answer


class Flights:
    """Made-up flights with a fixed seed: late or not, the delay, the cause of a delay, or the
    number of complaints."""

    def __init__(self, seed=7):
        self.random = random.Random(seed)

    def row(self, target="late"):
        draw = self.random
        row = {
            "hour": draw.randint(5, 23),
            "distance": round(draw.uniform(0.2, 4.0), 2),
            "wind": round(draw.gauss(0.0, 1.0), 2),
            "rain": round(max(0.0, draw.gauss(-0.5, 1.0)), 2),
            "seats": draw.randint(5, 30),
            "weekend": draw.random() < 2 / 7,
            "carrier": draw.choice(list(CARRIERS)),
        }
        linear = -3.4 + 0.17 * row["hour"] - 0.2 * row["distance"] + 0.5 * row["wind"]
        linear += 1.1 * row["rain"] - 0.4 * row["weekend"] + CARRIERS[row["carrier"]]
        if target == "late":
            row[target] = int(draw.random() < 1 / (1 + exp(-linear)))
        elif target == "delay":
            row[target] = round(15 + 8 * linear + draw.gauss(0.0, 10.0), 1)
        elif target == "cause":
            scores = {"carrier": linear, "security": 0.0, "weather": 2 * row["rain"] + row["wind"]}
            # The largest of the scores with noise of Gumbel's law: a softmax.
            noisy = {name: score - log(draw.expovariate(1.0)) for name, score in scores.items()}
            row[target] = max(noisy, key=noisy.get)
        else:
            # Arrivals within one unit of time, at a rate that depends on the columns.
            arrival = draw.expovariate(exp(0.3 * linear))
            row[target] = 0
            while arrival < 1:
                row[target] += 1
                arrival += draw.expovariate(exp(0.3 * linear))
        return row

    def rows(self, count, target="late"):
        return [self.row(target) for _ in range(count)]


class LearnInBackground:
    """Sends batches to a model until the `with` block ends; a failure is raised there."""

    def __init__(self, server, name, flights, batch=15):
        self.server = server
        self.path = f"/v1/models/{name}/learn"
        self.flights = flights
        self.batch = batch
        self.stopping = threading.Event()
        self.failure = None
        self.thread = threading.Thread(target=self.run)

    def run(self):
        try:
            while not self.stopping.wait(0.05):
                self.server.must("POST", self.path, self.flights.rows(self.batch))
        except Exception as failure:  # noqa: BLE001 (raised again where the test can see it)
            self.failure = failure

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stopping.set()
        self.thread.join()
        if self.failure is not None:
            raise self.failure


class Watched:
    """A page with what it wrote to the console, what it asked for and what failed."""

    def __init__(self, page):
        self.page = page
        self.console = []
        self.requested = []
        self.failed = []
        page.on("console", self.on_console)
        page.on("pageerror", lambda error: self.console.append(f"error: {error}"))
        page.on("request", lambda request: self.requested.append(request.url))
        page.on("requestfailed", self.on_failed)

    def on_console(self, message):
        if message.type in ("error", "warning"):
            self.console.append(f"{message.type}: {message.text}")

    def on_failed(self, request):
        # The page itself ends its stream when another model is chosen.
        if request.failure != "net::ERR_ABORTED":
            self.failed.append(f"{request.url}: {request.failure}")

    def check(self, server, expected_in_console=None):
        """Nothing unexpected happened, and nothing left the server's address."""
        unexpected = [
            text
            for text in self.console
            if expected_in_console is None or expected_in_console not in text
        ]
        assert unexpected == []
        assert expected_in_console is not None or self.failed == []
        elsewhere = [url for url in self.requested if not url.startswith((server.address, "data:"))]
        assert elsewhere == []
        assert self.page.evaluate("() => window.violations") == []


@pytest.fixture(scope="session")
def browser():
    path = shutil.which("chromium")
    assert path is not None, "no chromium on the PATH; install Debian's package chromium"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=BROWSER_FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser):
    """Opens an address in a context of its own; the arguments are playwright's for a context."""
    contexts = []

    def open_page(address, **options):
        options.setdefault("viewport", {"width": 1280, "height": 1000})
        context = browser.new_context(**options)
        contexts.append(context)
        context.add_init_script(COLLECT_VIOLATIONS)
        watched = Watched(context.new_page())
        watched.response = watched.page.goto(address)
        return watched

    yield open_page
    for context in contexts:
        context.close()


@pytest.fixture
def start_server(tmp_path):
    """Starts a server on a data folder of its own and stops it after the test."""
    servers = []

    def start_server(token=None):
        folder = tmp_path / f"server-{len(servers)}"
        folder.mkdir()
        server = Server(folder, token)
        servers.append(server)
        server.start()
        return server

    yield start_server
    for server in servers:
        if server.process.poll() is None:
            server.stop()


@pytest.fixture
def server(start_server):
    return start_server()


@pytest.fixture
def flights():
    return Flights()


def wait_until(condition, seconds=15.0):
    """Waits until `condition()` holds; false if it did not within the time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.1)
    return False
