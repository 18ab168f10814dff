"""The results of the comparison, as a Markdown table and as a plot."""

from __future__ import annotations

import math
from typing import Any

from .sets import DataSet

Results = list[tuple[DataSet, dict[str, float]]]

#: Largest drawn loss relative to the best; worse peers, and those that failed, are drawn here.
MAX_RATIO = 10.0


def table(results: Results, speeds: dict[str, dict[str, float]]) -> str:
    """One row per data set and one per speed, one column per peer; the best is in bold."""
    names = list(results[0][1])
    lines = [
        "| set (rows x features) | " + " | ".join(names) + " |",
        "|---|" + "---:|" * len(names),
    ]
    for data, found in results:
        best = min(found.values())
        cells = [_cell(found[name], best) for name in names]
        kind = "log-loss" if data.labels else "RMSE"
        lines.append(
            f"| {data.name} ({len(data.y)} x {data.X.shape[1]}), {kind} | "
            + " | ".join(cells)
            + " |"
        )
    for what, rates in speeds.items():
        fastest = max(rates.values())
        cells = [
            f"**{rate:,.0f}**" if rate == fastest else f"{rate:,.0f}" for rate in rates.values()
        ]
        lines.append(f"| rows per second in batches of 1000, {what} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(value: float, best: float) -> str:
    text = "fails" if math.isinf(value) else f"{value:.4g}"
    return f"**{text}**" if value == best else text


def not_best(results: Results) -> list[str]:
    """One line per set on which kalmia is more than 1 % behind the best."""
    lines = []
    for data, found in results:
        name = min(found, key=found.get)
        if found["kalmia"] > 1.01 * found[name]:
            lines.append(f"{data.name}: {name} has {found[name]:.4g}, kalmia {found['kalmia']:.4g}")
    return lines


def picture(results: Results, speeds: dict[str, float], path: str) -> None:
    """Draws losses relative to the best of each set, and speeds, into an SVG file."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "kalmia"
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(
        1, 2, figsize=(8.0, 4.4), width_ratios=[1.6, 1.0], layout="constrained"
    )
    draw(*axes, results, speeds)
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def draw(left: Any, right: Any, results: Results, speeds: dict[str, float]) -> None:
    """Draws both panels; a peer has the same color and mark in both, and its name at the right.

    Both axes are logarithmic, so peers are dots: the length of a bar would mean nothing.
    """
    colors = {name: f"C{k}" for k, name in enumerate(speeds)}
    best = [min(found.values()) for _, found in results]
    for height, (name, rate) in enumerate(speeds.items()):
        style = {
            "color": colors[name],
            "marker": "D" if name == "kalmia" else "o",
            "markersize": 9 if name == "kalmia" else 6,
            "linestyle": "none",
            "label": name,
            # the larger mark is behind, where it hides no peer
            "zorder": 2 if name == "kalmia" else 3,
        }
        losses = [found[name] for _, found in results]
        ratios = [min(loss / least, MAX_RATIO) for loss, least in zip(losses, best, strict=True)]
        left.plot(ratios, range(len(results)), **style)
        right.plot([rate], [height], **style)
    _label_losses(left, results)
    right.set_yticks(range(len(speeds)), list(speeds))
    right.yaxis.tick_right()
    for text, name in zip(right.get_yticklabels(), speeds, strict=True):
        text.set_color(colors[name])
    right.set_ylim(len(speeds) - 0.5, -0.5)
    right.set_xscale("log")
    right.margins(x=0.15)
    right.grid(linewidth=0.3)
    right.set_xlabel("rows per second (right is better)")


def _label_losses(axes: Any, results: Results) -> None:
    axes.set_xscale("log")
    axes.set_xticks([1.0, 1.5, 2.0, 5.0, MAX_RATIO], ["1", "1.5", "2", "5", "10+"])
    axes.minorticks_off()
    axes.set_yticks(range(len(results)), [data.name for data, _ in results])
    axes.set_ylim(len(results) - 0.5, -0.5)
    axes.set_xlabel("loss, relative to the best (left is better)")
    axes.grid(linewidth=0.3)
