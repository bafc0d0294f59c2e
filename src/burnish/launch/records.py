"""Remembers the jobs that this user submitted: one file each, without the values of variables."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

from burnish.config.trust import state_folder
from burnish.durable import read_json, write_durably, writing_to
from burnish.errors import LaunchError
from burnish.nearest import nearest
from burnish.registry import default_registry
from burnish.spec.launcher import JobSpec, Launcher


@dataclass(frozen=True)
class JobRecord:
    """What is needed to ask for a job again."""

    name: str
    where: str
    """The launcher's name."""
    words: tuple[str, ...]
    id: str
    link: str
    root: str
    submitted: float
    options: Mapping[str, Any]
    """Those of the launcher; variables by name only."""
    study: Mapping[str, Any] | None = None
    packages: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    parallel: int = 1

    @property
    def job(self) -> JobSpec:
        """The job as far as its request goes; its folder is filled already."""
        return JobSpec(self.name, self.words, study=self.study, packages=self.packages, parallel=self.parallel)

    def launcher(self) -> Launcher:
        """Build the launcher that the job was sent by."""
        cls = default_registry().load("launchers", self.where)
        return cast(Launcher, cls.model_validate(self.options))  # which the registry has looked at


def save_record(record: JobRecord) -> None:
    """Remember a job, or remember it otherwise."""
    path = _folder() / f"{record.name}.json"
    with writing_to(path, refuse=LaunchError):
        write_durably(path, (json.dumps(asdict(record), indent=2, ensure_ascii=False) + "\n").encode())


def read_records() -> Iterator[JobRecord]:
    """Read every job, the newest first; a file that cannot be understood is passed over."""
    found = [record for path in _folder().glob("*.json") if (record := _read(path)) is not None]
    yield from sorted(found, key=lambda record: -record.submitted)


def find_record(name: str) -> JobRecord:
    """Find a job by its name, or the newest whose name begins so."""
    known = list(read_records())
    for record in known:
        if record.name == name:
            return record
    begun = [record for record in known if record.name.startswith(name)]
    if begun:
        return begun[0]
    close = nearest(name, [record.name for record in known])
    hint = f"Did you mean `{close}`?" if close else "`burnish jobs ls` lists those that were submitted from here."
    raise LaunchError(f"no job is called {name}. {hint}")


def forget(record: JobRecord) -> None:
    """Remove the record of a job."""
    (_folder() / f"{record.name}.json").unlink(missing_ok=True)


def _read(path: Path) -> JobRecord | None:
    try:
        fields = read_json(path)
        texts = {name: str(fields[name]) for name in ("name", "where", "id", "link", "root")}
        lists = {name: tuple(map(str, fields.get(name, ()))) for name in ("words", "packages", "tags")}
        numbers = {"submitted": float(fields["submitted"]), "parallel": int(fields.get("parallel", 1))}
        return JobRecord(**texts, **lists, **numbers, options=dict(fields["options"]), study=fields.get("study"))  # type: ignore[arg-type]  # by name
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def _folder() -> Path:
    try:
        return state_folder() / "jobs"
    except RuntimeError as error:
        raise LaunchError("jobs cannot be remembered: this user has no home; set BURNISH_STATE to a folder") from error
