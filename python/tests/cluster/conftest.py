"""The engines, each started once for all tests; the tests of one that is not installed skip."""

import os
import shutil
import sys

import pytest

#: What a skipped test says.
MISSING = "{} is not installed; `cargo xtask cluster` installs it"


def pytest_collection_modifyitems(items):
    """Marks the tests that need Spark."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.spark)


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    """Two cores, and four attempts per task."""
    pytest.importorskip("pyspark", reason=MISSING.format("pyspark"))
    if shutil.which("java") is None:
        pytest.skip("java is not on the PATH; on Debian: apt-get install default-jre-headless")
    from pyspark.sql import SparkSession

    # workers must have the packages of this process
    os.environ["PYSPARK_PYTHON"] = sys.executable
    folder = tmp_path_factory.mktemp("spark")
    session = (
        SparkSession.builder.master("local[2, 4]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.local.dir", str(folder))
        .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def dask_client():
    """Two workers, each a process."""
    distributed = pytest.importorskip("distributed", reason=MISSING.format("dask"))
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture
def datafusion():
    """The module."""
    return pytest.importorskip("datafusion", reason=MISSING.format("datafusion"))
