"""A task, a model and a truncation of one's own, in one file: support tickets, sorted by subject and body."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import PositiveInt

from burnish.models.transformer import Transformer
from burnish.spec.component import Component
from burnish.spec.protocols import Encoder
from burnish.tasks.text_classification import TextClassification

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from burnish.data.tokens.tokens import TextAssets
    from burnish.spec.protocols import Assets
    from burnish.spec.values import Batch, HeadSpec, Profile, RandomKey, RowFault, Rows


class Tickets(TextClassification):
    """Sort tickets into queues by their subject and their body."""

    subject: str = "subject"
    text: tuple[str, ...] = ("body",)
    label: tuple[str, ...] = ("queue",)

    @property
    def input_columns(self) -> tuple[str, ...]:
        return (self.subject, *self.text)

    def profile(self, rows: Rows) -> Profile:
        """Find the queues; the subject must be text as well."""
        return super().profile(replace(rows, table=joined(rows.table, self.subject, self.text[0])))

    def encoder(self, profile: Profile, assets: Assets) -> Encoder:
        """Join subject and body, then encode as any text is."""
        return JoinedEncoder(super().encoder(profile, assets), self.subject, self.text[0])


@dataclass(frozen=True)
class JoinedEncoder(Encoder):
    """Put the subject before the body and leave the rest to another encoder."""

    inner: Encoder
    subject: str
    body: str

    @property
    def key(self) -> Mapping[str, object]:
        """All that shapes the features: with another way to join, what was encoded before no longer serves."""
        return {**self.inner.key, "joined": [self.subject, self.body]}

    def faults(self, rows: Rows) -> Sequence[RowFault]:
        return self.inner.faults(replace(rows, table=joined(rows.table, self.subject, self.body)))

    def encode(self, table: pa.Table) -> pa.Table:
        return self.inner.encode(joined(table, self.subject, self.body))

    def collate(self, features: pa.Table, indices: np.ndarray[Any, Any], draw: RandomKey) -> Batch:
        return self.inner.collate(features, indices, draw)


def joined(table: pa.Table, subject: str, body: str) -> pa.Table:
    """Write `subject: body` into the column of the body, for all rows at once; a missing subject is empty."""
    import pyarrow as pa
    import pyarrow.compute as pc

    subjects, bodies = (table[name].cast(pa.large_string()) for name in (subject, body))
    both = pc.binary_join_element_wise(pc.fill_null(subjects, ""), bodies, pa.scalar(": ", pa.large_string()))
    return table.set_column(table.column_names.index(body), body, both)


class Reader(Transformer):
    """Read with the first layers of a model, the last of them fresh, and take all digits for zeros."""

    layers: PositiveInt = 3

    def build_tokenizer(self) -> Any:
        """Make every digit a zero before anything else: order numbers tell nothing."""
        from tokenizers import Regex, normalizers

        tokenizer = super().build_tokenizer()
        backend = tokenizer.backend_tokenizer
        digits = normalizers.Replace(Regex("[0-9]"), "0")
        backend.normalizer = normalizers.Sequence([digits, *([backend.normalizer] if backend.normalizer else [])])
        return tokenizer

    def build_config(self, head: HeadSpec, assets: TextAssets) -> Any:
        """Keep the first layers alone."""
        config = super().build_config(head, assets)
        config.num_hidden_layers = min(self.layers, config.num_hidden_layers)
        return config

    def build_model(self, config: Any, head: HeadSpec) -> tuple[Any, set[str]]:
        """Give the last of the layers new weights; they depend on `runtime.seed` alone."""
        model, fresh = super().build_model(config, head)
        last = model.base_model.encoder.layer[-1]
        for module in last.modules():
            model._init_weights(module)
        inside = {id(parameter) for parameter in last.parameters()}
        return model, fresh | {name for name, parameter in model.named_parameters() if id(parameter) in inside}


class Middle(Component):
    """Keep the middle of a text: tickets begin with a greeting and end with a signature."""

    is_random: ClassVar[bool] = False

    def select(self, length: int, *, limit: int, random: np.random.Generator) -> list[np.ndarray[Any, Any]]:
        """Choose the positions in order; it is only asked about texts that are too long."""
        import numpy as np

        start = (length - limit) // 2
        return [np.arange(start, start + limit)]
