"""Finds the answers to questions in texts, or finds that there is none."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import NonNegativeInt, PositiveInt, model_validator

from burnish.spec.protocols import Assets, Encoder, Metric, Task
from burnish.spec.values import Array, HeadSpec, Objective, Outcome, Profile, Rows, Term
from burnish.tasks.options import TEXT, TEXT_SPACE

if TYPE_CHECKING:
    import pyarrow as pa

    from burnish.data.codecs.columns import ColumnSpec
    from burnish.tasks.question_answering.columns import QuestionColumns

_PLAIN, _BEAM = "question_answering", "question_answering_beam"
_FITTED, _MAY_BE_OPEN = "null_threshold", "no_answer"


class QuestionAnswering(Task):
    """Extractive question answering: find the answer to a question in a given text."""

    heads: ClassVar[tuple[str, ...]] = (_PLAIN, _BEAM)
    defaults = TEXT
    search_space = TEXT_SPACE

    question: str = "question"
    """The column that holds the question."""
    context: str = "context"
    """The column that holds the text with the answer in it."""
    answers: str = "answers"
    """The column of right answers: a list of text and start, or lists of texts and of starts."""
    impossible: str = "is_impossible"
    """The column, if there is one, that says of a question whether it has no answer."""
    id: str = "id"
    """The column, if there is one, by which answers are written in SQuAD's files."""
    no_answer: Literal["auto"] | bool = "auto"
    """Whether a question may have no answer; by default if one of the training rows has none."""
    answer_offsets: Literal["check", "repair"] = "check"
    """`repair` looks for an answer that is not at its start in the context; else such a row is bad."""
    max_length: PositiveInt = 384
    """The longest input in tokens: question, window of the text, special tokens."""
    max_question: PositiveInt = 64
    """How many tokens of a question are read."""
    stride: NonNegativeInt = 128
    """How many tokens two neighbouring windows of a long text share."""
    n_best: PositiveInt = 20
    """How many starts and ends are paired, and how many answers are kept."""
    max_answer: PositiveInt = 30
    """The longest answer in tokens."""
    null_threshold: Literal["tuned"] | float = "tuned"
    """By how much no answer must beat the best one; `tuned` takes what gives the best F1 on validation."""
    search: Literal["pairs", "beam"] = "pairs"
    """`pairs` puts the best starts and ends together; `beam` scores ends in the light of each of the best starts, and
    answerability apart, as XLNet does."""
    start_n_top: PositiveInt = 5
    """How many starts the beam follows."""
    end_n_top: PositiveInt = 5
    """How many ends the beam takes for each start."""
    slices: tuple[str, ...] = ()
    """Columns by whose values the report scores the rows apart; they need not be columns that are learned from."""

    @model_validator(mode="after")
    def _fits_together(self) -> "QuestionAnswering":
        if self.max_question >= self.max_length:
            raise ValueError(f"has `max_question` {self.max_question}, which leaves no room in `max_length`")
        if self.stride >= self.max_length - self.max_question:
            raise ValueError(
                f"has `stride` {self.stride}, and a window with a question of {self.max_question} tokens "
                f"holds fewer than {self.max_length - self.max_question}; it must be smaller"
            )
        return self

    def unused_options(self, place: str) -> Iterable[tuple[str, str]]:
        if self.search != "beam":
            for name in ("start_n_top", "end_n_top"):
                yield f"{place}.{name}", f"only `{place}.search: beam` follows several starts"
        if self.no_answer is False:
            yield f"{place}.null_threshold", f"with `{place}.no_answer: false`, every question has an answer"

    @property
    def training_columns(self) -> tuple[str, ...]:
        return (*self.input_columns, self.answers)

    @property
    def input_columns(self) -> tuple[str, ...]:
        return (self.question, self.context)

    def profile(self, rows: Rows) -> Profile:
        from burnish.tasks.labels import refuse_other_than_text
        from burnish.tasks.question_answering.columns import read_answers

        refuse_other_than_text(rows.table, self.input_columns)
        counts = read_answers(rows.table[self.answers], name=self.answers).counts
        num_open = int((counts == 0).sum())
        may_be_open = num_open > 0 if self.no_answer == "auto" else self.no_answer
        return Profile("spans", facts={_MAY_BE_OPEN: may_be_open, "questions": len(counts), "open_questions": num_open})

    def head(self, profile: Profile) -> HeadSpec:
        if self.search == "pairs":
            return HeadSpec(_PLAIN, 2, Objective("span"))
        options = {"start_n_top": self.start_n_top, "end_n_top": self.end_n_top, "max_answer": self.max_answer}
        terms = (Term("impossible", "impossible", Objective("binary_cross_entropy"), weight=0.5),)
        is_open = bool(profile.facts[_MAY_BE_OPEN])
        return HeadSpec(_BEAM, 2, Objective("span"), terms=terms if is_open else (), options=options)

    def encoder(self, profile: Profile, assets: Assets) -> Encoder:
        from burnish.data.tokens.tokens import demand_tokenizer
        from burnish.tasks.question_answering.encoder import QuestionEncoder, WindowLimits

        reading = WindowLimits(self.max_length, self.max_question, self.stride)
        flags = {"may_be_open": bool(profile.facts[_MAY_BE_OPEN]), "has_beam": self.search == "beam"}
        return QuestionEncoder.build(demand_tokenizer(assets), self._columns(), reading, **flags)

    def decode(self, outputs: "Mapping[str, Array]", profile: Profile, table: "pa.Table | None" = None) -> Outcome:
        from burnish.tasks.question_answering.decoder import Decision, decode, search_beams, search_places, unlikelihood

        assert table is not None, "answers are words of the rows"
        if self.search == "beam":
            found = search_beams(outputs, n_best=self.n_best)
        else:
            found = search_places(outputs, n_best=self.n_best, max_tokens=self.max_answer)
        outcome = decode(found, table, columns=self._columns(), decision=Decision(self._threshold(profile)))
        return replace(outcome, unlikelihood=unlikelihood(outputs))

    def refine(self, outcome: Outcome, profile: Profile) -> Profile:
        from burnish.metrics.answer_scores import best_threshold

        is_asked = self.null_threshold == "tuned" and profile.facts[_MAY_BE_OPEN]
        if not is_asked or outcome.truth is None or not len(outcome.rows):
            return profile
        return replace(profile, facts={**profile.facts, _FITTED: best_threshold(outcome)})

    def metrics(self, profile: Profile | None) -> Sequence[Metric]:
        from burnish.metrics.classification import LogLoss
        from burnish.metrics.language import Answerability, AnswerF1, BestThreshold, ExactMatch

        is_open = profile is None or profile.facts[_MAY_BE_OPEN]
        of_open: tuple[Metric, ...] = (Answerability(), BestThreshold()) if is_open else ()
        # A beam tells how likely its own spans are, and nothing of those that it did not follow.
        of_places: tuple[Metric, ...] = (LogLoss(),) if self.search == "pairs" else ()
        return (AnswerF1(), ExactMatch(), *of_open, *of_places)

    def input_specs(self, profile: Profile) -> "tuple[ColumnSpec, ...]":
        from burnish.data.codecs.columns import ColumnSpec

        return (*map(ColumnSpec, self.input_columns), ColumnSpec(self.id, is_required=False))

    def _columns(self) -> "QuestionColumns":
        from burnish.tasks.question_answering.columns import QuestionColumns

        return QuestionColumns(self.question, self.context, self.answers, self.impossible, self.id, self.answer_offsets)

    def _threshold(self, profile: Profile) -> float | None:
        if not profile.facts[_MAY_BE_OPEN]:
            return None
        return float(profile.facts.get(_FITTED, 0.0)) if self.null_threshold == "tuned" else float(self.null_threshold)
