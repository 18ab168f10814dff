"""The base of the estimators: parameters, learning and fitted attributes."""

from __future__ import annotations

import os
from typing import Any, Literal, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from . import _files, _merge, _plots, _polish, _wide
from ._data import Rows
from ._export import Exports
from ._inputs import Inputs
from ._kalmia import ClassLearner, Learner, Schema, model
from ._learning import Learning
from ._parameters import (
    FLAGS,
    MADE_WITH,
    METHOD_PARAMETERS,
    check_flag,
    check_names,
    check_numbers,
    draw_seed,
)
from ._summary import Summary


class Estimator(Exports, Inputs, Learning, BaseEstimator):
    """Base of the estimators: one learner, or one per class where a subclass needs it.

    scikit-learn reads the parameters from the constructor's signature, so each public class
    spells out its own. A test compares their names and defaults.
    """

    _family = "gaussian"

    # for estimators that were pickled before they had these parameters
    shuffle = None
    random_state = None
    weights = "frequency"
    prior_mean = lam = multiplier = oracle = None
    diameter = averaged = certificate = conformal = False
    text = hash_bits = outliers = None
    analyzer = "words"

    def _set_parameters(self, given: dict[str, Any]) -> None:
        """Stores a constructor's parameters unchanged, which scikit-learn's `clone` requires."""
        for name in self._get_param_names():
            setattr(self, name, given[name])

    # -- learning ---------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "_lock"}

    def _new_learner(
        self,
        first: Rows,
        rows: int | None,
        shuffle: int | None,
        learners: int = 1,
        *,
        level: float | None = None,
    ) -> Learner:
        """A learner of the estimator's method for such rows, one of `learners`.

        `rows` is the number of rows to come, if known, and `shuffle` the seed of their order.
        `level` is that of one of several quantiles, which are judged together.
        """
        check_names(
            method=self.method, drift=self.drift, outliers=self.outliers, weights=self.weights
        )
        given = {name: getattr(self, name) for name in METHOD_PARAMETERS}
        words = (*FLAGS, "drift", "outliers")
        check_numbers({name: given[name] for name in given if name not in words})
        given |= {name: check_flag(name, given[name]) for name in FLAGS}
        return model(
            self.method,
            self._family_name() if level is None else f"{self._family}:{level!r}",
            first.X.shape[1],
            intercept=check_flag("fit_intercept", self.fit_intercept),
            rows=rows,
            weights=self.weights,
            shuffle=shuffle,
            learners=learners,
            numbers=first.numbers,
            metrics=level is None,
            **given,
        )

    def _family_name(self) -> str:
        return self._family

    def _scored(self) -> list[Any]:
        """What keeps the progressive scores: the learners, unless they are judged together."""
        return self.learners_

    def _remember(self) -> None:
        """Keeps what the learners were made with, and lets warnings show again."""
        self._made_with = {name: getattr(self, name) for name in MADE_WITH if hasattr(self, name)}
        self._warned_order = self._warned_weight = False
        self._warned_levels = ()

    # -- what was learned -------------------------------------------------------------------------

    @property
    def _learner(self) -> Learner:
        check_is_fitted(self, "learners_")
        return self.learners_[0]

    def _theta(self) -> np.ndarray:
        """Coefficients, one row per learner or class, the intercept first (0 if there is none)."""
        check_is_fitted(self, "learners_")
        theta = self._coefficients()
        if self.learners_[0].intercept:
            return theta
        return np.hstack([np.zeros((len(theta), 1)), theta])

    def _coefficients(self) -> np.ndarray:
        """The same, without an intercept if there is none."""
        if self._wide:
            return np.array([_wide.by_column(self, one, one.theta, 0.0) for one in self.learners_])
        return np.array([learner.theta for learner in self.learners_])

    @property
    def _wide(self) -> bool:
        """Whether the model takes sparse rows."""
        return _wide.is_wide(self.learners_[0])

    def _per_learner(self, attribute: str) -> np.ndarray | None:
        """An attribute of the learners: of the only one, or stacked; None if they lack it."""
        check_is_fitted(self, "learners_")
        found = [getattr(learner, attribute) for learner in self.learners_]
        if found[0] is None:
            return None
        return found[0] if len(found) == 1 else np.array(found)

    @property
    def covariance_(self) -> np.ndarray | None:
        """Covariance of the coefficients, the intercept first if there is one.

        One matrix, or one per class if there are more than two. None for ``"asgd"``, and for wide
        models, which keep only a part of it; `std_err_` has their standard errors.
        """
        return self._per_learner("covariance")

    @property
    def coef_names_(self) -> np.ndarray:
        """The name of each coefficient in `coef_`.

        A number is named after its column, and a level after column and value, as in
        ``color=red``. The first level of a column has no coefficient: the others are compared
        with it. A word of a text column is named ``review=good``; of more than 65 536 hashed
        features the later ones are named after their hash, as in ``#1234``.
        """
        check_is_fitted(self, "learners_")
        return np.array(self._feature_names(), dtype=object)

    @property
    def std_err_(self) -> np.ndarray | None:
        """Standard errors of the coefficients, the intercept first if there is one.

        A wide model takes features outside its core as independent, so the standard errors of
        correlated features are too small. NaN for columns that were 0 in every row.
        """
        found = self._per_learner("standard_errors")
        if found is None or not self._wide:
            return found
        errors = [
            _wide.by_column(self, one, values, np.nan)
            for one, values in zip(self.learners_, np.atleast_2d(found), strict=True)
        ]
        return errors[0] if len(errors) == 1 else np.array(errors)

    @property
    def n_features_seen_(self) -> int:
        """Number of coefficients without the intercept; of a wide model, those of features seen.

        A wide model has one per column, level or word that was not 0 in some row, and its memory
        grows with them.
        """
        return self._learner.dim - int(self._learner.intercept)

    @property
    def drifts_(self) -> bool:
        """Whether a drift is tracked, in any class.

        If so, the coefficients describe the most recent rows and not all of them.
        """
        check_is_fitted(self, "learners_")
        return any(learner.drift == "followed" for learner in self.learners_)

    @property
    def n_samples_seen_(self) -> int:
        """Number of rows learned."""
        return self._learner.count

    @property
    def n_iter_(self) -> int:
        """Number of passes over the rows, always 1."""
        check_is_fitted(self, "learners_")
        return 1

    @property
    def progressive_(self) -> dict[str, Any]:
        """Metrics of the predictions made before each row was learned.

        Losses, the share of targets in their 95 % interval (``"coverage"``), the same for the
        last half of the rows with Pearson's dispersion (``"last_half"``), for labels also the
        calibration, and for a quantile the share of targets below it (``"share_below"``). They
        need no held-out rows, because no prediction has seen its own row. After a `fit` that
        shuffled the rows, they estimate how well new rows are predicted.

        With ``conformal=True``, ``"conformal"`` has the coverage and mean width of the conformal
        95 % intervals after the 32nd row, beside those of the model's own (``"model_coverage"``,
        ``"model_width"``).

        ``"constant_loss"`` is that of the mean of the rows before. The first row, whose size
        nobody can know, is left out of both, except for labels.
        """
        return self._learner.progressive

    @property
    def certificate_(self) -> dict[str, Any] | list[dict[str, Any]] | None:
        """What Lemma 6 of the paper says about the rows learned; None without ``certificate``.

        ``"bound"`` bounds the linearized regret against the final coefficients, whatever the rows
        are: ``"movement"``, half the sum of the squared steps, plus half the squared distance from
        the start in units of the prior. ``"printed_bound"`` is that of the paper, with a larger
        second term. ``"log_det_growth"`` is twice the information of the rows, in nats, and
        ``"loss"`` the total loss of the coefficients before each row. For `LinearRegression`
        ``"regret"`` is exact: that loss minus ``"hindsight"``, the smallest ridge loss. A list,
        one per class, if there are more than two.
        """
        check_is_fitted(self, "learners_")
        found = [learner.certificate for learner in self.learners_]
        return found[0] if len(found) == 1 else found

    @property
    def progressive_loss_(self) -> float:
        """Mean loss of the predictions made before each row was learned.

        The loss is half the deviance, which is the log-loss for labels. For a quantile it is the
        pinball loss, and for `StudentRegression` the absolute error.
        """
        return self.progressive_["loss"]

    def _feature_names(self) -> list[str]:
        schema: Schema | None = getattr(self, "schema_", None)
        if schema is not None and not schema.is_numeric:
            learner = self.learners_[0]
            seen = learner.features
            if seen is None:
                return schema.features
            return schema.feature_names(seen[int(learner.intercept) :].tolist())
        names = getattr(self, "feature_names_in_", None)
        if names is not None:
            return [str(name) for name in names]
        if schema is not None and schema.is_sparse:
            prefix = "" if self._from_command else "x"
            return [f"{prefix}{j}" for j in range(_wide.width(self))]
        return [f"x{j}" for j in range(self.n_features_in_)]

    def _main_coefficients(self, learner: Learner, level: float) -> list[Any]:
        """The strongest coefficients of a wide learner."""
        schema = _files.schema_of(self)
        return self._named_columns(schema, learner.main_coefficients(schema, level))

    def _main_class_coefficients(
        self, learner: ClassLearner, codes: list[int], level: float
    ) -> list[list[Any]]:
        """The same of each class against the first."""
        schema = _files.schema_of(self)
        tables = learner.main_coefficients(schema, codes, level)
        return [self._named_columns(schema, rows) for rows in tables]

    def _named_columns(self, schema: Schema, rows: list[Any]) -> list[Any]:
        """Coefficients whose columns of a sparse matrix are named as in `coef_names_`."""
        if not schema.is_sparse or self._from_command:
            return rows
        return [(f"x{row[0]}" if row[0].isdecimal() else row[0], *row[1:]) for row in rows]

    def sample_coefficients(self, n: int = 1, random_state: Any = None) -> np.ndarray:
        """Draws coefficients from what is known of them.

        A draw takes one filter of the mixture by its weight, then the noise variance if it is
        learned, then the coefficients from a normal law. ``"ons"`` and ``"asgd"`` refuse.

        Parameters
        ----------
        n : int
            Number of draws.
        random_state : int, optional
            Seed; a new one each time by default.

        Returns
        -------
        ndarray of shape (n, coefficients), or (n, classes, coefficients)
            In the order of `covariance_`, the intercept first if there is one. With more than two
            classes there is a row per class.
        """
        check_is_fitted(self, "learners_")
        start = draw_seed(random_state)
        found = [
            learner.sample_coefficients(n, (start + k) % 2**63)
            for k, learner in enumerate(self.learners_)
        ]
        return found[0] if len(found) == 1 else np.stack(found, axis=1)

    def merge(self, other: Self) -> Self:
        """A model that has learned the rows of this one and of another.

        Both must be fitted with the same parameters on the same columns, with levels of texts in
        the same order, and know the same classes. For ``LinearRegression`` with a filter the result
        is, up to rounding, that of one fit on all rows; so it is if one of the two has learned at
        most 128 rows by ``"auto"``. Otherwise it is an approximation: the information of both is
        added, and the prior counts once. `merged_exactly_` says which. Models that follow a drift,
        ``"ons"`` and ``"asgd"`` refuse. The progressive loss is that of the rows of both.

        Parameters
        ----------
        other : estimator
            A fitted model of the same class.

        Returns
        -------
        estimator
            A new model; both are unchanged.
        """
        check_is_fitted(self, "learners_")
        return cast("Self", _merge.merged(self, other))

    def polish(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        offset: ArrayLike | None = None,
        *,
        robust: bool = False,
        prior: Literal["fitted", "flat"] = "fitted",
        passes: int | None = None,
    ) -> Self:
        """Moves the coefficients to the maximum of the likelihood of rows, by further passes.

        One pass over a stream gives an approximation, unless the family is Gaussian. Each pass here
        sums over all rows and takes a Newton step, until nothing moves by more than 0.0001 standard
        errors. Give all rows that were learned: rows that are left out are forgotten. More than two
        classes are polished jointly, up to 6000 coefficients of all but one; their standard errors
        are then those of the joint information, until more rows are learned. Wide models refuse,
        and so do models that follow a drift. `polish_` says what the passes found; the progressive
        loss stays as it is.

        Parameters
        ----------
        X, y, sample_weight, offset
            The rows, as in `fit`. Levels that the model has not learned count as the first one.
        robust : bool
            Whether `polish_` has ``"robust_std_err"``: standard errors that hold for any variance
            of the target (White's sandwich), the intercept first if there is one. With more than
            two classes one row per class, 0 for the first.
        prior : {"fitted", "flat"}
            What is taken as known before the rows: what the model was fitted with, or nothing.
            ``"flat"`` gives the maximum likelihood, which does not exist for labels that a feature
            separates.
        passes : int, optional
            Passes at most.

        Returns
        -------
        self

        Examples
        --------
        >>> from kalmia import LinearRegression
        >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [1.0, 3.0, 5.5, 6.5]
        >>> model = LinearRegression().fit(X, y).polish(X, y, prior="flat")
        >>> model.coef_.round(9)  # least squares
        array([1.9])
        """
        check_is_fitted(self, "learners_")
        _polish.polish(self, X, y, sample_weight, offset, robust=robust, prior=prior, passes=passes)
        return self

    def summary(self, level: float = 0.95) -> Summary:
        """The table of coefficients with standard errors and intervals.

        It prints as text and shows as a table in a notebook.

        Parameters
        ----------
        level : float
            Probability of the intervals, strictly between 0 and 1.

        Returns
        -------
        Summary
        """
        check_is_fitted(self, "learners_")
        return Summary.of(self, level)

    # -- files and pictures -----------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the model to a file that `kalmia.load` and the command ``kalmia`` can read.

        Parameters
        ----------
        path : path-like
            The file. An existing one is replaced in one step: if writing fails, it is unchanged.
        """
        check_is_fitted(self, "learners_")
        _files.save(self, path)

    def plot_coefficients(
        self, ax: Any = None, level: float = 0.95, *, units: str | None = None, X: Any = None
    ) -> Any:
        """Draws the coefficients with their intervals, without the intercept.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw on; a new figure by default.
        level : float
            Probability of the intervals.
        units : {"z", "sd", "raw"}, optional
            ``"z"``: coefficient over standard error, which shows how sure its sign is.
            ``"sd"``: coefficient times the standard deviation of the feature, which shows how much
            the feature matters; needs `X`. ``"raw"``: target per unit of feature, which compares
            only features of one scale. The default is ``"sd"`` if `X` is given, else ``"z"``
            (``"raw"`` for methods without standard errors).
        X : matrix of shape (n, features), optional
            Rows that show the standard deviation of each feature, such as those of `fit`.

        Returns
        -------
        matplotlib.axes.Axes
        """
        check_is_fitted(self, "learners_")
        return _plots.coefficients(self, ax, level, units, X)

    def plot_progressive_loss(self, ax: Any = None) -> Any:
        """Draws the mean loss of the predictions so far against the rows learned.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw on; a new figure by default.

        Returns
        -------
        matplotlib.axes.Axes
        """
        check_is_fitted(self, "learners_")
        return _plots.progressive_loss(self, ax)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
