"""What the verbs give back: results that read well in a terminal, and as small tables in a notebook."""

import os
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from burnish.cli.outcome import describe_ending, headline_table, scores_table
from burnish.cli.plan import estimate_lines
from burnish.cli.runs import comparison_lines
from burnish.cli.tables import TextTable, plain
from burnish.cli.tune import study_lines
from burnish.cli.verb import Lines
from burnish.commands.compare.comparison import RunComparison
from burnish.commands.evaluate import Evaluation
from burnish.commands.tune import TuneResult
from burnish.errors import CheckpointError
from burnish.run.record.result import RunResult, sheet_of
from burnish.spec.forecast import Forecast

if TYPE_CHECKING:
    from burnish.api.model import Model


class Shown:
    """A result that shows itself as the command line would, and in a notebook as tables."""

    def _lines(self) -> Lines:
        raise NotImplementedError

    def __repr__(self) -> str:
        return as_text(self._lines())

    def _repr_html_(self) -> str:
        return as_html(self._lines())


class Run(Shown, RunResult):
    """A run that came to its end, or to a stop: how it ended, what it scored and what it left."""

    def load(self, *, task: str | None = None, trust_code: bool = False) -> "Model":
        """Load the model that the run made."""
        from burnish.api.verbs import load

        if self.artifact is None:
            raise CheckpointError(f"{self.directory} was stopped ({self.reason}) and has no model yet; resume it first")
        return load(self.artifact, task=task, trust_code=trust_code)

    def _lines(self) -> Lines:
        sheet = sheet_of(self)
        if sheet.judged is not None:
            yield headline_table(sheet)
        yield describe_ending(self)
        yield f"run       {self.directory}"
        if self.report is not None:
            yield f"report    {self.report}"

    def _repr_html_(self) -> str:
        return super()._repr_html_() + _link(self.report)


class Tuned(Shown, TuneResult):
    """A study: its trials, the best of them, and the model that came of it."""

    def load(self, *, task: str | None = None, trust_code: bool = False) -> "Model":
        """Load the model of the best run."""
        from burnish.api.verbs import load

        if self.best_run is None:
            raise CheckpointError(f"no trial of {self.directory} has come to its end yet; tune it further first")
        return load(self.best_run, task=task, trust_code=trust_code)

    def _lines(self) -> Lines:
        return study_lines(self)


class Scored(Shown, Evaluation):
    """The scores of a split or of rows, each with its 95% interval."""

    def _lines(self) -> Lines:
        return [scores_table(self.scores, title=f"on {self.split or 'the rows given'}"), *self.notes]


class Compared(Shown, RunComparison):
    """Runs side by side: options that differ, scores, and whether the data shows a difference."""

    def _lines(self) -> Lines:
        return comparison_lines(self)


class Planned(Shown, Forecast):
    """What a run would take."""

    def _lines(self) -> Lines:
        return estimate_lines(self)


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
