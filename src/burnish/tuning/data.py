"""What the trials of a study are trained on, which must stay the same: scores of different data have no best."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from burnish.errors import CheckpointError
from burnish.run.record.directory import RunDirectory
from burnish.spec.experiment import Experiment
from burnish.tuning.record import StudyRecord, Trial

_SHAPES_ROWS = ("data", "task", "runtime.seed")
"""Options that a trial may change, and with them the rows that are digested where a source has no files."""


@dataclass
class StudyData:
    """The digests of the data of a study, as it began and as each trial recorded them."""

    record: StudyRecord
    experiment: Experiment
    _known: dict[tuple[str, str], str] = field(default_factory=dict)
    """By the name of a file and, unless it is one of the experiment, the options that shape rows."""

    def __post_init__(self) -> None:
        for trial in self.record.trials.values():
            for place, digest in self._read(trial):
                self._known.setdefault(place, digest)

    def refuse_edited(self) -> None:
        """Refuse files of the experiment that are not as they were when the study began."""
        from burnish.run.preparation.prepare import changed_data  # a command that is refused does not wait for it

        changes = changed_data(self.experiment, self._at_first())
        if changes:
            raise self.refusal(changes)

    def compare(self, trial: Trial) -> list[str]:
        """Say which files a trial found other than those before it; remember what it is the first to read."""
        changes = []
        for place, digest in self._read(trial):
            if self._known.setdefault(place, digest) != digest:
                changes.append(f"{place[0]} was changed")
        return changes

    def compare_refit(self, run: RunDirectory) -> list[str]:
        """Say which files the last training found other than the trials."""
        from burnish.run.preparation.inputs import read_digests

        known, found = self._at_first(), read_digests(run.data)
        return [f"{name} was changed" for name in known if name in found and found[name] != known[name]]

    def refusal(self, changes: list[str]) -> CheckpointError:
        """Say what changed, and the ways on."""
        place = self.record.directory
        head = f"the data of {place} is not what its trials were trained on:"
        ways = (
            "Scores of different data cannot be compared, so that no trial is added and nothing is trained again. Put "
            "the files back, or search\nthe data as it is now in a new study with another --dir; "
            f"`--start-from {place}` begins with the best options found"
        )
        return CheckpointError("\n  ".join([head, *changes]) + f"\n{ways}")

    def _at_first(self) -> Mapping[str, str]:
        """The digests that the study began with; of one that did not record them, those of its first trials."""
        recorded = self.record.data
        return recorded or {name: digest for (name, shape), digest in self._known.items() if not shape}

    def _read(self, trial: Trial) -> Iterator[tuple[tuple[str, str], str]]:
        """Give each file that a trial recorded, and its digest."""
        from burnish.run.preparation.inputs import read_digests

        run = RunDirectory(self.record.directory / trial.run)
        shaping = {name: value for name, value in sorted(trial.values.items()) if name.startswith(_SHAPES_ROWS)}
        for name, digest in read_digests(run.data).items():
            shape = "" if name in self.record.data or not shaping else repr(shaping)
            yield (name, shape), digest
