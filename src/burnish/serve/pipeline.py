"""From payloads to answers: reads, encodes, computes and decides for many requests at once."""

from collections.abc import Iterator, Sequence
from threading import Lock
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa

from burnish.artifact.predictor import Predictor, views
from burnish.artifact.tables import prediction_columns
from burnish.data.batching.batches import evaluation_plan
from burnish.data.codecs.answers import dump_json
from burnish.data.codecs.columns import ColumnSpec, describe_columns
from burnish.data.codecs.decoded import Limits
from burnish.data.codecs.json_rows import Json
from burnish.engine.evaluate import infer_piece, join_pieces
from burnish.errors import DataError
from burnish.serve.jobs import Chunk, HttpReply, Job
from burnish.serve.metrics import ModelMetrics
from burnish.spec.values import Array

_APART = 64
"""A request of up to so many features is scheduled feature by feature, a longer one in whole batches."""


class Pipeline:
    """All that happens to requests for one model, apart from waiting."""

    def __init__(
        self, predictor: Predictor, metrics: ModelMetrics, *, limits: Limits, budget: int, batch_seconds: float
    ) -> None:
        self._metrics = metrics
        self.predictor = predictor
        self.columns: Sequence[ColumnSpec] = describe_columns(predictor.task, predictor.profile)
        self._limits = limits
        self._budget = budget
        self._batch_seconds = batch_seconds
        self._draws = views(predictor.experiment)
        self._alone = Lock()

    def prepare(self, jobs: Sequence[Job]) -> list[Chunk]:
        """Read and encode requests; those that cannot be used, or have no rows, get their reply here."""
        began = perf_counter()
        read_jobs(jobs, self.columns, self._limits)
        read = perf_counter()
        chunks = [chunk for group in _alike(_usable(jobs)) for chunk in self._encoded(group)]
        self._metrics.observe_stage("read", read - began)
        self._metrics.observe_stage("encode", perf_counter() - read)
        return chunks

    def compute(self, chunks: Sequence[Chunk]) -> list[Job]:
        """Run the network over one batch; give the requests that are complete with it."""
        features, indices = _batch_features(chunks)
        starts = np.cumsum([0, *(len(chunk.indices) for chunk in chunks)])
        for draw in self._draws:
            with self._alone:  # encoders keep what they looked at last
                batch = self.predictor.encoder.collate(features, indices, draw)
            piece = infer_piece(self.predictor.infer, batch, np.arange(len(indices)))
            bounds = np.searchsorted(piece["part"], starts)
            for chunk, start, low, high in zip(chunks, starts[:-1], bounds[:-1], bounds[1:], strict=True):
                chunk.job.pieces.append(_own(piece, slice(low, high), chunk.indices, start=start, view=draw.view))
        with self._alone:
            return _count_down(chunks)

    def finish(self, jobs: Sequence[Job]) -> None:
        """Decide for complete requests and write their replies."""
        for group in _alike(jobs):
            answers = self._answers(group)
            self._metrics.drift.observe_answers(answers["predicted"])
            rows: list[dict[str, Any]] = answers.to_pylist()
            start = 0
            for job in group:
                end = start + len(job.table)
                job.reply = _reply(job, answers.slice(start, end - start), rows[start:end])
                start = end

    def _answers(self, jobs: Sequence[Job]) -> pa.Table:
        pieces, first = [], 0
        for number, job in enumerate(jobs):
            for piece in job.pieces:
                piece["row"] = piece["row"] + first
                piece["part"] = piece["part"] + (number << 40)
                pieces.append(piece)
            first += len(job.table)
        table = pa.concat_tables([job.table for job in jobs])
        outcome = self.predictor.task.decode(join_pieces(pieces), self.predictor.profile, table)
        return pa.table(prediction_columns(self.predictor.encoder.put_into_words(outcome)))

    def _encoded(self, jobs: Sequence[Job]) -> Iterator[Chunk]:
        """Encode the rows of requests together; where that is refused, each on its own, to find whose fault it is."""
        try:
            table = pa.concat_tables([job.table for job in jobs])
            features = self.predictor.encoder.encode(table)
            self._metrics.drift.observe_rows(table)
        except DataError as error:
            if len(jobs) == 1:
                jobs[0].refuse(422, str(error))
                return
            for job in jobs:
                yield from self._encoded([job])
            return
        rows = features["row"].to_numpy()
        bounds = np.cumsum([0, *(len(job.table) for job in jobs)])
        own = rows - bounds[np.searchsorted(bounds, rows, side="right") - 1]
        features = features.set_column(features.column_names.index("row"), "row", pa.array(own, pa.int64()))
        lengths, places = features["length"].to_numpy(), np.searchsorted(rows, bounds)
        for job, low, high in zip(jobs, places[:-1], places[1:], strict=True):
            yield from self._chunks(job, features, np.arange(low, high), lengths[low:high])

    def _chunks(self, job: Job, features: pa.Table, places: Array, lengths: Array) -> list[Chunk]:
        """Cut the features of a request into parts; the later ones wait as if they had come later."""
        if len(places) <= _APART:
            cuts = [np.array([number]) for number in range(len(places))]
        else:
            cuts = [*evaluation_plan(lengths, tokens=self._budget)]
        job.num_waiting = len(cuts)
        share = len(job.payload) / max(1, len(cuts))
        return [
            Chunk(
                job,
                features,
                places[cut],
                int(lengths[cut].max(initial=1)),
                job.arrived + number * self._batch_seconds * (len(places) > _APART),
                share,
            )
            for number, cut in enumerate(cuts)
        ]


def read_jobs(jobs: Sequence[Job], columns: Sequence[ColumnSpec], limits: Limits) -> None:
    """Read payloads; rows of JSON are turned into columns together, which costs little more than for one request."""
    parsed: list[tuple[Job, Sequence[Any]]] = []
    for job in jobs:
        try:
            limits.check(job.payload)
            if type(job.codec) is Json:
                parsed.append((job, job.codec.read(job.payload, columns, limits=limits)))
            else:
                job.rows = job.codec.decode(job.payload, columns, limits=limits)
        except DataError as error:
            job.refuse(413 if "only" in str(error) and "read at once" in str(error) else 400, str(error))
    _gather(parsed, columns)
    for job in jobs:
        if job.reply is None and job.rows is not None and job.rows.errors and not job.is_partial:
            job.refuse_rows()


def _gather(parsed: Sequence[tuple[Job, Sequence[Any]]], columns: Sequence[ColumnSpec]) -> None:
    together = [row for _, rows in parsed for row in rows]
    if not parsed:
        return
    try:
        whole = Json().gather(together, columns)
    except DataError as error:
        if len(parsed) == 1:
            parsed[0][0].refuse(422, str(error))
            return
        for one in parsed:
            _gather([one], columns)
        return
    for (job, _), part in zip(parsed, whole.split([len(rows) for _, rows in parsed]), strict=True):
        job.rows = part


def _usable(jobs: Sequence[Job]) -> list[Job]:
    """Leave out what is refused, and answer what has no rows to compute."""
    usable = []
    for job in jobs:
        if job.reply is None and not len(job.table):
            job.reply = _reply(job, pa.table({"predicted": pa.array([], pa.string())}), [])
        if job.reply is None:
            usable.append(job)
    return usable


def _alike(jobs: Sequence[Job]) -> list[list[Job]]:
    """Group requests whose tables have the same columns and types."""
    groups: list[list[Job]] = []
    for job in jobs:
        for group in groups:
            if group[0].table.schema.equals(job.table.schema):
                group.append(job)
                break
        else:
            groups.append([job])
    return groups


def _batch_features(chunks: Sequence[Chunk]) -> tuple[pa.Table, Array]:
    """Give the features of a batch as one table, and where they are in it."""
    features = chunks[0].features
    indices = np.concatenate([chunk.indices for chunk in chunks])
    if all(chunk.features is features for chunk in chunks):
        return features, indices
    taken = pa.concat_tables([chunk.features.take(pa.array(chunk.indices)) for chunk in chunks])
    return taken.combine_chunks(), np.arange(len(indices))


def _own(piece: dict[str, Array], which: slice, indices: Array, *, start: int, view: int) -> dict[str, Array]:
    """Take the part of a batch's outputs that is of one chunk; `part` orders windows and views within the request."""
    mine = {name: values[which] for name, values in piece.items()}
    mine["part"] = indices[mine["part"] - start].astype(np.int64) + (view << 32)
    return mine


def _count_down(chunks: Sequence[Chunk]) -> list[Job]:
    """Note that chunks are done; give the requests that are complete."""
    complete = []
    for chunk in chunks:
        chunk.job.num_waiting -= 1
        if not chunk.job.num_waiting:
            complete.append(chunk.job)
    return complete


def _reply(job: Job, answers: pa.Table, rows: list[dict[str, Any]]) -> HttpReply:
    assert job.rows is not None
    if job.style == "name":
        return HttpReply(200, str(rows[0]["predicted"]).encode(), b"text/plain; charset=utf-8")
    if job.style == "names" and not job.rows.errors:
        rows = [row["predicted"] for row in rows]
    if type(job.codec) is Json and not job.rows.errors:
        return HttpReply(200, (dump_json({"predictions": rows}) + "\n").encode())
    return HttpReply(200, job.codec.encode(job.rows, answers), job.content_type)
