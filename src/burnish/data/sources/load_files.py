"""Goes from a list of paths to splits: find, read, judge, filter, arrange."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from burnish.data.files import Files
from burnish.data.inspection.faults import BadRow, BrokenRows, judge, settle_all
from burnish.data.options import NAMES
from burnish.data.readers.encoding import NotUtf8
from burnish.data.readers.read import ReadFile, digest_file, find_format, join_readings, read
from burnish.data.rows import filter_rows
from burnish.data.sources.address import DataFile, find, find_shared, is_url, join_address
from burnish.data.splits.arrange import arrange, finish
from burnish.errors import DataError
from burnish.spec.protocols import DataRequest
from burnish.spec.values import Rows, Splits

_SHAPING = {"format", "header", "columns", "layout", "quoting", "delimiter", "encoding", "decimal"}
_SHAPING |= {"split", "limit", "filter", "bad_rows", "tokenizer", "labels", "features"}


def load_files(options: Files, request: DataRequest) -> Splits:
    """Read every file that the options name, and split the rows."""
    files = _find(options)
    if request.quarantine is not None:
        request.quarantine.unlink(missing_ok=True)  # what an earlier attempt skipped is found again below
    found = _Found(files, {name: [_read(file, options) for file in each] for name, each in files.items()})
    try:
        parts = found.accepted(options, request)
    except DataError as error:
        if options.bad_rows == "skip":
            raise
        raise BrokenRows(str(error), found.broken, lambda: found.arranged(found.sound, options, request)) from error
    return found.arranged(parts, options, request)


def digest_files(options: Files) -> dict[str, str]:
    """Digest every file on this machine that the options name; no server is asked for one elsewhere."""
    found = _find(options, is_local=True)
    return {file.name: digest_file(file, options) for files in found.values() for file in files}


@dataclass(frozen=True)
class _Found:
    files: Mapping[str, Sequence[DataFile]]
    readings: Mapping[str, Sequence[ReadFile]]

    @property
    def sound(self) -> dict[str, Rows]:
        """Join the rows that could be read."""
        return {split: join_readings(found) for split, found in self.readings.items()}

    @property
    def broken(self) -> dict[str, list[BadRow]]:
        """List the rows that could not."""
        return {split: [row for each in found for row in each.bad] for split, found in self.readings.items()}

    @property
    def digests(self) -> dict[str, str]:
        """Collect the digest of each file."""
        return {
            file.name: reading.digest
            for split, readings in self.readings.items()
            for file, reading in zip(self.files[split], readings, strict=True)
        }

    def accepted(self, options: Files, request: DataRequest) -> dict[str, Rows]:
        """Accept the rows that could be read, if the others may be passed over."""
        broken = self.broken
        return settle_all(
            {
                split: partial(_judge, rows, broken[split], options=options, split=split, request=request)
                for split, rows in self.sound.items()
            }
        )

    def arranged(self, parts: Mapping[str, Rows], options: Files, request: DataRequest) -> Splits:
        """Filter and split the rows."""
        kept = {split: filter_rows(rows, options.filter, where=split) for split, rows in parts.items()}
        arranged = arrange(kept, plan=options.split, limit=options.limit, request=request)
        facts = {
            "files": {name: [file.name for file in found] for name, found in self.files.items()},
            "skipped": {name: len(rows) for name, rows in self.broken.items()},
        }
        fingerprint = self._fingerprint(options, request)
        return finish(arranged, facts=facts, fingerprint=fingerprint, digests=self.digests)

    def _fingerprint(self, options: Files, request: DataRequest) -> str:
        shaping = {
            "options": options.model_dump(mode="json", include=_SHAPING),
            "seed": request.seed,
            "stratify": request.stratify,
            "bytes": {name: [reading.digest for reading in found] for name, found in self.readings.items()},
            # the same bytes are other rows in a file of another suffix
            "formats": {name: [find_format(file, options) for file in found] for name, found in self.files.items()},
        }
        return hashlib.sha256(json.dumps(shaping, sort_keys=True).encode()).hexdigest()


def _read(file: DataFile, options: Files) -> ReadFile:
    try:
        return read(file, options)
    except NotUtf8 as error:
        raise error.advised() from error


def _find(options: Files, *, is_local: bool = False) -> dict[str, list[DataFile]]:
    """Find the files of each split, or only those on this machine."""
    found: dict[str, list[DataFile]] = {}
    problems: list[str] = []
    asked = {name: (f"data.{name}", getattr(options, name)) for name in NAMES}
    asked |= {name: (f"data.also.{name}", paths) for name, paths in options.also.items()}
    for name, (option, paths) in asked.items():
        for written in paths:
            if is_local and is_url(join_address(options.dir, written)):
                continue
            try:
                found.setdefault(name, []).extend(find(written, base=options.dir, option=option))
            except DataError as error:
                problems.append(str(error))
    if problems:
        raise DataError("\n".join(problems))
    for name, sentence in find_shared(found):
        raise DataError(f"data.{name}: {sentence}")
    return {name: _distinct(files) for name, files in found.items()}


def _distinct(files: Sequence[DataFile]) -> list[DataFile]:
    first: dict[object, DataFile] = {}
    for file in files:
        first.setdefault(file.identity, file)
    return list(first.values())


def _judge(rows: Rows, broken: Sequence[BadRow], *, options: Files, split: str, request: DataRequest) -> Rows:
    judge(
        broken,
        total=len(rows) + len(broken),
        policy=options.bad_rows,
        share=options.max_bad_share,
        quarantine=request.quarantine,
        split=split,
    )
    return rows
