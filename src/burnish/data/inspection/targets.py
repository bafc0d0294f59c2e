"""Ranks the columns of a table by how likely each is what the table is about."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

from burnish.data.inspection.inspect import ColumnFacts, FileFacts

_EXPLICIT = {
    *("label", "labels", "target", "targets", "class", "classes", "gold", "y", "outcome", "response"),
    *("is duplicate", "gold label", "dependent variable"),
}
_COMPOUND = {"class", "classes", "y", "count", "cnt", "grade", "type", "status", "score"}
"""Words that name a target alone, but less often behind another word, as in `passenger_class`."""
_EVENTS = {
    *("survived", "survive", "churn", "churned", "attrition", "default", "defaulted", "deny", "denied", "approved"),
    *("accepted", "accept", "acceptance", "admitted", "admit", "released", "died", "dead", "death", "alive", "fraud"),
    *("spam", "converted", "conversion", "purchase", "purchased", "clicked", "click", "callback", "call", "bought"),
    *("subscribed", "vote", "voted", "recurrence", "relapse", "improved", "sentiment", "polarity", "intent", "topic"),
    *("diagnosis", "species", "status", "cancelled", "canceled", "returned", "participation", "participated"),
    *("volunteer", "switched", "result", "case", "category", "left", "exited", "hired", "promoted"),
    *("readmitted", "delayed", "late", "failure", "failed", "disease", "direction", "loan status", "big tipper"),
}
_AMOUNTS = {
    *("price", "salary", "wage", "wages", "fare", "tip", "rating", "score", "sales", "mpg", "gpa", "strength"),
    *("count", "cnt", "revenue", "cost", "charges", "balance", "delay", "yield", "quality", "stars", "similarity"),
    *("demand", "value", "rent", "interest rate", "int rate", "fare amount", "tip amount", "sale price"),
    *("total price", "sold price", "performance", "miles per gallon", "total amount", "trip duration", "duration"),
    *("crime", "grade", "amount"),
}
_FAINT = {"type", "income", "rank", "level", "group", "time", "total", "rate", "weight", "bmi", "balance due"}
_DEMOGRAPHIC = {
    *("age", "sex", "gender", "race", "ethnicity", "ethn", "education", "educ", "married", "marital", "region", "city"),
    *("country", "state", "zip", "area", "code", "district", "neighborhood", "neighbourhood", "island", "location"),
    *("south", "north", "black", "white", "hispanic", "male", "female", "religion", "language", "name", "title"),
    *("first", "last", "university", "school", "make", "model", "manufacturer", "brand", "color", "colour", "stratum"),
}
_SELDOM = {
    *("year", "month", "day", "date", "hour", "minute", "weekday", "timestamp", "datetime", "comment", "comments"),
    *("note", "notes", "remark", "remarks", "lat", "lon", "lng", "long", "latitude", "longitude", "id", "index"),
    *("censor", "created", "updated"),
}
_MEASURES = {
    *("width", "length", "height", "depth", "size", "tenure", "experience", "exper", "service", "years"),
    *("yrs", "since", "mileage", "distance", "manager", "company"),
}
_POINTS = {"explicit": 100.0, "event": 70.0, "amount": 60.0, "faint": 24.0}
_WHOLE, _LAST_WORD, _A_WORD = 1.0, 0.8, 0.25
_STEM, _LAST, _FIRST = 55.0, 22.0, 16.0
_YES_NO_WORDS, _TWO_VALUES, _FEW_VALUES, _AN_AMOUNT = 14.0, 9.0, 5.0, 3.0
_OF_A_PERSON, _OF_NO_USE, _OF_A_MEASURE, _TOO_MANY = -32.0, -45.0, -22.0, -45.0
_FEW_CLASSES, _MOST_CLASSES = 10, 50
_FEWEST_ROWS, _MOST_DISTINCT = 20, 0.9
_CLOSE = 12.0
"""How many points two columns may differ by and still both be meant."""
_SURE = 95.0
_MOST_RIVALS = 3
_FLAGS = ({"yes", "no"}, {"true", "false"}, {"y", "n"}, {"t", "f"})
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


@dataclass(frozen=True)
class RankedTarget:
    """A column that a table may be about."""

    column: ColumnFacts
    points: float


def rank_targets(facts: FileFacts) -> list[RankedTarget]:
    """Rank the columns that can be predicted, the likeliest first; none if no column has two values and repeats."""
    columns = [column for column in facts.columns if can_be_target(column, facts)]
    names = {column.name.lower() for column in facts.columns}
    stem = set(split_words(PurePath(facts.options.train[0]).name.split(".")[0]))
    told = [column for column in facts.columns if not column.is_row_number and not names_rows(column, facts)]
    ranked = []
    for column in columns:
        points = _points_of_name(column, names=names, stem=stem) + _points_of_values(column)
        points += _LAST * (column == told[-1]) + _FIRST * (column == told[0])
        ranked.append(RankedTarget(column, points))
    return sorted(ranked, key=lambda each: -each.points)


def close_rivals(ranked: Sequence[RankedTarget]) -> list[ColumnFacts]:
    """Choose the columns that may be meant as well as the first."""
    if not ranked or ranked[0].points >= _SURE:
        return []
    rivals = [each.column for each in ranked[1:] if each.points >= ranked[0].points - _CLOSE]
    return rivals[:_MOST_RIVALS]


def can_be_target(column: ColumnFacts, facts: FileFacts) -> bool:
    """Tell whether there is anything to learn about a column: it varies, and does not name or number the rows."""
    return column.num_distinct > 1 and not (column.is_prose or column.is_row_number or names_rows(column, facts))


def split_words(name: str) -> list[str]:
    """Divide a name into its words: `SalePrice`, `sale_price` and `Sale.Price` are `sale` and `price`."""
    return [word.lower() for word in re.findall(r"[^\W_]+", _HUMP.sub(" ", name))]


def names_rows(column: ColumnFacts, facts: FileFacts) -> bool:
    """Tell whether nearly every row has its own value, and these are no numbers."""
    is_plain = not (column.is_number or column.is_list or column.separator)
    return is_plain and facts.num_rows >= _FEWEST_ROWS and column.share_distinct > _MOST_DISTINCT


def _points_of_name(column: ColumnFacts, *, names: set[str], stem: set[str]) -> float:
    words = split_words(column.name) or [column.name.lower()]
    if words == ["y"] and {"x", "z"} & names:
        words = ["coordinate"]
    points = max(
        _points_of_words(words, _EXPLICIT, _POINTS["explicit"]),
        _points_of_words(words, _EVENTS, _POINTS["event"]),
        _points_of_words(words, _AMOUNTS, _POINTS["amount"]) * (0.4 if column.num_distinct <= 2 else 1.0),
        _points_of_words(words, _FAINT, _POINTS["faint"]),
    )
    if any(len(word) > 2 for word in words) and {_singular(word) for word in words} <= {_singular(w) for w in stem}:
        points += _STEM
    if words[-1] in _SELDOM or words[0] in ("id", "index"):
        points += _OF_NO_USE
    if _DEMOGRAPHIC & set(words):
        points += _OF_A_PERSON
    if _MEASURES & set(words):
        points += _OF_A_MEASURE
    return points


def _points_of_words(words: Sequence[str], known: set[str], points: float) -> float:
    """Give all points for a name that is known, most where its last words are, and few where another word is."""
    if " ".join(words) in known:
        return points * _WHOLE
    if words[-1] in known or " ".join(words[-2:]) in known:
        return points * (_A_WORD if words[-1] in _COMPOUND else _LAST_WORD)
    return points * _A_WORD if any(word in known for word in words) else 0.0


def _points_of_values(column: ColumnFacts) -> float:
    values = {value.strip().lower() for value in column.values}
    if column.num_distinct == 2:
        return _YES_NO_WORDS if values in _FLAGS else _TWO_VALUES
    if column.is_time:
        return _OF_NO_USE
    if column.is_number:
        return _AN_AMOUNT if column.num_distinct > _FEW_CLASSES else 0.0
    if column.num_distinct <= _FEW_CLASSES:
        return _FEW_VALUES
    return _TOO_MANY if column.num_distinct > _MOST_CLASSES else 0.0


def _singular(word: str) -> str:
    return word[:-3] + "y" if word.endswith("ies") else word.removesuffix("s")
