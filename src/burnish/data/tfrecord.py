"""TFRecord files: raw features as columns, or texts that other scripts have tokenised, as text again."""

from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import model_validator

from burnish.data.files import Files
from burnish.data.options import Names

Role = Literal[
    "tokens", "mask", "segments", "label", "start", "end", "impossible", "hidden_at", "hidden", "hidden_weight",
    "next", "real", "id",
]  # fmt: skip
ROLES: Mapping[Role, tuple[str, ...]] = {
    "tokens": ("input_ids", "input_word_ids"),
    "mask": ("input_mask",),
    "segments": ("segment_ids", "input_type_ids"),
    "label": ("label_ids", "label_id", "label", "labels"),
    "start": ("start_positions",),
    "end": ("end_positions",),
    "impossible": ("is_impossible",),
    "hidden_at": ("masked_lm_positions",),
    "hidden": ("masked_lm_ids",),
    "hidden_weight": ("masked_lm_weights",),
    "next": ("next_sentence_labels",),
    "real": ("is_real_example",),
    "id": ("unique_ids",),
}
"""What BERT's scripts and those that followed them call each part of a record."""


class TfRecords(Files):
    """TFRecord files of raw features, or of token ids as BERT's scripts write them, which are read as text again."""

    extras: ClassVar[tuple[str, ...]] = ("tfrecord",)
    format: Literal["tfrecord"] = "tfrecord"
    tokenizer: str | None = None
    """What the records were tokenised with: `vocab.txt`, `tokenizer.json`, or a folder or `package:` with one of them.

    Without it, each feature is a column as it is.
    """
    labels: Names = ()
    """The names of the classes or tags 0, 1, 2 … of the records; by default they keep their numbers."""
    features: Mapping[Role, str] = {}
    """What the records call a part, where it has another name, like `{label: target}`."""

    @model_validator(mode="after")
    def _needs_tokenizer(self) -> "TfRecords":
        idle = [name for name in ("labels", "features") if getattr(self, name) and not self.tokenizer]
        if idle:
            raise ValueError(f"has `{idle[0]}`, which is for records of token ids; name their `tokenizer` too")
        return self
