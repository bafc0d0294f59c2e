"""Messages as their receivers get them, from a real server."""

import hashlib
import hmac
import json

import pytest

from burnish.errors import BurnishError
from burnish.notify.notifiers import SIGNATURE, TIMESTAMP, Apprise, Slack, Webhook
from burnish.spec.news import News
from burnish.spec.secret import Secret
from tests.unit.notify.conftest import Inbox

NEWS = News("end", "reviews", "/runs/a", 12.345, 400, {"test/accuracy": 0.87654}, "finished")


def test_slack_is_told_name_scores_minutes_and_link(inbox: Inbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLACK_WEBHOOK_URL", inbox.url)
    Slack(channel="#ml", mention="<!here>", text="look:", link="https://ui/{name}").send(NEWS)
    ((_, body),) = inbox.requests
    text = "<!here> look:\nreviews is done after 12.3 minutes, step 400\ntest/accuracy 0.8765\nfinished\nhttps://ui/reviews"
    assert json.loads(body) == {"text": text, "channel": "#ml"}


def test_a_webhook_can_check_who_sent_it(inbox: Inbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOK", inbox.url)
    monkeypatch.setenv("KEY", "k3y")
    Webhook(url=Secret("${env:HOOK}"), key=Secret("${env:KEY}")).send(NEWS)
    ((headers, body),) = inbox.requests
    expected = hmac.new(b"k3y", headers[TIMESTAMP].encode() + b"." + body, hashlib.sha256).hexdigest()
    assert headers[SIGNATURE] == f"sha256={expected}"
    told = json.loads(body)
    assert (told["occasion"], told["scores"], told["minutes"]) == ("end", {"test/accuracy": 0.87654}, 12.345)


def test_apprise_delivers_to_its_services(inbox: Inbox, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("apprise")
    monkeypatch.setenv("APPRISE_URLS", inbox.url.replace("http://", "json://"))
    Apprise().send(NEWS)
    ((_, body),) = inbox.requests
    assert "reviews is done" in json.loads(body)["message"]
    monkeypatch.setenv("APPRISE_URLS", "nosuch://TOKEN")
    with pytest.raises(BurnishError, match="does not know 1 of 1 addresses"):
        Apprise().send(NEWS)


def test_a_secret_that_is_not_there_is_named_by_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SLACK_WEBHOOK_URL", raising=False)
    with pytest.raises(BurnishError, match="the environment has no variable SLACK_WEBHOOK_URL"):
        Slack().send(NEWS)
