"""A small corpus and a tokenizer of its own, for tests of language models."""

from functools import cache

import pyarrow as pa
from tokenizers import Tokenizer

from burnish.data.tokens.learn_tokenizer import FRAMES, Frame, Kind, TokenizerRecipe, learn
from burnish.data.tokens.tokens import TextAssets

LINES = (
    "The old house stands on a hill. It has a red roof and a green door.",
    "Nobody lives there now. The windows are dark! Who would live there?",
    "",
    "A fox runs over the hill every night.",
    "Rain falls. The river rises, and the road is closed. People stay at home. They wait for the sun.",
    "Night.",
    "The sun comes back; the river falls again. The fox sleeps under the old house.",
)


@cache
def assets(kind: Kind = "wordpiece", frame: Frame = "encoder", *, positions: int | None = 64) -> TextAssets:
    """Learn a tokenizer from the lines."""
    files = learn(LINES * 3, TokenizerRecipe(kind, 320 if kind == "bpe" else 120, frame=frame))
    tokenizer = Tokenizer.from_buffer(files["tokenizer.json"])
    marks = FRAMES[frame]
    pad = marks.roles.get("pad_token") or marks.roles["eos_token"]
    return TextAssets(
        tokenizer=tokenizer,
        pad_id=tokenizer.token_to_id(pad),
        pad_type_id=0,
        padding_side=marks.padding_side,
        max_positions=positions,
        uses_segments=marks.has_segments,
        files=files,
    )


def table(lines: tuple[str, ...] = LINES) -> pa.Table:
    """Put lines into a table."""
    return pa.table({"text": pa.array(lines, pa.string())})
