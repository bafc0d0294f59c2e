"""What the verbs give back: results that read well in a terminal, and as small tables in a notebook."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from burnish.cli.outcome import describe_ending, headline_table, scores_table
from burnish.cli.plan import estimate_lines
from burnish.cli.runs import comparison_lines
from burnish.cli.tables import TextTable, plain
from burnish.cli.verb import Lines
from burnish.commands.compare.comparison import RunComparison
from burnish.commands.evaluate import Evaluation
from burnish.errors import CheckpointError
from burnish.run.record.result import RunResult, sheet_of
from burnish.spec.forecast import Forecast

if TYPE_CHECKING:
    from burnish.api.model import Model


@dataclass(frozen=True, repr=False)
class Run(RunResult):
    """A run that came to its end, or to a stop: how it ended, what it scored and what it left."""

    def load(self, *, task: str | None = None, trust_code: bool = False) -> "Model":
        """Load the model that the run made."""
        from burnish.api.verbs import load

        if self.artifact is None:
            raise CheckpointError(f"{self.directory} was stopped ({self.reason}) and has no model yet; resume it first")
        return load(self.artifact, task=task, trust_code=trust_code)

    def __repr__(self) -> str:
        return as_text([*self._blocks(), f"run       {self.directory}", *self._report()])

    def _repr_html_(self) -> str:
        sheet = sheet_of(self)
        scores = [scores_table(sheet.scores[sheet.split], title=f"on {sheet.split}")] if sheet.split else []
        return as_html([*self._blocks(), *scores, f"run {self.directory}"]) + _link(self.report)

    def _blocks(self) -> list[str | TextTable]:
        sheet = sheet_of(self)
        return [*([headline_table(sheet)] if sheet.judged is not None else []), describe_ending(self)]

    def _report(self) -> list[str]:
        return [] if self.report is None else [f"report    {self.report}"]


@dataclass(frozen=True, repr=False)
class Scored(Evaluation):
    """The scores of a split or of rows, each with its 95% interval."""

    def __repr__(self) -> str:
        return as_text(self._blocks())

    def _repr_html_(self) -> str:
        return as_html(self._blocks())

    def _blocks(self) -> list[str | TextTable]:
        return [scores_table(self.scores, title=f"on {self.split or 'the rows given'}"), *self.notes]


@dataclass(frozen=True, repr=False)
class Compared(RunComparison):
    """Runs side by side: options that differ, scores, and whether the data shows a difference."""

    def __repr__(self) -> str:
        return as_text(comparison_lines(self))

    def _repr_html_(self) -> str:
        return as_html(comparison_lines(self))


@dataclass(frozen=True, repr=False)
class Planned(Forecast):
    """What a run would take."""

    def __repr__(self) -> str:
        return as_text(estimate_lines(self))

    def _repr_html_(self) -> str:
        return as_html(estimate_lines(self))


def as_text(lines: Lines) -> str:
    """Write lines and tables below one another, as the command line prints them."""
    return "\n".join(plain(line) if isinstance(line, TextTable) else line for line in lines)


def as_html(lines: Lines) -> str:
    """Write lines and tables for a notebook; every word is escaped, as names of columns and classes may be anything."""
    return "".join(
        _table(line) if isinstance(line, TextTable) else f"<pre>{escape(line.strip())}</pre>" for line in lines if line
    )


def _table(table: TextTable) -> str:
    head = _row(table.columns, table, cell="th")
    body = "".join(_row(row, table, cell="td") for row in table.rows)
    caption = f"<caption>{escape(table.title)}</caption>" if table.title else ""
    return f"<table>{caption}<thead>{head}</thead><tbody>{body}</tbody></table>"


def _row(cells: Sequence[str], table: TextTable, *, cell: str) -> str:
    sides = ("right" if column in table.right else "left" for column in table.columns)
    filled = zip(cells, sides, strict=True)
    return (
        "<tr>"
        + "".join(f'<{cell} style="text-align:{side}">{escape(text)}</{cell}>' for text, side in filled)
        + "</tr>"
    )


def _link(report: Path | None) -> str:
    """Link the report by its path from here, which is how a notebook server reaches it."""
    if report is None:
        return ""
    here = Path.cwd()
    place = os.path.relpath(report) if report.absolute().is_relative_to(here) else report.absolute().as_uri()
    return f'<p><a href="{escape(place)}" target="_blank">report</a></p>'
