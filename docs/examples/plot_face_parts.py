"""
Face parts: six disjoint non-negative components
================================================

Principal components of face images are ghostly whole faces. Components that only add
pixels up, use forty of them and never share one are *parts*: brows, eyes, cheeks, the
sides of the face. This is Figure 3 of Asteris, Papailiopoulos and Dimakis (2014), with
the method and the setting of that paper (epsilon net, rank 3, epsilon 0.1, features used
by one component removed before the next is sought).

The images are the 2429 faces of the MIT CBCL face database, 19 x 19 pixels, which are not part
of this package: set ``LOADSTONE_DATA`` to a folder that holds ``cbcl_faces.npz``. Without them
the script looks for the strokes of handwritten digits.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from loadstone import SpannogramPCA
from loadstone.datasets import fetch_cbcl_faces, scale_images

# %%
# Each image is brought to the same brightness and contrast first, as in the literature on
# parts of faces; otherwise the first component is the light in the room.

try:
    images = fetch_cbcl_faces()
    faces, shape, n_pixels = images.data.astype(float), images.image_shape, 40
except OSError:
    print("the faces are not at hand: handwritten digits instead, in parts of eight pixels")
    faces, shape, n_pixels = load_digits().data, (8, 8), 8
faces = scale_images(faces)
n_varying = int((faces.std(axis=0) > 0).sum())

# %%
# Forty pixels of a face each, none of them shared.

model = SpannogramPCA(
    n_components=6,
    n_nonzero=n_pixels,
    rank=3,
    method="net",
    epsilon=0.1,
    orthogonality="disjoint",
    random_state=0,
).fit(faces)

for j in range(model.n_components_):
    proven = model.objective_[j][-1] / model.upper_bound_[j]
    print(
        f"component {j + 1}: {model.cardinality_[j]} pixels, "
        f"{model.explained_variance_ratio_[j]:.1%} of the variance, "
        f"at least {proven:.0%} of what any such component could have "
        f"(with probability {1 - 1 / n_varying:.1%})"
    )

# %%
# The mean image in light grey tells where each part sits.

mean_face = model.mean_.reshape(shape)
figure, axes = plt.subplots(1, 6, figsize=(10, 2.1), layout="constrained")
for j, ax in enumerate(axes):
    part = model.components_[j].reshape(shape)
    ax.imshow(mean_face, cmap="gray", vmin=-150, vmax=200)
    ax.imshow(np.ma.masked_equal(part, 0.0), cmap="YlOrRd", vmin=0.0, vmax=part.max())
    ax.set_title(f"component {j + 1}", fontsize="small")
    ax.axis("off")
figure.suptitle(f"Six disjoint non-negative components of {n_pixels} pixels")
