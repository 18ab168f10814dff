"""Rows in partitions, for tests of fits on several workers."""

import numpy as np
import pandas as pd
import pyarrow as pa

from kalmia.cluster._engine import join_samples, merge_tree, partition_name, sample_rows

#: Link and noise of each family.
FAMILIES = ("gaussian", "bernoulli", "poisson", "gamma")

#: Families of which statsmodels' GLM has none, or whose shape it does not learn.
SHAPED = ("negative-binomial", "quantile:0.8", "student")


def rows(count, family="bernoulli", seed=1, colors=("blue", "green", "red")):
    """A table with numbers, a category and a target of a family."""
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=count), rng.uniform(0.0, 10.0, count)
    color = rng.choice(colors, count)
    u = 0.3 + 0.8 * x - 0.1 * z + 0.5 * (color == "red")
    y = {
        "gaussian": lambda: u + rng.normal(size=count),
        "bernoulli": lambda: (rng.random(count) < 1.0 / (1.0 + np.exp(-u))).astype(int),
        "poisson": lambda: rng.poisson(np.exp(u)),
        "gamma": lambda: rng.gamma(2.0, np.exp(u) / 2.0),
        "negative-binomial": lambda: rng.poisson(np.exp(u) * rng.gamma(2.0, 0.5, count)),
        "quantile:0.8": lambda: u + rng.exponential(size=count),
        "student": lambda: u + rng.standard_t(4, size=count),
    }[family]()
    return pd.DataFrame({"x": x, "z": z, "color": color, "y": y})


def cut(table, parts):
    """The table in that many parts of about equal size."""
    edges = np.linspace(0, len(table), parts + 1).astype(int)
    return [table.iloc[a:b] for a, b in zip(edges[:-1], edges[1:], strict=True)]


class ListRows:
    """Tables in memory as an engine: the plainest one, to compare others with."""

    def __init__(self, tables, batch=1000):
        self.tables = [pa.Table.from_pandas(table, preserve_index=False) for table in tables]
        self.batch = batch

    def batches(self, table):
        return iter(table.to_batches(max_chunksize=self.batch))

    def sample(self):
        return join_samples(sample_rows(self.batches(table), 200) for table in self.tables)

    def reduce(self, work):
        parts = [
            work.run(partition_name(number), self.batches(table))
            for number, table in enumerate(self.tables)
        ]
        return merge_tree(parts, work.merge)
