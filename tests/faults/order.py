"""Reads from the calls of a worker whether a power cut could leave a checkpoint that is named and not there.

A kill cannot show it: what a dead process wrote is still in the system's memory, and only a power cut loses it.
"""

import re
from collections.abc import Iterator, Sequence

from tests.harness.faults import Point

_BUILDING = re.compile(r"(.*/checkpoints)/\.(step-\d+)\.\d+\.building")
_WRITTEN = ("write", "tensors")


def disorder(points: Sequence[Point]) -> list[str]:
    """Say what is relied on before it is on the disk; an empty list when nothing is."""
    folders = dict.fromkeys(match[0] for point in points if (match := _BUILDING.match(point.path)))
    return [problem for folder in folders for problem in _problems(folder, points)]


def _problems(folder: str, points: Sequence[Point]) -> Iterator[str]:
    root, name = _BUILDING.match(folder).groups()  # type: ignore[union-attr]  # it matched before
    manifest = _last(points, "replace", f"{folder}/MANIFEST.json")
    final = _last(points, "replace", f"{root}/{name}")
    if not 0 <= manifest < final:
        yield f"{folder} got its name before its manifest"
    written = {point.path for point in points if point.kind in _WRITTEN and point.path.startswith(f"{folder}/")}
    for path in sorted(written):
        if not _is_synced(points, path, after=_last(points, _WRITTEN, path), before=manifest):
            yield f"{path} was not synced before the manifest"
    if not _is_synced(points, folder, after=manifest, before=final):
        yield f"{folder} was not synced before it got its name"
    if not _is_synced(points, root, after=final, before=len(points)):
        yield f"{root} was not synced after {name} came into it"


def _last(points: Sequence[Point], kind: str | tuple[str, ...], path: str) -> int:
    return max((n for n, point in enumerate(points) if point.kind in kind and point.path == path), default=-1)


def _is_synced(points: Sequence[Point], path: str, *, after: int, before: int) -> bool:
    return any(point.kind == "fsync" and point.path == path for point in points[after + 1 : before])
