"""Burnish: one driver from a config file to an artifact that predicts."""

from importlib import import_module

__version__ = "0.2.0"

_HOMES = {
    **dict.fromkeys(["compare", "evaluate", "load", "new", "plan", "resume", "train", "tune"], "burnish.api.verbs"),
    **dict.fromkeys(["BurnishClassifier", "BurnishRegressor"], "burnish.api.estimators"),
    "BurnishError": "burnish.errors",
    "Experiment": "burnish.spec.experiment",
    "Model": "burnish.api.model",
    "Run": "burnish.api.results",
    "Tuned": "burnish.api.results",
}
"""Where each name is defined; imported when it is first asked for, so that `import burnish` loads nothing heavy."""

__all__ = [*sorted(_HOMES)]  # noqa: PLE0604  # the stub has the same names, and a test compares them


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
