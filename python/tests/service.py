"""Starts and stops ``kalmia serve`` for tests, and has rows for it; every wait has a bound."""

import queue
import signal
import subprocess
import threading

import numpy as np
import pandas as pd

#: Seconds to wait for a start or a stop, which take far less on an idle machine.
PATIENCE = 60.0


class Service:
    """A running service with its data in `folder`, on a free port unless one is given."""

    def __init__(self, command, folder, *arguments, port=0, scheme="http"):
        self.command, self.folder, self.arguments = command, folder, arguments
        self.scheme = scheme
        self.start(port)

    def start(self, port):
        listen = f"127.0.0.1:{port}"
        self.process = subprocess.Popen(
            [self.command, "serve", "--data", self.folder, "--listen", listen, *self.arguments],
            stdout=subprocess.PIPE,
            text=True,
        )
        lines = queue.Queue()
        reader = threading.Thread(target=self._read, args=(self.process.stdout, lines), daemon=True)
        reader.start()
        line = lines.get(timeout=PATIENCE)
        expected = f"listening on {self.scheme}://127.0.0.1:"
        assert line.startswith(expected), f"kalmia serve printed {line!r}"
        self.url = line.removeprefix("listening on ").strip()
        self.port = int(self.url.rpartition(":")[2])

    @staticmethod
    def _read(stream, lines):
        with stream:
            for line in stream:
                lines.put(line)
        lines.put("")

    def kill(self):
        """Ends it as a power cut would, without a chance to write anything."""
        self.process.kill()
        self.process.wait(PATIENCE)

    def restart(self):
        self.start(self.port)

    def stop(self):
        """Asks it to stop, and returns its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)


def flights(rows, seed=1):
    """Flights with a number, a measure and a label."""
    rng = np.random.default_rng(seed)
    hour, dist = rng.integers(0, 24, rows), rng.gamma(2.0, 400.0, rows)
    late = rng.random(rows) < 1.0 / (1.0 + np.exp(2.0 - 0.15 * hour + 0.001 * dist))
    return pd.DataFrame({"hour": hour, "dist": dist, "late": late.astype(int)})
