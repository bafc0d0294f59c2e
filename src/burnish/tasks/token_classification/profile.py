"""Looks at the tags of training rows: how they are written, which there are, how often."""

from typing import TYPE_CHECKING

import numpy as np

from burnish.errors import DataError
from burnish.spec.values import Profile, Rows
from burnish.tasks.token_classification.reading import learn_reading
from burnish.tasks.token_classification.rows import items_of

if TYPE_CHECKING:
    from burnish.tasks.token_classification import TokenClassification


def profile_of(task: "TokenClassification", rows: Rows) -> Profile:
    """Give the tags that are learned, with their counts, and what is odd about those that are written."""
    items_of(rows.table[task.words], name=task.words)
    tags = items_of(rows.table[task.tags], name=task.tags)
    reading = learn_reading(tags, scheme=task.scheme, learn_as=task.learn_as, names=task.labels)
    if len(reading.labels) < 2:
        raise DataError(f"the column {task.tags} holds one tag, {', '.join(reading.labels)}; at least 2 are needed")
    counts = np.bincount(reading.numbers(tags), minlength=len(reading.labels)).tolist()
    facts = {**reading.facts, "label_counts": dict(zip(reading.labels, counts, strict=True))}
    wrong = reading.num_impossible(tags) if task.impossible == "count" else 0
    if wrong:
        note = f"{wrong:,} of {len(tags.flat):,} tags of train are not allowed where they are in "
        f"{reading.written.upper()}"
        facts |= {"impossible_tags": wrong, "notes": [f"{note}; entities are read as conlleval reads them"]}
    return Profile("tags", reading.labels, facts)
