"""A `tune:` section as a search of Vertex AI, whose service samples and stops trials by itself."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from burnish.errors import ConfigError, Problem

_ALGORITHMS = {"tpe": None, "gp": None, "random": "RANDOM_SEARCH", "grid": "GRID_SEARCH"}
"""Our searchers and those of the service; None is its default, Bayesian optimization."""
_SCALES = {"log": "UNIT_LOG_SCALE", "reverse_log": "UNIT_REVERSE_LOG_SCALE", "double": "UNIT_LINEAR_SCALE"}
_STOPPERS = {"none": {}, "median": {"medianAutomatedStoppingSpec": {"useElapsedDuration": False}}}
_KNOWN = ("metric", "direction", "searcher", "trials", "parallel", "max_failed_trials", "space")
_OF_A_RANGE = ("type", "min", "max")
MOST_VALUES = 1000
"""Of a choice."""


def study_request(tune: Mapping[str, Any]) -> dict[str, Any]:
    """Write the parts of a HyperparameterTuningJob that say what is searched; refuse what the service has not."""
    known = f"the service has no such option; it has {', '.join(_KNOWN)}"
    problems = [Problem(f"tune.{key}: {known}") for key in tune if key not in _KNOWN]
    given = tune.get("searcher", "tpe")
    options = given if isinstance(given, Mapping) else {"type": given}
    searcher, stopper = str(options.get("type", "tpe")), str(options.get("stopper", "none"))
    split, slash, metric = str(tune.get("metric") or "validation/loss").partition("/")
    split, metric = (split, metric) if slash else ("validation", split)
    if split != "validation":  # a trial reports the scores of each evaluation, by their names
        problems.append(Problem(f"tune.metric must be a score of validation there, like validation/{metric}"))
    if searcher not in _ALGORITHMS:
        problems.append(Problem(f"tune.searcher must be one of {', '.join(_ALGORITHMS)} there, got {searcher!r}"))
    if stopper not in _STOPPERS:
        problems.append(Problem(f"tune.searcher.stopper must be one of {', '.join(_STOPPERS)} there, got {stopper!r}"))
    space = tune.get("space")
    if not isinstance(space, Mapping) or not space:
        problems.append(Problem("tune.space must name at least one option with its range"))
        space = {}
    parameters = [_parameter(name, value, problems) for name, value in space.items()]
    counts = {key: _count(tune, key, default, problems) for key, default in (("trials", 20), ("parallel", 1))}
    failed = (
        {"maxFailedTrialCount": _count(tune, "max_failed_trials", 1, problems)} if "max_failed_trials" in tune else {}
    )
    if problems:
        raise ConfigError(problems, subject="the search")
    algorithm = _ALGORITHMS[searcher]
    spec = {
        "metrics": [{"metricId": metric, "goal": _goal(metric, tune.get("direction"))}],
        "parameters": parameters,
        **({"algorithm": algorithm} if algorithm else {}),
        "measurementSelectionType": "BEST_MEASUREMENT",
        **_STOPPERS[stopper],
    }
    return {"studySpec": spec, "maxTrialCount": counts["trials"], "parallelTrialCount": counts["parallel"], **failed}


def _parameter(name: str, value: Any, problems: list[Problem]) -> dict[str, Any]:
    def refuse(sentence: str) -> dict[str, Any]:
        problems.append(Problem(f"tune.space.{name} {sentence}"))
        return {}

    if isinstance(value, Sequence) and not isinstance(value, str):
        if not value:
            return refuse("has nothing to choose from")
        if len(value) > MOST_VALUES:
            return refuse(f"has more than {MOST_VALUES:,} values, and the service takes no more")
        if any(isinstance(each, Mapping) and _is_searched(each) for each in value):
            return refuse("has a range or a choice inside of a choice, which the service cannot search; name values")
        return {"parameterId": name, **_choice(value)}
    if not isinstance(value, Mapping):
        return refuse(f"must be a list of choices or a range with min and max, got {value!r}")
    if odd := [key for key in value if key not in _OF_A_RANGE]:
        return refuse(f"has {', '.join(odd)}; a range has {', '.join(_OF_A_RANGE)} there")
    kind, low, high = str(value.get("type", "double")), _number(value.get("min")), _number(value.get("max"))
    if kind not in (*_SCALES, "int"):
        return refuse(f"has the type {kind!r}; there are {', '.join((*_SCALES, 'int'))}")
    if low is None or high is None or low >= high:
        return refuse("needs numbers as min and max, min below max")
    if kind in ("log", "reverse_log") and low <= 0:
        return refuse(f"is logarithmic, and its min must be more than 0, got {low:g}")
    if kind == "int":
        bounds = {"minValue": str(math.ceil(low)), "maxValue": str(math.floor(high))}
        return {"parameterId": name, "integerValueSpec": bounds, "scaleType": "UNIT_LINEAR_SCALE"}
    return {"parameterId": name, "doubleValueSpec": {"minValue": low, "maxValue": high}, "scaleType": _SCALES[kind]}


def _choice(values: Sequence[Any]) -> dict[str, Any]:
    numbers = [_number(value) for value in values]
    if all(number is not None for number in numbers):
        ordered = sorted(number for number in numbers if number is not None)
        return {"discreteValueSpec": {"values": ordered}, "scaleType": "UNIT_LINEAR_SCALE"}
    words = [value if isinstance(value, str) else json.dumps(value) for value in values]
    return {"categoricalValueSpec": {"values": words}}


def _is_searched(value: object) -> bool:
    """Tell a component of which some option is a range or a choice itself."""
    if not isinstance(value, Mapping):
        return isinstance(value, list)
    return {"min", "max"} <= value.keys() or any(map(_is_searched, value.values()))


def _goal(metric: str, direction: Any) -> str:
    # A search that an earlier version has recorded does not say which way is better.
    is_error = metric.rpartition("/")[2] in ("loss", "log_loss", "mse", "rmse", "mae", "perplexity")
    falls = direction == "min" or (direction != "max" and is_error)
    return "MINIMIZE" if falls else "MAXIMIZE"


def _count(tune: Mapping[str, Any], key: str, default: int, problems: list[Problem]) -> int:
    found = _number(tune.get(key, default))
    if found is None or found < 1 or found != int(found):
        problems.append(Problem(f"tune.{key} must be a whole number of at least 1, got {tune.get(key)!r}"))
        return default
    return int(found)


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
