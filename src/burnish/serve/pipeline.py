"""From payloads to answers: reads, encodes, computes and decides for many requests at once."""

from collections.abc import Iterator, Sequence
from itertools import accumulate
from threading import Lock
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa

from burnish.artifact.missing import count_missing, note_missing
from burnish.artifact.predictor import Predictor, views
from burnish.artifact.tables import prediction_columns
from burnish.data.batching.batches import evaluation_plan
from burnish.data.codecs.answers import dump_json
from burnish.data.codecs.columns import ColumnSpec, allow_missing, describe_columns
from burnish.data.codecs.convert import MAY_BE_LISTS
from burnish.data.codecs.decoded import Limits, MissingColumns
from burnish.data.codecs.json_rows import Json
from burnish.engine.evaluate import infer_piece, join_pieces
from burnish.errors import DataError, MissingExtra
from burnish.serve.jobs import ALLOW_MISSING, Chunk, HttpReply, Job
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
        self._lenient_columns = allow_missing(self.columns)
        self._limits = limits
        self._budget = budget
        self._batch_seconds = batch_seconds
        self._draws = views(predictor.experiment)
        self._alone = Lock()

    def prepare(self, jobs: Sequence[Job]) -> list[Chunk]:
        """Read and encode requests; those that cannot be used, or have no rows, get their reply here."""
        began = perf_counter()
        read_jobs([job for job in jobs if not job.allows_missing], self.columns, self._limits)
        self._read_lenient([job for job in jobs if job.allows_missing])
        read = perf_counter()
        chunks = [chunk for group in _alike(_usable(jobs)) for chunk in self._encoded(group)]
        self._metrics.observe_stage("read", read - began)
        self._metrics.observe_stage("encode", perf_counter() - read)
        return chunks

    def _read_lenient(self, jobs: Sequence[Job]) -> None:
        """Read requests that may lack what every training row had, and note what they lack."""
        read_jobs(jobs, self._lenient_columns, self._limits)
        for job in jobs:
            if job.reply is None:
                table = job.rows.table
                counts = count_missing(table, self.columns)
                job.add_notes(note_missing(counts, self.columns, num_rows=len(table)))

    def compute(self, chunks: Sequence[Chunk]) -> list[Job]:
        """Run the network over one batch; give the requests that are complete with it."""
        features, indices = _batch_features(chunks)
        numbers = np.concatenate([chunk.indices for chunk in chunks]).astype(np.int64)
        starts = np.cumsum([0, *(len(chunk.indices) for chunk in chunks)])
        found = []
        for draw in self._draws:
            with self._alone:  # encoders keep what they looked at last
                batch = self.predictor.encoder.collate(features, indices, draw)
            piece = infer_piece(self.predictor.infer, batch, np.arange(len(indices)))
            bounds = np.searchsorted(piece["part"], starts).tolist()
            # Which orders windows and views within the request.
            piece["part"] = numbers[piece["part"]] + (draw.view << 32)
            spans = zip(chunks, bounds[:-1], bounds[1:], strict=True)
            found += [(chunk.job, (piece, low, high)) for chunk, low, high in spans]
        with self._alone:  # all of it or nothing: what failed is computed again, request by request
            for job, span in found:
                job.pieces.append(span)
            complete = []
            for chunk in chunks:
                chunk.job.num_waiting -= 1
                if not chunk.job.num_waiting:
                    complete.append(chunk.job)
            return complete

    def finish(self, jobs: Sequence[Job]) -> None:
        """Decide for complete requests and write their replies."""
        for group in _alike(jobs):
            decoded = self.predictor.task.decode(_join_outputs(group), self.predictor.profile, _join_rows(group))
            outcome = self.predictor.encoder.put_into_words(decoded)
            self._metrics.drift.observe_answers(outcome)
            answers = pa.table(prediction_columns(outcome))
            rows: list[dict[str, Any]] = answers.to_pylist()
            start = 0
            for job in group:
                end = start + job.num_rows
                job.reply = _reply(job, answers.slice(start, end - start), rows[start:end])
                start = end

    def _encoded(self, jobs: Sequence[Job]) -> Iterator[Chunk]:
        """Encode the rows of requests together; where that is refused, each on its own, to find whose fault it is."""
        try:
            table = _join_rows(jobs)
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
        bounds = np.cumsum([0, *(job.num_rows for job in jobs)])
        own = rows - bounds[np.searchsorted(bounds, rows, side="right") - 1]
        features = features.set_column(features.column_names.index("row"), "row", pa.array(own, pa.int64()))
        lengths, places = features["length"].to_numpy(), np.searchsorted(rows, bounds).tolist()
        order = np.arange(len(rows))
        for job, low, high in zip(jobs, places[:-1], places[1:], strict=True):
            yield from self._chunks(job, features, order[low:high], lengths[low:high])

    def _chunks(self, job: Job, features: pa.Table, places: Array, lengths: Array) -> list[Chunk]:
        """Cut the features of a request into parts; the later ones wait as if they had come later."""
        if len(places) <= _APART:
            job.num_waiting = len(places)
            share = len(job.payload) / max(1, len(places))
            return [
                Chunk(job, features, places[at : at + 1], max(1, length), job.arrived, share)
                for at, length in enumerate(lengths.tolist())
            ]
        cuts = [*evaluation_plan(lengths, tokens=self._budget)]
        job.num_waiting = len(cuts)
        share = len(job.payload) / len(cuts)
        return [
            Chunk(
                job,
                features,
                places[cut],
                int(lengths[cut].max(initial=1)),
                job.arrived + number * self._batch_seconds,
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
                job.read_from(job.codec.decode(job.payload, columns, limits=limits))
        except MissingExtra as error:
            job.refuse(415, str(error))
        except MissingColumns as error:
            job.refuse(422, f"{error}\nadd {ALLOW_MISSING}" if error.may_be_allowed else str(error))
        except DataError as error:
            job.refuse(413 if "only" in str(error) and "read at once" in str(error) else 400, str(error))
    for group in _by_form(parsed, columns):
        _gather(group, columns)
    for job in jobs:
        if job.reply is None and job.source is not None and job.source.errors and not job.is_partial:
            job.refuse_rows()


def _by_form(
    parsed: Sequence[tuple[Job, Sequence[Any]]], columns: Sequence[ColumnSpec]
) -> list[list[tuple[Job, Sequence[Any]]]]:
    """Keep texts apart from lists of words: in one column, the texts of other requests would be read as lists too."""
    if not any(spec.kind in MAY_BE_LISTS for spec in columns):
        return [list(parsed)]
    groups: dict[frozenset[tuple[type, bool]], list[tuple[Job, Sequence[Any]]]] = {}
    for job, rows in parsed:
        groups.setdefault(frozenset(map(_form, rows)), []).append((job, rows))
    return [*groups.values()]


def _form(row: Any) -> tuple[type, bool]:
    cells = row.values() if isinstance(row, dict) else row if isinstance(row, list) else ()
    return type(row), any(isinstance(cell, list) for cell in cells)


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
    except MissingExtra as error:
        for job, _ in parsed:
            job.refuse(415, str(error))
        return
    counts = [len(rows) for _, rows in parsed]
    if whole.errors:
        for (job, _), part in zip(parsed, whole.split(counts), strict=True):
            job.read_from(part)
        return
    for (job, _), first, num_rows in zip(parsed, accumulate(counts, initial=0), counts, strict=False):
        job.read_from(whole, first=first, num_rows=num_rows)


def _usable(jobs: Sequence[Job]) -> list[Job]:
    """Leave out what is refused, and answer what has no rows to compute."""
    usable = []
    for job in jobs:
        if job.reply is None and not job.num_rows:
            job.reply = _reply(job, pa.table({"predicted": pa.array([], pa.string())}), [])
        if job.reply is None:
            usable.append(job)
    return usable


def _alike(jobs: Sequence[Job]) -> list[list[Job]]:
    """Group requests whose tables have the same columns and types."""
    groups: list[list[Job]] = []
    for job in jobs:
        for group in groups:
            if _schema(group[0]) is _schema(job) or _schema(group[0]).equals(_schema(job)):
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


def _join_rows(jobs: Sequence[Job]) -> pa.Table:
    """Put the rows of requests one after the other; those that were read together are not taken apart."""
    spans = _merge([(job.source.table, job.first, job.first + job.num_rows) for job in jobs if job.source is not None])
    tables = [table.slice(low, high - low) for table, low, high in spans]
    return tables[0] if len(tables) == 1 else pa.concat_tables(tables).combine_chunks()


def _join_outputs(jobs: Sequence[Job]) -> dict[str, Array]:
    """Put the outputs for requests one after the other; rows are counted on, and parts stay apart."""
    firsts = accumulate((job.num_rows for job in jobs), initial=0)
    owners = [
        (first, number << 40, high - low)
        for number, (job, first) in enumerate(zip(jobs, firsts, strict=False))
        for _, low, high in job.pieces
    ]
    first, number, count = (np.array(each) for each in zip(*owners, strict=True))
    spans = _merge([piece for job in jobs for piece in job.pieces])
    outputs = join_pieces({name: values[low:high] for name, values in piece.items()} for piece, low, high in spans)
    return {
        **outputs,
        "row": outputs["row"] + np.repeat(first, count),
        "part": outputs["part"] + np.repeat(number, count),
    }


def _merge(spans: Sequence[tuple[Any, int, int]]) -> list[tuple[Any, int, int]]:
    """Make one span of those that follow one another in the same thing."""
    merged: list[tuple[Any, int, int]] = []
    for whole, low, high in spans:
        if merged and merged[-1][0] is whole and merged[-1][2] == low:
            merged[-1] = (whole, merged[-1][1], high)
        else:
            merged.append((whole, low, high))
    return merged


def _schema(job: Job) -> pa.Schema:
    assert job.source is not None
    return job.source.table.schema


def _reply(job: Job, answers: pa.Table, rows: list[dict[str, Any]]) -> HttpReply:
    if job.style == "name" and rows:  # the only one may be bad
        return HttpReply(200, str(_name(rows[0])).encode(), b"text/plain; charset=utf-8", notes=job.notes)
    has_errors = job.source is not None and bool(job.source.errors)
    if job.style == "names" and not has_errors:
        rows = [_name(row) for row in rows]
    if type(job.codec) is Json and not has_errors:
        return HttpReply(200, (dump_json({"predictions": rows}) + "\n").encode(), notes=job.notes)
    return HttpReply(200, job.codec.encode(job.rows, answers), job.content_type, notes=job.notes)


def _name(answer: dict[str, Any]) -> Any:
    return answer.get("predicted_name", answer["predicted"])
