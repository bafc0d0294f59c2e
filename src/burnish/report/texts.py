"""The texts of rows, read when they are asked for: a list of all of them might not fit into memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import overload

import numpy as np
import pyarrow as pa

from burnish.data.cache.spill import in_parts
from burnish.spec.values import Array, Rows


class RowTexts(Sequence[str]):
    """One text a row: its columns joined by a space, nothing for a null."""

    def __init__(self, rows: Rows, columns: Sequence[str], *, chosen: Array | None = None) -> None:
        self._rows = rows
        self._columns = list(columns)
        self._chosen = np.arange(len(rows)) if chosen is None else chosen

    def among(self, places: Array) -> RowTexts:
        """Give only the texts at these places, which must rise."""
        return RowTexts(self._rows, self._columns, chosen=self._chosen[places])

    def __len__(self) -> int:
        return len(self._chosen)

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> RowTexts: ...
    def __getitem__(self, at: int | slice) -> str | RowTexts:
        if isinstance(at, slice):
            return RowTexts(self._rows, self._columns, chosen=self._chosen[at])
        return _joined(self._rows.table.slice(int(self._chosen[at]), 1).select(self._columns))[0]

    def __iter__(self) -> Iterator[str]:
        for start, part in in_parts(self._rows):
            here = self._chosen[slice(*np.searchsorted(self._chosen, [start, start + len(part)]))]
            yield from _joined(part.table.select(self._columns).take(pa.array(here - start)))


def _joined(table: pa.Table) -> list[str]:
    parts = [[text or "" for text in column.cast(pa.large_string()).to_pylist()] for column in table.columns]
    return [" ".join(each) for each in zip(*parts, strict=True)]
