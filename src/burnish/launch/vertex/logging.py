"""Reads what a job printed from Cloud Logging, page by page."""

import os
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from burnish.errors import LaunchError
from burnish.extras import require
from burnish.launch.vertex.client import FINAL_CODES, explained, find_credentials
from burnish.spec.launcher import LogLine

if TYPE_CHECKING:
    from burnish.launch.vertex.launcher import Vertex

ENDPOINT = "CLOUDSDK_API_ENDPOINT_OVERRIDES_LOGGING"
_SERVICE = "https://logging.googleapis.com"
_PAGE = 1000
_SECONDS = 30.0
_LATE_SECONDS = 60
"""An entry may arrive so long after one that was written later."""


def read_logs(launcher: "Vertex", id: str, *, after: str) -> Iterator[LogLine]:
    """Ask for the entries of a job since a little before the one of a key, in the order of their time."""
    base = os.environ.get(ENDPOINT, _SERVICE).rstrip("/")
    since = f' AND timestamp>="{_a_little_before(after)}"' if after else ""
    number = id.rpartition("/")[2]
    request = {
        "resourceNames": ["/".join(launcher.parent.split("/")[:2])],
        "filter": f'resource.type="ml_job" AND resource.labels.job_id="{number}"{since}',
        "orderBy": "timestamp asc",
        "pageSize": _PAGE,
    }
    page: dict[str, Any] = {}
    while True:
        token = page.get("nextPageToken")
        page = ask(base, "POST", "/v2/entries:list", {**request, **({"pageToken": token} if token else {})})
        yield from sorted(map(_line, page.get("entries") or []), key=lambda line: line.key)
        if not page.get("nextPageToken"):
            return


def ask(
    base: str,
    method: str,
    path: str,
    body: dict[str, Any] | None = None,
    *,
    credentials: Any = None,
    seconds: float = _SECONDS,
) -> dict[str, Any]:
    """Send one request to an API of Google's that answers in JSON; refuse any other answer than a success."""
    requests = require("google.auth.transport.requests", extra="vertex", why="to run on Vertex AI")
    session = requests.AuthorizedSession(credentials or find_credentials(base))
    with explained(f"{base} could not be asked"):  # what requests raises for a connection is an OSError
        answer = session.request(method, f"{base}{path}", json=body, timeout=seconds)
    if answer.status_code >= 400:
        is_final = answer.status_code in FINAL_CODES
        raise LaunchError(f"{base}{path} answered {answer.status_code}: {answer.text[:200]}", is_final=is_final)
    found = answer.json() if answer.content else {}
    return found if isinstance(found, dict) else {}


def _line(entry: dict[str, Any]) -> LogLine:
    payload = entry.get("jsonPayload")
    text = entry.get("textPayload") or (payload.get("message", "") if isinstance(payload, dict) else "")
    whole, _, fraction = str(entry.get("timestamp", "")).rstrip("Z").partition(".")
    # In one width, so that keys are in the order of time: it has as many digits as are needed, or none.
    return LogLine(f"{whole}.{fraction:0<9} {entry.get('insertId', '')}", str(text).rstrip("\n"))


def _a_little_before(key: str) -> str:
    return f"{datetime.fromisoformat(key[:19]) - timedelta(seconds=_LATE_SECONDS):%Y-%m-%dT%H:%M:%SZ}"
