"""Decides what becomes of rows that cannot be used: refuse them all at once, or set them aside and say how many."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from burnish.data.readers.encoding import encoding_advice
from burnish.data.rows import keep
from burnish.errors import DataError
from burnish.spec.values import RowFault, Rows, Splits

Policy = Literal["error", "skip"]
_SPLITS = ("train", "validation", "test")
_SHOWN_CAUSES, _SHOWN_ALIKE = 10, 3
_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")
_TEXT_KEPT = 2000
_LOOKED_AT = 1000


@dataclass(frozen=True)
class BadRow:
    """A row that cannot be used: where it stands, why, and what stands there."""

    file: str
    line: int | None
    why: str
    text: str

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{place}: {self.why}"


class BrokenRows(DataError):
    """Refuse rows that could not even be read; who knows what else may be wrong with the rest can tell it too."""

    def __init__(self, message: str, broken: Mapping[str, Sequence[BadRow]], rest: Callable[[], Splits]) -> None:
        super().__init__(message)
        self.broken = broken
        self.rest = rest


def settle_all(splits: Mapping[str, Callable[[], Rows]]) -> dict[str, Rows]:
    """Settle every split before one is refused, so that the faults of all are told at once."""
    sound: dict[str, Rows] = {}
    problems: list[str] = []
    for name, work in splits.items():
        try:
            sound[name] = work()
        except DataError as error:
            problems.append(str(error))
    if problems:
        raise DataError("\n\n".join(problems))
    return sound


def settle(
    rows: Rows,
    faults: Sequence[RowFault],
    *,
    policy: Policy,
    share: float,
    quarantine: Path | None,
    split: str,
    broken: Sequence[BadRow] = (),
) -> Rows:
    """Drop the faulty rows if the policy allows, else refuse; what is dropped is written to `quarantine`.

    Rows that are `broken` could not be read, and are told with the others.
    """
    if not faults and not broken:
        return rows
    whys: dict[int, str] = {}
    for fault in faults:
        whys[fault.row] = f"{whys[fault.row]}; {fault.what}" if fault.row in whys else fault.what
    bad = [_bad_row(rows, row, why) for row, why in sorted(whys.items())]
    bad = sorted([*broken, *bad], key=lambda each: (each.file, each.line or 0)) if broken else bad
    judge(bad, total=len(rows) + len(broken), policy=policy, share=share, quarantine=quarantine, split=split)
    mask = np.ones(len(rows), dtype=bool)
    mask[list(whys)] = False
    return keep(rows, mask)


def judge(
    bad: Sequence[BadRow], *, total: int, policy: Policy, share: float, quarantine: Path | None, split: str
) -> None:
    """Refuse bad rows, or write them down if they may be skipped and are few enough."""
    if not bad:
        return
    if policy == "error":
        raise DataError(_refusal(bad, total=total, split=split, share=share))
    if quarantine is not None:
        quarantine.parent.mkdir(parents=True, exist_ok=True)
        with quarantine.open("a", encoding="utf-8", errors="backslashreplace") as stream:
            for row in bad:
                stream.write(json.dumps({"split": split, **asdict(row)}, ensure_ascii=False) + "\n")
    if len(bad) > share * total:
        raise DataError(_too_many(bad, total=total, share=share, split=split, quarantine=quarantine))


def _refusal(bad: Sequence[BadRow], *, total: int, split: str, share: float) -> str:
    count = f"{len(bad):,} of {total:,} rows" if total > 1 else "the only row"
    lines = [f"{count} of {_name_split(split)} cannot be used", *_list_causes(bad)]
    if split not in _SPLITS:
        return "\n".join(lines)  # a file outside of an experiment has no options that could help
    advice = encoding_advice("\n".join(row.text for row in bad[:_LOOKED_AT]))
    fix = "Fix them, or set data.bad_rows: skip to continue without them."
    if len(bad) > share * total:
        most = f"at most {share * 100:g}% of rows may be skipped (data.max_bad_share)."
        fix = f"Fix them. Skipping is not possible: {most}"
    return "\n".join([*lines, *filter(None, [advice]), fix])


def _name_split(split: str) -> str:
    return f"the {split} split" if split in _SPLITS else split


def _too_many(bad: Sequence[BadRow], *, total: int, share: float, split: str, quarantine: Path | None) -> str:
    written = f"; all of them are in {quarantine}" if quarantine else ""
    return "\n".join(
        [
            f"{len(bad):,} of {total:,} rows of {_name_split(split)} cannot be used: {len(bad) / total:.2%}, "
            f"but data.max_bad_share allows {share:.2%}",
            *_list_causes(bad),
            f"Fix them, or raise data.max_bad_share if you can do without them{written}.",
        ]
    )


def _list_causes(bad: Sequence[BadRow]) -> list[str]:
    """List the first rows of each cause; what is quoted in it is the row's own value."""
    causes: dict[str, list[BadRow]] = {}
    for row in bad:
        causes.setdefault(_QUOTED.sub("", row.why), []).append(row)
    lines: list[str] = []
    for alike in list(causes.values())[:_SHOWN_CAUSES]:
        lines += [f"  {row}" for row in alike[:_SHOWN_ALIKE]]
        lines += [f"  … and {len(alike) - _SHOWN_ALIKE:,} more like these"] if len(alike) > _SHOWN_ALIKE else []
    rest = sum(map(len, list(causes.values())[_SHOWN_CAUSES:]))
    return [*lines, f"  … and {rest:,} more"] if rest else lines


def _bad_row(rows: Rows, row: int, why: str) -> BadRow:
    place = rows.places
    which = int(place.file_of[row])
    first = place.first_lines[which]
    name = place.files[which] if first else place.describe(row)
    line = first + int(place.numbers[row]) if first else None
    values = rows.table.slice(row, 1).to_pylist()[0]
    return BadRow(name, line, why, json.dumps(values, ensure_ascii=False, default=str)[:_TEXT_KEPT])
