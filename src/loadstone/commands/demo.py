"""``loadstone demo``: the main job on a built-in data set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.table import Table

from loadstone.commands.terminal import Loading, Terminal, loadings_table
from loadstone.files.atomic import refuse_existing, writing
from loadstone.plotting.fitted import names_of, ranked_features
from loadstone.report.headline import percent

PICTURE = "loadstone-demo.png"


def demo(terminal: Terminal, output: Path | None, *, force: bool) -> None:
    """Find three sparse non-negative components of 13 measurements of 178 wines."""
    from sklearn.datasets import load_wine

    from loadstone.estimators.sparse_pca import SparsePCA

    picture = output if output is not None else _free_name(Path(PICTURE), force=force)
    refuse_existing([picture], force=force)
    X = load_wine(as_frame=True).data
    model = SparsePCA(3, n_nonzero=4, nonnegative=True, standardize=True).fit(X)
    pca = SparsePCA(3, n_nonzero=None, standardize=True).fit(X)
    _draw(model, picture)
    _print(terminal, model, pca, X.shape)
    terminal.say(f"Picture: {picture}")
    terminal.say("Your own data: loadstone fit FILE.csv --components 3 --nonzero 5")
    terminal.result("demo", _summary(model, pca, picture))


def _free_name(path: Path, *, force: bool) -> Path:
    """``path``, or the first of its numbered siblings that is not taken."""
    candidate, number = path, 2
    while candidate.exists() and not force:
        candidate = path.with_stem(f"{path.stem}-{number}")
        number += 1
    return candidate


def _draw(model: Any, picture: Path) -> None:
    from matplotlib.figure import Figure

    from loadstone.plotting import plot_loadings

    figure = Figure(figsize=(7.5, 5.6), layout="constrained")
    ax = plot_loadings(model, ax=figure.add_subplot())
    ax.set_title("178 wines, 13 measurements, four per component", loc="left")
    with writing(picture) as temporary:
        figure.savefig(temporary, dpi=150)


def _print(terminal: Terminal, model: Any, pca: Any, shape: tuple[int, int]) -> None:
    names = names_of(model)
    rows = [
        (str(j + 1), [Loading(str(names[i]), float(w[i])) for i in ranked_features(w)])
        for j, w in enumerate(model.components_)
    ]
    title = f"{shape[0]} wines, {shape[1]} measurements: sparse non-negative components\n"
    terminal.show(loadings_table(rows, title))
    terminal.say("")
    terminal.show(_against_pca(model, pca))
    plain = float(pca.explained_variance_ratio_.sum())
    used = int(model.support_.any(axis=0).sum())
    terminal.say(
        f"\n{model.n_components_} components of {model.cardinality_[0]} features each ({used} of "
        f"{shape[1]} in use) recover {percent(model.recovered_variance_ratio_[-1])} of all features' "
        f"variance, PCA with all features in every component {percent(plain)}."
    )


def _against_pca(model: Any, pca: Any) -> Table:
    table = Table(title="Adjusted variance", title_justify="left", show_edge=False, pad_edge=False)
    table.add_column("component")
    table.add_column("features", justify="right")
    table.add_column("sparse, non-negative", justify="right")
    table.add_column("PCA, all features", justify="right")
    for j in range(model.n_components_):
        sparse, plain = model.explained_variance_ratio_[j], pca.explained_variance_ratio_[j]
        table.add_row(str(j + 1), str(model.cardinality_[j]), percent(sparse), percent(plain))
    table.add_section()
    table.add_row(
        "together",
        str(int(model.support_.any(axis=0).sum())),
        percent(model.explained_variance_ratio_.sum()),
        percent(pca.explained_variance_ratio_.sum()),
    )
    return table


def _summary(model: Any, pca: Any, picture: Path) -> dict[str, Any]:
    names = names_of(model)
    return {
        "components": [
            {
                "loadings": [
                    {"feature": str(names[i]), "loading": float(w[i])} for i in ranked_features(w)
                ],
                "explained_variance_ratio": float(model.explained_variance_ratio_[j]),
                "pca_explained_variance_ratio": float(pca.explained_variance_ratio_[j]),
            }
            for j, w in enumerate(model.components_)
        ],
        "files": [str(picture)],
    }
