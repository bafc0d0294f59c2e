"""The notifiers: Slack, any webhook, and the services that apprise knows; addresses of webhooks are secrets."""

import hashlib
import hmac
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from http.client import HTTPException
from typing import ClassVar
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from burnish.errors import BurnishError
from burnish.extras import require
from burnish.spec.news import News, Notifier
from burnish.spec.secret import Secret

SIGNATURE, TIMESTAMP = "X-Burnish-Signature", "X-Burnish-Timestamp"
_TRIES = 4
_TIMEOUT_SECONDS = 5.0
_LONGEST_WAIT_SECONDS = 30.0
_LATER = (429, 500, 502, 503, 504)


class Slack(Notifier):
    """Write into a channel of Slack by an incoming webhook."""

    url: Secret = Secret("${env:SLACK_WEBHOOK_URL}")
    """The address of the webhook, which is a secret."""
    channel: str | None = None
    """Another channel than the webhook's own, where Slack allows it."""
    mention: str = ""
    """Who is called, like `<@U012AB3CD>` or `<!here>`."""

    def send(self, news: News) -> None:
        text = " ".join(filter(None, [self.mention, self.write(news)]))
        body = {"text": text, **({"channel": self.channel} if self.channel else {})}
        post(self.url.reveal(), json.dumps(body).encode())


class Webhook(Notifier):
    """Post JSON to an address, signed if there is a key.

    The signature is the HMAC-SHA256 of the timestamp, a full stop and the body, in hexadecimal.
    """

    url: Secret = Secret("${env:BURNISH_WEBHOOK_URL}")
    """The address, which often holds a token."""
    key: Secret | None = None
    """What signs the body."""

    def send(self, news: News) -> None:
        body = json.dumps({**asdict(news), "text": self.write(news)}).encode()
        headers = {}
        if self.key is not None:
            now = str(int(time.time()))
            signed = hmac.new(self.key.reveal().encode(), f"{now}.".encode() + body, hashlib.sha256)
            headers = {TIMESTAMP: now, SIGNATURE: f"sha256={signed.hexdigest()}"}
        post(self.url.reveal(), body, headers=headers)


class Apprise(Notifier):
    """Notify any service that apprise knows: mail, Teams, Telegram, Discord and many more."""

    extras: ClassVar[tuple[str, ...]] = ("notify",)
    urls: tuple[Secret, ...] = (Secret("${env:APPRISE_URLS}"),)
    """Addresses as apprise writes them, like `mailto://…`; one secret may hold several, with spaces between."""

    def send(self, news: News) -> None:
        apprise = require("apprise", extra="notify", why="to notify by apprise")
        sender = apprise.Apprise()
        known = [sender.add(url) for secret in self.urls for url in secret.reveal().split()]
        if not all(known):
            raise BurnishError(f"apprise does not know {known.count(False)} of {len(known)} addresses")
        if not sender.notify(body=self.write(news), title=f"burnish: {news.name}"):
            raise BurnishError("apprise could not deliver it to every address")


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
