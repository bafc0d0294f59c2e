"""Posting to a real server through what servers do to one."""

import pytest

from burnish.errors import BurnishError
from burnish.notify.notifiers import post
from tests.unit.notify.conftest import Inbox


def test_a_server_that_asks_to_wait_gets_the_message_later(inbox: Inbox) -> None:
    inbox.answers = [(429, {"Retry-After": "7"}), (503, {}), (503, {"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"})]
    waited: list[float] = []
    post(inbox.url, b"{}", sleep=waited.append)
    assert waited == [7.0, 1.0, 2.0]
    assert [body for _, body in inbox.requests] == [b"{}"] * 4


def test_tries_and_waits_have_an_end(inbox: Inbox) -> None:
    inbox.answers = [(429, {"Retry-After": "86400"})] * 10
    waited: list[float] = []
    with pytest.raises(BurnishError, match="the server answered 429") as caught:
        post(inbox.url, b"{}", sleep=waited.append)
    assert waited == [30.0, 30.0, 30.0]
    assert "TOKEN" not in repr(caught.value) + repr(caught.value.__cause__)


@pytest.mark.parametrize("status", [400, 403, 404, 302])
def test_what_will_not_get_better_is_tried_once_and_nobody_is_followed(status: int, inbox: Inbox) -> None:
    inbox.answers = [(status, {"Location": inbox.url})] * 2
    with pytest.raises(BurnishError, match=f"the server answered {status}"):
        post(inbox.url, b"{}", sleep=lambda seconds: pytest.fail("it waited"))
    assert len(inbox.requests) == 1


@pytest.mark.parametrize(
    "url",
    [
        "ftp://h/TOKEN",
        "file:///etc/passwd",
        "TOKEN",
        "http://",
        "http://[TOKEN",
        "http://h/a b",
        "http://127.0.0.1:1/TOKEN",
    ],
)
def test_an_address_that_leads_nowhere_is_not_repeated(url: str) -> None:
    with pytest.raises(BurnishError) as caught:
        post(url, b"{}", sleep=lambda seconds: None)
    assert "TOKEN" not in str(caught.value)
