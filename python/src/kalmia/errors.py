"""The exceptions of the package, all under :class:`KalmiaError`."""

__all__ = ["DivergenceError", "InputError", "KalmiaError", "ModelFileError", "StateError"]


class KalmiaError(Exception):
    """Base of all errors that kalmia raises."""


class InputError(KalmiaError, ValueError):
    """A parameter, row or column is invalid. The message names it; the learner is unchanged."""


class StateError(KalmiaError, ValueError):
    """The learner does not support the call, such as growing or merging."""


class DivergenceError(KalmiaError, ArithmeticError):
    """The recursion overflowed or lost its precision; the learner is unchanged."""


class ModelFileError(KalmiaError, ValueError):
    """A model file cannot be read or written."""
