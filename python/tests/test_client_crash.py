"""The client with services of their own: one with tokens, and one that is killed."""

import hashlib
import logging
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from service import Service, flights

import kalmia
from kalmia.errors import ServiceError

FEATURES = ["hour", "dist"]


def test_tokens(command, tmp_path):
    tokens = {role: f"token-of-{role}" for role in ("read", "learn", "admin")}
    hashes = {role: hashlib.sha256(token.encode()).hexdigest() for role, token in tokens.items()}
    file = tmp_path / "tokens"
    file.write_text("".join(f"{role} {hashed}\n" for role, hashed in hashes.items()))
    file.chmod(0o600)
    running = Service(command, tmp_path / "data", "--token-file", file)
    one = {role: kalmia.Client(running.url, token=token) for role, token in tokens.items()}
    one["admin"].create("late", family="bernoulli", target="late")
    one["learn"].learn("late", flights(10))
    assert one["read"].model("late")["rows"] == 10
    for client, status, code in (
        (one["read"], 403, "forbidden"),
        (kalmia.Client(running.url, token="wrong-secret"), 401, "unauthorized"),
        (kalmia.Client(running.url), 401, "unauthorized"),
    ):
        client.wait_ready()
        with pytest.raises(ServiceError) as caught:
            client.learn("late", flights(1))
        assert (caught.value.status, caught.value.code) == (status, code)
        assert "token-of" not in str(caught.value) and "wrong-secret" not in str(caught.value)
    assert running.stop() == 0


def test_a_killed_service_loses_and_doubles_no_row(command, tmp_path, caplog):
    """Depends on time: the service is killed wherever it is, five times while rows are learned."""
    caplog.set_level(logging.INFO, "kalmia.client")
    running = Service(command, tmp_path / "data")
    table, size = flights(3000), 25
    batches = [table[first : first + size] for first in range(0, len(table), size)]
    kills, learned = 5, []
    moved, finished = threading.Semaphore(0), threading.Event()
    rng = np.random.default_rng(7)

    def disturb():
        for _ in range(kills):
            for _ in range(int(rng.integers(10, 20))):
                assert moved.acquire(timeout=60.0)
            finished.wait(rng.uniform(0.0, 0.01))
            running.kill()
            running.restart()

    with ThreadPoolExecutor(1) as pool, kalmia.Client(running.url, retries=12) as client:
        client.create("late", family="bernoulli", target="late")
        disturbance = pool.submit(disturb)
        for batch in batches:
            learned.append(client.learn("late", batch))
            moved.release()
        disturbance.result(60.0)
        # kills met requests, which were sent again; a late one may find nothing under way
        assert "retry 1 of 12" in caplog.text
        assert sum(one.rows for one in learned) == len(table)
        assert client.model("late")["rows"] == len(table)
        model = client.snapshot("late")
        sequences = [one.sequence for one in learned]
        assert sequences == sorted(set(sequences))
    local = kalmia.LogisticRegression()
    for batch in batches:
        local.partial_fit(batch[FEATURES], batch["late"], classes=[0, 1])
    assert model.n_samples_seen_ == local.n_samples_seen_ == len(table)
    assert model.coef_ == pytest.approx(local.coef_, rel=1e-12)
    assert model.std_err_ == pytest.approx(local.std_err_, rel=1e-12)
    assert model.progressive_loss_ == pytest.approx(local.progressive_loss_, rel=1e-12)
    assert running.stop() == 0
