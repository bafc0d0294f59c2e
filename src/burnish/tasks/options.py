"""Options that several tasks share, and what an experiment gets from its task where it names no model or optimizer."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import PositiveFloat

from burnish.errors import ConfigError, DataError, Problem
from burnish.spec.values import Profile


def fine_tuning(name: str, *, learning_rate: str = "auto", batch: str | int = "auto") -> Mapping[str, Any]:
    """Fine-tune a pretrained transformer in the usual way; `auto` fits the number of rows and the size of the model."""
    return {
        "model": {"type": "transformer", "name": name},
        "optimizer": {"type": "adamw", "learning_rate": learning_rate},
        "train": {"length": "auto", "batch": batch},
    }


TEXT = fine_tuning("bert-base-uncased")
CLASSES: Mapping[str, Any] = {**TEXT, "train": {**TEXT["train"], "select": "auto"}}
# The model gives embeddings already, which a high rate would undo, and a small batch has few texts to tell apart.
EMBEDDING = fine_tuning("sentence-transformers/all-MiniLM-L6-v2", learning_rate="2e-5", batch=32)
TABLE: Mapping[str, Any] = {
    "model": "tab_m",
    "optimizer": {"type": "adamw", "learning_rate": "auto"},
    "train": {"length": "30 epochs", "batch": "auto", "select": "loss", "patience": 5},
}


TEXT_SPACE: Mapping[str, Any] = {
    "train.batch": [16, 32],
    "train.length": ["2 epochs", "3 epochs", "5 epochs"],
}
"""What a study of texts searches besides what belongs to the model."""

Pooling = Literal["mean", "cls"]
"""Their mean, or the first of them."""


Weights = Literal["none", "balanced"] | dict[str, PositiveFloat]


def weights_of(choice: Weights, profile: Profile) -> tuple[float, ...] | None:
    """Give each class its weight: none, as stated, or as rare classes need it to count as much as frequent ones."""
    if choice == "none":
        return None
    if isinstance(choice, dict):
        unknown = unknown_classes(choice, profile.labels)
        if unknown:
            sentence = (
                f"task.class_weights names {', '.join(unknown)}, and the labels are {', '.join(profile.labels[:20])}; "
                "write the names as they are in the label column"
            )
            raise ConfigError([Problem(sentence)])
        return tuple(choice.get(name, 1.0) for name in profile.labels)
    counts = profile.facts.get("label_weights") or profile.facts["label_counts"]
    total = sum(counts.values())
    return tuple(total / (len(counts) * (counts[name] or 1)) for name in profile.labels)


def unknown_classes(weights: Weights, labels: Sequence[str]) -> list[str]:
    """List the weighted names that are no labels."""
    return [] if isinstance(weights, str) else [name for name in weights if name not in labels]


def name_facts(names: Mapping[str, str], labels: Sequence[str]) -> dict[str, Any]:
    """Return what a profile keeps of `task.label_names`; refuse names of no class, and one name for two."""
    unknown = [label for label in names if label not in labels]
    problems = [Problem(f"task.label_names.{label}: {explain_unknown(label, labels)}") for label in unknown]
    shown = [names.get(label, label) for label in labels]
    twice = sorted({name for name in shown if shown.count(name) > 1})
    problems += [
        Problem(f"task.label_names: two classes would be called {name!r}; give each its own") for name in twice
    ]
    if problems:
        raise ConfigError(problems)
    return {"label_names": dict(names)} if names else {}


def explain_unknown(label: str, labels: Sequence[str]) -> str:
    """Say that a label is no class, and which there are."""
    return f"there is no class {label!r}; the classes are {', '.join(labels[:20])}"


def refuse_odd_classes(kind: str, classes: Sequence[str], *, column: str) -> None:
    """Refuse labels that leave nothing to tell apart, or that are no two."""
    shown = ", ".join(classes[:10])
    if len(classes) < 2 and kind != "multilabel":
        held = f"1 distinct label in column {column} ({shown})" if classes else f"no label in column {column}"
        raise DataError(f"the training rows hold {held}; at least 2 are needed")
    if kind == "binary" and len(classes) > 2:
        raise DataError(
            f"task.kind is binary and column {column} holds {len(classes)} distinct labels ({shown}); "
            "set task.kind: multiclass, or name the two classes in task.labels"
        )
