"""A lack of memory is a MemoryError that says how much is needed; nothing is lost."""

import subprocess
import sys
import textwrap

import pytest
import scipy.sparse

from kalmia import LinearRegression, LogisticRegression


def test_more_columns_than_memory_are_refused_with_the_need():
    X = scipy.sparse.csr_matrix((4, 3_000_000))
    model = LinearRegression()
    with pytest.raises(MemoryError, match=r"3000001 coefficients needs .* of memory, .* are free"):
        model.fit(X, [0.0, 1.0, 2.0, 3.0])
    assert not hasattr(model, "learners_")


def test_several_classes_multiply_the_need():
    X = scipy.sparse.csr_matrix((4, 3_000_000))
    with pytest.raises(MemoryError, match="3000001 coefficients and 3 classes needs"):
        LogisticRegression().fit(X, [0, 1, 2, 1])


@pytest.mark.skipif(sys.platform != "linux", reason="the limit of an address space is Linux's")
def test_the_interpreter_survives_and_the_model_is_unchanged():
    code = """
    import pickle, resource
    import numpy as np
    from kalmia import LogisticRegression

    model = LogisticRegression().fit(np.eye(3), [0, 1, 0])
    before = pickle.dumps(model)
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (600 << 20), resource.RLIM_INFINITY))
    try:
        model.fit(np.zeros((3, 6000)), [0, 1, 0])
    except MemoryError as error:
        print("refused:", error)
    assert pickle.dumps(model) == before
    model.partial_fit(np.eye(3), [0, 1, 0])
    print("rows:", model.n_samples_seen_)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert "refused:" in done.stdout and "of memory" in done.stdout and "rows: 6" in done.stdout
