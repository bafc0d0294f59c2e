"""Writes the model card of an artifact: what it learned, from which data, how well, where it is weak, how to use it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

from jinja2 import Environment, StrictUndefined

from burnish.artifact.signature import Signature, read_signature
from burnish.durable import write_durably
from burnish.report.collect import collect
from burnish.report.data import ReportData, Slice
from burnish.report.figures import figure, readable, share
from burnish.run.record.directory import RunDirectory, read_json
from burnish.spec.parts import ALONE, read_profiles
from burnish.storage import manifest

CARD = "README.md"
"""The name under which hubs look for a card."""
_MOST_WEAK = 5
_PIPELINES = {
    "text_classification": "text-classification",
    "token_classification": "token-classification",
    "question_answering": "question-answering",
    "masked_lm": "fill-mask",
    "causal_lm": "text-generation",
    "seq2seq": "text2text-generation",
}
"""The pipeline of `transformers` that asks a model of this task."""
_TAGS = {"tabular": "tabular-classification", "multiple_choice": "multiple-choice", "embedding": "sentence-similarity"}


@dataclass(frozen=True)
class CardFacts:
    """What a card tells besides what the report of the run does."""

    signatures: Mapping[str, Signature]
    """By task."""
    digests: Mapping[str, str]
    """Of the files that were learned from."""
    version: str
    transformers_class: str | None = None
    """What loads the model in `transformers`; None where its own classes cannot."""
    has_adapter: bool = False
    threshold: float | None = None
    """From which probability the second of two classes is chosen."""
    scale: Mapping[str, float] | None = None
    """`centre` and `spread` that turn the output of a text regression into its unit."""


def write_card(run: RunDirectory) -> None:
    """Write the card of a finished run into its artifact, and list it in the manifest."""
    artifact = run.artifact
    told = manifest.read(artifact) or {}
    profiles = read_profiles(read_json(run.profile))
    facts = _section(profiles.get(ALONE, {}), "facts")
    model = artifact / "model"
    config = read_json(model / "config.json") if (model / "config.json").is_file() else {}
    names = config.get("architectures") if isinstance(config, Mapping) else None
    # The class of transformers loads a model whole; layers of ours above it would be missing there.
    is_whole = not (model / "above.safetensors").exists() and not (model / "adapter").exists()
    card = CardFacts(
        signatures={
            name: found for name in profiles if (found := read_signature(artifact / "signature.json", name)) is not None
        },
        digests=_section(told, "data"),
        version=str(told.get("burnish", "")),
        transformers_class=str(names[0]) if names and is_whole else None,
        has_adapter=(artifact / "model" / "adapter").exists(),
        threshold=_section(facts, "fitted").get("threshold"),
        scale=_section(facts, "target") or None,
    )
    write_durably(artifact / CARD, render_card(collect(run), card).encode())
    manifest.commit(artifact, {name: value for name, value in told.items() if name != "files"})


def render_card(data: ReportData, card: CardFacts) -> str:
    """Give the card as Markdown, with the front matter that hubs read; no row of the data is in it."""
    environment = Environment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False)  # noqa: S701  # Markdown; _plain and _code keep markup out
    environment.filters.update(figure=figure, readable=readable, share=share, plain=_plain, code=_code)
    source = resources.files("burnish.report").joinpath("card.md.j2").read_text(encoding="utf-8")
    tasks = [*card.signatures.values()]
    alone = tasks[0] if len(tasks) == 1 else None
    return environment.from_string(source).render(
        data=data,
        card=card,
        alone=alone,
        tag=_tag(alone) if alone else None,
        pipeline=_PIPELINES.get(alone.task) if alone and card.transformers_class else None,
        weak=_weak_slices(data),
        is_text=bool(alone and alone.text_input),
    )


def _tag(signature: Signature) -> str | None:
    tag = _PIPELINES.get(signature.task) or _TAGS.get(signature.task)
    return "tabular-regression" if tag == _TAGS["tabular"] and signature.kind == "regression" else tag


def _weak_slices(data: ReportData) -> list[Slice]:
    """List the slices that are worse than all rows together even at the better end of their interval, worst first."""
    headline = data.headline
    if headline is None:
        return []
    sign, score = (-1 if headline.is_lower_better else 1), headline.score
    known = [each for each in data.slices if each.interval is not None and score in each.scores]
    weak = [each for each in known if max(sign * end for end in each.interval or ()) < sign * headline.figure.value]
    return sorted(weak, key=lambda each: sign * each.scores[score])[:_MOST_WEAK]


def _section(document: Mapping[str, Any], name: str) -> dict[str, Any]:
    found = document.get(name)
    return dict(found) if isinstance(found, Mapping) else {}


def _plain(text: object) -> str:
    """Keep what the data or the user wrote from being read as Markdown."""
    line = " ".join(str(text).split())
    return "".join(f"\\{letter}" if letter in "\\`*_[]<>|#" else letter for letter in line)


def _code(text: object) -> str:
    """Give a code span, which ends only where it should: between more backticks than the text has in a row."""
    line = " ".join(str(text).split())
    longest = max(map(len, re.findall("`+", line)), default=0)
    fence = "`" * (longest + 1)
    is_padded = line.startswith("`") or line.endswith("`") or not line
    return f"{fence} {line} {fence}" if is_padded else f"{fence}{line}{fence}"
