"""One model that is served: its queue, and the threads that answer what waits in it."""

import asyncio
import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from threading import Thread
from time import perf_counter
from traceback import format_exc
from typing import Any

import numpy as np
import pyarrow as pa

from burnish.artifact.predictor import Predictor, table_of, views
from burnish.data.codecs.answers import dump_json
from burnish.data.codecs.decoded import Limits
from burnish.dist.world import available_cores
from burnish.engine.device_torch import set_threads
from burnish.serve.cost import Cost, best_seconds, count_workers, fit_cost, show_cost
from burnish.serve.jobs import Chunk, Job
from burnish.serve.metrics import ModelMetrics
from burnish.serve.pipeline import Pipeline
from burnish.serve.queue import JobQueue, is_late
from burnish.serve.settings import Settings

_SAMPLE_TEXTS = 16
_FEWEST_TOKENS = 64
"""A batch has room for so many rows, or eight times as many tokens, however slow a busy machine seemed."""
_MOST_ROWS = 4096


class ServedModel:
    """Take requests from the event loop, answer them on threads of the model."""

    def __init__(
        self,
        name: str,
        predictor: Predictor,
        *,
        samples: Sequence[dict[str, Any]],
        settings: Settings,
        metrics: ModelMetrics,
        log: Callable[[str], None],
    ) -> None:
        self.name = name
        self.predictor = predictor
        self.samples = samples
        self.metrics = metrics
        self._log = log
        limits = Limits(payload_bytes=settings.max_bytes, rows=settings.max_rows)
        cost, budget = self._calibrate(settings.batch_seconds)
        self.pipeline = Pipeline(predictor, metrics, limits=limits, budget=budget, batch_seconds=settings.batch_seconds)
        self.queue = JobQueue(
            cost,
            budget=budget,
            # What is computed when a request arrives, and its own batch, also take their time.
            max_seconds=max(settings.deadline_seconds / 2, settings.deadline_seconds - 3 * settings.batch_seconds),
            max_bytes=settings.max_queue_bytes,
            seconds_per_byte=cost.seconds(budget) / budget * self._tokens_per_byte,
        )
        self._threads = [Thread(target=self._work, name=f"{name}-{n}", daemon=True) for n in range(cost.num_workers)]
        metrics.watch(self.queue)

    def start(self) -> None:
        """Begin to answer."""
        for thread in self._threads:
            thread.start()

    def submit(self, job: Job) -> str | None:
        """Let a request wait for its answer, or say why it is not taken."""
        refused = self.queue.refusal(len(job.payload))
        if refused is None:
            self.queue.put(job)
        return refused

    @property
    def retry_after(self) -> int:
        """In how many seconds there should be room again."""
        return max(1, math.ceil(self.queue.expected_wait))

    def close(self) -> None:
        """Answer what was accepted, then end the threads."""
        self.queue.close()
        for thread in self._threads:
            thread.join()

    def _calibrate(self, batch_seconds: float) -> tuple[Cost, int]:
        """Measure a short and a long batch of the artifact's golden rows, and whether more workers do more.

        Workers that compute on one thread each do not wait for one another, as the threads of one computation do.
        """
        set_threads(1)
        features, lengths = self._encoded_samples()
        order = np.argsort(lengths, kind="stable")
        is_rows = int(lengths.max()) <= 1
        unit, num_large = ("row", _MOST_ROWS // 4) if is_rows else ("token", _SAMPLE_TEXTS)
        middle = order[len(order) // 2 : len(order) // 2 + 1]
        small, large = np.resize(middle, 1), np.resize(middle, num_large)
        width, cores = int(lengths[middle[0]]), available_cores()
        seconds = [best_seconds(lambda each=each: self._infer(features, each)) for each in (small, large)]  # type: ignore[misc]  # bound at once
        cost = fit_cost((width, seconds[0]), (width * num_large, seconds[1]))
        budget = max(cost.tokens_within(batch_seconds), _FEWEST_TOKENS * (1 if is_rows else 8))
        whole = best_seconds(lambda: self.predictor.predict(self.samples))
        workers = count_workers(whole=whole, network=cost.per_token * float(lengths.sum()), cores=cores)
        cost = replace(cost, num_workers=workers)
        self._log(f"{self.name}: {show_cost(cost, budget=budget, unit=unit)}")
        return cost, min(budget, _MOST_ROWS * width)

    def _encoded_samples(self) -> tuple[pa.Table, Any]:
        predictor = self.predictor
        features = predictor.encoder.encode(table_of(self.samples, predictor.task, profile=predictor.profile))
        return features, features["length"].to_numpy()

    @property
    def _tokens_per_byte(self) -> float:
        return float(self._encoded_samples()[1].sum()) / len(dump_json(self.samples))

    def _infer(self, features: pa.Table, indices: Any) -> None:
        predictor = self.predictor
        predictor.infer(predictor.encoder.collate(features, indices, views(predictor.experiment)[0]))

    def _work(self) -> None:
        while True:
            jobs, chunks = self.queue.take()
            if jobs:
                self._prepare(jobs)
            elif chunks:
                self._compute(chunks)
            else:
                return

    def _prepare(self, jobs: Sequence[Job]) -> None:
        try:
            chunks = self.pipeline.prepare(jobs)
        except Exception:  # whatever is wrong with one request must not harm those that came with it
            if len(jobs) == 1:
                self._confess(jobs)
                self._deliver(jobs)
                return
            for job in jobs:
                job.source = None
                self._prepare([job])
            return
        self._deliver([job for job in jobs if job.reply is not None])
        self.queue.add(chunks)

    def _compute(self, chunks: Sequence[Chunk]) -> None:
        began = perf_counter()
        for chunk in chunks:
            if chunk.job.reply is None and is_late(chunk, now=began):
                chunk.job.refuse(503, "the request waited for too long; try again later", retry_after=self.retry_after)
                self._deliver([chunk.job], is_counted=True)
        live = [chunk for chunk in chunks if chunk.job.reply is None]
        if live:
            self._answer(live, began)
        self.queue.left(sum(chunk.num_bytes for chunk in chunks), is_computed=bool(live))

    def _answer(self, chunks: Sequence[Chunk], began: float) -> None:
        try:
            jobs = self.pipeline.compute(chunks)
        except Exception:
            self._isolate(chunks, began)
            return
        computed = perf_counter()
        self._finish(jobs)
        self.metrics.observe_batch(chunks, num_rows=sum(job.num_rows for job in jobs), began=began, computed=computed)
        self.metrics.observe_stage("decide", perf_counter() - computed)
        self._deliver(jobs, is_counted=True)
        self.queue.answered(jobs)

    def _isolate(self, chunks: Sequence[Chunk], began: float) -> None:
        """Compute the requests of a batch that failed one by one, so that only the culprit is refused."""
        jobs = list(dict.fromkeys(chunk.job for chunk in chunks))
        if len(jobs) == 1:
            self._confess(jobs)
            self._deliver(jobs, is_counted=True)
            return
        for job in jobs:
            self._answer([chunk for chunk in chunks if chunk.job is job], began)

    def _finish(self, jobs: Sequence[Job]) -> None:
        try:
            self.pipeline.finish(jobs)
        except Exception:
            if len(jobs) == 1:
                self._confess(jobs)
                return
            for job in jobs:
                self._finish([job])

    def _confess(self, jobs: Sequence[Job]) -> None:
        self._log(f"{self.name}: a request could not be answered because of a bug in burnish\n{format_exc()}")
        for job in jobs:
            job.refuse(
                500, "the answer could not be computed because of a bug in burnish; the log of the server has more"
            )

    def _deliver(self, jobs: Sequence[Job], *, is_counted: bool = False) -> None:
        """Hand replies to the connections that wait; bytes of chunks are counted down where these are."""
        if not jobs:
            return
        if not is_counted:
            self.queue.left(sum(len(job.payload) for job in jobs))
        jobs[0].waiter.get_loop().call_soon_threadsafe(_resolve, jobs)


def _resolve(jobs: Sequence[Job]) -> None:
    for job in jobs:
        waiter: asyncio.Future[Any] = job.waiter
        if not waiter.done():  # a client may be gone, also while it is written to
            with suppress(RuntimeError, OSError, ValueError):
                waiter.set_result(job.reply)
