"""A lack of memory is a MemoryError that says how much is needed; nothing is lost."""

import subprocess
import sys
import textwrap

import pytest
import scipy.sparse

from kalmia import LinearRegression, LogisticRegression


def test_more_columns_than_memory_are_refused_with_the_need():
    X = scipy.sparse.csr_matrix((4, 3_000_000))
    model = LinearRegression("moment")
    with pytest.raises(MemoryError, match=r"3000001 coefficients needs .* of memory, .* are free"):
        model.fit(X, [0.0, 1.0, 2.0, 3.0])
    assert not hasattr(model, "learners_")


def test_several_classes_multiply_the_need():
    X = scipy.sparse.csr_matrix((4, 3_000_000))
    with pytest.raises(MemoryError, match="3000001 coefficients and 3 classes needs"):
        LogisticRegression("moment").fit(X, [0, 1, 2, 1])


def run(code):
    """What a child process prints; it must end well."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


LIMIT = """
    def limit(megabytes):
        used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + (megabytes << 20), resource.RLIM_INFINITY))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the limit of an address space is Linux's")
def test_the_interpreter_survives_and_the_model_is_unchanged():
    code = f"""
    import pickle, resource
    import numpy as np
    from kalmia import LogisticRegression
    {LIMIT}
    model = LogisticRegression().fit(np.eye(3), [0, 1, 0])
    before = pickle.dumps(model)
    limit(600)
    try:
        model.fit(np.zeros((3, 4500)), [0, 1, 0])
    except MemoryError as error:
        print("refused:", error)
    assert pickle.dumps(model) == before
    model.partial_fit(np.eye(3), [0, 1, 0])
    print("rows:", model.n_samples_seen_)
    """
    printed = run(code)
    assert "refused:" in printed and "of memory" in printed and "rows: 6" in printed


@pytest.mark.skipif(sys.platform != "linux", reason="the limit of an address space is Linux's")
def test_a_copy_to_return_to_is_not_taken_without_room():
    # a call of several blocks can be undone: that takes a copy of 12 matrices of 2001^2 numbers
    code = f"""
    import resource
    import numpy as np
    from kalmia import LinearRegression
    {LIMIT}
    rows = np.random.default_rng(0).normal(size=(300, 2000))
    model = LinearRegression(shuffle=False).partial_fit(rows[:4], rows[:4, 0])
    limit(200)
    try:
        model.partial_fit(rows, rows[:, 0])
    except MemoryError as error:
        print("refused:", error)
    model.partial_fit(rows[:1], rows[:1, 0])
    print("rows:", model.n_samples_seen_)
    """
    printed = run(code)
    assert "refused:" in printed and "of memory" in printed and "rows: 5" in printed
