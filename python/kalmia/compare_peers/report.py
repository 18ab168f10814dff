"""The comparison as a table in Markdown and a picture."""

from __future__ import annotations

import math

from .sets import DataSet

Results = list[tuple[DataSet, dict[str, float]]]


def table(results: Results, speeds: dict[str, dict[str, float]]) -> str:
    """A row a set, a column a peer, the best in bold; then a row for each of the speeds."""
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
    """A line for each set where kalmia is more than 1 % behind the best."""
    lines = []
    for data, found in results:
        name = min(found, key=found.get)
        if found["kalmia"] > 1.01 * found[name]:
            lines.append(f"{data.name}: {name} has {found[name]:.4g}, kalmia {found['kalmia']:.4g}")
    return lines


def picture(results: Results, speeds: dict[str, float], path: str) -> None:
    """Losses relative to the best of each set, and speeds."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "kalmia"
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(
        1, 2, figsize=(11.0, 4.5), width_ratios=[2.5, 1.0], layout="constrained"
    )
    positions = range(len(results))
    for name in speeds:
        ratios = [min(found[name] / min(found.values()), 10.0) for _, found in results]
        left.plot(
            ratios,
            positions,
            "D" if name == "kalmia" else "o",
            label=name,
            markersize=8 if name == "kalmia" else 5,
        )
    left.set_xscale("log")
    left.set_xticks([1.0, 1.5, 2.0, 5.0, 10.0], ["1", "1.5", "2", "5", "10 or more"])
    left.minorticks_off()
    left.set_yticks(list(positions), [data.name for data, _ in results])
    left.invert_yaxis()
    left.set_xlabel("progressive loss, relative to the best")
    left.grid(axis="x", linewidth=0.3)
    figure.legend(
        *left.get_legend_handles_labels(),
        loc="outside lower center",
        ncols=len(speeds),
        fontsize=8,
        frameon=False,
    )
    right.barh(list(speeds), list(speeds.values()))
    right.invert_yaxis()
    right.set_xscale("log")
    right.set_xlabel("rows per second, 11 coefficients")
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
