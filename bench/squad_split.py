"""Writes train.json and dev.json from SQuAD's dev file, by a list of articles; no article is in both.

python bench/squad_split.py DIR --out OUT      DIR holds dev-v1.1.json.gz and dev-v1.1-split.json
"""

import argparse
import gzip
import json
from pathlib import Path
from typing import Any


def main() -> None:
    """Write both files and tell their sizes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    with gzip.open(asked.directory / "dev-v1.1.json.gz", "rt", encoding="utf-8") as stream:
        whole = json.load(stream)
    chosen = json.loads((asked.directory / "dev-v1.1-split.json").read_text())
    asked.out.mkdir(parents=True, exist_ok=True)
    for name, titles in {"train": chosen["train_titles"], "dev": chosen["eval_titles"]}.items():
        articles = [article for article in whole["data"] if article["title"] in set(titles)]
        (asked.out / f"{name}.json").write_text(json.dumps({**whole, "data": articles}))
        print(f"{name}: {len(articles)} articles, {num_questions(articles)} questions")


def num_questions(articles: list[dict[str, Any]]) -> int:
    """Count the questions of some articles."""
    return sum(len(paragraph["qas"]) for article in articles for paragraph in article["paragraphs"])


if __name__ == "__main__":
    main()
