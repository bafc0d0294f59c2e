"""Goes from a hub data set to splits; class numbers become class names on the way."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from burnish.data.hub import Hub
from burnish.data.options import NAMES
from burnish.data.rows import fingerprint, from_file, keep_matching
from burnish.data.splits.arrange import arrange, finish
from burnish.errors import BurnishError, DataError
from burnish.extras import require
from burnish.spec.protocols import DataRequest
from burnish.spec.values import Rows, Splits

_ELSEWHERE = "/"
_USUAL = {"validation": ("validation", "valid", "dev"), "test": ("test",)}


def load_hub(options: Hub, request: DataRequest) -> Splits:
    """Read every split that the options name, and arrange them."""
    if request.quarantine is not None:
        request.quarantine.unlink(missing_ok=True)  # the task writes what it skips there, anew at every start
    chosen = _choose(_fetch(options), options) | _elsewhere(options)
    parts = {
        name: from_file(name_classes(found), name=f"{options.name} [{found.split}]", first_line=0)
        for name, found in chosen.items()
    }
    unlabelled = "test" in parts and options.test is None and _is_blank(parts["test"], request.stratify)
    if unlabelled:
        del parts["test"]
    if options.filter:
        parts = {name: keep_matching(rows, options.filter) for name, rows in parts.items()}
    arranged = arrange(parts, plan=options.split, limit=options.limit, request=request)
    facts: dict[str, object] = {"hub": f"{options.name}{f' ({options.config})' if options.config else ''}"}
    if unlabelled:
        facts["test"] = "left out: its labels are not published"
    digests = {name: fingerprint(rows.table) for name, rows in parts.items()}
    shaping = {
        "options": options.model_dump(mode="json", include={"split", "limit", "filter"}),
        "seed": request.seed,
        "stratify": request.stratify,
        "rows": digests,
    }
    whole = hashlib.sha256(json.dumps(shaping, sort_keys=True).encode()).hexdigest()
    named = {f"{options.name} [{name}]": digest for name, digest in digests.items()}
    return finish(arranged, facts=facts, fingerprint=whole, digests=named)


def _fetch(options: Hub) -> Mapping[str, Any]:
    datasets = require("datasets", extra="hub", why="to read a data set by its hub name")
    try:
        found: Mapping[str, Any] = datasets.load_dataset(
            options.name, options.config, revision=options.revision, cache_dir=options.cache_dir
        )
    except BurnishError:
        raise
    except Exception as error:  # the package and its downloads raise dozens of kinds; each says what it missed
        said = (str(error).strip() or type(error).__name__).splitlines()
        raise DataError(f"data.name: {options.name} could not be read: {said[0]}") from error
    return found


def _choose(found: Mapping[str, Any], options: Hub) -> dict[str, Any]:
    also = {name: split for name, split in options.also.items() if _ELSEWHERE not in split}
    asked = {name: getattr(options, name) for name in NAMES if getattr(options, name) is not None} | also
    for name, split in asked.items():
        option = f"data.also.{name}" if name in also else f"data.{name}"
        _demand(split, found, option=option, source=options.name)
    if len(set(asked.values())) < len(asked):
        raise DataError(f"data: {options.name} must give each of {', '.join(asked)} from a different split")
    for name, usual in _USUAL.items():
        free = [split for split in usual if split in found and split not in asked.values()]
        is_carved = options.split.by is not None or getattr(options.split, name, None) is not None
        if name not in asked and free and not is_carved:
            asked[name] = free[0]
    return {name: found[asked[name]] for name in (*NAMES, *also) if name in asked}


def _elsewhere(options: Hub) -> dict[str, Any]:
    """Fetch the further splits that are written `config/split`, and so lie in another configuration."""
    fetched: dict[str, Mapping[str, Any]] = {}
    chosen: dict[str, Any] = {}
    for name, written in options.also.items():
        config, is_other, split = written.rpartition(_ELSEWHERE)
        if not is_other:
            continue
        if config not in fetched:
            fetched[config] = _fetch(options.model_copy(update={"config": config}))
        _demand(split, fetched[config], option=f"data.also.{name}", source=f"{options.name} ({config})")
        chosen[name] = fetched[config][split]
    return chosen


def _demand(split: str, found: Mapping[str, Any], *, option: str, source: str) -> None:
    if split not in found:
        raise DataError(f"{option}: {source} has no split `{split}`; it has {', '.join(map(str, found))}")


def name_classes(found: Any) -> pa.Table:  # of a datasets.Dataset, whose package is optional
    """Read the table of a data set, with class names in the place of class numbers."""
    table: pa.Table = found.with_format("arrow")[:]
    for index, name in enumerate(table.column_names):
        feature = getattr(found.features[name], "feature", found.features[name])
        names: list[str] | None = getattr(feature, "names", None)
        if names:
            column = table.column(name)
            kind = pa.list_(pa.string()) if pa.types.is_list(column.type) else pa.string()
            spelled = pa.chunked_array([_spell_chunk(chunk, names) for chunk in column.chunks], type=kind)
            table = table.set_column(index, name, spelled)
    return table


def _spell_chunk(chunk: pa.Array, names: list[str]) -> pa.Array:
    if pa.types.is_list(chunk.type):
        return pa.ListArray.from_arrays(chunk.offsets, _spell_chunk(chunk.values, names), mask=chunk.is_null())
    known = pc.if_else(pc.greater_equal(chunk, 0), chunk, None)  # -1 stands for a label that is not published
    return pc.take(pa.array(names, type=pa.string()), known)


def _is_blank(rows: Rows, column: str | None) -> bool:
    if column is None or column not in rows.table.column_names:
        return False
    return bool(rows.table.column(column).null_count == len(rows))
