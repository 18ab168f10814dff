"""A stream that can be read once is learned block by block, in bounded memory."""

import subprocess
import sys
import textwrap

import numpy as np
import pyarrow as pa
import pytest
from compare import assert_close, assert_same

import kalmia
from kalmia import InputError, LinearRegression, LogisticRegression

RNG = np.random.default_rng(9)
X = RNG.normal(size=(1000, 4))
Y = X[:, 0] - X[:, 1] + RNG.normal(size=1000)
NAMES = list("abcd")


def reader(rows=X, chunk=130):
    table = pa.table(dict(zip(NAMES, rows.T, strict=True)))
    return table.to_reader(max_chunksize=chunk)


@pytest.mark.parametrize("classes", [0, 2, 3])
def test_a_stream_is_learned_in_its_order(classes):
    y = Y if classes == 0 else np.digitize(Y, [0.0] if classes == 2 else [-0.7, 0.7])
    kind = LinearRegression if classes == 0 else LogisticRegression
    offset, weight = RNG.normal(size=1000) * 0.1, RNG.uniform(0.5, 1.5, 1000)
    given = {"offset": offset, "sample_weight": weight}
    whole = kind(shuffle=False).fit(X, y, **given)
    stream = kind().fit(reader(), y, **given)
    assert_close(stream.coef_, whole.coef_, rtol=1e-9)
    assert list(stream.feature_names_in_) == NAMES
    assert stream.progressive_loss_ == pytest.approx(whole.progressive_loss_, rel=1e-9)
    more = stream.partial_fit_predict(reader(), y)
    assert_close(more, whole.partial_fit_predict(X, y), rtol=1e-7, atol=1e-12)
    assert_close(stream.coef_, whole.coef_, rtol=1e-9)
    assert_close(stream.predict(reader()), whole.predict(X), rtol=1e-9)
    shuffled = kind(shuffle=True).fit(reader(), y)
    assert_same(shuffled.coef_, kind(shuffle=True).fit(X, y).coef_)


@pytest.mark.parametrize("classes", [0, 3])
def test_a_refused_stream_changes_nothing(classes):
    y = Y if classes == 0 else np.digitize(Y, [-0.7, 0.7])
    model = (LinearRegression if classes == 0 else LogisticRegression)().fit(reader(), y)
    before = model.coef_.copy()
    bad = X.copy()
    bad[721, 2] = np.inf
    for rows, targets, message in [
        (bad, y, "an infinite value .inf. in row 721, column "),
        (X[:900], y, "X has 900 rows, but y has 1000"),
        (X, y[:900], "X has more rows than y, which has 900"),
    ]:
        with pytest.raises(InputError, match=message):
            model.partial_fit(reader(rows), targets)
        assert_same(model.coef_, before)
        assert model.n_samples_seen_ == 1000
    with pytest.raises(kalmia.InputError, match="select these columns in this order"):
        model.partial_fit(pa.table({"z": [1.0]}).to_reader(), [1.0])


@pytest.mark.skipif(sys.platform != "linux", reason="the peak of memory is read as Linux has it")
def test_memory_does_not_grow_with_the_stream():
    code = """
    import resource
    import numpy as np, pyarrow as pa
    from kalmia import LinearRegression

    names = [f"x{j}" for j in range(20)]
    schema = pa.schema([(name, pa.float64()) for name in names])
    def batches(count):
        random = np.random.default_rng(0)
        for _ in range(count):
            columns = [pa.array(random.normal(size=20_000)) for _ in names]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)
    def fit(count):
        stream = pa.RecordBatchReader.from_batches(schema, batches(count))
        LinearRegression("ekf").fit(stream, np.zeros(20_000 * count))
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    small = fit(5)
    print(fit(50) - small)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    # the stream holds 160 MB, its targets and what is counted of them 8 MB each
    assert int(done.stdout) < 60
