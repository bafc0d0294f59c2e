"""Reads a run directory into a report; a file that is missing or torn only leaves its part out."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from burnish.errors import BurnishError
from burnish.report.classes import class_scores, ranking_curves
from burnish.report.data import BlendMember, ColumnSummary, Fact, Headline, LabelCounts, ReportData, Setting, Slice
from burnish.report.events import Story, read_story
from burnish.report.figures import duration, figure, readable, share
from burnish.report.predictions import read_predictions
from burnish.run.predicting.predictions import read_outcome
from burnish.run.record.directory import RunDirectory, read_json
from burnish.run.record.ending import MOST_SECONDS
from burnish.run.record.result import ScoreSheet, read_sheet, scores_from_json
from burnish.spec.parts import ALONE, read_profiles
from burnish.spec.values import Outcome, Score

_SPLITS = ("train", "validation", "test")
_ENDINGS = {
    "finished": "finished",
    "early_stopping": "stopped early, no longer improving",
    "interrupted": "interrupted, can be resumed",
    "preempted": "preempted, can be resumed",
    "deadline": "stopped at its deadline, can be resumed",
    "stop_file": "stopped by request, can be resumed",
    "failed": "failed",
}
_ENVIRONMENT = ("provenance", "environment", "machine", "versions")
_MOST_SLICES = 60


def collect(run: RunDirectory) -> ReportData:
    """Gather all that the files of a run tell."""
    sheet, story, settings = read_sheet(run), read_story(run), read_settings(run.plan)
    ending, profile, insights, audit = (_mapping(path) for path in (run.exit, run.profile, run.insights, run.audit))
    headline = _headline(sheet) if sheet else None
    own = _of_task(run, ALONE, profile, headline=headline)
    groups = [story.facts[name] for name in _ENVIRONMENT if name in story.facts]
    return replace(
        own,
        title=_setting(settings, "name") or run.name,
        experiment=_setting(settings, "task.type").replace("_", " "),
        description=_setting(settings, "description"),
        ending=_ENDINGS.get(str(ending.get("reason", "")), ""),
        headline=headline,
        facts=tuple(_facts(story, ending)),
        splits=sheet.scores if sheet else {},
        baselines=sheet.baselines if sheet else {},
        times=sheet.times if sheet else {},
        training=story.training,
        evaluations=story.evaluations,
        columns=read_columns(profile, insights),
        slices=read_slices(insights),
        members=read_members(insights),
        findings=tuple(_findings(audit)),
        splits_without_repeated=_scores_without_repeated(audit),
        settings=settings,
        environment=tuple(
            _fact(name, value) for group in groups if isinstance(group, Mapping) for name, value in group.items()
        ),
        happenings=story.happenings,
        tasks=tuple(
            replace(_of_task(run, name, each, headline=headline), title=name)
            for name, each in read_profiles(profile).items()
            if name
        ),
    )


def _findings(audit: Mapping[str, Any]) -> Iterator[str]:
    for task in _section(audit, "tasks").values():
        found = task.get("findings") if isinstance(task, Mapping) else None
        yield from map(str, found if isinstance(found, list) else ())


def _scores_without_repeated(audit: Mapping[str, Any]) -> dict[str, Mapping[str, Score]]:
    try:
        return {split: scores_from_json(each) for split, each in _section(audit, "scores_without_repeated").items()}
    except (TypeError, KeyError, ValueError, AttributeError):
        return {}  # torn: the rest of the page is shown


def _of_task(run: RunDirectory, task: str, profile: Mapping[str, Any], *, headline: Headline | None) -> ReportData:
    folder = run.predictions / task
    kind, labels = str(profile.get("kind", "")), tuple(map(str, profile.get("labels") or ()))
    further = sorted(path.stem for path in folder.glob("*.parquet") if path.stem not in _SPLITS)
    names = _label_names(profile)
    found = {
        split: read_predictions(folder / f"{split}.parquet", kind=kind, labels=labels, names=names)
        for split in (*_SPLITS, *further)
    }
    parts = {split: part for split, part in found.items() if part is not None}
    order = [headline.split] if headline else []
    shown = next((parts[split] for split in (*order, "test", "validation") if split in parts), None)
    outcome = _outcome(run, task, split=shown.split) if shown else None
    labels = profile.get("labels") or ()
    counted = _section(profile, "facts").get("label_counts")
    if isinstance(counted, list):
        counted = dict(zip(labels, counted, strict=False))
    names = _label_names(profile)
    named = {names.get(label, label): count for label, count in counted.items()} if isinstance(counted, Mapping) else {}
    of_train = [LabelCounts("train", _whole_numbers(named))] if named else []
    others = [LabelCounts(split, part.label_counts()) for split, part in parts.items() if split != "train"]
    return ReportData(
        title="",
        headline=headline,
        confusion=shown.confusion() if shown else None,
        class_scores=class_scores(outcome) if outcome else (),
        curves=ranking_curves(outcome) if outcome else (),
        calibration=shown.calibration() if shown else None,
        label_counts=tuple(each for each in [*of_train, *others] if each.counts),
        residuals=shown.residuals() if shown else None,
        mistakes=shown.mistakes() if shown else (),
    )


def _outcome(run: RunDirectory, task: str, *, split: str) -> Outcome | None:
    try:
        return read_outcome(run, split, task=task)
    except BurnishError:
        return None  # of a kind that is not read back, or torn: the rest of the page stands


def _headline(sheet: ScoreSheet) -> Headline | None:
    split = next((name for name in ("test", "validation", *sheet.scores) if sheet.scores.get(name)), None)
    if split is None:
        return None
    scores = sheet.scores[split]
    score = sheet.headline if sheet.headline in scores else next(iter(scores))
    return Headline(score, split, scores[score], sheet.is_lower_better)


def _facts(story: Story, ending: Mapping[str, Any]) -> list[Fact]:
    facts = [_fact(name, value) for name, value in story.facts.items() if name not in _ENVIRONMENT]
    if story.num_attempts > 1:
        facts.append(Fact("Attempts", str(story.num_attempts)))
    for name, seconds in {"Training": story.training_seconds, "In all": _number(ending.get("seconds"))}.items():
        if seconds is not None and 0 <= seconds < MOST_SECONDS:
            facts.append(Fact(name, duration(seconds)))
    return facts


def _fact(name: str, value: object) -> Fact:
    is_share = any(word in name for word in ("share", "cut", "dropped", "padding"))
    if is_share and isinstance(value, int | float):
        return Fact(readable(name), share(float(value)))
    return Fact(readable(name), _written(value))


def _written(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.4g}"
    if isinstance(value, Mapping):
        return " · ".join(f"{name} {_written(each)}" for name, each in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(_written, value))
    return str(value)


def _whole_numbers(counts: Mapping[Any, Any]) -> dict[str, int]:
    numbers = {str(label): _number(number) for label, number in counts.items()}
    return {label: int(number) for label, number in numbers.items() if number is not None and math.isfinite(number)}


def _label_names(profile: Mapping[str, Any]) -> dict[str, str]:
    names = _section(_section(profile, "facts"), "label_names")
    return {str(label): str(name) for label, name in names.items()}


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None


def _setting(settings: tuple[Setting, ...], path: str) -> str:
    return next((setting.value for setting in settings if setting.path == path), "")


def _section(document: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    found = (document[name] for name in names if isinstance(document.get(name), Mapping))
    return next(found, {})


def _mapping(path: Path) -> Mapping[str, Any]:
    document = read_json(path)
    return document if isinstance(document, Mapping) else {}


def read_settings(path: Path) -> tuple[Setting, ...]:
    """Give every value of a plan in order; nothing when there is no plan that can be read."""
    try:
        source = path.read_text(encoding="utf-8")
        # A plan has no aliases; a file that has them is not ours and could unfold without end.
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(source, Loader=yaml.SafeLoader)):
            return ()
        # Composing makes no objects and resolves no tags: only places and texts are wanted.
        root = yaml.compose(source, Loader=yaml.SafeLoader)
        return tuple(_settings(root, (), source.splitlines())) if root is not None else ()
    except (OSError, ValueError, RecursionError, yaml.YAMLError):
        return ()


def _settings(node: yaml.Node, path: tuple[str, ...], lines: list[str]) -> Iterator[Setting]:
    if isinstance(node, yaml.MappingNode) and node.value:
        for key, value in node.value:
            yield from _settings(value, (*path, str(key.value)), lines)
    elif isinstance(node, yaml.SequenceNode) and any(not isinstance(each, yaml.ScalarNode) for each in node.value):
        for number, value in enumerate(node.value):
            yield from _settings(value, (*path, str(number)), lines)
    else:
        end = node.end_mark
        rest = lines[end.line][end.column :] if end.line < len(lines) else ""
        _, mark, comment = rest.partition("#")
        yield Setting(".".join(path), _text_of(node), comment.strip() if mark else "")


def _text_of(node: yaml.Node) -> str:
    if isinstance(node, yaml.SequenceNode):
        return "[" + ", ".join(str(each.value) for each in node.value) + "]"
    return "{}" if isinstance(node, yaml.MappingNode) else str(node.value)


def read_columns(profile: Mapping[str, Any], insights: Mapping[str, Any]) -> tuple[ColumnSummary, ...]:
    """Summarise the columns of a profile; nothing if it is of no table."""
    facts = profile.get("facts")
    table = facts.get("table") if isinstance(facts, Mapping) else None
    importance = insights.get("importance")
    try:
        return tuple(_columns(table, importance if isinstance(importance, Mapping) else {})) if table else ()
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, OSError):
        return ()  # written by another version, or torn: the rest of the page stands


def read_slices(insights: Mapping[str, Any]) -> tuple[Slice, ...]:
    """Give the scores of slices, if they were measured."""
    try:
        return tuple(_slice(each) for each in insights.get("slices", ())[:_MOST_SLICES])
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        return ()


def read_members(insights: Mapping[str, Any]) -> tuple[BlendMember, ...]:
    """Give the members of a blend, the heaviest first, if the run made one."""
    try:
        members = [_member(each) for each in insights.get("members", ())]
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        return ()
    return tuple(sorted(members, key=lambda member: -member.weight))


def _member(fields: Mapping[str, Any]) -> BlendMember:
    amounts = {name: None if fields.get(name) is None else float(fields[name]) for name in ("loss", "score")}
    return BlendMember(
        str(fields["name"]), float(fields["weight"]), **amounts, left_out=str(fields.get("left_out") or "")
    )


def _slice(fields: Mapping[str, Any]) -> Slice:
    scores = {str(name): float(value) for name, value in fields["scores"].items() if value is not None}
    low, high = fields.get("interval") or (None, None)
    interval = None if low is None or high is None else (float(low), float(high))
    return Slice(str(fields["column"]), str(fields["value"]), int(fields["rows"]), scores, interval)


def _columns(table: Mapping[str, Any], importance: Mapping[str, Any]) -> Iterator[ColumnSummary]:
    for column in table["columns"]:
        facts = column["facts"]
        name = str(column["name"])
        found = _importance(importance[name]) if importance.get(name) is not None else None
        content = _content(column["kind"], facts)
        yield ColumnSummary(name, str(column["kind"]), int(facts["missing"]), int(facts["distinct"]), content, found)
    for name, why in table["dropped"].items():
        yield ColumnSummary(str(name), "not used", 0, 0, str(why))


def _importance(written: Any) -> Score:
    """Read the mean over several shuffles with the least and the most; early runs wrote the mean alone."""
    if not isinstance(written, Mapping):
        return Score(float(written))
    return Score(float(written["mean"]), float(written["low"]), float(written["high"]))


def _content(kind: str, facts: Mapping[str, Any]) -> str:
    if kind == "datetime" or "mean" in facts:
        words = [f"mean {figure(facts['mean'])}, {figure(facts['lowest'])} to {figure(facts['highest'])}"]
        words = [_dates(facts)] if kind == "datetime" else words
        return ", ".join([*words, f"{facts['infinite']:,} infinite"] if facts.get("infinite") else words)
    top = ", ".join(f"{value} {count:,}" for value, count in facts.get("top", {}).items())
    return f"{top}; {facts['rare']:,} rows of rare values" if facts.get("rare") else top


def _dates(facts: Mapping[str, Any]) -> str:
    from datetime import UTC, datetime

    first, last = (datetime.fromtimestamp(float(facts[name]), UTC) for name in ("lowest", "highest"))
    return f"{first:%Y-%m-%d %H:%M} to {last:%Y-%m-%d %H:%M}"
