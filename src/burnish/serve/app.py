"""Answers HTTP requests: predictions on a short way of their own, everything else by routes."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any
from urllib.parse import parse_qs

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from burnish.data.codecs.answers import dump_json
from burnish.report.page import read_style
from burnish.serve.jobs import HttpReply, Job, problem
from burnish.serve.metrics import Metrics
from burnish.serve.model import ServedModel
from burnish.serve.openapi import describe_api
from burnish.serve.requests import BodyRefused, RowFormats, read_body, read_torchserve
from burnish.serve.settings import Routes, Settings

PAGE = Path(__file__).with_name("page")
"""The files of the page at `/`: `index.html`, and what it loads from `/page/`."""
_PAGE_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-cache",
}
_MOST_EXAMPLES = 5
_HEALTH = ("/health/live", "/health/ready", "/ping")
"""What answers without a key and under any name, as probes ask."""


class Api:
    """The ASGI application; `models` are served under their names."""

    def __init__(
        self,
        models: Sequence[ServedModel],
        *,
        settings: Settings,
        routes: Routes,
        metrics: Metrics,
        formats: RowFormats,
        log: Callable[[str], None],
    ) -> None:
        self.models = {model.name: model for model in models}
        self.is_draining = False
        self._settings = settings
        self._metrics = metrics
        self._formats = formats
        self._log = log
        self._health = frozenset({*_HEALTH, *filter(None, [routes.health])})
        paths = {f"/v1/models/{name}:predict": (model, False) for name, model in self.models.items()}
        paths |= {f"/predictions/{name}": (model, True) for name, model in self.models.items()}
        if len(self.models) == 1:
            only = next(iter(self.models.values()))
            paths["/v1/predict"] = (only, False)
            if routes.predict is not None:
                paths.setdefault(routes.predict, (only, False))
        self._asked = paths
        self._direct = {path.encode(): path for path in self._asked}
        self._counters: dict[tuple[str, int], Any] = {}
        self._times = {path: metrics.seconds.labels(path) for path in self._asked}
        self._others = self._routes(routes)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._others(scope, receive, send)
            return
        path = scope["path"]
        strange = None if path in self._health else self._settings.strange_host(scope["headers"])
        if strange is not None:
            await _send(send, _wrong_host(strange))
            return
        is_open = path in self._health or path == "/" or path.startswith("/page/")
        if not is_open and not self._settings.allows(scope["headers"]):
            await _send(send, problem(401, "this server asks for a key: send it as `Authorization: Bearer KEY`"))
            return
        if path not in self._asked or scope["method"] != "POST":
            await self._others(scope, receive, send)
            return
        began = perf_counter()
        reply, body = await self._predict(scope, receive)
        await _send(send, reply, is_last=self.is_draining)
        self.note(path, reply, body, seconds=perf_counter() - began)

    async def _predict(self, scope: Any, receive: Any) -> tuple[HttpReply, bytes]:
        waiter = asyncio.get_running_loop().create_future()
        asked = parse_qs(scope["query_string"].decode("latin-1").lower())
        missing = asked.get("missing", ["refuse"])[-1]
        try:
            body = await read_body(scope, receive, self._settings)
        except BodyRefused as refused:
            return refused.reply, b""
        if missing not in ("refuse", "allow"):
            return problem(400, f"?missing is {missing!r}; expected refuse or allow"), body
        options = {"is_partial": asked.get("partial") == ["true"], "allows_missing": missing == "allow"}
        refusal = self.ask(scope["path"], scope["headers"], body, waiter=waiter, **options)
        return refusal or await waiter, body

    def direct_path(self, method: bytes, url: bytes, headers: list[tuple[bytes, bytes]]) -> str | None:
        """Give the path of a plain request for predictions, which needs none of the routes."""
        path = self._direct.get(url) if method == b"POST" else None
        if path is None or self._settings.strange_host(headers) is not None or not self._settings.allows(headers):
            return None
        return path

    def ask(
        self,
        path: str,
        headers: list[tuple[bytes, bytes]],
        body: bytes,
        *,
        waiter: Any,
        is_partial: bool = False,
        allows_missing: bool = False,
    ) -> HttpReply | None:
        """Let a request wait for its answer, which `waiter` will get; or give its refusal."""
        model, is_torchserve = self._asked[path]
        now = perf_counter()
        try:
            codec, content_type = self._formats.find(headers)
        except BodyRefused as refused:
            return refused.reply
        job = Job(
            body,
            codec,
            content_type,
            arrived=now,
            deadline=now + self._settings.deadline_seconds,
            waiter=waiter,
            is_partial=is_partial,
            allows_missing=allows_missing,
        )
        if is_torchserve:
            read_torchserve(job, model.pipeline.columns)
        why = model.submit(job)
        return None if why is None else problem(503, f"{why}; try again later", retry_after=model.retry_after)

    def note(self, path: str, reply: HttpReply, body: bytes, *, seconds: float) -> None:
        """Count a request that was answered, and log it."""
        self._times[path].observe(seconds)
        counter = self._counters.get((path, reply.status))
        if counter is None:
            counter = self._counters[path, reply.status] = self._metrics.requests.labels(path, str(reply.status))
        counter.inc()
        rows = f" {body[:2000]!r}" if self._settings.should_log_rows else ""
        self._log(f"POST {path} {reply.status} {len(body)} bytes {seconds * 1e3:.1f} ms{rows}")

    def _routes(self, routes: Routes) -> Starlette:
        get: dict[str, Callable[[Request], Any]] = {
            "/": self._page,
            "/page/style.css": self._style,
            "/health/live": self._live,
            "/health/ready": self._ready,
            "/ping": self._ping,
            "/metrics": self._show_metrics,
            "/openapi.json": self._openapi,
            "/v1/models": self._list,
            "/v1/models/{name}": self._model,
            "/v1/models/{name}/signature": self._signature,
            "/v1/models/{name}/examples": self._examples,
            "/v1/signature": self._signature,
        }
        if routes.health is not None:
            get.setdefault(routes.health, self._ready)
        post = [Route(path, self._wrong_model, methods=["POST"]) for path in _WRONG_PATHS]
        pages = [Mount("/page", StaticFiles(directory=PAGE))]
        found = Starlette(
            routes=[*(Route(path, show, methods=["GET"]) for path, show in get.items()), *post, *pages],
            exception_handlers={HTTPException: _refuse, Exception: _refuse},
        )
        found.router.redirect_slashes = False  # or it would send clients to whatever host their request named
        return found

    async def _page(self, request: Request) -> Response:
        return FileResponse(PAGE / "index.html", headers=_PAGE_HEADERS)

    async def _style(self, request: Request) -> Response:
        return Response(read_style(), media_type="text/css")

    async def _live(self, request: Request) -> Response:
        return _json({"status": "alive"})

    async def _ready(self, request: Request) -> Response:
        return _json({"status": "shutting down" if self.is_draining else "ready"}, 503 if self.is_draining else 200)

    async def _ping(self, request: Request) -> Response:
        return _json({"status": "Healthy"})

    async def _show_metrics(self, request: Request) -> Response:
        text = await asyncio.to_thread(self._metrics.text)
        return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")

    async def _openapi(self, request: Request) -> Response:
        return _json(describe_api([*self.models.values()], self._asked, has_keys=bool(self._settings.keys)))

    async def _list(self, request: Request) -> Response:
        return _json({"models": [*self.models]})

    async def _model(self, request: Request) -> Response:
        return _json({"name": self._chosen(request).name, "ready": not self.is_draining})

    async def _signature(self, request: Request) -> Response:
        return _json(self._chosen(request).predictor.signature.model_dump(mode="json"))

    async def _examples(self, request: Request) -> Response:
        return _json({"rows": self._chosen(request).samples[:_MOST_EXAMPLES]})

    async def _wrong_model(self, request: Request) -> Response:
        name = request.path_params.get("name")
        names = ", ".join(self.models)
        if name is None:
            raise HTTPException(404, f"several models are served; ask one at /v1/models/NAME:predict: {names}")
        raise HTTPException(404, f"no model is called {name!r}; there is {names}")

    def _chosen(self, request: Request) -> ServedModel:
        name = request.path_params.get("name")
        if name is None and len(self.models) == 1:
            return next(iter(self.models.values()))
        if name is None:
            names = ", ".join(self.models)
            raise HTTPException(404, f"several models are served; ask for /v1/models/NAME/signature: {names}")
        if name not in self.models:
            raise HTTPException(404, f"no model is called {name!r}; there is {', '.join(self.models)}")
        return self.models[name]


_WRONG_PATHS = ("/v1/predict", "/v1/models/{name}:predict", "/predictions/{name}")


def _json(document: object, status: int = 200) -> Response:
    return Response(dump_json(document) + "\n", status, media_type="application/json")


def _wrong_host(name: str) -> HttpReply:
    shown = name[:100]
    return problem(
        421,
        f"this server is not asked under the name {shown!r}, which a page elsewhere could point at it; "
        "start it with --allow-host NAME if that is its name",
    )


def _refuse(request: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        reply = problem(500, "the request could not be answered because of a bug in burnish")
        return Response(reply.body, 500, media_type="application/json")
    sentences = {
        "Not Found": f"there is nothing at {request.url.path}; /openapi.json lists what there is",
        "Method Not Allowed": f"{request.url.path} does not answer {request.method}",
    }
    body = problem(error.status_code, sentences.get(error.detail, error.detail)).body
    return Response(body, error.status_code, media_type="application/json", headers=error.headers)


async def _send(send: Any, reply: HttpReply, *, is_last: bool = False) -> None:
    await send({"type": "http.response.start", "status": reply.status, "headers": reply.headers(is_last=is_last)})
    await send({"type": "http.response.body", "body": reply.body})
