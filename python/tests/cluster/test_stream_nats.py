"""NATS JetStream: the position lives in the model file. The server is real, and is killed."""

import asyncio
import shutil
import socket
import subprocess
import time

import pytest
from service import flights
from streams import Child, messages, uninterrupted

from kalmia.errors import InputError
from kalmia.stream import StreamModel, consume_nats

nats = pytest.importorskip(
    "nats", reason="nats-py is not installed; `cargo xtask cluster` installs it"
)
if shutil.which("nats-server") is None:
    pytest.skip(
        "nats-server is not on the PATH; on Debian: apt-get install nats-server",
        allow_module_level=True,
    )
SIZE = 50
PATIENCE = 60.0

#: Consumes until nothing comes, and prints a line before and after a batch is in the file. The
#: acknowledgment follows the second line.
CHILD = """
import asyncio, sys, nats
from kalmia.stream import StreamModel, consume_nats

class Printing(StreamModel):
    def learn(self, *arguments, **rest):
        print("learn")
        found = super().learn(*arguments, **rest)
        print("learned")
        return found

async def main(path, url, size):
    connection = await nats.connect(url)
    with Printing(path, "late", family="bernoulli") as model:
        stream = connection.jetstream()
        await consume_nats(stream, "FLIGHTS", model, batch=int(size), wait=5.0, idle=5.0)
    await connection.close()

asyncio.run(main(*sys.argv[1:]))
"""


class Server:
    """A server with its messages in `folder`."""

    def __init__(self, folder):
        self.folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"nats://127.0.0.1:{self.port}"
        self.start()

    def start(self):
        arguments = ["-a", "127.0.0.1", "-p", str(self.port), "-js", "-sd", str(self.folder)]
        self.process = subprocess.Popen(["nats-server", *arguments], stderr=subprocess.DEVNULL)
        started = time.monotonic()
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1.0).close()
                return
            except OSError:
                assert time.monotonic() - started < PATIENCE, "nats-server does not start"
                time.sleep(0.05)

    def kill(self):
        self.process.kill()
        self.process.wait(PATIENCE)

    def run(self, work):
        """Runs a coroutine function with a connection."""

        async def main():
            connection = await nats.connect(self.url, error_cb=ignore)
            try:
                return await asyncio.wait_for(work(connection.jetstream()), PATIENCE)
            finally:
                await connection.close()

        return asyncio.run(main())

    def send(self, values, subject="flights"):
        async def work(stream):
            await stream.add_stream(name="FLIGHTS", subjects=["flights", "other"])
            for value in values:
                await stream.publish(subject, value)

        self.run(work)


async def ignore(error):
    """Lost connections are what these tests are about."""


@pytest.fixture
def server(tmp_path):
    running = Server(tmp_path / "messages")
    yield running
    running.kill()


def test_a_killed_consumer_loses_and_doubles_no_message(server, tmp_path):
    values = messages(600)
    server.send(values)
    # killed before a batch is in the file, and after, before it is acknowledged
    for lines in (1, 3, 4, 6):
        Child(CHILD, tmp_path / "m", server.url, SIZE).kill_after(lines)
    Child(CHILD, tmp_path / "m", server.url, SIZE).finish()
    expected = uninterrupted(tmp_path / "whole", "FLIGHTS", values, SIZE, first=1)
    assert (tmp_path / "m").read_bytes() == expected


def test_a_killed_server_loses_and_doubles_no_message(server, tmp_path):
    values = messages(600)
    server.send(values)
    kills = []

    class Disturbed(StreamModel):
        def learn(self, *arguments, **rest):
            found = super().learn(*arguments, **rest)
            if self.rows in (100, 350) and self.rows not in kills:
                kills.append(self.rows)
                server.kill()
                server.start()
            return found

    async def work(stream):
        with Disturbed(tmp_path / "m", "late", family="bernoulli") as model:
            # so long that a busy machine does not end a batch before it is full
            return await consume_nats(stream, "FLIGHTS", model, batch=SIZE, wait=8.0, idle=8.0)

    assert server.run(work) == 600
    assert kills == [100, 350]
    expected = uninterrupted(tmp_path / "whole", "FLIGHTS", values, SIZE, first=1)
    assert (tmp_path / "m").read_bytes() == expected


def test_one_subject_and_what_comes_later(server, tmp_path):
    server.send(messages(70))
    server.send([b"no row"] * 5, "other")
    server.send(messages(30, seed=2))

    async def work(stream):
        with StreamModel(tmp_path / "m", "late", family="bernoulli") as model:
            found = await consume_nats(
                stream, "FLIGHTS", model, subject="flights", batch=SIZE, idle=1.0
            )
            return found, model.position, model.rows

    assert server.run(work) == (100, {"FLIGHTS": 105}, 100)
    server.send(messages(10, seed=3))
    assert server.run(work) == (10, {"FLIGHTS": 115}, 110)
    assert server.run(work) == (0, {"FLIGHTS": 115}, 110)


def test_messages_at_fault_and_lost_ones_are_named(server, tmp_path):
    server.send([*messages(3), b"no row"])

    async def work(stream):
        with StreamModel(tmp_path / "m", "late", family="bernoulli") as model:
            with pytest.raises(InputError, match="stream 'FLIGHTS', sequence 4: the message"):
                await consume_nats(stream, "FLIGHTS", model, idle=1.0)
            with pytest.raises(InputError, match="stream 'NONE' does not exist"):
                await consume_nats(stream, "NONE", model, idle=1.0)
            model.learn(flights(20), 99, source="FLIGHTS")
            with pytest.raises(InputError, match="at 100, but the server has 1 to 4"):
                await consume_nats(stream, "FLIGHTS", model, idle=1.0)
            return model.rows

    assert server.run(work) == 20
