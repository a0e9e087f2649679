"""The options that commands have in common or in plenty, with their help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from loadstone.registry import methods

#: Panels of the help.
FILES = "Data"
OUTPUT = "Output"
#: What the help calls the value of a switch: it takes none.
FLAG = ""


def path_argument(metavar: str, said: str) -> Any:
    """A place that a command cannot do without.

    Whoever opens it says why that cannot be, where Typer would speak of a wrong option.
    """
    return typer.Argument(metavar=metavar, readable=False, help=said)


def path_option(*names: str, said: str, **settings: Any) -> Any:
    """A place that may be given; opened as that of an argument is."""
    return typer.Option(*names, readable=False, help=said, **settings)


def output_option(said: str) -> Any:
    """Where a command writes."""
    return path_option("--output", "-o", said=said, rich_help_panel=OUTPUT)


DataFile = Annotated[
    Path,
    path_argument(
        "FILE",
        "Samples in rows: CSV, TSV, XLSX, ODS, Parquet, Feather, Arrow, JSON lines, Stata, "
        "SPSS, NPY, NPZ, MTX or H5AD.",
    ),
]
DataFiles = Annotated[
    list[Path],
    path_argument("FILES...", "Files with the same features, or covariances summed up before."),
]
ModelFile = Annotated[Path, path_argument("MODEL", "The model.npz that loadstone fit wrote.")]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAMES",
        help="Features to use: names with commas between, ranges (first:last) and patterns "
        "(gene_*); may be given several times.",
        rich_help_panel=FILES,
    ),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAMES",
        help="Features to leave out, named likewise; with --transpose also columns that are no "
        "samples, by name or pattern.",
        rich_help_panel=FILES,
    ),
]
Index = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Column that names the rows; 'none' where the first column is a feature.",
        rich_help_panel=FILES,
    ),
]
Labels = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN", help="Column of classes; 'none' for none.", rich_help_panel=FILES
    ),
]
Weights = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Column that says how many samples each row stands for.",
        rich_help_panel=FILES,
    ),
]
Log1p = Annotated[
    bool,
    typer.Option(
        "--log1p", metavar=FLAG, help="Take log(1 + x) of every feature.", rich_help_panel=FILES
    ),
]
Sheet = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="Sheet of an XLSX or ODS file: name or number.", rich_help_panel=FILES
    ),
]
Missing = Annotated[
    str,
    typer.Option(
        metavar="RULE",
        help="What to do about missing values: fill with the 'mean' of the column, leave out "
        "'rows' or 'columns', 'keep' them for a method that can, or 'refuse'.",
        rich_help_panel=FILES,
    ),
]
Turned = Annotated[
    bool,
    typer.Option(
        "--transpose", metavar=FLAG, help="Features stand in the rows.", rich_help_panel=FILES
    ),
]
Layer = Annotated[
    str | None, typer.Option(metavar="NAME", help="Layer of an H5AD file.", rich_help_panel=FILES)
]
Nonnegative = Annotated[
    bool,
    typer.Option(
        "--nonnegative", metavar=FLAG, help="Allow only loadings >= 0: components add up."
    ),
]
Standardize = Annotated[
    bool, typer.Option("--standardize", metavar=FLAG, help="Scale every feature to unit variance.")
]
Effort = Annotated[
    str, typer.Option(metavar="EFFORT", help="How hard to look: instant, standard or full.")
]
Force = Annotated[
    bool,
    typer.Option("--force", metavar=FLAG, help="Overwrite existing files.", rich_help_panel=OUTPUT),
]
Quiet = Annotated[
    bool,
    typer.Option(
        "--quiet", "-q", metavar=FLAG, help="Print nothing but errors.", rich_help_panel=OUTPUT
    ),
]
Json = Annotated[
    bool,
    typer.Option("--json", metavar=FLAG, help="Print the result as JSON.", rich_help_panel=OUTPUT),
]
Debug = Annotated[
    bool,
    typer.Option(
        "--debug", metavar=FLAG, help="Show the traceback of an error.", rich_help_panel=OUTPUT
    ),
]
Components = Annotated[
    str,
    typer.Option(
        "--components",
        "-c",
        metavar="N",
        help="How many; or a share between 0 and 1 of all features' variance to recover. Methods bayes "
        "and noisy learn the number: 'auto' by their criterion, 'cv' by rows left out.",
    ),
]
Nonzero = Annotated[
    str | None,
    typer.Option(
        "--nonzero",
        "-k",
        metavar="N",
        help="Features per component: a number, a fraction, 'all', or one per component "
        "(5,5,10). By default as many as recover 90 % of what PCA recovers, at most 50; for other "
        "methods than sparse 10, or a third of the features if there are fewer than 30. "
        "With --groups: features of each group, by default all.",
    ),
]
GroupsFrom = Annotated[
    str | None,
    typer.Option(
        "--groups",
        metavar="COLUMN|FILE",
        help="Use features of few groups only: a CSV or TSV file with the columns feature and "
        "group; or the column that names the group, with --transpose or for H5AD (of var).",
    ),
]
NGroups = Annotated[
    int | None,
    typer.Option("--n-groups", metavar="N", min=1, help="Groups per component; by default 1."),
]
SignsFile = Annotated[
    Path | None,
    path_option(
        "--signs",
        metavar="FILE",
        said="Give some features a sign: a CSV or TSV file with the columns feature and sign "
        "(+ or -).",
    ),
]
Method = Annotated[str, typer.Option(metavar="NAME", help=f"One of {', '.join(methods())}.")]
Orthogonality = Annotated[
    str | None,
    typer.Option(metavar="KIND", help="none, disjoint, or what else the method offers."),
]
Objective = Annotated[
    str | None,
    typer.Option(
        metavar="KIND",
        help="What components are best at: variance finds groups of features that belong together, "
        "recovery the few that stand for all others, sum the most variance of disjoint or "
        "orthogonal ones; by default variance.",
    ),
]
PathObjective = Annotated[
    str,
    typer.Option(metavar="KIND", help="What each size is best at: variance, or recovery."),
]
SearchEffort = Annotated[
    str | None,
    typer.Option(
        "--effort",
        metavar="EFFORT",
        help="How long to search: fast, balanced or thorough; by default balanced.",
    ),
]
Certify = Annotated[
    str | None,
    typer.Option(
        metavar="EFFORT", help="Prove how good each component is: instant, standard or full."
    ),
]
TimeLimit = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS",
        help="For the proof of each component; 60 unless told otherwise.",
        min=0.0,
    ),
]
Seed = Annotated[int, typer.Option(help="Seed of random starts.")]
WithPath = Annotated[
    bool,
    typer.Option(
        "--path", metavar=FLAG, help="Follow the number of features too.", rich_help_panel=OUTPUT
    ),
]
WithReport = Annotated[
    bool,
    typer.Option(
        "--report/--no-report", metavar=FLAG, help="Write a report.", rich_help_panel=OUTPUT
    ),
]
ImageShape = Annotated[
    str | None,
    typer.Option(
        "--image-shape",
        metavar="HxW",
        help="Draw components as images: features are pixels, row by row.",
        rich_help_panel=OUTPUT,
    ),
]
FeatureAxis = Annotated[
    str | None,
    typer.Option(
        "--feature-axis",
        metavar="names|FILE",
        help="Draw components as curves over the numbers in the names of the features, such as "
        "wavelengths, or over those of a file.",
        rich_help_panel=OUTPUT,
    ),
]
Folder = Annotated[Path | None, output_option("Folder; by default FILE-loadstone.")]
PathFolder = Annotated[
    Path | None,
    output_option("Folder for path.csv and path.png; by default FILE-path."),
]
