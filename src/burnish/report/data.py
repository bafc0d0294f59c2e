"""What a report tells: plain values, every part of which may be missing."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from burnish.metrics.confidence import Reliability
from burnish.spec.values import Score, Times


@dataclass(frozen=True)
class Fact:
    """A thing worth knowing once: a name and how it reads."""

    name: str
    value: str


@dataclass(frozen=True)
class Headline:
    """The score that the run is judged by."""

    score: str
    split: str
    figure: Score
    is_lower_better: bool = False


@dataclass(frozen=True)
class CurvePoint:
    """A value at a step."""

    step: int
    value: float


@dataclass(frozen=True)
class Training:
    """How the loss and the learning rate went."""

    loss: tuple[CurvePoint, ...]
    smoothed: tuple[CurvePoint, ...]
    learning_rate: tuple[CurvePoint, ...]


@dataclass(frozen=True)
class EvaluationCurve:
    """One score on one split, as training went."""

    score: str
    split: str
    points: tuple[CurvePoint, ...]
    best_step: int | None = None


@dataclass(frozen=True)
class Matrix:
    """Rows counted by truth (down) and prediction (across)."""

    split: str
    labels: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]
    num_labels: int
    """How many labels there are in all; more than are shown when there are many."""


@dataclass(frozen=True)
class ClassScores:
    """How well one class is told from the rest."""

    label: str
    precision: float
    recall: float
    f1: float
    support: int
    """Rows that are of this class."""


@dataclass(frozen=True)
class RankingCurve:
    """ROC and precision-recall curve of one class against the rest."""

    label: str
    roc: tuple[tuple[float, float], ...]
    """False positive rate and true positive rate."""
    precision_recall: tuple[tuple[float, float], ...]
    """Recall and precision."""
    roc_auc: float
    average_precision: float
    base_rate: float
    """The share of rows of this class: the precision of guessing."""
    by_threshold: tuple[tuple[float, float, float], ...] = ()
    """The least probability that counts as this class, with the precision and the recall that it gives."""


@dataclass(frozen=True)
class CalibrationCurve:
    """How often decisions of like confidence were right."""

    split: str
    points: tuple[Reliability, ...]


@dataclass(frozen=True)
class LabelCounts:
    """How often each label occurs in a split."""

    split: str
    counts: Mapping[str, int]


@dataclass(frozen=True)
class Mistake:
    """A row on which the model was surely wrong, or far off."""

    row: str
    """Where it is: the file and its row, or the row of the split."""
    text: str
    truth: str
    predicted: str
    confidence: float | None = None


@dataclass(frozen=True)
class Slice:
    """The scores of the rows that hold one value in a column."""

    column: str
    value: str
    num_rows: int
    scores: Mapping[str, float]
    interval: tuple[float, float] | None = None
    """The 95% interval of the headline score."""


@dataclass(frozen=True)
class BlendMember:
    """One model of a blend."""

    name: str
    weight: float
    """Its share in a prediction."""
    loss: float | None = None
    """On the training rows that its folds did not learn from."""
    score: float | None = None
    """The headline score that it has alone, on the rows that the blend is scored on."""
    left_out: str = ""
    """Why it is not in the blend."""


@dataclass(frozen=True)
class ColumnSummary:
    """What a column of a table held in the training rows."""

    name: str
    kind: str
    missing: int
    distinct: int
    content: str
    """In words: mean and range of a number, the most frequent values of a category."""
    importance: Score | None = None
    """Permutation importance: by how much the headline score worsens when the column is shuffled; least to most."""


@dataclass(frozen=True)
class Residuals:
    """Truth minus prediction, over the prediction."""

    split: str
    predicted: tuple[float, ...]
    missed: tuple[float, ...]


@dataclass(frozen=True)
class Setting:
    """A value of the experiment and where it came from."""

    path: str
    value: str
    origin: str = ""

    @property
    def is_chosen(self) -> bool:
        """Tell whether someone wrote this value; defaults are written by nobody."""
        return bool(self.origin) and not self.origin.startswith("default")


@dataclass(frozen=True)
class Happening:
    """Something that happened at a step, in one sentence."""

    step: int
    message: str


@dataclass(frozen=True)
class ReportData:
    """A whole run on one page."""

    title: str
    experiment: str = ""
    description: str = ""
    ending: str = ""
    headline: Headline | None = None
    facts: tuple[Fact, ...] = ()
    splits: Mapping[str, Mapping[str, Score]] = field(default_factory=dict)
    baselines: Mapping[str, Mapping[str, Score]] = field(default_factory=dict)
    times: Mapping[str, Times] = field(default_factory=dict)
    """By baseline, and of the run itself as `this_run`."""
    members: tuple[BlendMember, ...] = ()
    training: Training | None = None
    evaluations: tuple[EvaluationCurve, ...] = ()
    confusion: Matrix | None = None
    class_scores: tuple[ClassScores, ...] = ()
    curves: tuple[RankingCurve, ...] = ()
    calibration: CalibrationCurve | None = None
    label_counts: tuple[LabelCounts, ...] = ()
    residuals: Residuals | None = None
    columns: tuple[ColumnSummary, ...] = ()
    slices: tuple[Slice, ...] = ()
    findings: tuple[str, ...] = ()
    """What the data audit found."""
    splits_without_repeated: Mapping[str, Mapping[str, Score]] = field(default_factory=dict)
    """Scores without the rows that training has seen."""
    mistakes: tuple[Mistake, ...] = ()
    settings: tuple[Setting, ...] = ()
    environment: tuple[Fact, ...] = ()
    happenings: tuple[Happening, ...] = ()
    tasks: "tuple[ReportData, ...]" = ()
    """What there is to say of each of several tasks, whose name is its title."""
