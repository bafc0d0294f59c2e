"""Serves the board: a list of runs that keeps itself up to date, and from it each run's report and comparisons."""

import re
from collections.abc import Sequence
from functools import partial
from importlib import resources
from pathlib import Path
from urllib.parse import urlencode

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup, escape
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

from burnish.commands.runs import RunRow, compare, ls
from burnish.errors import BurnishError
from burnish.report.collect import collect
from burnish.report.data import CurvePoint
from burnish.report.figures import duration, figure, readable
from burnish.report.page import read_style, render
from burnish.report.svg import Line, at_both_widths, line_chart
from burnish.run.record.directory import RunDirectory, walk_folders
from burnish.run.record.history import read_history
from burnish.tuning.page import render_study
from burnish.tuning.record import read_record

_REFRESH_SECONDS = 5
_MOST_LINES = 6
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'self'; connect-src 'self'; frame-ancestors 'none'"
_HEADERS = {"Content-Security-Policy": _POLICY, "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}


def build_board(root: Path, *, hosts: Sequence[str] = ()) -> Starlette:
    """The application over one folder of runs; it answers only under the host names given and those of this machine."""
    board = _Board(root)
    routes = [
        Route("/", board.list_runs),
        Route("/rows", board.list_rows),
        Route("/run", board.show_run),
        Route("/study", board.show_study),
        Route("/compare", board.compare_runs),
        Route("/board.js", board.send_script),
    ]
    # A page elsewhere could point its own name at this machine and read the answers, were any name accepted.
    allowed = Middleware(
        TrustedHostMiddleware, allowed_hosts=["localhost", "127.0.0.1", "[::1]", *hosts], www_redirect=False
    )
    application = Starlette(routes=routes, middleware=[allowed], exception_handlers={BurnishError: _refuse})
    application.router.redirect_slashes = False  # or it would send a browser to whatever host its request named
    return application


class _Board:
    def __init__(self, root: Path) -> None:
        self._root = root
        self._pages = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
        self._pages.filters.update(
            duration=duration, figure=figure, readable=readable, link=lambda name: urlencode({"name": name})
        )
        self._pages.filters.update(breakable=_breakable)

    def list_runs(self, _request: Request) -> Response:
        return self._page("board.html.j2", rows=ls(self._root), root=self._root, studies=self._studies())

    def list_rows(self, _request: Request) -> Response:
        return self._page("rows.html.j2", rows=ls(self._root))

    def show_run(self, request: Request) -> Response:
        """The run's report as of now, which the browser asks for again while it trains."""
        row = self._find(request.query_params.get("name", ""))
        again = {"Refresh": str(_REFRESH_SECONDS)} if row.status == "running" else {}
        return HTMLResponse(render(collect(RunDirectory(Path(row.path)))), headers={**_HEADERS, **again})

    def show_study(self, request: Request) -> Response:
        """The study's page as of now; the browser asks for it again, for a study says nothing when it ends."""
        name = request.query_params.get("name", "")
        if name not in self._studies():
            raise BurnishError(f"there is no study called {name!r} in {self._root}")
        page = render_study(read_record(self._root / name), name=name)
        return HTMLResponse(page, headers={**_HEADERS, "Refresh": str(_REFRESH_SECONDS)})

    def _studies(self) -> list[str]:
        folders = (folder for folder, files in walk_folders(self._root) if "study.jsonl" in files)
        return sorted(folder.relative_to(self._root).as_posix() for folder in folders)

    def compare_runs(self, request: Request) -> Response:
        rows = [self._find(name) for name in request.query_params.getlist("name")]
        comparison = compare([row.path for row in rows])
        return self._page("compare.html.j2", comparison=comparison, chart=_draw_curves(rows), names=_name_lines(rows))

    def send_script(self, _request: Request) -> Response:
        script = resources.files("burnish.ui").joinpath("board.js").read_text(encoding="utf-8")
        return Response(script, media_type="text/javascript", headers=_HEADERS)

    def _find(self, name: str) -> RunRow:
        """A run by its name in the list: no path from a request ever reaches the disk."""
        for row in ls(self._root):
            if row.name == name:
                return row
        raise BurnishError(f"there is no run called {name!r} in {self._root}")

    def _page(self, template: str, **values: object) -> Response:
        sources = resources.files("burnish.ui")
        rows = self._pages.from_string(sources.joinpath("rows.html.j2").read_text(encoding="utf-8"))
        page = self._pages.from_string(sources.joinpath(template).read_text(encoding="utf-8"))
        return HTMLResponse(page.render(style=read_style(), listing=rows, **values), headers=_HEADERS)


def _draw_curves(rows: Sequence[RunRow]) -> Markup:
    """The score that selects, over steps, of each run; they share an axis only if it is the same score."""
    (score, *others) = {row.headline for row in rows}
    if others or score is None:
        return Markup()
    lines = []
    for number, row in enumerate(rows[:_MOST_LINES]):
        found = read_history(RunDirectory(Path(row.path))).evaluations
        points = [CurvePoint(each.step, each.scores[score]) for each in found if score in each.scores]
        lines.append(Line(points, f"run-{number}"))
    return at_both_widths(partial(line_chart, lines, title=f"{score} on validation", height=300), wide=940)


def _breakable(name: str) -> Markup:
    """Let a line end behind the joints of a long name, so that no word of it is cut."""
    return Markup(re.sub(r"([/_:-])", r"\1<wbr>", str(escape(name))))  # noqa: S704  # it was escaped just now


def _name_lines(rows: Sequence[RunRow]) -> list[tuple[str, str]]:
    return [(row.name, f"run-{number}") for number, row in enumerate(rows[:_MOST_LINES])]


def _refuse(_request: Request, error: Exception) -> Response:
    return PlainTextResponse(str(error), status_code=404, headers=_HEADERS)
