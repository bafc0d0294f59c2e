"""Reads a run directory into a report; a file that is missing or torn only leaves its part out."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from burnish.errors import BurnishError
from burnish.report.classes import class_scores, ranking_curves
from burnish.report.data import Fact, Headline, LabelCounts, ReportData, Setting
from burnish.report.events import Story, read_story
from burnish.report.figures import duration, readable, share
from burnish.report.predictions import Predictions, read_predictions
from burnish.report.table import read_columns, read_slices
from burnish.run.predicting.predictions import read_outcome
from burnish.run.record.directory import RunDirectory, read_json
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
    """Gather what the predictions of one task tell."""
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
    return ReportData(
        title="",
        headline=headline,
        confusion=shown.confusion() if shown else None,
        class_scores=class_scores(outcome) if outcome else (),
        curves=ranking_curves(outcome) if outcome else (),
        calibration=shown.calibration() if shown else None,
        label_counts=_label_counts(profile, parts),
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
        if seconds is not None:
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


def _label_counts(profile: Mapping[str, Any], parts: Mapping[str, Predictions]) -> tuple[LabelCounts, ...]:
    labels = profile.get("labels") or ()
    counted = _section(profile, "facts").get("label_counts")
    if isinstance(counted, list):
        counted = dict(zip(labels, counted, strict=False))
    names = _label_names(profile)
    named = {names.get(label, label): count for label, count in counted.items()} if isinstance(counted, Mapping) else {}
    of_train = [LabelCounts("train", _whole_numbers(named))] if named else []
    others = [LabelCounts(split, part.label_counts()) for split, part in parts.items() if split != "train"]
    return tuple(each for each in [*of_train, *others] if each.counts)


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
