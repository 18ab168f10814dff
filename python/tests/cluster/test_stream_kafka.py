"""Kafka: offsets live in the model file. The broker is librdkafka's mock cluster."""

import json

import pytest
from service import flights
from streams import Child, messages, uninterrupted

import kalmia
from kalmia.errors import InputError
from kalmia.stream import StreamModel, consume_kafka

kafka = pytest.importorskip(
    "confluent_kafka", reason="confluent-kafka is not installed; `cargo xtask cluster` installs it"
)
SIZE = 50

#: Consumes until nothing comes, and prints a line before and after a batch is in the file.
CHILD = """
import sys
from confluent_kafka import Consumer
from kalmia.stream import StreamModel, consume_kafka

class Printing(StreamModel):
    def learn(self, *arguments, **rest):
        print("learn")
        found = super().learn(*arguments, **rest)
        print("learned")
        return found

path, servers, size = sys.argv[1:]
settings = {"bootstrap.servers": servers, "group.id": "late", "enable.auto.commit": False}
with Printing(path, "late", family="bernoulli") as model:
    consume_kafka(Consumer(settings), "flights", model, partitions=[0], batch=int(size), idle=5.0)
"""


class Broker:
    """A mock cluster that lives as long as this object."""

    def __init__(self):
        self.producer = kafka.Producer({"bootstrap.servers": "unused", "test.mock.num.brokers": 1})
        brokers = self.producer.list_topics("flights", timeout=30.0).brokers.values()
        self.servers = ",".join(f"{one.host}:{one.port}" for one in brokers)

    def send(self, values, partition=0):
        for value in values:
            self.producer.produce("flights", value, partition=partition)
        assert self.producer.flush(30.0) == 0

    def consumer(self):
        settings = {"bootstrap.servers": self.servers, "group.id": "late"}
        return kafka.Consumer({**settings, "enable.auto.commit": False})


@pytest.fixture
def broker():
    return Broker()


def test_a_killed_consumer_loses_and_doubles_no_message(broker, tmp_path):
    values = messages(1000)
    broker.send(values)
    # killed once before and once after a batch is in the file, then wherever it is
    for lines in (3, 4, 7, 10):
        Child(CHILD, tmp_path / "m", broker.servers, SIZE).kill_after(lines)
    Child(CHILD, tmp_path / "m", broker.servers, SIZE).finish()
    expected = uninterrupted(tmp_path / "whole", "flights/0", values, SIZE)
    assert (tmp_path / "m").read_bytes() == expected


def test_all_partitions_are_learned_once(broker, tmp_path):
    parts = [messages(130, seed) for seed in (1, 2, 3)]
    for number, values in enumerate(parts):
        broker.send(values, number)
    with StreamModel(tmp_path / "m", "late", family="bernoulli") as model:
        assert consume_kafka(broker.consumer(), "flights", model, batch=SIZE, idle=5.0) == 390
        broker.send(parts[0], 1)
        assert consume_kafka(broker.consumer(), "flights", model, batch=SIZE, idle=5.0) == 130
        assert model.rows == 520
        assert model.position == {"flights/0": 129, "flights/1": 259, "flights/2": 129}
    assert kalmia.load(tmp_path / "m").n_samples_seen_ == 520


def test_messages_that_are_no_rows(broker, tmp_path):
    row = json.dumps({"hour": 8, "dist": 100.0, "late": 0}).encode()
    broker.send([row, b"", row, b"[1, 2]", row])
    with StreamModel(tmp_path / "m", "late", family="bernoulli") as model:
        with pytest.raises(InputError, match="partition 0, offset 3: the message .* no JSON"):
            consume_kafka(broker.consumer(), "flights", model, idle=1.0)
        assert model.rows == 0

        def decode(message):
            found = json.loads(message.value() or b"null")
            return found if isinstance(found, dict) else None

        assert consume_kafka(broker.consumer(), "flights", model, decode=decode, idle=1.0) == 3
        assert model.position == {"flights/0": 4}

        def fail(message):
            raise KeyError("hour")

        broker.send([row])
        with pytest.raises(InputError, match="offset 5: decode failed: 'hour'"):
            consume_kafka(broker.consumer(), "flights", model, decode=fail, idle=1.0)


def test_a_row_at_fault_is_named(broker, tmp_path):
    broker.send([*messages(10), b'{"hour": null, "dist": 1.0, "late": 0}'])
    with StreamModel(tmp_path / "m", "late", family="bernoulli") as model:
        with pytest.raises(InputError, match="flights/0 at 10, row 11.*column `hour`: missing"):
            consume_kafka(broker.consumer(), "flights", model, idle=1.0)
        assert (model.position, model.rows) == ({}, 0)


def test_a_topic_that_was_made_anew_is_refused(broker, tmp_path):
    broker.send(messages(20))
    with StreamModel(tmp_path / "m", "late", family="bernoulli") as model:
        model.learn(flights(50), 99, source="flights/0")
        with pytest.raises(InputError, match="continues partition 0 .* at offset 100, but the"):
            consume_kafka(broker.consumer(), "flights", model, idle=1.0)
        assert model.rows == 50
