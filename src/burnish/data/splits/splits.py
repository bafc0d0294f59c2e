"""Divides row numbers into parts: a pure function of the seed and the rows, the same on every machine."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from burnish.data.batching.rng import GOLDEN, mix

Numbers = np.ndarray[Any, np.dtype[np.int64]]
Mask = np.ndarray[Any, np.dtype[np.bool_]]


def lots(num_rows: int, *, seed: int, purpose: int) -> np.ndarray[Any, np.dtype[np.uint64]]:
    """Draw a lot for each row (splitmix64), so that no library's generator decides who is in which split."""
    start = mix(np.array([(seed + int(GOLDEN) * (purpose + 1)) % 2**64], dtype=np.uint64))
    with np.errstate(over="ignore"):
        return mix(start + GOLDEN * np.arange(1, num_rows + 1, dtype=np.uint64))


def sample(num_rows: int, size: int, *, seed: int, purpose: int, classes: Numbers | None = None) -> Mask:
    """Mark `size` rows at random, one of every class first; a smaller sample is always part of a larger one."""
    order = np.argsort(lots(num_rows, seed=seed, purpose=purpose), kind="stable")
    if classes is not None:
        is_later = _rank_in_class(classes[order]) > 0
        order = order[np.argsort(is_later, kind="stable")]
    mask = np.zeros(num_rows, dtype=bool)
    mask[order[:size]] = True
    return mask


def carve(num_rows: int, sizes: Sequence[int], *, classes: Numbers | None = None, seed: int) -> Numbers:
    """Assign rows to parts: 0 for what stays, i + 1 for the i-th size; every part holds the classes in proportion."""
    part: np.ndarray[Any, Any] = np.zeros(num_rows, dtype=np.int8)
    strata = np.zeros(num_rows, dtype=np.int8) if classes is None else classes
    totals = np.bincount(strata, minlength=1)
    room = totals.copy()
    order = compact(np.argsort(lots(num_rows, seed=seed, purpose=0), kind="stable"))
    for index, size in enumerate(sizes):
        quotas = apportion((totals * (size / num_rows)).astype(np.float64), size, room=room)
        room -= quotas
        free = order[part[order] == 0]
        part[free[_rank_in_class(strata[free]) < quotas[strata[free]]]] = index + 1
    return part


def apportion(ideal: np.ndarray[Any, np.dtype[np.float64]], size: int, *, room: Numbers) -> Numbers:
    """Round quotas so that they sum to `size`, each to one of its two neighbours while there is room.

    A class gives away its last row only if nothing else is left, for what is never trained on cannot be learned.
    """
    quotas = np.asarray(np.minimum(np.floor(ideal).astype(np.int64), room))
    for spare in (1, 0):
        while (short := size - int(quotas.sum())) > 0:
            able = np.flatnonzero(room - quotas > spare)
            if len(able) == 0:
                break
            most_owed = able[np.argsort((quotas - ideal)[able], kind="stable")]
            quotas[most_owed[:short]] += 1
    return quotas


def _rank_in_class(strata: Numbers) -> Numbers:
    """Number the rows of each class in their order; in compact numbers, for there may be many millions."""
    by_class = compact(np.argsort(strata, kind="stable"))
    counts = np.bincount(strata)
    ranks = np.empty_like(by_class)
    ranks[by_class] = np.arange(len(strata), dtype=by_class.dtype)
    ranks -= (np.cumsum(counts) - counts).astype(by_class.dtype)[strata]
    return ranks


def compact(numbers: Numbers) -> Numbers:
    """Hold numbers of rows in 32 bits while they fit."""
    return numbers.astype(np.int32) if len(numbers) <= np.iinfo(np.int32).max else numbers


def carve_groups(groups: Numbers, sizes: Sequence[int], *, classes: Numbers | None = None, seed: int) -> Numbers:
    """Assign rows to parts so that no group is in two; sizes and class shares are as near as whole groups allow."""
    num_groups = int(groups.max()) + 1
    strata = np.zeros(len(groups), dtype=np.int64) if classes is None else classes
    held = np.zeros((num_groups, int(strata.max()) + 1))
    np.add.at(held, (groups, strata), 1.0)
    wanted = np.array([len(groups) - sum(sizes), *sizes]) / len(groups)
    part_of = _place_groups(held, wanted[:, None] * held.sum(axis=0), seed=seed)
    return part_of[groups]


def _place_groups(
    held: np.ndarray[Any, np.dtype[np.float64]], targets: np.ndarray[Any, np.dtype[np.float64]], *, seed: int
) -> Numbers:
    sizes = held.sum(axis=1)
    shuffled = np.argsort(lots(len(held), seed=seed, purpose=0), kind="stable")
    largest_first = shuffled[np.argsort(-sizes[shuffled], kind="stable")]
    part_of = np.zeros(len(held), dtype=np.int64)
    have = np.zeros_like(targets)
    for group in largest_first:
        # the change in squared distance from the target, relative to the target: least for the part most in need
        change = held[group] * (2 * (have - targets) + held[group]) / np.maximum(targets, 1e-9)
        part = int(np.argmin(change.sum(axis=1)))
        part_of[group] = part
        have[part] += held[group]
    return _none_empty(part_of, sizes, num_parts=len(targets))


def _none_empty(part_of: Numbers, sizes: np.ndarray[Any, np.dtype[np.float64]], *, num_parts: int) -> Numbers:
    for part in range(num_parts):
        if np.any(part_of == part):
            continue
        donors = np.flatnonzero(np.bincount(part_of, minlength=num_parts)[part_of] > 1)
        if len(donors):
            part_of[donors[np.argmin(sizes[donors])]] = part
    return part_of
