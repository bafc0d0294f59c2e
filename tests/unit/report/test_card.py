"""The model card tells what the report does, in Markdown that hubs read, and no row of the data."""

import re
from dataclasses import replace
from pathlib import Path

import markdown
import pytest
import yaml
from markdown_it import MarkdownIt

from burnish.artifact.signature import AnswerSpec, ClassLabel, InputField, Signature
from burnish.report.card import CardFacts, render_card
from burnish.report.data import Fact, Headline, ReportData, Slice
from burnish.spec.values import Score

GOLDEN = Path(__file__).parents[2] / "golden" / "report" / "card.md"
SCORE = Score(0.9, 0.85, 0.95)
DATA = ReportData(
    title="reviews",
    description="Tells *good* from bad.",
    headline=Headline("accuracy", "test", SCORE),
    splits={"test": {"accuracy": SCORE}},
    baselines={"majority": {"accuracy": Score(0.5, 0.4, 0.6)}},
    slices=(
        Slice("source", "web", 40, {"accuracy": 0.7}, (0.6, 0.8)),
        Slice("source", "mail", 12, {"accuracy": 0.8}, (0.5, 1.0)),
    ),
    findings=("3 rows of test also occur in train",),
)
CLASSES = (ClassLabel(value="0", name="negative", share=0.4), ClassLabel(value="1", name="positive", share=0.6))
SIGNATURE = Signature(
    task="text_classification",
    kind="binary",
    inputs=(InputField(name="text", kind="text", is_required=True, example="never shown"),),
    answer=AnswerSpec(kind="class", column="label", classes=CLASSES),
    text_input="text",
    max_length=128,
    truncation="head",
    training_rows=200,
)
FACTS = CardFacts({"": SIGNATURE}, {"train.csv": "ab" * 32}, "0.1.0", "BertForSequenceClassification", threshold=0.3)


def test_the_card_is_as_it_was() -> None:
    assert render_card(DATA, FACTS) == GOLDEN.read_text(encoding="utf-8")


def test_the_front_matter_is_yaml_and_leaves_the_licence_to_the_user() -> None:
    front = yaml.safe_load(render_card(DATA, FACTS).split("---")[1])
    assert front == {"library_name": "transformers", "pipeline_tag": "text-classification", "tags": ["burnish"]}


def test_only_slices_that_are_surely_worse_are_weak_whichever_way_the_score_goes() -> None:
    assert "| source | web | 40 |" in render_card(DATA, FACTS)
    assert "mail" not in render_card(DATA, FACTS)
    falling = replace(DATA, headline=Headline("accuracy", "test", Score(0.3), is_lower_better=True))
    assert "| source | mail | 12 |" in render_card(falling, FACTS)


def test_a_model_with_layers_of_ours_is_not_said_to_load_in_transformers() -> None:
    card = render_card(DATA, replace(FACTS, transformers_class=None))
    assert "from transformers" not in card
    assert "use Burnish to ask it" in card


HOSTILE = (
    *(
        "<script>alert(1)</script>",
        "`<script>alert(1)</script>",
        "a`b",
        "``<img src=x onerror=alert(1)>`",
        "`",
        "\\`<b>",
    ),
    *(
        "x\n\n<script>alert(1)</script>\n\n",
        "[a](javascript:alert(1))",
        "a|b|<b>c</b>",
        "-->",
        "![](http://x)",
        "` `<i>",
    ),
)


@pytest.mark.parametrize("name", HOSTILE)
def test_no_name_becomes_markup_wherever_it_stands(name: str) -> None:
    field = InputField(name=name, kind="text", is_required=True)
    label = ClassLabel(value=name, name=name, share=0.5)
    answer = AnswerSpec(kind="class", column=name, classes=(label,))
    signature = SIGNATURE.model_copy(update={"inputs": (field,), "answer": answer, "truncation": name})
    card = render_card(
        replace(
            DATA,
            title=name,
            description=name,
            headline=Headline(name, name, Score(0.9), is_lower_better=False),
            splits={name: {name: Score(0.9)}},
            baselines={name: {name: Score(0.5)}},
            slices=(Slice(name, name, 40, {name: 0.7}, (0.6, 0.8)),),
            facts=(Fact(f"{name} rows", name),),
            findings=(name,),
        ),
        CardFacts({name: signature}, {name: name}, name, name),
    )
    html = markdown.markdown(card, extensions=["tables", "fenced_code"])
    tokens = MarkdownIt("commonmark", {"html": True}).enable("table").parse(card.split("---", 2)[2])
    inner = [each for token in tokens for each in (token, *(token.children or ()))]
    assert not {"html_block", "html_inline", "link_open", "image"} & {each.type for each in inner}
    assert not re.search(r"<(script|img|b|i|a)\b", html)


def test_what_a_user_wrote_is_no_markup() -> None:
    assert r"\*good\*" in render_card(DATA, FACTS)
    assert r"\<script\>" in render_card(replace(DATA, title="<script>"), FACTS)
