"""Guesses by its columns which task a file is meant for, which column is the text and which the label."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from burnish.data.inspection.inspect import ColumnFacts, FileFacts
from burnish.data.inspection.targets import close_rivals, names_rows, rank_targets, split_words
from burnish.data.splits.arrange import SPELLINGS
from burnish.errors import DataError
from burnish.nearest import nearest

_PROSE_NAMES = {
    *("text", "sentence", "review", "body", "content", "comment", "message", "tweet", "document", "abstract", "string"),
    *("question", "summary", "utterance", "query", "premise", "passage"),
}
_TITLE_NAMES = {"title", "subject", "headline", "description"}
"""What may be a text that stands alone or before another, or the name of a film or of a product."""
_LABEL_NAMES = (
    *("label", "labels", "target", "targets", "class", "classes", "gold_label", "category", "categories", "sentiment"),
    *("polarity", "intent", "topic", "topics", "tags", "genres", "is_duplicate", "score", "rating", "stars"),
    *("similarity", "quality", "y"),
)
_GROUP_NAME = re.compile(
    r"(^|_)(user|author|patient|customer|session|conversation|thread|group|document|doc|article|film|movie|source)(_?id)?$"
)
_PAIRS = (
    ("premise", "hypothesis"),
    ("question", "sentence"),
    ("question", "context"),
    ("question", "passage"),
    ("question", "answer"),
    ("query", "passage"),
    ("query", "document"),
    ("claim", "evidence"),
)
_FIRST = re.compile(r"1|(?<![a-z])(?:a|one)(?![a-z])")
_SECOND = {"1": "2", "a": "b", "one": "two"}
_MOST_CLASSES = 1000
_FEW = 20
_LEAST_FILLED = 0.5
"""Of a text with fewer cells, a table that has more to learn from is not about."""
_MOST_CATEGORIES = 0.5
"""The share of distinct values up to which words are categories of a table."""
_READ_TOO = 0.3
"""The share of distinct values from which on a further column of text is read: with fewer it may be a label."""
_LENGTHS = (32, 64, 128, 256, 512)
_TOKENS_A_WORD = 1.35
_WORDS = ("words", "tokens")
_TAGS = ("tags", "ner_tags", "pos_tags", "chunk_tags", "labels")
_CHOICES = ("choices", "options", "endings", "candidates")
_CHOICE = re.compile(r"(choice|option|ending|answer)_?(\d|[a-h])$", re.IGNORECASE)
_LETTERED_CHOICE = re.compile(r"(op)?[a-h]")
_FEWEST_CHOICES = 3
"""Fewer columns that are only lettered, or without a named label and context, may be anything."""
_CONTEXTS = ("context", "passage", "article", "dialogue", "story", "premise", "prompt", "ctx", "startphrase", "sent1")
_QUESTIONS = ("question", "sent2")
_LABELS = ("label", "answer", "gold", "correct", "answerkey", "target", "answer_index", "answer_idx", "cop")
_SHOWN = 6


@dataclass(frozen=True)
class Proposal:
    """The task that a file's columns suggest."""

    texts: tuple[ColumnFacts, ...]
    """One column, or several that are read as one."""
    pair: ColumnFacts | None
    labels: tuple[ColumnFacts, ...]
    """One column, or several of yes and no."""
    kind: str
    split_by: str | None
    groups: tuple[str, ...]
    max_length: int
    is_long: bool
    """Whether many texts are longer than the longest input."""
    unread: tuple[str, ...]
    """Further columns that look like text."""
    columns: tuple[str, ...] = ()
    """Numbers and categories that are learned from together with the text."""

    @property
    def label(self) -> ColumnFacts:
        """The column of the label, or the first of several."""
        return self.labels[0]


def propose(facts: FileFacts, *, text: str | None = None, label: str | None = None) -> Proposal:
    """Choose the columns, unless they are given; refuse a file that holds no text or no label."""
    columns = {column.name: column for column in facts.columns}
    given = _find_label(label, columns, facts)
    texts, pair = _texts(facts, _find_column(text, columns, role="text"), label=given)
    split = next((column.name for column in facts.columns if _names_splits(column)), None)
    taken = {*(column.name for column in texts), pair.name if pair else "", split or ""}
    rest = [column for column in facts.columns if column.name not in taken]
    is_mixed = text is None and pair is None and facts.has_header  # where names tell nothing, the text alone is safe
    targets = (given,) if given else _labels(rest, facts, text=texts[0], is_mixed=is_mixed)
    rest = [column for column in rest if column not in targets]
    groups = tuple(column.name for column in rest if _is_group(column))
    columns_too = [column.name for column in rest if is_mixed and _is_useful(column, facts)]
    length, is_long = choose_length([*texts, pair] if pair else texts)
    return Proposal(
        texts=texts,
        pair=pair,
        labels=targets,
        kind="multilabel" if len(targets) > 1 else _kind(targets[0], num_rows=facts.num_rows),
        split_by=split,
        groups=groups,
        max_length=length,
        is_long=is_long,
        unread=tuple(column.name for column in rest if _is_text(column) and column.name not in (*groups, *columns_too)),
        columns=tuple(columns_too),
    )


def choose_length(texts: Sequence[ColumnFacts]) -> tuple[int, bool]:
    """Choose the length in tokens that most texts, one beside the other, fit into, and whether none is enough."""
    tokens = sum(part.long_words for part in texts) * _TOKENS_A_WORD + len(texts) + 1
    return next((length for length in _LENGTHS if tokens <= length), _LENGTHS[-1]), tokens > _LENGTHS[-1]


def has_text(facts: FileFacts, *, label: str | None = None) -> bool:
    """Tell whether the file is about text to be read; if not, it is a table."""
    return bool(_find_texts(facts, label=label))


def choose_target(facts: FileFacts, *, label: str | None = None) -> tuple[ColumnFacts, list[ColumnFacts]]:
    """Choose the column that a table is about: the given one, or the likeliest; and others that may be meant."""
    given = _find_label(label, {column.name: column for column in facts.columns}, facts)
    if given is not None:
        return given, []
    ranked = rank_targets(facts)
    if not ranked:
        raise DataError(f"no column of {facts.options.train[0]} can be a target: {_describe(facts.columns)}")
    return ranked[0].column, close_rivals(ranked)


def _find_label(label: str | None, columns: dict[str, ColumnFacts], facts: FileFacts) -> ColumnFacts | None:
    given = _find_column(label, columns, role="label")
    if given is not None and names_rows(given, facts):
        raise DataError(
            f"`{given.name}` has {given.num_distinct:,} different values in {facts.num_rows:,} rows, like "
            f"{min(given.values)!r}: they are neither classes nor numbers; choose another column with --label"
        )
    return given


def _find_column(name: str | None, columns: dict[str, ColumnFacts], *, role: str) -> ColumnFacts | None:
    if name is not None and name not in columns:
        close = nearest(name, columns)
        hint = f". Did you mean `{close}`? The" if close else "; the"
        raise DataError(f"{role}: there is no column `{name}`{hint} columns are {', '.join(columns)}")
    return columns[name] if name is not None else None


def _texts(
    facts: FileFacts, given: ColumnFacts | None, *, label: ColumnFacts | None
) -> tuple[tuple[ColumnFacts, ...], ColumnFacts | None]:
    named = label.name if label else None
    texts = _find_texts(facts, label=named) or [each for each in facts.columns if _is_text(each) and each != label]
    pair = _pair(texts, given)
    if pair is not None:
        return pair[:1], pair[1]
    if given is not None:
        return (given,), None
    if not texts:
        raise DataError(
            f"no column of {facts.options.train[0]} looks like text: {_describe(facts.columns)}; "
            f"if one of these is text, name it"
        )
    longest = max(texts, key=lambda column: column.mean_words)
    has_prose = any(map(_is_prose, texts))
    return tuple(each for each in texts if each == longest or _is_read_too(each, has_prose=has_prose)), None


def _is_read_too(column: ColumnFacts, *, has_prose: bool) -> bool:
    if column.name.lower() in _LABEL_NAMES:
        return False
    is_distinct = column.share_distinct >= _READ_TOO and (_is_prose(column) or not has_prose)
    return is_distinct or _has_name(column, _PROSE_NAMES | _TITLE_NAMES)


def _describe(columns: Sequence[ColumnFacts]) -> str:
    return ", ".join(f"{column.name} ({_content(column)})" for column in columns)


def _content(column: ColumnFacts) -> str:
    if column.num_distinct <= 1:
        return "1 value only" if column.num_distinct else "empty"
    return "numbers" if column.is_number else f"{column.num_distinct:,} distinct values"


def _find_texts(facts: FileFacts, *, label: str | None) -> list[ColumnFacts]:
    """Find the columns to be read: prose, with titles before it; titles and names only where nothing else is told.

    Beside several numbers or categories, a name is not what a table is about, nor a remark that most rows lack.
    """
    columns = [column for column in facts.columns if column.name != label]
    texts = [column for column in columns if _is_text(column)]
    num_useful = sum(column not in texts and _is_useful(column, facts) for column in columns)
    is_table = num_useful > (0 if label else 1)
    if is_table and not any(_is_prose(text) and text.share_filled >= _LEAST_FILLED for text in texts):
        return []
    return texts


def _is_text(column: ColumnFacts) -> bool:
    """Tell whether a column could be read, if the table has nothing better to learn from."""
    if column.is_number or column.is_list or column.is_time:
        return False
    if _is_prose(column) or (_has_name(column, _TITLE_NAMES) and column.mean_words > 1.2):
        return True
    return column.mean_words >= 3 and column.share_distinct >= 0.1 and not column.separator


def _is_prose(column: ColumnFacts) -> bool:
    """Tell whether a column holds texts by what its cells are, or by its name."""
    is_words = not (column.is_number or column.is_list or column.is_time)
    return column.is_prose or (is_words and _has_name(column, _PROSE_NAMES) and column.mean_words > 1.2)


def _is_useful(column: ColumnFacts, facts: FileFacts) -> bool:
    """Tell whether a table could learn from a column: numbers or categories, but no ids, groups, times and splits."""
    if column.num_distinct < 2 or column.is_row_number or column.is_list or column.is_time:
        return False
    if _is_group(column) or _names_splits(column) or names_rows(column, facts):
        return False
    return column.is_number or (column.share_distinct <= _MOST_CATEGORIES and not _is_text(column))


def _has_name(column: ColumnFacts, names: set[str]) -> bool:
    return not names.isdisjoint(split_words(column.name))


def _pair(texts: Sequence[ColumnFacts], given: ColumnFacts | None) -> tuple[ColumnFacts, ColumnFacts] | None:
    by_name = {column.name.lower(): column for column in texts}
    for first, second in (*_PAIRS, *_twins(list(by_name))):
        if first in by_name and second in by_name and given in (None, by_name[first]):
            return by_name[first], by_name[second]
    return None


def _twins(names: Sequence[str]) -> list[tuple[str, str]]:
    """Pair each name with that of a second of its kind: text_a and text_b, #1 String and #2 String."""
    return [
        (name, name[: found.start()] + _SECOND[found[0]] + name[found.end() :])
        for name in names
        for found in _FIRST.finditer(name)
    ]


def _names_splits(column: ColumnFacts) -> bool:
    named = [SPELLINGS.get(value.strip().lower()) for value in column.values]
    return column.num_distinct <= 5 and "train" in named and None not in named


def _labels(
    columns: Sequence[ColumnFacts], facts: FileFacts, *, text: ColumnFacts, is_mixed: bool
) -> tuple[ColumnFacts, ...]:
    """Choose a column by its name, else those of yes and no, else as in a table, or the one with the fewest values."""
    by_name = {column.name.lower(): column for column in columns}
    for name in _LABEL_NAMES:
        if name in by_name and by_name[name].num_distinct > 1 and not names_rows(by_name[name], facts):
            return (by_name[name],)
    flags = tuple(column for column in columns if column.is_yes_no)
    if len(flags) > 1:
        return flags
    if is_mixed and sum(_is_useful(column, facts) for column in columns) > 1:
        return (rank_targets(replace(facts, columns=tuple(columns)))[0].column,)
    limit = max(2, min(50, facts.num_rows // 2))
    few = [column for column in columns if 2 <= column.num_distinct <= limit or column.separator or column.is_list]
    if not few:
        raise DataError(_no_label(columns, facts, text=text))
    return (min(few, key=lambda column: (bool(_is_group(column)), column.num_distinct)),)


def _no_label(columns: Sequence[ColumnFacts], facts: FileFacts, *, text: ColumnFacts) -> str:
    has = f"{facts.options.train[0]} has text in `{text.name}`"
    if not columns:
        return f"{has}, and no other column that could be its label"
    return (
        f"{has}, and no other column looks like a label: {_describe(columns)}. "
        "A label has two values or more; name its column if it is one of these"
    )


def _is_group(column: ColumnFacts) -> bool:
    repeats = column.share_distinct < 0.9 and column.num_distinct > 2
    return repeats and not column.is_list and _GROUP_NAME.search(column.name.lower()) is not None


def _kind(label: ColumnFacts, *, num_rows: int) -> str:
    if label.is_list or label.separator:
        return "multilabel"
    if label.num_distinct <= 2:
        return "binary"
    if label.is_number and not (label.is_whole and _are_class_numbers(label, num_rows=num_rows)):
        return "regression"
    return "multiclass"


def _are_class_numbers(label: ColumnFacts, *, num_rows: int) -> bool:
    if label.num_distinct <= _FEW:
        return True
    numbers = sorted(label.numbers)
    is_run = numbers[0] in (0, 1) and numbers[-1] - numbers[0] + 1 == label.num_distinct
    return is_run and label.num_distinct <= min(_MOST_CLASSES, num_rows // 5)


@dataclass(frozen=True)
class TaskOption:
    """An option of the task, its columns or other values, and what to say of it."""

    name: str
    values: tuple[str, ...]
    comment: str = ""


@dataclass(frozen=True)
class TaskShape:
    """The task that a file is meant for."""

    task: str
    options: tuple[TaskOption, ...]
    max_length: int
    columns: tuple[str, ...] = ()
    """What every file of the experiment must have."""


def recognise(facts: FileFacts) -> TaskShape | None:
    """Recognise the task that the columns are for; None where a text and a label, or a table, are left to find."""
    columns = {column.name.lower(): column for column in facts.columns}
    return _tagging(columns) or _questions(columns) or _choices(columns) or _lines(facts)


def _tagging(columns: dict[str, ColumnFacts]) -> TaskShape | None:
    words, tags = _first(columns, _WORDS), _first(columns, _TAGS)
    if words is None or tags is None or not (words.is_list and tags.is_list):
        return None
    kinds = sorted({tag for cell in tags.values for tag in cell.split(", ")})
    shown = ", ".join(kinds[:_SHOWN]) + (" …" if len(kinds) > _SHOWN else "")
    options = (
        TaskOption("words", (words.name,), "lists of words"),
        TaskOption("tags", (tags.name,), f"a tag a word: {shown}"),
    )
    return TaskShape("token_classification", options, choose_length([words])[0], (words.name, tags.name))


def _questions(columns: dict[str, ColumnFacts]) -> TaskShape | None:
    if not {"question", "context", "answers"} <= columns.keys():
        return None
    question, context, answers = (columns[name].name for name in ("question", "context", "answers"))
    options = (
        TaskOption("question", (question,)),
        TaskOption("context", (context,), "the text that answers are found in"),
        TaskOption("answers", (answers,), "what is right, and where it begins"),
    )
    return TaskShape("question_answering", options, 384, (question, context, answers))


def _choices(columns: dict[str, ColumnFacts]) -> TaskShape | None:
    """Find choices, in a column of lists or in numbered or lettered columns, the text before them, and the answer."""
    lists = _first(columns, _CHOICES)
    chosen = [lists] if lists is not None and lists.is_list else _numbered_choices(columns)
    rest = {name: column for name, column in columns.items() if column not in chosen}
    label = _first(rest, _LABELS) or _column_of_places(rest, num_choices=len(chosen))
    if not chosen or label is None:
        return None
    rest = {name: column for name, column in rest.items() if column != label}
    context, question = _first(rest, _CONTEXTS), _first(rest, _QUESTIONS)
    if "sent1" in rest and "sent2" in rest:
        context = rest["sent1"]  # `startphrase` is both of them
    asked = [column for column in (context, question) if column is not None]
    if not asked and len(chosen) >= _FEWEST_CHOICES:
        asked = sorted(filter(_is_text, rest.values()), key=lambda column: -column.mean_words)[:1]
    if not asked:
        return None
    roles = ("context", "question") if len(asked) > 1 else ("context",)
    options = (
        *(TaskOption(role, (column.name,)) for role, column in zip(roles, asked, strict=True)),
        TaskOption("choices", tuple(column.name for column in chosen), "each is read after the context"),
        TaskOption("label", (label.name,), "the right choice: its number, letter or text"),
    )
    names = tuple(column.name for column in (*asked, *chosen, label))
    return TaskShape("multiple_choice", options, choose_length([*asked, chosen[0]])[0], names)


def _numbered_choices(columns: dict[str, ColumnFacts]) -> list[ColumnFacts]:
    """Find columns such as ending0, ending1 and ending2, or A, B and C, that hold texts."""
    texts = {name: column for name, column in columns.items() if not (column.is_list or column.is_number)}
    named = [column for name, column in texts.items() if _CHOICE.match(name)]
    if len(named) > 1:
        return named
    lettered = [column for name, column in texts.items() if _LETTERED_CHOICE.fullmatch(name)]
    return lettered if len(lettered) >= _FEWEST_CHOICES else []


def _column_of_places(columns: dict[str, ColumnFacts], *, num_choices: int) -> ColumnFacts | None:
    """Find the column that holds nothing but numbers or letters of choices."""
    if num_choices < _FEWEST_CHOICES:
        return None
    numbers = [str(number) for number in range(num_choices + 1)]
    letters = "abcdefgh"[:num_choices]
    for column in columns.values():
        values = {value.lower() for value in column.values}
        if len(values) == num_choices and (values <= {*numbers} or values <= {*letters}):
            return column
    return None


def _lines(facts: FileFacts) -> TaskShape | None:
    """Take a file of nothing but lines for text to train a language model on."""
    is_plain = [column.name for column in facts.columns] == ["text"] and facts.options.train[0].endswith(_PLAIN)
    if not is_plain:
        return None
    (text,) = facts.columns
    return TaskShape("masked_lm", (TaskOption("text", ("text",), f"about {text.mean_words:.0f} words a line"),), 128)


_PLAIN = (".txt", ".text", ".raw", ".txt.gz", ".text.gz")


def _first(columns: dict[str, ColumnFacts], names: Sequence[str]) -> ColumnFacts | None:
    return next((columns[name] for name in names if name in columns), None)
