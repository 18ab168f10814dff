"""Types of the compiled module. python/tests/test_stubs.py compares the two."""

from collections.abc import Callable
from os import PathLike
from typing import Any, Literal, overload

from numpy import bool_, float64, int32, int64, uint32, uint64
from numpy.typing import ArrayLike, NDArray

Vector = NDArray[float64]

#: Name, estimate, standard error, z, p-value and the interval's ends.
Coefficient = tuple[
    str, float, float | None, float | None, float | None, float | None, float | None
]

#: Features, the places of their rows, offsets, and the levels per row that were never learned.
Encoded = tuple[Any, NDArray[uint64], Vector | None, NDArray[uint32] | None]

#: The parts of a CSR matrix: indptr, indices, data.
Parts = tuple[NDArray[int64], NDArray[int32], Vector]

__version__: str

class Family:
    def __new__(
        cls,
        name: str,
        *,
        loss: Callable[[float, float], float],
        derivatives: Callable[[float, float], tuple[float, float]],
        mean: Callable[[float], float],
        legal: Callable[[float], bool] | None = None,
        variance: Callable[[float], float] | None = None,
        quantile: Callable[[float, float], float] | None = None,
        cdf: Callable[[float, float], float] | None = None,
        log_base: Callable[[float], float] | None = None,
        domain: str = "a finite number",
        discrete: bool = False,
    ) -> Family: ...
    @property
    def name(self) -> str: ...

class Prediction:
    @property
    def mean(self) -> float: ...
    @property
    def std(self) -> float: ...
    @property
    def linear(self) -> float: ...
    @property
    def linear_variance(self) -> float: ...
    @property
    def plug_in(self) -> float: ...
    def interval(self, level: float = 0.95) -> tuple[float, float]: ...
    def mean_interval(self, level: float = 0.95) -> tuple[float, float]: ...
    def cdf(self, y: float) -> float: ...
    def log_density(self, y: float) -> float: ...
    def quantile(self, q: float) -> float: ...
    def __float__(self) -> float: ...

class Learner:
    def learn(
        self, x: ArrayLike | WideRows, y: float, weight: float = 1.0, offset: float = 0.0
    ) -> None: ...
    @overload
    def learn_many(
        self,
        X: Any,
        y: ArrayLike,
        weight: ArrayLike | None = None,
        offset: ArrayLike | None = None,
        *,
        means: Literal[False],
        undo: bool = True,
        order: ArrayLike | None = None,
        whole: bool = False,
        first_row: int = 0,
    ) -> None: ...
    @overload
    def learn_many(
        self,
        X: Any,
        y: ArrayLike,
        weight: ArrayLike | None = None,
        offset: ArrayLike | None = None,
        *,
        means: Literal[True] = True,
        undo: bool = True,
        order: ArrayLike | None = None,
        whole: bool = False,
        first_row: int = 0,
    ) -> Vector: ...
    def predict(self, x: ArrayLike | WideRows, offset: float = 0.0) -> Prediction: ...
    def predict_many(
        self, X: Any, offset: ArrayLike | None = None, *, unseen: ArrayLike | None = None
    ) -> Vector: ...
    def predict_labels(
        self, X: Any, offset: ArrayLike | None = None, *, unseen: ArrayLike | None = None
    ) -> NDArray[bool_]: ...
    def predict_std(
        self, X: Any, offset: ArrayLike | None = None, *, unseen: ArrayLike | None = None
    ) -> tuple[Vector, Vector]: ...
    def predict_linear(
        self, X: Any, offset: ArrayLike | None = None, *, unseen: ArrayLike | None = None
    ) -> tuple[Vector, Vector]: ...
    def predict_interval(
        self,
        X: Any,
        level: float = 0.95,
        offset: ArrayLike | None = None,
        of_mean: bool = False,
        *,
        unseen: ArrayLike | None = None,
    ) -> tuple[Vector, Vector]: ...
    def predict_quantiles(
        self,
        X: Any,
        q: ArrayLike,
        offset: ArrayLike | None = None,
        *,
        unseen: ArrayLike | None = None,
    ) -> Vector: ...
    def predict_cdf(
        self,
        X: Any,
        y: ArrayLike,
        offset: ArrayLike | None = None,
        *,
        unseen: ArrayLike | None = None,
    ) -> Vector: ...
    def sample_predictions(
        self,
        X: Any,
        draws: int,
        seed: int,
        offset: ArrayLike | None = None,
        of_mean: bool = False,
        *,
        unseen: ArrayLike | None = None,
    ) -> Vector: ...
    def sample_coefficients(self, draws: int, seed: int) -> Vector: ...
    def coefficients(self, names: list[str], level: float = 0.95) -> list[Coefficient]: ...
    def main_coefficients(self, schema: Schema, level: float = 0.95) -> list[Coefficient]: ...
    def grow(self, features: int = 1) -> None: ...
    @property
    def features(self) -> NDArray[uint32] | None: ...
    @property
    def theta(self) -> Vector: ...
    @property
    def covariance(self) -> Vector | None: ...
    @property
    def standard_errors(self) -> Vector | None: ...
    @property
    def degrees_of_freedom(self) -> float: ...
    @property
    def dispersion(self) -> float | None: ...
    @property
    def dispersion_note(self) -> str | None: ...
    @property
    def is_sorted(self) -> bool: ...
    @property
    def mean_weight(self) -> float | None: ...
    @property
    def drift(self) -> Literal["followed", "seen"] | None: ...
    @property
    def drift_note(self) -> str | None: ...
    @property
    def count(self) -> int: ...
    @property
    def dim(self) -> int: ...
    @property
    def method(self) -> str: ...
    @property
    def family(self) -> str: ...
    @property
    def intercept(self) -> bool: ...
    @property
    def averaged(self) -> bool: ...
    @property
    def certificate(self) -> dict[str, Any] | None: ...
    @property
    def progressive(self) -> dict[str, Any] | None: ...
    def to_bytes(self) -> bytes: ...
    def copy(self) -> Learner: ...
    def __copy__(self) -> Learner: ...
    def __deepcopy__(self, _memo: Any) -> Learner: ...

class Filter(Learner):
    def __new__(
        cls,
        dim: int,
        family: str | Family = "bernoulli",
        rule: str = "ekf",
        theta: ArrayLike | None = None,
        covariance: float | ArrayLike | None = None,
        **rule_parameters: float | str,
    ) -> Filter: ...

class OnlineNewtonStep(Learner):
    def __new__(
        cls,
        dim: int,
        family: str,
        radius: float,
        exp_concavity: float,
        gradient_bound: float | None = None,
        covariance: float | ArrayLike | None = None,
        multiplier: float = 1.0,
        *,
        diameter: bool = False,
        gamma: float | None = None,
        theta: ArrayLike | None = None,
    ) -> OnlineNewtonStep: ...

class AveragedSGD(Learner):
    def __new__(
        cls,
        dim: int,
        family: str,
        horizon: int,
        step: float | None = None,
        *,
        oracle: float | None = None,
    ) -> AveragedSGD: ...
    @property
    def iterate(self) -> Vector: ...

class Averaged(Learner):
    def __new__(cls, learner: Learner) -> Averaged: ...

class Auto(Learner):
    def __new__(
        cls,
        dim: int,
        family: str | Family = "bernoulli",
        intercept: bool = False,
        drift: str = "off",
    ) -> Auto: ...
    @property
    def weights(self) -> list[tuple[float, float, float]]: ...

class ArrowBlocks:
    def __new__(cls, source: Any) -> ArrowBlocks: ...
    @property
    def names(self) -> list[str]: ...
    @property
    def kinds(self) -> list[Literal["number", "boolean", "category", "text"] | None]: ...
    def __iter__(self) -> ArrowBlocks: ...
    def __next__(self) -> Vector: ...

class Schema:
    def __new__(
        cls,
        names: list[str],
        target: str,
        labels: tuple[str, str] | None = None,
        intercept: bool = True,
        boolean: bool = False,
        kinds: list[str] | None = None,
        *,
        wide: str = "never",
        analyzer: str = "words",
        hash_bits: int | None = None,
    ) -> Schema: ...
    @staticmethod
    def sparse(intercept: bool = True) -> Schema: ...
    def feature_names(self, indices: list[int]) -> list[str]: ...
    @property
    def is_wide(self) -> bool: ...
    @property
    def is_sparse(self) -> bool: ...
    @property
    def numbers(self) -> int: ...
    @property
    def texts(self) -> list[str]: ...
    @property
    def analyzer(self) -> str: ...
    @property
    def hash_bits(self) -> int | None: ...
    def with_coding(
        self, labels: tuple[str, str] | None = None, boolean: bool = False
    ) -> Schema: ...
    def to_json(self) -> str: ...
    @classmethod
    def from_json(cls, text: str) -> Schema: ...
    @property
    def levels(self) -> list[tuple[str, int]]: ...
    @property
    def columns(self) -> list[str]: ...
    @property
    def features(self) -> list[str]: ...
    @property
    def target(self) -> str | None: ...
    @property
    def labels(self) -> tuple[str, str] | None: ...
    @property
    def offset(self) -> str | None: ...
    @property
    def is_numeric(self) -> bool: ...
    def encode(self, table: Any) -> Encoded: ...
    def learn(self, table: Any) -> tuple[Schema, Encoded]: ...

class Claim:
    def __new__(cls, path: str | PathLike[str]) -> Claim: ...
    def release(self) -> None: ...

class TableModel:
    def __new__(cls, rows: Any, declaration: Any, name: str) -> TableModel: ...
    @staticmethod
    def load(path: str | PathLike[str]) -> TableModel: ...
    def learn(self, rows: Any, name: str) -> tuple[int, int]: ...
    @property
    def rows(self) -> int: ...
    def entry(self, name: str) -> Any: ...
    def set_entry(self, name: str, value: Any) -> None: ...
    def to_bytes(self) -> bytes: ...
    def save(self, claim: Claim) -> None: ...

class WideRows:
    def __new__(
        cls,
        indptr: Any,
        indices: Any,
        data: Vector,
        columns: int,
        *,
        intercept: bool = False,
        named: bool = False,
    ) -> WideRows: ...
    @property
    def shape(self) -> tuple[int, int]: ...
    @property
    def entries(self) -> int: ...
    def __len__(self) -> int: ...

def hash_features(samples: Any, input_type: str, bits: int, alternate_sign: bool) -> Parts: ...
def hash_texts(texts: Any, analyzer: str, bits: int, alternate_sign: bool) -> Parts: ...
def wide_row(
    index: dict[str, int], x: dict[Any, Any], known: bool, intercept: bool
) -> WideRows | None: ...
def save_model(
    path: str, learners: list[Learner], schema: Schema, python: Any, stream: Any = None
) -> None: ...
def load_model(path: str) -> tuple[list[Learner], Schema, str, str, dict[str, Any], Any, Any]: ...
def export_model(
    path: str, learners: list[Learner], schema: Schema, format: str, classes: Any, offset: bool
) -> None: ...
def river_row(index: dict[str, int], x: dict[Any, Any], known: bool) -> Vector | None: ...
def predict_mean(learner: Learner, x: ArrayLike | WideRows) -> float: ...
def shrink(learner: Learner, features: int) -> None: ...
def method_defaults(method: str) -> dict[str, Any]: ...
def default_texts() -> dict[str, str]: ...
def model(
    method: str,
    family: str,
    features: int,
    *,
    intercept: bool = True,
    rows: int | None = None,
    drift: str | None = None,
    prior_variance: float | ArrayLike | None = None,
    prior_mean: ArrayLike | None = None,
    scale: float | str | None = None,
    beta: float | None = None,
    radius: float | None = None,
    exp_concavity: float | None = None,
    gradient_bound: float | None = None,
    lam: float | None = None,
    multiplier: float | None = None,
    diameter: bool = False,
    horizon: int | None = None,
    step: float | None = None,
    oracle: float | None = None,
    averaged: bool = False,
    certificate: bool = False,
    weights: str = "frequency",
    shuffle: int | None = None,
    learners: int = 1,
    numbers: int | None = None,
) -> Learner: ...
def merge(a: Learner, b: Learner) -> tuple[Learner, bool]: ...
def restore(data: bytes) -> Learner: ...
def bound_list() -> list[dict[str, Any]]: ...
def bound_evaluate(name: str, parameters: dict[str, Any]) -> dict[str, Any]: ...
def design_estimate(x: Any, intercept: bool) -> dict[str, Any] | None: ...
def sphere_minima(
    theta: list[float],
    radius: float | None,
    points: int,
    draws: int,
    repeats: int,
    seed: int,
) -> dict[str, Any]: ...
