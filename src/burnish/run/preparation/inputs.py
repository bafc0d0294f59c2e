"""What a run was trained on: the plan, profile and data digests that each checkpoint keeps, and what changed since."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path

from burnish.config import diff, load, render, trust
from burnish.engine.state import refusing_misfit
from burnish.errors import CheckpointError
from burnish.run.record.directory import RunDirectory, read_json
from burnish.spec.experiment import Experiment
from burnish.spec.parts import prefix, profile_from_json, read_profiles
from burnish.spec.values import Profile, Splits
from burnish.storage.checkpoints import Checkpoint

PLAN, PROFILE, DATA = "plan.yaml", "profile.json", "data.json"
_FREE = ("name", "description", "track", "notify", "train.max_minutes", "train.disk_wait", "train.keep")
"""Options that change no bit of what is learned: they may be edited in the plan of a run."""


@dataclass(frozen=True)
class TrainedOn:
    """What the weights were trained on, as far as that is known, and what happens when the data is different now."""

    digests: Mapping[str, str] = field(default_factory=dict)
    """By file; empty if they were not recorded."""
    profiles: Mapping[str, Profile] = field(default_factory=dict)
    """By task."""
    on_change: Callable[[Sequence[str]], None] = lambda _changes: None
    """Refuses, or says that it is accepted."""
    reading: Callable[[], AbstractContextManager[None]] = nullcontext
    """Refuses recorded profiles that a task cannot read."""

    def settle(self, task: str, splits: Splits) -> Profile | None:
        """Compare the files of a task with those it was trained on; give the profile that its weights belong to."""
        changes = changed_files(of_task(task, self.digests), digests_of(task, splits))
        if changes:
            self.on_change(changes)
        return self.profiles.get(task)


NOTHING_KNOWN = TrainedOn()


def digests_of(task: str, splits: Splits) -> dict[str, str]:
    """Give the digest of each file that was read; of a source that tells of no files, that of all it gave."""
    found = splits.digests or ({"data": splits.fingerprint} if splits.fingerprint else {})
    return {prefix(task, file): digest for file, digest in found.items()}


def of_task(task: str, digests: Mapping[str, str]) -> dict[str, str]:
    """Take those of one task out of recorded digests."""
    return {file: digest for file, digest in digests.items() if file.startswith(prefix(task, ""))}


def changed_files(known: Mapping[str, str], found: Mapping[str, str]) -> list[str]:
    """Say what became of each file that is not as it was; nothing if its digests were not recorded, or not found."""
    if not known or not found:
        return []
    fates = {file: "is read now and was not" for file in found if file not in known}
    fates |= {file: "is no longer read" for file in known if file not in found}
    fates |= {file: "was changed" for file in known if file in found and known[file] != found[file]}
    return [f"{file} {fate}" for file, fate in sorted(fates.items())]


def write_inputs(folder: Path, *, experiment: Experiment, profile: Profile, digests: Mapping[str, str]) -> None:
    """Put the plan, the profile and the digests of the data into the folder of a checkpoint."""
    (folder / PLAN).write_text(render(experiment), encoding="utf-8")
    trust(folder / PLAN)
    (folder / PROFILE).write_text(json.dumps(asdict(profile)), encoding="utf-8")
    (folder / DATA).write_text(json.dumps(dict(digests), sort_keys=True), encoding="utf-8")


def trained_on(
    checkpoint: Checkpoint | None, directory: RunDirectory, *, is_accepted: bool, tell: Callable[[str], None]
) -> TrainedOn:
    """Say what a checkpoint was trained on, or else the last attempt; without a checkpoint no change is refused."""
    if checkpoint is None:
        return TrainedOn(read_digests(directory.data), {}, lambda changes: tell(_harmless(changes)))
    accept, refuse = partial(_accept, step=checkpoint.step, tell=tell), partial(_refuse, checkpoint, directory)
    return recorded_in(checkpoint, on_change=accept if is_accepted else refuse)


def recorded_in(checkpoint: Checkpoint, *, on_change: Callable[[Sequence[str]], None]) -> TrainedOn:
    """Read what a checkpoint was trained on; of those of earlier versions, only the profile of their run is known."""
    written = read_json(checkpoint.path / PROFILE) or read_json(checkpoint.path.parents[1] / PROFILE)
    with refusing_misfit(checkpoint.path):
        found = read_profiles(written) if written else {}
        profiles = {name: profile_from_json(each) for name, each in found.items()}
    digests = read_digests(checkpoint.path / DATA)
    return TrainedOn(digests, profiles, on_change, partial(_refusing_profile, checkpoint.path))


@contextmanager
def _refusing_profile(folder: Path) -> Iterator[None]:
    """Refuse a profile that lacks what its task wrote: the run that saved it has read its own, so the file is wrong."""
    with refusing_misfit(folder):
        try:
            yield
        except (LookupError, TypeError, AttributeError) as error:
            raise ValueError(f"{PROFILE}: {type(error).__name__}: {error}") from error


def refuse_changed_plan(
    checkpoint: Checkpoint, directory: RunDirectory, experiment: Experiment, *, is_data_accepted: bool = False
) -> None:
    """Refuse a plan that was edited since a checkpoint was saved, with what it says now and said then."""
    path = checkpoint.path / PLAN
    # The same text needs no decoding, which for a plan that names code would need the user's trust once more.
    if not path.exists() or path.read_bytes() == render(experiment).encode():
        return
    free = (*_FREE, "data") if is_data_accepted else _FREE
    changes = [
        f"  {change.path} is {change.right} now and was {change.left}"
        for change in diff(load(str(path)).experiment, experiment)
        if not any(change.path == key or change.path.startswith((f"{key}.", f"{key}[")) for key in free)
    ]
    if changes:
        listed = "\n".join(changes)
        raise CheckpointError(
            f"{directory.plan} was changed since step {checkpoint.step} was trained:\n{listed}\nPut these values back, "
            f"or train the changed plan in another directory: `burnish train {directory.plan} --dir NEW`"
        )


def read_digests(path: Path) -> dict[str, str]:
    """Read what a run or a checkpoint recorded of its data; nothing where it did not."""
    found = read_json(path)
    files = found.items() if isinstance(found, dict) else ()
    return {file: str(digest) for file, digest in files if file.strip()}


def _harmless(changes: Sequence[str]) -> str:
    return f"{'; '.join(changes)} since the last attempt. Nothing was learned yet, so training starts on what is there"


def _accept(changes: Sequence[str], *, step: int, tell: Callable[[str], None]) -> None:
    tell(f"{'; '.join(changes)} since step {step}; accepted, so this is no exact resume")


def _refuse(checkpoint: Checkpoint, directory: RunDirectory, changes: Sequence[str]) -> None:
    listed = "\n".join(f"  {change}" for change in changes)
    raise CheckpointError(
        f"the data of {directory.path} is not what it was trained on until step {checkpoint.step}:\n{listed}\n"
        f"Put the files back, or resume on the changed data with `burnish resume {directory.path} "
        "--accept-changed-data`, which the events and the report will say, or train from scratch in another directory "
        f"with `burnish train {directory.plan} --dir NEW`"
    )
