"""From the summary to one page that needs nothing else."""

from __future__ import annotations

import html
import json
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from loadstone.files.atomic import refuse_existing, writing
from loadstone.report.cells import arguments_of, is_anndata, model_of
from loadstone.report.facts import Facts, gather
from loadstone.report.figures import figures_of
from loadstone.report.headline import (
    certificate_words,
    correlation,
    floor_percent,
    grouped,
    percent,
    signed_percent,
)
from loadstone.report.summarise import summary_of


@dataclass(frozen=True, repr=False)
class Report:
    """A report on fitted components: ``save`` it, or let a notebook show it."""

    summary: dict[str, Any]
    facts: Facts | None = None

    @property
    def html(self) -> str:
        """The whole page."""
        return render(self.summary, {} if self.facts is None else figures_of(self.facts))

    def save(self, path: Path | str = "report.html", *, overwrite: bool = True) -> Path:
        """Write the page to a file.

        Parameters
        ----------
        path : path-like, default="report.html"
            Where to; the file appears only when it is complete.
        overwrite : bool, default=True
            Whether an existing file may be replaced.

        Returns
        -------
        Path
            The file.
        """
        path = Path(path)
        refuse_existing([path], force=overwrite)
        page = self.html
        with writing(path) as temporary:
            # Names of files may hold bytes that are no letters.
            temporary.write_text(page, encoding="utf-8", errors="replace")
        return path

    def _repr_html_(self) -> str:
        page = html.escape(self.html, quote=True)
        style = "width:100%;height:720px;border:1px solid #8884;border-radius:8px"
        frame = f'sandbox="allow-scripts allow-downloads" title="loadstone report" style="{style}"'
        return f'<iframe {frame} srcdoc="{page}"></iframe>'

    def __repr__(self) -> str:
        return f"<loadstone report: {self.summary['headline']} Use .save('report.html') to open it>"


def build_report(
    estimator: Any,
    X: Any = None,
    labels: Any = None,
    feature_names: Any = None,
    path: Any = None,
    *,
    image_shape: tuple[int, int] | None = None,
    feature_axis: Any = None,
    title: str | None = None,
    notes: Any = (),
    key: str | None = None,
    **more: Any,
) -> Report:
    """Report on fitted components in one self-contained page; also ``loadstone.report(...)``.

    Parameters
    ----------
    estimator : fitted estimator or AnnData
        Any estimator of loadstone; or cells with the results of
        :func:`loadstone.anndata.sparse_pca`, which need nothing else.
    X : array-like of shape (n_samples, n_features) or AnnData, optional
        The data it was fitted to: adds scores and the comparison with PCA.
    labels : array-like of shape (n_samples,) or str, optional
        Classes of the samples; of an AnnData also a column of ``obs``.
    feature_names : array-like of str, optional
        Names to show; by default those seen in ``fit``.
    path : CardinalityPath, optional
        Adds the variance over the number of features, with a slider.
    image_shape : (int, int), optional
        Height and width, where features are pixels stored row by row: adds components as images.
    feature_axis : array-like of float, optional
        A number for each feature, such as its wavelength: adds components as curves.
    title : str, optional
        Title of the report.
    notes : sequence of str
        Sentences on how the data came about.
    key : str, optional
        Of an AnnData, the ``key_added`` of its components; by default ``"pca"``.
    **more
        ``sample_names`` and ``sample_weight`` of :func:`loadstone.report.summarise`.

    Returns
    -------
    Report

    Examples
    --------
    >>> import loadstone
    >>> from sklearn.datasets import load_wine
    >>> X = load_wine(as_frame=True).data
    >>> model = loadstone.SparsePCA(2, n_nonzero=3, standardize=True).fit(X)
    >>> report = loadstone.report(model, X)
    >>> "proline" in report.html
    True
    """
    if is_anndata(estimator):
        X, estimator = estimator, model_of(estimator, key)
    taken = {"estimator": estimator, "X": X, "labels": labels, "feature_names": feature_names}
    if is_anndata(X):
        taken = arguments_of(X, estimator, key, labels)
    elif key is not None:
        msg = f"key={key!r} is for an AnnData, and X is {type(X).__name__}; leave it out"
        raise ValueError(msg)
    facts = gather(
        path=path, image_shape=image_shape, feature_axis=feature_axis, **{**taken, **more}
    )
    return Report(summary_of(facts, title, notes), facts)


def render(summary: dict[str, Any], figures: dict[str, Any]) -> str:
    """The page for a summary and its figures; every value of the data is escaped."""
    template = _environment().get_template("report.html.j2")
    page: str = template.render(
        summary=summary,
        payload=_script_safe({"summary": summary, **figures}),
        style=_joined("styles"),
        script="\n".join([_joined("scripts"), _joined("panels"), _file("page.js")]),
    )
    return page


def _script_safe(payload: dict[str, Any]) -> str:
    """JSON that can stand inside a script element: no ``<``, ``>`` or ``&`` is left."""
    text = json.dumps(payload, allow_nan=False, ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


@cache
def _environment() -> Any:
    try:
        import jinja2
    except ModuleNotFoundError as error:
        msg = "reports need jinja2: pip install 'loadstone[report]'"
        raise ModuleNotFoundError(msg, name=error.name) from error
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_file),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters = (percent, signed_percent, grouped, floor_percent, correlation, certificate_words)
    environment.filters.update({write.__name__: write for write in filters})
    return environment


@cache
def _file(name: str) -> str:
    return resources.files("loadstone.report").joinpath("templates", name).read_text("utf-8")


@cache
def _joined(folder: str) -> str:
    """All files of a folder, in the order of their names; a new one needs no other line."""
    files = resources.files("loadstone.report").joinpath("templates", folder).iterdir()
    return "\n".join(_file(f"{folder}/{name}") for name in sorted(file.name for file in files))
