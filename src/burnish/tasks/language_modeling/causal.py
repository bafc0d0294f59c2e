"""Learns to go on with a text: causal language modelling."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from burnish.errors import DataError
from burnish.spec.protocols import Assets, Encoder
from burnish.spec.values import Head, Objective, Profile
from burnish.tasks.defaults import fine_tuning
from burnish.tasks.language_modeling.task import BlockTask

if TYPE_CHECKING:
    import pyarrow as pa


class CausalLm(BlockTask):
    """Causal language modeling, as in GPT: predict each token from those before it; continues a `prompt`."""

    heads: ClassVar[tuple[str, ...]] = ("causal_lm",)
    defaults = fine_tuning("openai-community/gpt2")

    def head(self, profile: Profile) -> Head:
        """Ask for one logit a token of the vocabulary, wherever a token follows."""
        return Head("causal_lm", 0, Objective("cross_entropy"), answer="likelihood", options={"best": self.best})

    def encoder(self, profile: Profile, assets: Assets) -> Encoder:
        """Tokenise and cut into blocks."""
        from burnish.tasks.language_modeling.causal_encoder import CausalEncoder

        return CausalEncoder(self.codec(assets))

    def table(self, rows: Sequence[Mapping[str, Any]], profile: Profile) -> "pa.Table":
        """Take texts to score, or with `prompt` texts to continue; all rows of one sort."""
        import pyarrow as pa

        from burnish.tasks.language_modeling.causal_encoder import PROMPT

        prompts = [row for row in rows if "prompt" in row] if self.text != "prompt" else []
        if prompts and len(prompts) < len(rows):
            raise DataError("some rows have a prompt to continue and others a text to score; give them separately")
        texts = [row.get("prompt", row.get(self.text, row.get("text"))) for row in rows]
        wrong = [number for number, text in enumerate(texts, start=1) if not isinstance(text, str)]
        if wrong:
            raise DataError(f"row {', '.join(map(str, wrong[:5]))}: give `{self.text}` or `prompt`, as text")
        marked = {PROMPT: pa.array([True] * len(rows))} if prompts else {}
        return pa.table({self.text: pa.array(texts, pa.string()), **marked})
