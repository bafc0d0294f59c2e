"""Draws the scores that `burnish runs compare --json` printed, with their intervals, one line a run."""

import json
import sys
from pathlib import Path

LEFT, WIDTH, ROW = 190, 420, 28


def draw(names: list[str], scores: list[dict[str, float]], title: str) -> str:
    """Return an SVG with a bar an interval and a dot a score."""
    rows = [f'<text x="{LEFT}" y="18" font-weight="bold">{title}</text>']
    for at, (name, score) in enumerate(zip(names, scores, strict=True)):
        y = 44 + at * ROW
        low, value, high = (LEFT + WIDTH * score[key] for key in ("low", "value", "high"))
        rows += [
            f'<text x="{LEFT - 12}" y="{y + 4}" text-anchor="end">{name}</text>',
            f'<line x1="{low:.1f}" x2="{high:.1f}" y1="{y}" y2="{y}" stroke="#9db8d9" stroke-width="6"/>',
            f'<circle cx="{value:.1f}" cy="{y}" r="5" fill="#23527c"/>',
            f'<text x="{LEFT + WIDTH + 12}" y="{y + 4}">{score["value"]:.3f}</text>',
        ]
    size = f'width="{LEFT + WIDTH + 70}" height="{50 + len(names) * ROW}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="13">'
    return "\n".join([head, *rows, "</svg>"])


def main(source: str, target: str, wanted: str = "accuracy") -> None:
    """Draw one score of the validation rows."""
    compared = json.loads(Path(source).read_text())
    line = next(each for each in compared["scores"] if (each["split"], each["name"]) == ("validation", wanted))
    Path(target).write_text(draw(compared["names"], line["scores"], f"validation {wanted}, 95% interval"))


if __name__ == "__main__":
    main(*sys.argv[1:])
