"""What a user of a general model server writes for a text classifier: tokenizer and model of `transformers`."""

import os

import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer


class TextModel:
    def __init__(self) -> None:
        torch.set_num_threads(1)  # a process a core
        folder = os.environ["BENCH_MODEL"]
        self._length = int(os.environ["BENCH_LENGTH"])
        self._autocast = os.environ.get("BENCH_DTYPE") == "bf16"
        self._tokenizer = AutoTokenizer.from_pretrained(folder)
        self._model = AutoModelForSequenceClassification.from_pretrained(folder, dtype=torch.float32).eval()

    def predict(self, texts: list[str]) -> list[dict[str, object]]:
        batch = self._tokenizer(texts, padding=True, truncation=True, max_length=self._length, return_tensors="pt")
        with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16, enabled=self._autocast):
            shares = self._model(**batch).logits.float().softmax(-1)
        return [{"predicted": int(row.argmax()), "probabilities": row.tolist()} for row in shares]


class RowModel:
    """The same artifact behind another server: rows are encoded and computed by Burnish, batches are the server's."""

    def __init__(self) -> None:
        from pathlib import Path

        from burnish.artifact.predictor import Predictor

        self._predictor = Predictor.load(Path(os.environ["BENCH_MODEL"]))
        torch.set_num_threads(1)

    def predict(self, rows: list[dict[str, object]]) -> list[dict[str, object]]:
        return [
            {"predicted": each.label, "probabilities": list(each.probabilities.values())}
            for each in self._predictor.predict(rows)
        ]


def load() -> TextModel | RowModel:
    return RowModel() if os.environ["BENCH_KIND"] == "rows" else TextModel()
