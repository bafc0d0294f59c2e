"""The notifiers: Slack, any webhook, and the services that apprise knows."""

import hashlib
import hmac
import json
import time
from dataclasses import asdict

from burnish.errors import BurnishError
from burnish.extras import require
from burnish.notify.post import post
from burnish.spec.news import News, Notifier
from burnish.spec.secret import Secret

SIGNATURE, TIMESTAMP = "X-Burnish-Signature", "X-Burnish-Timestamp"


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
