"""What data sets there are, where they come from, and how a copy proves to be the right one."""

from __future__ import annotations

from dataclasses import dataclass

from loadstone.files.column_names import nearest
from loadstone.files.errors import MissingDatasetError


@dataclass(frozen=True)
class Source:
    """One data set.

    ``digest`` is the sha256 of the values (see :func:`loadstone.datasets.fetch.digest_of`),
    so that any file that holds them is accepted, however it is compressed. ``address`` is
    where a plain file can be downloaded, ``home`` where people read about the set.
    """

    name: str
    title: str
    shape: tuple[int, int]
    file: str
    digest: str
    home: str
    citation: str
    terms: str
    address: str | None = None


_GITHUB = "https://raw.githubusercontent.com"
_UCI = "https://archive.ics.uci.edu/dataset"

SOURCES: tuple[Source, ...] = (
    Source(
        "cbcl_faces",
        "MIT CBCL faces, 19 x 19 grey values",
        (2429, 361),
        "cbcl_faces.npz",
        "29d3a47cd972b35a7e7e9edc17a37e317ea12f741c5f1bd329afe5577cb203e9",
        "http://cbcl.mit.edu/software-datasets/FaceData2.html",
        "CBCL Face Database #1, MIT Center for Biological and Computational Learning",
        "research use with credit to MIT CBCL",
    ),
    Source(
        "cbcl_nonfaces",
        "MIT CBCL training images without a face",
        (4548, 361),
        "cbcl_nonfaces.npz",
        "1bc12c41567e778ec4cc869d50d30b87002a5351b820ccde0a855e363bbc72dd",
        "http://cbcl.mit.edu/software-datasets/FaceData2.html",
        "CBCL Face Database #1, MIT Center for Biological and Computational Learning",
        "research use with credit to MIT CBCL",
    ),
    Source(
        "leukemia",
        "expression of 12582 genes in ALL, MLL and AML leukemia",
        (72, 12582),
        "leukemia_armstrong.npz",
        "7bdd857d5cbfb5b676089355318b996e665440acf15b990575acc21a80da8dcb",
        "https://github.com/kalyaniuniversity/mgx-datasets",
        "Armstrong et al. (2002). Nature Genetics 30, 41-47",
        "released by the Broad Institute, terms not stated",
    ),
    Source(
        "lrs",
        "infrared spectra of stars, 93 bands",
        (531, 93),
        "lrs.npz",
        "190ba37b5f5cd2efd29bf93b336741e4b8168d2d5a3c131067e6881d112bb6b1",
        f"{_UCI}/60/low+resolution+spectrometer",
        "Stutz (1988). Low Resolution Spectrometer, UCI Machine Learning Repository",
        "UCI Machine Learning Repository",
        f"{_GITHUB}/renatopp/arff-datasets/c59f172882592bb58982cc54d2d3c8a2b57e9b73"
        "/classification/spectrometer.arff",
    ),
    Source(
        "glass",
        "composition of 214 pieces of glass",
        (214, 9),
        "glass.npz",
        "537f76129e1886be985487b4018e80cd2a1c41e86e32c1c4768a7ba0f0fb1284",
        f"{_UCI}/42/glass+identification",
        "German & Spiehler (1987). Glass Identification, UCI Machine Learning Repository",
        "UCI Machine Learning Repository",
        f"{_GITHUB}/EvanWard29/AINT252-PythonProject/51003a193cfe88acc8d1aca9c31ea5552863271c"
        "/glass.data",
    ),
    Source(
        "synthetic_control",
        "control charts of six kinds, 60 steps",
        (600, 60),
        "synthetic_control.npz",
        "efaf421ab3bf6dd90f681b76c930edad1730a2b9e71fdbc4779a8b3f1045e2ce",
        f"{_UCI}/139/synthetic+control+chart+time+series",
        "Alcock & Manolopoulos (1999). Synthetic Control Chart Time Series, UCI",
        "UCI Machine Learning Repository",
        f"{_GITHUB}/dev4any1/UCISequenceClassificationExample"
        "/c21a1e79a655d8543f122b278c2c9947108be5ce/src/main/resources/synthetic_control.data",
    ),
    Source(
        "cmu_faces",
        "CMU face images, 30 x 32 grey values",
        (624, 960),
        "cmu_faces.npz",
        "317d06151bde49f54f8aaef51143a75263e52001773bf203b2f1998dbfa33884",
        f"{_UCI}/124/cmu+face+images",
        "Mitchell (1999). CMU Face Images, UCI Machine Learning Repository",
        "educational use with attribution",
    ),
    Source(
        "nci60",
        "expression of 6830 genes in 64 cancer cell lines",
        (64, 6830),
        "nci60.npz",
        "24cdf2ee1235268f1be096eb4e9c525cf5a740fbacb6b5f61b5a4b91fb516186",
        "https://cran.r-project.org/package=ISLR",
        "Ross et al. (2000). Nature Genetics 24, 227-235; Hastie, Tibshirani & Friedman, ESL",
        "shipped by R packages under GPL-2",
    ),
    Source(
        "pbmc3k",
        "counts of 32738 genes in 2700 blood cells, sparse",
        (2700, 32738),
        "pbmc3k.npz",
        "f599735b03b780db98e83b6af4a3e6f5b0bc8612311da39b0f4776fdf0eda891",
        "https://support.10xgenomics.com/single-cell-gene-expression/datasets/1.1.0/pbmc3k",
        "10x Genomics (2016). 3k PBMCs from a healthy donor",
        "CC BY 4.0",
        "https://cf.10xgenomics.com/samples/cell-exp/1.1.0/pbmc3k"
        "/pbmc3k_filtered_gene_bc_matrices.tar.gz",
    ),
    Source(
        "associated_press",
        "words in 2246 news articles, sparse",
        (2246, 10473),
        "text_associated_press.npz",
        "b0e4cba9b2575f5089a8cf3556df695d51347468df809b06a06fcc99d3c34cd9",
        "https://cran.r-project.org/package=topicmodels",
        "Blei, Ng & Jordan (2003). Latent Dirichlet allocation; TREC-1",
        "shipped by an R package under GPL-2",
    ),
)


def list_datasets() -> tuple[Source, ...]:
    """Describe every data set that can be fetched."""
    return SOURCES


def source(name: str) -> Source:
    """Look a data set up by its name."""
    for candidate in SOURCES:
        if candidate.name == name:
            return candidate
    known = [candidate.name for candidate in SOURCES]
    near = nearest(name, known)
    hint = f"did you mean {near!r}?" if near else f"there are {', '.join(known)}"
    msg = f"no data set is called {name!r}; {hint}"
    raise MissingDatasetError(msg)
