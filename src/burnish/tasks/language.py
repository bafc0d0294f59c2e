"""What all language models have in common as tasks."""

from collections.abc import Sequence

from burnish.errors import DataError
from burnish.metrics.perplexity import GuessAccuracy, Perplexity
from burnish.spec.protocols import Metric
from burnish.spec.values import Profile, Rows

KIND = "likelihood"


def text_profile(rows: Rows, column: str) -> Profile:
    """Refuse a column that holds no text at all; there is nothing else to learn before the tokenizer is known."""
    import pyarrow.compute as pc

    from burnish.tasks.column_types import refuse_other_than_text

    refuse_other_than_text(rows.table, [column])
    characters = pc.sum(pc.utf8_length(rows.table[column])).as_py() or 0
    if not characters:
        raise DataError(f"task.text: the column `{column}` of train is empty in every row")
    return Profile(KIND, facts={"characters": characters})


def likelihood_metrics() -> Sequence[Metric]:
    """Give perplexity, which selects, and the share of right guesses."""
    return (Perplexity(), GuessAccuracy())
