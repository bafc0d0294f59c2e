"""Reads one file as it stands, to be scored or predicted."""

from collections.abc import Sequence

from burnish.data.address import find
from burnish.data.faults import judge
from burnish.data.files import Files
from burnish.data.read import read
from burnish.data.rows import demand, join
from burnish.spec.values import Rows


def read_file(name: str, *, columns: Sequence[str]) -> Rows:
    """Give the rows of a file (or glob, `package:` address or URL); refuse it without these columns."""
    options = Files(train=(name,))
    readings = [read(file, options) for file in find(name, base=None, option="the input")]
    bad = [row for reading in readings for row in reading.bad]
    rows = join([reading.rows for reading in readings])
    judge(bad, total=len(rows) + len(bad), policy="error", share=0.0, quarantine=None, split=name)
    demand(rows, columns, why="the model")
    return rows
