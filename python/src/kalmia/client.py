"""The client of ``kalmia serve``, a service that learns and predicts over HTTP.

:class:`Client` is also ``kalmia.Client``. The other classes are what its calls take and return;
:class:`Prediction` is that of a service, and ``kalmia.Prediction`` that of a learner.
"""

from __future__ import annotations

import os
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, Unpack

from ._client_answers import Request
from ._client_calls import Connected, NoRows, call_key, model_path
from ._client_events import follow
from ._client_results import (
    Choice,
    Declaration,
    Labelled,
    Learned,
    Prediction,
    Served,
    predictions_of,
)
from ._client_rows import JSON, bodies, json_bodies, json_text, label_records, records
from ._files import load
from .errors import InputError, ModelFileError, ServiceError

__all__ = ["Choice", "Client", "Declaration", "Labelled", "Learned", "Prediction", "Served"]

FILE = "application/octet-stream"
#: The status of a new model.
CREATED = 201


class Client(Connected):
    """Learns and predicts with the models of a service that ``kalmia serve`` runs.

    Use it where rows come from several programs, or where what was learned must survive a crash.
    Each call of `learn` and `label` has an idempotency key. Lost connections, timeouts and a busy,
    stopping or full service are retried with the same key, so a row is learned once, whatever
    happens in between. Other errors raise :class:`kalmia.ServiceError` at once.

    Threads may share a client; each has its own connection. Redirects and the proxies of the
    environment are not used. For ``https`` the certificates of the system are trusted, or those in
    the file that the environment variable ``SSL_CERT_FILE`` names.

    Parameters
    ----------
    url : str
        The address, with a path if a reverse proxy has the service under one.
    token : str, optional
        The secret for a service with a token file. No message, log or ``repr`` contains it.
    timeout : float
        Seconds to wait for a connection, and for each part of an answer, per attempt.
    retries : int
        How often a failed request is repeated. The pauses grow from 0.1 to 10 seconds, 20 seconds
        in all for 8 retries; a service that asks for a longer pause gets it. Then
        :class:`kalmia.ServiceUnavailable` is raised.

    Examples
    --------
    >>> import kalmia
    >>> client = kalmia.Client("http://127.0.0.1:8642", token="secret")
    >>> client
    Client('http://127.0.0.1:8642')

    With a service at this address:

    >>> model = client.create("late", family="bernoulli", target="late")  # doctest: +SKIP
    >>> client.learn("late", [{"hour": 9, "late": 1}, {"hour": 8, "late": 0}])  # doctest: +SKIP
    Learned(sequence=1, rows=2, duplicate=False, skipped=0, ignored=(), predictions=None)
    >>> client.predict("late", {"hour": 18})[0].mean < 1.0  # doctest: +SKIP
    True
    """

    def create(
        self, name: str, *, family: str, target: str, **options: Unpack[Declaration]
    ) -> dict[str, Any]:
        """Declares a model and returns it, as `model` does.

        The same declaration again changes nothing. Another one for the same name raises
        :class:`kalmia.ServiceError` with the code ``"model_exists"``.

        Parameters
        ----------
        name : str
            The model's name in the service.
        family : str
            ``"gaussian"``, ``"bernoulli"``, ``"binomial:10"``, ``"poisson"``, ``"gamma"``,
            ``"negative-binomial"``, ``"student"``, ``"quantile:0.9"``, ``"quantile:0.1,0.9"`` for
            several levels, ``"categorical"`` for several classes, or ``"auto"``: by the first
            targets.
        target : str
            The column to predict.
        **options
            See :class:`kalmia.client.Declaration`.

        Examples
        --------
        >>> client.create("visits", family="poisson", target="count")["state"]  # doctest: +SKIP
        'empty'
        """
        body = json_text({"family": family, "target": target, **options}).encode()
        return self._json("PUT", name, "create model", body=body, content_type=JSON)

    def upload(self, name: str, model: Any) -> dict[str, Any]:
        """Makes a model of a file, or of an estimator of this package; returns it as `model` does.

        The service continues with what the model has learned. A model of that name must not exist:
        the code is ``"model_exists"`` then, and it stays as it is. After a lost answer this code
        may also mean that the first attempt succeeded: `model` shows the rows.

        Examples
        --------
        >>> import kalmia
        >>> line = kalmia.LinearRegression().fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0])
        >>> client.upload("line", line)["rows"]  # doctest: +SKIP
        3
        """
        if isinstance(model, str | os.PathLike):
            try:
                data = Path(model).read_bytes()
            except OSError as error:
                why = error.strerror or error
                raise ModelFileError(f"model file {model}: cannot be read: {why}") from error
        elif hasattr(model, "save"):
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "model.kalmia"
                model.save(path)
                data = path.read_bytes()
        else:
            raise InputError(
                f"model is a {type(model).__name__}: give the path of a model file, or a fitted "
                "estimator"
            )
        what = f"upload model {name!r}"
        reply = self._transport.call(Request("PUT", model_path(name), what, data, FILE))
        # a model of the same columns answers 200 and keeps its own state
        if reply.status != CREATED and not reply.repeated:
            raise ServiceError(
                f"{what}: there is a model of this name, which stays as it is; choose another "
                "name, or delete it first",
                status=reply.status,
                code="model_exists",
            )
        made: dict[str, Any] = reply.value
        return made

    def models(self) -> list[dict[str, Any]]:
        """All models: name, family, rows, sequence, state, loss and baseline loss of each."""
        answer = self._transport.call(Request("GET", "/v1/models", "list models")).value
        return list(answer["models"])

    def model(self, name: str) -> dict[str, Any]:
        """One model: rows, coefficients, progressive metrics, drift, calibration and the rest."""
        return self._json("GET", name, "show model")

    def delete(self, name: str) -> None:
        """Removes a model and all that it has learned. `snapshot` keeps a copy."""
        path = model_path(name)
        what = f"delete model {name!r}"
        self._transport.call(Request("DELETE", path, what, done_code="unknown_model"))

    def learn(
        self, name: str, rows: Any, *, key: str | None = None, predict: bool = False
    ) -> Learned:
        """Learns rows and returns when they are on disk.

        Parameters
        ----------
        name : str
            The model.
        rows : dict, list of dict, or table
            One row, several, a DataFrame of pandas or polars, a Table of pyarrow, or anything with
            ``__arrow_c_stream__``. None and NaN are missing values. Tables go as Arrow streams if
            pyarrow is installed. More than 10 000 rows or 8 MiB go in several requests, one after
            the other: if one is refused, those before have been learned, and the error's
            `rows_done` counts their rows.
        key : str, optional
            Names this batch. A repeated call with the same key and rows learns nothing and returns
            the first answer, with ``duplicate=True``; other rows under the same key raise the code
            ``"key_reused"``. Give one if the program itself may be restarted in the middle, such
            as the offset of a message queue. The default is new for each call.
        predict : bool
            Also return what was predicted just before each row was learned.

        Examples
        --------
        >>> rows = [{"hour": 9, "late": 1}, {"hour": 8, "late": 0}]
        >>> client.learn("late", rows, key="monday").rows  # doctest: +SKIP
        2
        >>> client.learn("late", rows, key="monday").duplicate  # doctest: +SKIP
        True
        """
        query = {"predict": "1"} if predict else {}
        return Learned._read(self._parts("learn", name, bodies(rows), call_key(key), query))

    def predict(
        self,
        name: str,
        rows: Any,
        *,
        level: float = 0.95,
        interval: Literal["mean", "y", "conformal", "none"] | None = None,
    ) -> list[Prediction | None]:
        """Predicts rows, which have the forms that `learn` takes; the target may be left out.

        A row with a member `id` is remembered until `label` brings its target. The result is None
        for a row that is left out for a missing value. `interval` chooses between the interval of
        the mean and that of the target, by default the one that suits the family; ``"conformal"``
        is that of the target by thresholds that hold whatever the model, if it was created with
        ``conformal=True``. `level` is the probability that it holds. Several classes and several
        quantiles have no interval: :class:`Prediction` has `probabilities` or `quantiles`.

        Examples
        --------
        >>> client.predict("late", [{"hour": 18, "id": "a1"}])[0].mean < 1.0  # doctest: +SKIP
        True
        >>> client.label("late", [("a1", 1)]).served.rows  # doctest: +SKIP
        1
        """
        query = {"level": repr(float(level))} | ({} if interval is None else {"interval": interval})
        try:
            answers = self._parts("predict", name, bodies(rows), None, query)
        except NoRows:
            return []
        return [found for answer in answers for found in predictions_of(answer)]

    def label(self, name: str, labels: Any, *, key: str | None = None) -> Labelled:
        """Learns rows that `predict` or `choose` remembered, now that their targets are known.

        Parameters
        ----------
        name : str
            The model.
        labels : list, dict or table
            Pairs of id and target, dictionaries with the members `id` and `y`, or a table with
            these columns.
        key : str, optional
            As in `learn`.
        """
        parts = json_bodies(label_records(labels))
        return Labelled._read(self._parts("label", name, parts, call_key(key), {}))

    def choose(self, name: str, candidates: Any, *, id: str | None = None) -> Choice:
        """Chooses one of several candidates by Thompson sampling, and remembers it.

        Candidates are rows without a target, of a model of numbers or of two labels. `label` brings
        the reward under the id of the answer, which is `id` if given and else a new one. Candidates
        with uncertain rewards are tried more often than their mean deserves, so the model finds
        out.

        Examples
        --------
        >>> found = client.choose("late", [{"hour": 7}, {"hour": 12}])  # doctest: +SKIP
        >>> client.label("late", {"id": found.id, "y": 0}).rows  # doctest: +SKIP
        1
        """
        given = ",".join(json_text(dict(row)) for row in records(candidates))
        # made here, so that a repeated request is about the same choice
        chosen = json_text(uuid.uuid4().hex if id is None else id)
        body = f'{{"candidates":[{given}],"id":{chosen}}}'.encode()
        path = model_path(name) + "/choose"
        request = Request("POST", path, f"choose with model {name!r}", body, JSON)
        return Choice._read(self._transport.call(request).value)

    def snapshot(self, name: str, path: str | os.PathLike[str] | None = None) -> Any:
        """The model as it is now: an estimator as `kalmia.load` returns it, or a file.

        With `path` the file is written and `path` is returned; a file of that name is replaced in
        one step, and stays as it is if anything fails. The command ``kalmia`` reads it too.

        Examples
        --------
        >>> client.snapshot("late").n_samples_seen_ > 0  # doctest: +SKIP
        True
        """
        if path is None:
            with tempfile.TemporaryDirectory() as folder:
                return load(self.snapshot(name, Path(folder) / "model.kalmia"))
        where, what = model_path(name) + "/snapshot", f"snapshot of model {name!r}"
        self._download(Request("GET", where, what, accept=FILE), Path(path))
        return path

    def events(self, name: str) -> Iterator[dict[str, Any]]:
        """The model at once, and then whenever it has changed, at most once per second.

        The iterator does not end by itself. A broken stream is opened again, with as many retries
        in a row as the client has; `close()` of the iterator ends it.

        Examples
        --------
        >>> next(client.events("late"))["name"]  # doctest: +SKIP
        'late'
        """
        path = model_path(name) + "/events"
        what = f"events of model {name!r}"
        return follow(self._transport, Request("GET", path, what, accept="text/event-stream"))
