"""Posts JSON with few tries and a deadline, and never says where to: addresses of webhooks are secrets."""

import time
from collections.abc import Callable, Mapping
from http.client import HTTPException
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from burnish.errors import BurnishError

_TRIES = 4
_TIMEOUT_SECONDS = 5.0
_LONGEST_WAIT_SECONDS = 30.0
_LATER = (429, 500, 502, 503, 504)


def post(
    url: str,
    body: bytes,
    *,
    headers: Mapping[str, str] | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Post a body; wait and try again where a server asks for it or is away for a moment."""
    request = _make_request(url, body, headers or {})
    failure = ""
    for number in range(_TRIES):
        wait = 0.5 * 2**number
        try:
            with build_opener(_NoRedirect()).open(request, timeout=_TIMEOUT_SECONDS):
                return
        except HTTPError as error:
            failure = f"the server answered {error.code}"
            if error.code not in _LATER:
                break
            wait = _read_wait(error.headers.get("Retry-After"), usual=wait)
        except (OSError, HTTPException, ValueError) as error:
            failure = f"the server could not be reached ({type(error).__name__})"
        if number + 1 < _TRIES:
            sleep(wait)
    raise BurnishError(failure) from None  # the cause could repeat the address


class _NoRedirect(HTTPRedirectHandler):
    """Follow nobody: a body meant for one server is not for another."""

    def redirect_request(self, *_args: object) -> None:
        return None


def _make_request(url: str, body: bytes, headers: Mapping[str, str]) -> Request:
    try:
        is_web = urlsplit(url).scheme in ("http", "https") and bool(urlsplit(url).hostname)
        if is_web and url.isprintable() and " " not in url:
            # S310 is about other schemes, which are refused above
            return Request(url, body, {"Content-Type": "application/json", **headers})  # noqa: S310
    except ValueError:
        pass  # the message would repeat the address
    raise BurnishError("its address is no http:// or https:// address")


def _read_wait(asked: str | None, *, usual: float) -> float:
    try:
        return min(max(float(asked or usual), 0.0), _LONGEST_WAIT_SECONDS)
    except ValueError:  # a date
        return usual
