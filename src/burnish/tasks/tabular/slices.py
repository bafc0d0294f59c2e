"""Cuts the rows of a table into slices by the values of a column."""

from collections.abc import Iterator, Mapping
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from burnish.errors import DataError
from burnish.spec.values import Array
from burnish.tasks.tabular.frame import ColumnFrame
from burnish.tasks.tabular.options import Derived

_MOST_VALUES = 12
_NUM_RANGES = 4


def slices_of(table: pa.Table, column: str, *, derived: Mapping[str, Derived]) -> Iterator[tuple[str, "Array"]]:
    """Give each frequent value with the rows that hold it, or four ranges of a quantity, and the missing."""
    if column not in table.column_names and column not in derived:
        raise DataError(f"task.slices: there is no column `{column}`; there are {', '.join(table.column_names)}")
    frame = ColumnFrame(table, derived)
    words = frame.words(column)
    numbers = frame.numbers(column)
    distinct = pc.drop_null(pc.unique(words.values))
    if len(distinct) > _MOST_VALUES and numbers.fits():
        yield from _ranges(numbers.values)
    else:
        codes = pc.index_in(words.values, value_set=distinct).fill_null(-1).to_numpy(zero_copy_only=False)
        of_row = words.lookup(codes.astype(np.int64), missing=-1)
        counts = np.bincount(of_row[of_row >= 0], minlength=len(distinct))
        for at in np.argsort(-counts, kind="stable")[:_MOST_VALUES].tolist():
            yield str(distinct[at].as_py()), of_row == at
    yield "missing", words.codes < 0


def _ranges(values: "Array") -> "Iterator[tuple[str, Array]]":
    known = values[np.isfinite(values)]
    cuts = np.unique(np.quantile(known, np.linspace(0, 1, _NUM_RANGES + 1)))
    for low, high in pairwise(cuts.tolist()):
        is_last = high == cuts[-1]
        inside = (values >= low) & ((values <= high) if is_last else (values < high))
        yield f"{low:g} to {high:g}", inside
