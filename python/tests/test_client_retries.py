"""Retries of the client, against a server that fails as a script says."""

import errno
import io
import logging
import pickle
import socket
import time
from types import SimpleNamespace

import pytest
from scripted import CUT_SHORT, DROP_READ, DROP_UNREAD, SILENCE, refused, scripted

import kalmia
from kalmia import _client_calls, _client_rows, _client_transport
from kalmia._client_answers import Request
from kalmia.errors import InputError, ModelFileError, ServiceError, ServiceUnavailable, StateError

LEARNED = {"sequence": 7, "rows": 1, "duplicate": False}
ROW = {"hour": 9, "late": 1}


@pytest.fixture
def server():
    with scripted() as running:
        yield running


@pytest.fixture
def pauses(monkeypatch):
    """The pauses of the client, which then takes no time."""
    found = []
    clock = SimpleNamespace(monotonic=time.monotonic, time=time.time, sleep=found.append)
    monkeypatch.setattr(_client_transport, "time", clock)
    return found


FAILURES = {
    "dropped before the body was read": DROP_UNREAD,
    "dropped after the body was read": DROP_READ,
    "cut short": CUT_SHORT,
    "no answer in time": SILENCE,
    "under way": refused(409, "under_way"),
    "queue full": refused(429, "queue_full", {"Retry-After": "0"}),
    "bad gateway": (502, b"<html>bad gateway</html>", {}),
    "shutting down": refused(503, "shutting_down"),
    "disk full": refused(507, "disk_full"),
}


@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("key", [None, "monday"])
def test_the_key_and_the_body_stay_the_same(server, pauses, failure, key):
    server.script += [FAILURES[failure]] * 3 + [LEARNED]
    with kalmia.Client(server.url, timeout=0.3, retries=3) as client:
        learned = client.learn("late", ROW, key=key)
    assert learned == kalmia.client.Learned(sequence=7, rows=1)
    assert len(server.seen) == 4 and len(pauses) == 3
    assert {body for body in server.bodies() if body is not None} == {b'[{"hour":9,"late":1}]'}
    keys = set(server.header("Idempotency-Key"))
    assert len(keys) == 1 and None not in keys
    assert key is None or keys == {key}


def test_each_call_has_a_key_of_its_own(server):
    server.script += [LEARNED] * 3
    with kalmia.Client(server.url) as client:
        for _ in range(3):
            client.learn("late", ROW)
    assert len(set(server.header("Idempotency-Key"))) == 3


def test_pauses_grow_and_respect_retry_after(server, pauses):
    server.script += [refused(503, "shutting_down")] * 6
    server.script += [refused(429, "queue_full", {"Retry-After": "7"}), LEARNED]
    with kalmia.Client(server.url) as client:
        client.learn("late", ROW)
    for number, seconds in enumerate(pauses[:6]):
        assert 0.05 * 2**number <= seconds <= 0.1 * 2**number
    assert 7.0 <= pauses[6] <= 7.0 + _client_transport.MAX_PAUSE_SECONDS


def test_a_long_wait_is_the_callers_decision(server, pauses):
    server.script += [refused(429, "queue_full", {"Retry-After": "3600"})]
    with kalmia.Client(server.url) as client, pytest.raises(ServiceUnavailable) as caught:
        client.learn("late", ROW, key="monday")
    assert "asks to wait 3600 s" in str(caught.value) and pauses == []


def test_when_retries_run_out(server, pauses):
    server.script += [DROP_READ] * 3
    with kalmia.Client(server.url, retries=2) as client:
        with pytest.raises(ServiceUnavailable, match="tried 3 times in .* key='monday'") as caught:
            client.learn("late", ROW, key="monday")
        assert isinstance(caught.value.__cause__, ConnectionError)
        assert (caught.value.key, caught.value.status) == ("monday", None)
        server.script += [refused(507, "disk_full", hint="make room")] * 3
        with pytest.raises(ServiceUnavailable, match="it is disk_full; make room") as caught:
            client.learn("late", ROW)
    assert isinstance(caught.value.__cause__, ServiceError)
    assert (caught.value.status, caught.value.code) == (507, "disk_full")
    assert caught.value.key == server.header("Idempotency-Key")[-1]


def test_nobody_listens(pauses):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    client = kalmia.Client(url, retries=1)
    with pytest.raises(ServiceUnavailable, match=f"at {url}: .* refused") as caught:
        client.models()
    assert isinstance(caught.value.__cause__, ConnectionRefusedError)
    with pytest.raises(ServiceUnavailable, match="is not ready after 0.2 s"):
        client.wait_ready(0.2)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 415, 422, 500])
def test_other_errors_raise_at_once(server, pauses, status):
    place = {"row": 3, "column": "hour", "hint": "give a number"}
    server.script += [refused(status, "some_code", **place)]
    with kalmia.Client(server.url) as client, pytest.raises(ServiceError) as caught:
        client.learn("late", ROW, key="monday")
    error = caught.value
    assert not isinstance(error, ServiceUnavailable)
    assert str(error) == (
        "learn with model 'late': it is some_code (row 3, column 'hour'); give a number "
        f"[{status} some_code]"
    )
    again = pickle.loads(pickle.dumps(error))
    for one in (error, again):
        found = (one.status, one.code, one.row, one.column, one.hint, one.key)
        assert found == (status, "some_code", 3, "hour", "give a number", "monday")
    assert len(server.seen) == 1 and pauses == []


def test_a_conflict_that_is_not_under_way_raises_at_once(server, pauses):
    server.script += [refused(409, "model_exists")]
    with kalmia.Client(server.url) as client, pytest.raises(ServiceError, match="model_exists"):
        client.create("late", family="bernoulli", target="late")
    assert pauses == []


def test_answers_of_something_else(server):
    server.script += [(200, b"<html>", {}), (404, b"<html>", {}), (302, b"", {})]
    with kalmia.Client(server.url) as client:
        for said in ("no JSON: '<html>'", "404 Not Found: <html>", "302 Found; give the client"):
            with pytest.raises(ServiceError, match=said):
                client.models()


def test_a_connection_is_kept_and_an_idle_one_is_replaced(server, pauses):
    server.script += [LEARNED, DROP_READ, LEARNED]
    with kalmia.Client(server.url, retries=0) as client:
        client.learn("late", ROW)
        # the second request finds its connection closed, which costs no retry
        client.learn("late", ROW, key="monday")
    assert server.header("Idempotency-Key")[1:] == ["monday", "monday"] and pauses == []


def test_a_model_that_a_lost_attempt_deleted(server, pauses):
    server.script += [DROP_READ, refused(404, "unknown_model"), refused(404, "unknown_model")]
    with kalmia.Client(server.url) as client:
        client.delete("late")
        with pytest.raises(ServiceError, match="unknown_model"):
            client.delete("late")


def test_a_model_that_a_lost_attempt_uploaded(server, pauses, tmp_path):
    path = tmp_path / "a.kalmia"
    path.write_bytes(b"a model")
    server.script += [DROP_READ, {"rows": 1}, {"rows": 1}, (201, {"rows": 2}, {})]
    with kalmia.Client(server.url) as client:
        assert client.upload("late", path) == {"rows": 1}
        with pytest.raises(ServiceError, match="there is a model of this name"):
            client.upload("late", path)
        assert client.upload("late", path) == {"rows": 2}
    assert set(server.bodies()) == {b"a model"}


def test_parts_have_keys_of_their_own(server, pauses, monkeypatch):
    monkeypatch.setattr(_client_rows, "MAX_REQUEST_ROWS", 2)
    rows = [{"hour": hour, "late": 1} for hour in range(5)]
    answers = [{"sequence": 4 + n, "rows": 2 - n // 2, "duplicate": n > 0} for n in range(3)]
    server.script += [answers[0], DROP_READ, answers[1], refused(503, "shutting_down"), answers[2]]
    with kalmia.Client(server.url) as client:
        learned = client.learn("late", rows, key="monday")
        assert (learned.sequence, learned.rows, learned.duplicate) == (6, 5, False)
        keys = ["monday", "monday#part2", "monday#part2", "monday#part3", "monday#part3"]
        assert server.header("Idempotency-Key") == keys
        server.script += [answers[0], refused(422, "bad_row", row=2, column="hour")]
        with pytest.raises(ServiceError, match="row 2 of this request is row 4 of the") as caught:
            client.learn("late", rows, key="tuesday")
    error = caught.value
    assert (error.row, error.rows_done, error.key) == (4, 2, "tuesday")


class FullDisk(io.BytesIO):
    def write(self, _):
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_snapshot_that_is_cut_short_leaves_no_file(server, pauses, tmp_path):
    path = tmp_path / "model.kalmia"
    path.write_bytes(b"before")
    server.script += [CUT_SHORT, CUT_SHORT, CUT_SHORT, (200, b"after", {})]
    with kalmia.Client(server.url, retries=1) as client:
        with pytest.raises(ServiceUnavailable):
            client.snapshot("late", path)
        assert path.read_bytes() == b"before" and list(tmp_path.iterdir()) == [path]
        assert client.snapshot("late", path) == path
        assert path.read_bytes() == b"after" and list(tmp_path.iterdir()) == [path]
        with pytest.raises(ModelFileError, match="nowhere/a.kalmia: cannot be written: No such"):
            client.snapshot("late", tmp_path / "nowhere" / "a.kalmia")
        with pytest.raises(ModelFileError, match="a.kalmia: cannot be read: No such file"):
            client.upload("late", tmp_path / "a.kalmia")
        # a full disk here is no reason to ask the service again
        server.script += [(200, b"x" * 100_000, {})]

        def receive(answer):
            _client_calls._copy(answer, FullDisk(), path)

        with pytest.raises(ModelFileError, match="cannot be written: No space left"):
            client._transport.call(Request("GET", "/", "read"), receive)
    assert server.script == []


def test_events_come_over_several_connections(server, monkeypatch):
    monkeypatch.setattr(_client_transport, "FIRST_PAUSE_SECONDS", 0.001)
    stream = b': beat\n\nevent: model\ndata: {"rows":\ndata: 1}\n\nevent: other\ndata: 0\n\n'
    server.script += [(200, stream, {}), refused(503, "shutting_down"), (200, stream, {})]
    server.script += [refused(404, "unknown_model")]
    with kalmia.Client(server.url, retries=2) as client:
        events = client.events("late")
        assert [next(events), next(events)] == [{"rows": 1}, {"rows": 1}]
        with pytest.raises(ServiceError, match="unknown_model"):
            next(events)
    assert server.header("Accept") == ["text/event-stream"] * 4


def test_the_token_is_never_shown(server, pauses, caplog):
    caplog.set_level(logging.DEBUG)
    server.script += [DROP_READ, refused(401, "unauthorized"), DROP_READ]
    client = kalmia.Client(server.url, token="hush\n", retries=1)
    shown = [repr(client), str(client)]
    with pytest.raises(ServiceError) as refusal:
        client.models()
    client = kalmia.Client(server.url, token="hush", retries=0)
    with pytest.raises(ServiceUnavailable) as lost:
        client.models()
    for token in ("hush hush", "hush\r\nX: 1", "h\u00fcsh", " "):
        with pytest.raises(InputError, match="token must be one word") as caught:
            kalmia.Client(server.url, token=token)
        shown += [str(caught.value)]
    with pytest.raises(InputError, match="as token=") as caught:
        kalmia.Client("http://me:hush@127.0.0.1:1")
    shown += [str(caught.value), caplog.text]
    for error in (refusal.value, lost.value):
        shown += [repr(error), str(error), repr(vars(error)), repr(error.__cause__)]
    assert set(server.header("Authorization")) == {"Bearer hush"}
    assert "retry 1 of 1" in caplog.text
    assert not any("hush" in text for text in shown)


def test_what_a_client_is_given(server):
    for url in ("127.0.0.1:8642", "ftp://a", "http://", "http://a:b", "http://a/?b=1"):
        with pytest.raises(InputError, match="give an address such as"):
            kalmia.Client(url)
    with pytest.raises(InputError, match="timeout is 0: give seconds, above 0"):
        kalmia.Client(timeout=0)
    with pytest.raises(InputError, match="retries is -1"):
        kalmia.Client(retries=-1)
    server.script += [{"name": "a/b c"}]
    with kalmia.Client(server.url + "/under/") as client:
        assert client.model("a/b c") == {"name": "a/b c"}
        with pytest.raises(InputError, match="name is ''"):
            client.model("")
        with pytest.raises(InputError, match="key is 'caf\u00e9'"):
            client.learn("late", ROW, key="caf\u00e9")
        with pytest.raises(InputError, match="there are no rows"):
            client.learn("late", [])
        assert client.predict("late", []) == []
    assert [path for _, path, _, _ in server.seen] == ["/under/v1/models/a%2Fb%20c"]
    for call in (client.models, lambda: next(client.events("late"))):
        with pytest.raises(StateError, match="this client is closed"):
            call()
