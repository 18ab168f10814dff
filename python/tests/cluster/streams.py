"""What the tests of streams share: child processes that are killed, and a model that never was."""

import json
import os
import signal
import subprocess
import sys

from service import flights

from kalmia.stream import StreamModel

#: Seconds to wait for a child, which takes far less on an idle machine.
PATIENCE = 120.0


def messages(rows, seed=1):
    """Rows as JSON messages."""
    return [json.dumps(row).encode() for row in flights(rows, seed).to_dict("records")]


def uninterrupted(path, source, values, size, first=0):
    """Writes the model of a consumer that never stopped: batches of `size` messages."""
    with StreamModel(path, "late", family="bernoulli") as model:
        for start in range(0, len(values), size):
            part = values[start : start + size]
            model.learn(b"\n".join(part), first + start + len(part) - 1, source=source)
        assert model.rows == len(values)
    return path.read_bytes()


class Child:
    """A consumer in a process of its own, which prints a line after each batch."""

    def __init__(self, code, *arguments):
        self.process = subprocess.Popen(
            [sys.executable, "-c", code, *map(str, arguments)],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )

    def kill_after(self, lines):
        """Ends it as a power cut would, after so many lines."""
        for _ in range(lines):
            assert self.process.stdout.readline(), "it ended before it could be killed"
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait(PATIENCE)
        self.process.stdout.close()

    def finish(self):
        printed, _ = self.process.communicate(timeout=PATIENCE)
        assert self.process.returncode == 0
        return printed.splitlines()
