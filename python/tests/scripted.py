"""A server that fails as a script says, for tests of the client's retries."""

import json
import socket
import struct
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

#: Steps of a script that break the connection instead of answering.
DROP_UNREAD, DROP_READ, CUT_SHORT, SILENCE = "unread", "read", "cut short", "silence"


def refused(status, code, headers=(), **rest):
    """The answer of a service that refuses, as a step of a script."""
    error = {"code": code, "message": f"it is {code}", "row": None, "column": None, "hint": None}
    return status, {"error": error | rest}, dict(headers)


class Scripted(ThreadingHTTPServer):
    """Takes one step of its script per request, and keeps the requests."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.script, self.seen = [], []
        self.url = f"http://127.0.0.1:{self.server_address[1]}"

    def bodies(self):
        return [body for _, _, _, body in self.seen]

    def header(self, name):
        return [headers[name] for _, _, headers, _ in self.seen]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def handle_request(self):
        step = self.server.script.pop(0)
        length = int(self.headers.get("Content-Length", 0))
        body = None if step == DROP_UNREAD else self.rfile.read(length)
        self.server.seen.append((self.command, self.path, self.headers, body))
        if step in (DROP_UNREAD, DROP_READ):
            return self.reset()
        if step == SILENCE:
            time.sleep(1.0)
            return self.reset()
        if step == CUT_SHORT:
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")
            self.wfile.flush()
            return self.reset()
        status, answer, headers = step if isinstance(step, tuple) else (200, step, {})
        data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_PUT = do_DELETE = handle_request

    def reset(self):
        self.close_connection = True
        # closed with a reset, as by a process that is gone
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()

    def log_message(self, *_):
        pass


@contextmanager
def scripted():
    """A running server with an empty script."""
    with Scripted() as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()
