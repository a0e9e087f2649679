"""Sections 5.1 and 5.2 of Sigg & Buhmann on faces."""

from __future__ import annotations

from experiments import data
from experiments.claim import Judgement, Measured, Verdict, claim, near
from experiments.figures import images
from experiments.run import Run
from experiments.sigg_buhmann_2008.literal import first_component
from loadstone.datasets import fetch_cbcl_faces, scale_images


@claim(
    "sigg.claim.pc1",
    printed="The first principal component of the faces lies in the non-negative orthant.",
    data="F-z; images scaled one by one for contrast",
    how="eigenvector of the correlation matrix, sign by its largest entry",
    judged=Judgement(
        expected=Verdict.REPRODUCED, as_printed=(near("negative entries, F-z", 0, 0),)
    ),
    reference=(near("negative entries, F-z", 0, 0),),
)
def first_component_of_faces(run: Run) -> Measured:
    """Count negative entries of PC1."""
    scaled = data.standardised(scale_images(fetch_cbcl_faces().data))
    pictures, counts = [], []
    for X in (data.faces_standardised(), scaled):
        v = first_component(X)
        v = v if v.sum() >= 0 else -v
        pictures.append(v)
        counts.append(int((v < 0).sum()))
    figure = images(
        [pictures],
        shape=data.face_shape(),
        names=["PC1\n(orange < 0)"],
        titles=[["F-z", "scaled images"]],
        signed=True,
    )
    return Measured(
        numbers={"negative entries, F-z": counts[0], "negative entries, scaled images": counts[1]},
        figures={"": figure},
    )
