"""Writes the movie-review sentences of rt-polarity that SST-2's training rows do not hold, not even five words of them.

python bench/unseen_reviews.py DIR --out FILE      DIR holds glue/SST-2 and movie_review_sentences
"""

import argparse
import csv
import gzip
import re
import unicodedata
from pathlib import Path

_RUN = 5
_BRACKETS = re.compile("-[lr]rb-")


def main() -> None:
    """Write the file and tell its size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    with gzip.open(asked.directory / "glue/SST-2/train.tsv.gz", "rt", encoding="utf-8") as stream:
        known = [row["sentence"] for row in csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE)]
    reviews = asked.directory / "movie_review_sentences/rt-polarity.tsv.gz"
    with gzip.open(reviews, "rt", encoding="utf-8") as stream:
        rows = [tuple(line.rstrip("\n").split("\t")) for line in stream]
    unseen = unseen_of({sentence: label for label, sentence in rows}, known)
    lines = [f"{sentence.strip()}\t{label}" for sentence, label in unseen.items()]
    asked.out.write_text("\n".join(["sentence\tlabel", *lines]) + "\n", encoding="utf-8")
    print(f"{len(unseen)} of {len(rows)} sentences")


def unseen_of(labels: dict[str, str], known: list[str]) -> dict[str, str]:
    """Keep, of sentences with labels, each once, those that share no run of words with the known ones."""
    runs = {run for sentence in known for run in _runs(words_of(sentence))}
    whole = {"".join(words_of(sentence)) for sentence in known}
    kept: dict[str, str] = {}
    for sentence, label in labels.items():
        words = words_of(sentence)
        letters = "".join(words)
        if letters not in whole and not runs.intersection(_runs(words)):
            kept[sentence] = label
            whole.add(letters)
    return kept


def words_of(sentence: str) -> list[str]:
    """Give the words without accents, marks or brackets, which the two sets write in ways of their own."""
    plain = unicodedata.normalize("NFKD", _BRACKETS.sub(" ", sentence)).lower().encode("ascii", "ignore").decode()
    return re.findall("[a-z0-9]+", plain)


def _runs(words: list[str]) -> list[tuple[str, ...]]:
    return [tuple(words[start : start + _RUN]) for start in range(len(words) - _RUN + 1)]


if __name__ == "__main__":
    main()
