"""Requests that are read and answered together stay apart in what they ask and in what becomes of them."""

import asyncio
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from burnish.data.codecs.columns import ColumnSpec
from burnish.data.codecs.decoded import Limits
from burnish.data.codecs.json_rows import Json
from burnish.errors import MissingExtra
from burnish.serve.jobs import Chunk, HttpReply, Job
from burnish.serve.model import ServedModel, _resolve
from burnish.serve.pipeline import read_jobs


def job(payload: bytes = b"{}", waiter: Any = None) -> Job:
    return Job(payload, Json(), b"application/json", 0.0, 1e9, waiter)


def test_a_list_of_words_does_not_make_words_of_the_texts_of_others() -> None:
    columns = [ColumnSpec("tokens", "words")]
    text, words = (
        job(b'{"instances": [{"tokens": "Peter  Blackburn, 1996"}]}'),
        job(b'{"instances": [{"tokens": ["a", "b"]}]}'),
    )
    read_jobs([text, words], columns, Limits())
    assert text.rows.table["tokens"].to_pylist() == ["Peter  Blackburn, 1996"]
    assert words.rows.table["tokens"].to_pylist() == [["a", "b"]]


def test_texts_are_still_read_together() -> None:
    jobs = [job(b'{"instances": ["a"]}'), job(b'{"instances": ["b"]}')]
    read_jobs(jobs, [ColumnSpec("tokens", "words")], Limits())
    assert jobs[0].source is jobs[1].source


def test_rows_that_need_an_extra_are_refused_with_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    def miss(*_given: object, **_options: object) -> None:
        raise MissingExtra("examples need the extra `tfrecord`")

    monkeypatch.setattr(Json, "gather", miss)
    asked = job(b'{"instances": [{"b64": "AAAA"}]}')
    read_jobs([asked], [ColumnSpec("text")], Limits())
    assert asked.reply is not None
    assert asked.reply.status == 415
    assert b"the extra `tfrecord`" in asked.reply.body


def served(pipeline: object) -> ServedModel:
    """Make a model whose network is that of the test."""
    model = object.__new__(ServedModel)
    ignored = SimpleNamespace(observe_batch=lambda *_, **__: None, observe_stage=lambda *_: None)
    model.name, model.pipeline, model.metrics = "m", pipeline, ignored  # type: ignore[assignment]
    model.queue = SimpleNamespace(answered=lambda _jobs: None, left=lambda _bytes: None)  # type: ignore[assignment]
    model._log = lambda _sentence: None
    return model


def test_only_the_request_whose_answer_cannot_be_put_together_is_refused() -> None:
    loop = SimpleNamespace(call_soon_threadsafe=lambda _call, _jobs: None)
    jobs = [job(waiter=SimpleNamespace(get_loop=lambda: loop)) for _ in range(3)]

    class Odd:
        def compute(self, chunks: list[Chunk]) -> list[Job]:
            for chunk in chunks:
                chunk.job.pieces.append(({}, 0, 1))
            return [chunk.job for chunk in chunks]

        def finish(self, asked: list[Job]) -> None:
            if jobs[1] in asked:
                raise ValueError("odd")
            for one in asked:
                one.reply = HttpReply(200, b"{}")

    served(Odd())._answer([Chunk(one, None, np.arange(1), 1, 0.0, 1.0) for one in jobs], 0.0)  # type: ignore[arg-type]
    assert [one.reply.status for one in jobs if one.reply is not None] == [200, 500, 200]


def test_a_client_that_goes_while_it_is_answered_keeps_no_other_waiting() -> None:
    class Gone:
        def done(self) -> bool:
            return False

        def set_result(self, _reply: object) -> None:
            raise RuntimeError("unable to perform operation on <TCPTransport closed=True>; the handler is closed")

    loop = asyncio.new_event_loop()
    waits = loop.create_future()
    _resolve([job(waiter=Gone()), job(waiter=waits)])
    assert waits.done()
    loop.close()
