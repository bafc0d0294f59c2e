"""Which classes there may be, and what each weighs in the loss."""

from collections.abc import Sequence
from typing import Literal

from pydantic import PositiveFloat

from burnish.errors import ConfigError, DataError, Problem
from burnish.spec.values import Profile

Weights = Literal["none", "balanced"] | dict[str, PositiveFloat]


def weights_of(choice: Weights, profile: Profile) -> tuple[float, ...] | None:
    """Give each class its weight: none, as stated, or as rare classes need it to count as much as frequent ones."""
    if choice == "none":
        return None
    if isinstance(choice, dict):
        refuse_unknown_classes(unknown_classes(choice, profile.labels), profile.labels)
        return tuple(choice.get(name, 1.0) for name in profile.labels)
    counts = profile.facts.get("label_weights") or profile.facts["label_counts"]
    total = sum(counts.values())
    return tuple(total / (len(counts) * (counts[name] or 1)) for name in profile.labels)


def unknown_classes(weights: Weights, labels: Sequence[str]) -> list[str]:
    """List the weighted names that are no labels."""
    return [] if isinstance(weights, str) else [name for name in weights if name not in labels]


def refuse_unknown_classes(unknown: Sequence[str], labels: Sequence[str]) -> None:
    """Refuse weights of classes that do not exist."""
    if unknown:
        sentence = (
            f"task.class_weights names {', '.join(unknown)}, and the labels are {', '.join(labels[:20])}; "
            "write the names as they are in the label column"
        )
        raise ConfigError([Problem(sentence)])


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
