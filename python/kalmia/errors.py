"""The exceptions of the package, all under :class:`KalmiaError`."""

__all__ = ["DivergenceError", "InputError", "KalmiaError", "ModelFileError", "StateError"]


class KalmiaError(Exception):
    """Whatever kalmia refuses."""


class InputError(KalmiaError, ValueError):
    """A parameter, row or column is not legal; the message names it, and the learner is unchanged."""


class StateError(KalmiaError, ValueError):
    """A learner cannot do what was asked, such as growing or merging."""


class DivergenceError(KalmiaError, ArithmeticError):
    """The recursion left the range of floating-point numbers; the learner is unchanged."""


class ModelFileError(KalmiaError, ValueError):
    """A model file cannot be read or written."""
