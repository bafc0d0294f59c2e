"""Says of every two recipes, task by task, whether what they predicted shows one to be better."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from burnish.commands.compare.recipes import RunRecipe
from burnish.errors import BurnishError, DataError
from burnish.run.predicting.predictions import predictions_file, read_outcome, read_places, read_profile
from burnish.run.record.directory import RunDirectory, read_json
from burnish.run.record.plan import read_plan
from burnish.run.record.result import ScoreSheet
from burnish.run.selection import main_metric, metrics_of
from burnish.spec.parts import ALONE, MEAN, divide_tasks, prefix, read_profiles
from burnish.spec.protocols import Metric

if TYPE_CHECKING:
    from burnish.metrics.compare import Comparison, Told


@dataclass(frozen=True)
class Verdict:
    """What a paired test says of two recipes on the same rows."""

    names: tuple[str, str]
    split: str
    sentence: str
    p_value: float | None
    """None when the two could not be tested; the sentence says why."""
    task: str = ALONE
    """Of which of several tasks; of all of them together, none."""
    better: str | None = None
    """The recipe that is shown to be better; None where no difference is shown."""


def judge(
    found: Sequence[RunRecipe],
    sheets: Sequence[ScoreSheet | None],
    splits: Sequence[str],
    *,
    trust_code: bool = False,
) -> Iterator[Verdict]:
    """Test every two recipes on the first of the splits that all their runs predicted: task by task, after the mean."""
    for first, second in combinations(found, 2):
        profiles = [read_profiles(read_json(run.profile)) for run in (*first.runs, *second.runs)]
        tasks = [task for task in profiles[0] if all(task in others for others in profiles)]
        contests = [Contest(first, second, split, task, trust_code) for task in tasks for split in splits]
        known = {each.task: each for each in reversed(contests) if each.has_predictions()}
        read = {task: known[task].read(sheets) for task in tasks if task in known}
        whole = [each for each in read.values() if not isinstance(each, Verdict)]
        selects = all(sheet is not None and sheet.headline == MEAN for sheet in sheets)
        is_one_split = len({each.split for each in known.values()}) == 1
        if selects and all(len(each) == len(whole) > 1 for each in profiles) and is_one_split:
            yield from Contest(first, second, known[tasks[0]].split).test_mean(whole)
        for task, each in read.items():
            yield each if isinstance(each, Verdict) else known[task].test(each)


@dataclass(frozen=True)
class Contest:
    """Two recipes on the rows of one split, in one task."""

    first: RunRecipe
    second: RunRecipe
    split: str
    task: str = ALONE
    trust_code: bool = False
    """Whether code that their plans name may run, such as a metric."""

    @property
    def names(self) -> tuple[str, str]:
        """What the two are called."""
        return self.first.name, self.second.name

    @property
    def runs(self) -> tuple[RunDirectory, ...]:
        """The runs of both."""
        return *self.first.runs, *self.second.runs

    def has_predictions(self) -> bool:
        """Look whether all runs predicted the rows."""
        return all(predictions_file(run, self.split, task=self.task).is_file() for run in self.runs)

    def read(self, sheets: Sequence[ScoreSheet | None]) -> "Told | Verdict":
        """Read what all runs said, or say why that cannot be compared."""
        from burnish.metrics.compare import Told

        try:
            self._refuse_other_rows()
            first, second = (
                [read_outcome(run, self.split, task=self.task) for run in each.runs]
                for each in (self.first, self.second)
            )
            metric, score = self._find_metric(self._choose_score(sheets))
        except BurnishError as error:
            return self._give_up(error)
        return Told(first, second, metric, score)

    def test(self, told: "Told") -> Verdict:
        """Test the two in this task."""
        from burnish.metrics.compare import compare, compare_means

        try:
            if len(told.first) == len(told.second) == 1:
                tested = compare(told.first[0], told.second[0], metric=told.metric, score=told.score, names=self.names)
            else:
                tested = compare_means([told], score=told.score, names=self.names)
        except BurnishError as error:
            return self._give_up(error)
        return self._conclude(tested, prefix(self.task, told.score))

    def test_mean(self, told: "Sequence[Told]") -> Iterator[Verdict]:
        """Test the mean of all tasks."""
        from burnish.metrics.compare import compare_means

        with suppress(BurnishError):  # which task it is, and why, its own verdict says
            yield self._conclude(compare_means(told, score=MEAN, names=self.names), MEAN)

    def _conclude(self, tested: "Comparison", score: str) -> Verdict:
        sentence = f"{score} on {self.split}: {tested.sentence()}"
        if not tested.is_tested:
            return Verdict(self.names, self.split, sentence, p_value=None, task=self.task)
        return Verdict(self.names, self.split, f"{sentence} ({tested.test})", tested.p_value, self.task, tested.better)

    def _give_up(self, error: BurnishError) -> Verdict:
        sentence = f"{self.task}: {error}" if self.task else str(error)
        return Verdict(self.names, self.split, sentence, p_value=None, task=self.task)

    def _refuse_other_rows(self) -> None:
        """Refuse rows of the same files that have the same numbers and are others, as where seeds decide the split.

        Rows of files with other names may be the same: the truth of each, which is compared too, has to show it.
        """
        places = [(run, read_places(run, self.split, task=self.task)) for run in self.runs]
        known = [(run, table, set(table["file"].unique().to_pylist())) for run, table in places if table is not None]
        for run, table, files in known[1:]:
            if files == known[0][2] and not table.equals(known[0][1]):
                raise DataError(
                    f"{known[0][0].name} and {run.name} were not scored on the same rows of {self.split}; where it is "
                    "a part of the training files, runtime.seed decides which: keep it in a separate file, or compare "
                    "runs with the same seed"
                )

    def _choose_score(self, sheets: Sequence[ScoreSheet | None]) -> str | None:
        """Name the score that selects; of one of several tasks, where they select together, its first."""
        known = [sheet for sheet in sheets if sheet]
        headline = known[0].headline if known else None
        if not self.task:
            return headline
        listed = [headline or "", *(score for sheet in known for score in sheet.scores.get(self.split, {}))]
        own = f"{self.task}/"
        return next((score.removeprefix(own) for score in listed if score.startswith(own)), None)

    def _find_metric(self, score: str | None) -> tuple[Metric, str]:
        """Find the metric by which the runs themselves computed a score, or the first that judges."""
        plans = {run: divide_tasks(read_plan(run, trust_code=self.trust_code))[self.task] for run in self.runs}
        own = [
            (run, metric)
            for run, plan in plans.items()
            for metric in metrics_of(plan, read_profile(run, task=self.task))
        ]
        shown = score or main_metric([metric for _, metric in own]).names()[0]
        found = [(run, metric) for run, metric in own if shown in metric.names()]
        cannot = f"{' and '.join(run.name for run in self.runs)} cannot be compared by {shown}"
        if not found:
            known = dict.fromkeys(name for _, metric in own for name in metric.names())
            raise DataError(f"{cannot}: their plans have {', '.join(known)}")
        if any(metric != found[0][1] for _, metric in found):
            listed = ", ".join(f"{metric!r} in {run.name}" for run, metric in found)
            raise DataError(f"{cannot}, which they computed differently: {listed}")
        return found[0][1], shown
