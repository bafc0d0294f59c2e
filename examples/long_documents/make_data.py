"""Writes reviews of a dozen sentences as TSV without a header: id, label, a letter that means nothing, text."""

import random
from pathlib import Path

PLAIN = (
    "the first act is set in a village by the sea",
    "we meet the sister and her two cousins",
    "a letter arrives that nobody wants to open",
    "the camera follows the postman up the hill",
    "there is a long scene at the railway station",
    "the costumes were made in a small workshop",
    "someone plays the piano in the next room",
    "the second act moves on to the capital",
    "an old friend returns from abroad",
    "it rains through most of the last hour",
    "the house is sold to a man from the city",
    "the dialogue was written by three authors",
)
VERDICTS = {
    1: ("in the end i was delighted", "altogether a wonderful evening", "a superb and moving film"),
    0: ("in the end i was annoyed", "altogether a wasted evening", "a clumsy and tiresome film"),
}


def review(draw: random.Random, label: int) -> str:
    """Put a verdict into the last sentences of half of the reviews, the first of a quarter, and anywhere else."""
    sentences = draw.sample(PLAIN, len(PLAIN))
    last = len(sentences)
    place = draw.choice((last, last - 1, 0, draw.randint(4, 8)))
    sentences.insert(place, draw.choice(VERDICTS[label]))
    return " . ".join(sentences)


if __name__ == "__main__":
    folder = Path("data")
    folder.mkdir(exist_ok=True)
    for part, each, seed in (("train", 55, 1), ("dev", 25, 2)):
        draw = random.Random(seed)
        rows = [(label, review(draw, label)) for _ in range(each) for label in VERDICTS]
        lines = [f"{at}\t{label}\ta\t{text}" for at, (label, text) in enumerate(rows)]
        (folder / f"{part}.tsv").write_text("\n".join(lines) + "\n")
