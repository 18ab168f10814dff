"""Structured streaming: a query that is stopped anywhere and restarted learns each batch once."""

import pytest
from service import flights

import kalmia
from kalmia.stream import StreamModel, foreach_batch


class Files:
    """A stream of files, one per micro-batch, and its checkpoint."""

    def __init__(self, spark, folder, table, size):
        self.spark, self.folder = spark, folder
        # what pandas writes exactly
        table = table.round({"dist": 3})
        self.parts = [table[first : first + size] for first in range(0, len(table), size)]
        (folder / "in").mkdir()
        self.sent = 0
        self.send(len(self.parts))

    def send(self, count):
        import os
        import time

        for part in self.parts[self.sent : self.sent + count]:
            path = self.folder / "in" / f"{self.sent:04}.json"
            part.to_json(path, orient="records", lines=True)
            # Spark reads files in the order of their times
            os.utime(path, (time.time() - 1000 + self.sent,) * 2)
            self.sent += 1

    def run(self, learn, checkpoint="checkpoint"):
        schema = "hour long, dist double, late long"
        source = self.spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
        query = (
            source.json(str(self.folder / "in"))
            .coalesce(1)
            .writeStream.foreachBatch(learn)
            .option("checkpointLocation", str(self.folder / checkpoint))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination(120)


def test_a_restarted_query_loses_and_doubles_no_batch(spark, tmp_path):
    files = Files(spark, tmp_path, flights(240), 40)
    path = tmp_path / "m"
    learn = foreach_batch(path, "late", family="bernoulli")
    runs = []

    def stopped(at, before):
        def run(batch, number):
            runs.append(number)
            if number == at and before:
                raise RuntimeError("stopped before the batch is learned")
            learn(batch, number)
            if number == at:
                raise RuntimeError("stopped after the batch is in the file")

        return run

    for at, before in ((1, True), (1, False), (3, False)):
        with pytest.raises(Exception, match="stopped"):
            files.run(stopped(at, before))
    files.run(stopped(-1, False))
    # batches were given again, once after they had been learned
    assert runs == [0, 1, 1, 1, 2, 3, 3, 4, 5]
    with StreamModel(path) as model:
        (source,) = model.position
        assert model.rows == 240 and model.position[source] == 5
    with StreamModel(tmp_path / "whole", "late", family="bernoulli") as whole:
        for number, part in enumerate(files.parts):
            whole.learn(part, number, source=source)
    assert path.read_bytes() == (tmp_path / "whole").read_bytes()
    assert kalmia.load(path).n_samples_seen_ == 240


def test_a_model_and_a_checkpoint_that_do_not_belong_together(spark, tmp_path):
    files = Files(spark, tmp_path, flights(120), 40)
    learn = foreach_batch(tmp_path / "m", "late", family="bernoulli")
    files.run(learn)
    before = (tmp_path / "m").read_bytes()
    with pytest.raises(Exception, match="has learned another query, up to batch 2"):
        files.run(learn, "other checkpoint")
    assert (tmp_path / "m").read_bytes() == before
    files.parts += [flights(40)]
    files.send(1)
    with pytest.raises(Exception, match="is new, but this is batch 3"):
        files.run(foreach_batch(tmp_path / "new", "late", family="bernoulli"))
    assert not (tmp_path / "new").exists()
    files.run(foreach_batch(tmp_path / "new", "late", family="bernoulli", allow_gap=True))
    assert kalmia.load(tmp_path / "new").n_samples_seen_ == 40


def test_an_older_model_is_refused(spark, tmp_path):
    files = Files(spark, tmp_path, flights(80), 40)
    files.parts += [flights(40, seed=5)]
    learn = foreach_batch(tmp_path / "m", "late", family="bernoulli")
    states = []

    def keep(batch, number):
        learn(batch, number)
        states.append((tmp_path / "m").read_bytes())

    files.run(keep)
    files.send(1)
    (tmp_path / "m").write_bytes(states[0])  # a backup from before the last batch
    with pytest.raises(Exception, match="up to 0, but these rows come after 1"):
        files.run(learn)
    assert (tmp_path / "m").read_bytes() == states[0]
