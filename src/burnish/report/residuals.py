"""Draws what a model of numbers missed, over what it predicted."""

import numpy as np

from burnish.report.axes import PlotArea, Scale, axes, padded, svg
from burnish.report.data import Residuals
from burnish.report.figures import figure

_GROUPS = 10


def residual_chart(residuals: Residuals, *, title: str, width: int = 940, height: int = 320) -> str:
    """Draw a dot a row, the dashed line of no error, and the mean in groups of as many rows."""
    predicted, missed = np.asarray(residuals.predicted), np.asarray(residuals.missed)
    low, high = padded(missed.tolist())
    left, right = padded(predicted.tolist())
    frame = PlotArea(Scale(left, right, 62, width - 14), Scale(low, high, height - 38, 10), width, height)
    shapes = axes(frame, x_label="predicted")
    shapes += [
        f'<circle cx="{frame.x.at(x)}" cy="{frame.y.at(y)}" r="1.8" class="dot" fill-opacity="0.35"/>'
        for x, y in zip(predicted.tolist(), missed.tolist(), strict=True)
    ]
    if low <= 0 <= high:
        at = frame.y.at(0.0)
        shapes.append(f'<line x1="{frame.x.start}" x2="{frame.x.end}" y1="{at}" y2="{at}" class="ideal"/>')
    order = np.array_split(np.argsort(predicted, kind="stable"), min(_GROUPS, len(predicted)))
    means = [(float(predicted[group].mean()), float(missed[group].mean())) for group in order]
    places = " ".join(f"{frame.x.at(x)},{frame.y.at(y)}" for x, y in means)
    shapes.append(f'<polyline points="{places}" class="line model"/>')
    description = (
        f"on average {figure(float(missed.mean()))}, half of them within {figure(float(np.median(np.abs(missed))))}"
    )
    return svg(shapes, width=width, height=height, title=title, description=description)
