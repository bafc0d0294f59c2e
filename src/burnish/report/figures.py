"""How numbers and names read on the page."""

import math

_MINUS = "\N{MINUS SIGN}"
_NAMES = {
    "f1": "F1",
    "log_loss": "Log loss",
    "roc_auc": "ROC-AUC",
    "pr_auc": "PR-AUC",
    "mse": "Mean squared error",
    "mae": "Mean absolute error",
    "r2": "R²",
    "tfidf_logistic": "TF-IDF + logistic regression",
    "tfidf_ridge": "TF-IDF + ridge regression",
    "majority": "Majority",
    "mean": "Mean",
}


def figure(value: float | None) -> str:
    """Write a score or a count."""
    if value is None or math.isnan(value):
        return "\N{EN DASH}"
    if math.isinf(value):
        return "∞" if value > 0 else f"{_MINUS}∞"
    if (float(value).is_integer() and abs(value) >= 2) or abs(value) >= 100:
        text = f"{value:,.0f}"
    elif 0 < abs(value) < 0.001:
        text = f"{value:.1e}"
    else:
        text = f"{value:.3f}"
    return text.replace("-", _MINUS)


def share(value: float) -> str:
    """Write a part of one as a percentage."""
    return f"{value:.1%}"


def tick(value: float) -> str:
    """Write an axis value, as short as it is exact."""
    if value == 0:
        return "0"
    if abs(value) >= 10_000:
        return f"{value / 1000:,g}k"
    text = f"{value:.1e}".replace(".0e", "e").replace("e-0", "e-") if abs(value) < 0.001 else f"{value:.6g}"
    return text.replace("-", _MINUS)


def readable(name: str) -> str:
    """Turn an identifier into words: `calibration_error` → `Calibration error`."""
    if name in _NAMES:
        return _NAMES[name]
    words = name.replace("_", " ").strip()
    return words[:1].upper() + words[1:]


def duration(seconds: float) -> str:
    """Write a span of time: `15 ms`, `42 s`, `3 min 20 s`, `2 h 5 min`."""
    if 0 < seconds < 0.1:
        return f"{1000 * seconds:.0f} ms" if seconds >= 0.001 else "under 1 ms"
    whole = round(seconds)
    if whole < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def show_option(value: object) -> str:
    """Write what an option was set to, in the words of YAML: a component by its name and its own options."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, dict):
        parts = ((name, show_option(each)) for name, each in value.items())
        return " ".join(text if name == "type" else f"{name}={text}" for name, text in parts)
    return str(value)


def shortened(text: str, *, limit: int) -> str:
    """Cut a text that is too long, with a mark."""
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else f"{flat[: limit - 1].rstrip()}…"
