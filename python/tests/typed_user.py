"""User code that mypy must accept under --strict; test_typing.py checks it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kalmia import (
    Auto,
    Client,
    GammaRegression,
    LinearRegression,
    LogisticRegression,
    NegativeBinomialRegression,
    PoissonRegression,
    Prediction,
    QuantileRegression,
    ServiceError,
    StudentRegression,
    client,
    cluster,
    load,
    merge,
    stream,
)

X = np.ones((4, 2))
y = np.array([1.0, 2.0, 3.0, 4.0])

line: LinearRegression = LinearRegression("ekf", prior_variance=2.0, noise_variance=0.5).fit(X, y)
mean: NDArray[np.float64] = line.predict(X)
mean, std = line.predict(X, return_std=True)
ends: NDArray[np.float64] = line.predict_interval(X, level=0.9, of_mean=True)
quantiles: NDArray[np.float64] = line.predict_quantiles(X, [0.1, 0.9])
below: NDArray[np.float64] = line.predict_cdf(X, 2.0)
ahead: NDArray[np.float64] = line.partial_fit(X, y).partial_fit_predict(X, y, offset=0.5)
score: float = line.score(X, y, sample_weight=[1.0, 1.0, 1.0, 1.0])
both: LinearRegression = line.merge(LinearRegression("ekf").fit(X, y))
draws: NDArray[Any] = both.sample_predictions(X, 3, random_state=1)
params: dict[str, float] = line.summary().params
loss: float = line.progressive_loss_
intercept: float = line.intercept_

labels = LogisticRegression(drift="adapt", class_weight="balanced", weights="precision")
proba: NDArray[np.float64] = labels.fit(X, [0, 1, 0, 1]).predict_proba(X)
seen: int = labels.n_samples_seen_
drifts: bool = labels.drifts_
labels.save("labels.kalmia")

counts = PoissonRegression(shuffle=False, random_state=3).fit(X, y, offset=np.log(y))
amounts = GammaRegression("moment", dispersion=0.5).fit(X, y)
dispersion: float | None = amounts.dispersion_
visits = NegativeBinomialRegression("moment", dispersion=0.5).fit(X, y, offset=np.log(y))
promised: NDArray[np.float64] = QuantileRegression(quantile=0.9).fit(X, y).predict_interval(X)
robust: StudentRegression = StudentRegression(degrees_of_freedom=3).fit(X, y).polish(X, y)
again: Any = load("labels.kalmia")

learner = Auto(2, "poisson", intercept=True)
learner.learn([1.0, 2.0], 3.0)
prediction: Prediction = learner.predict([1.0, 2.0])
low, high = prediction.interval(0.9)
merged, exact = merge(learner, Auto(2, "poisson", intercept=True))

with Client("http://127.0.0.1:8642", token="secret", timeout=5.0, retries=3) as service:
    service.wait_ready(10.0)
    made: dict[str, Any] = service.create("m", family="gamma", target="y", columns={"a": "number"})
    learned: client.Learned = service.learn("m", [{"a": 1.0, "y": 2.0}], key="1", predict=True)
    before: tuple[client.Prediction | None, ...] | None = learned.predictions
    ahead_of_y: list[client.Prediction | None] = service.predict("m", {"a": 1.0}, interval="y")
    served: client.Served | None = service.label("m", [("a1", 2.0)]).served
    chosen: client.Choice = service.choose("m", [{"a": 1.0}, {"a": 2.0}], id="a2")
    probability: float = chosen.probability
    for event in service.events("m"):
        rows: int = event["rows"]
    try:
        service.delete("m")
    except ServiceError as error:
        place: tuple[int | None, str | None] = error.row, error.column


spread: Any = cluster.fit_spark(X, "y", family="poisson", drift="off", passes=2, prior="flat")
report: cluster.ClusterReport = spread.cluster_
by_key: Any = cluster.fit_spark_by(X, "y", ["a", "b"], order="t", missing="skip")
columns: list[str] = cluster.register_datafusion(object(), "t", "y", exclude=["a"])
with stream.StreamModel("m.kalmia", "y", family="gamma", weight="w") as following:
    step: stream.StreamStep = following.learn([{"a": 1.0, "y": 2.0}], 3, source="s", after=2)
    learned_rows: int = step.rows
    position: dict[str, int] = following.position
