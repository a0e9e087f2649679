"""
Spectra: how many bands are needed?
===================================

Infrared spectra of 531 stars in 93 bands. The curve shows what the best component with a
given number of bands explains, and how much no choice of bands can exceed: the band between
value and bound is where the truth lies.
"""

import matplotlib.pyplot as plt
import numpy as np

from loadstone import SparsePCA, certify
from loadstone.datasets import fetch_lrs

spectra = fetch_lrs()
X = spectra.data

sizes = [2, 5, 10, 20, 30, 40, 60, 90]
values, bounds = [], []
for k in sizes:
    model = SparsePCA(n_nonzero=k, nonnegative=True).fit(X)
    certificate = certify(
        X, model.components_[0], n_nonzero=k, nonnegative=True, effort="instant"
    )
    values.append(certificate.value)
    bounds.append(certificate.upper_bound)

# %%
full = SparsePCA().fit(X).explained_variance_[0]
figure, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
ax.fill_between(sizes, np.divide(values, full), np.minimum(1, np.divide(bounds, full)), alpha=0.2)
ax.plot(sizes, np.divide(values, full), marker="o")
ax.set_xlabel("bands in the component")
ax.set_ylabel("share of the first principal component")
plt.show()

# %%
# Where the bands lie: the component of twenty bands over the mean spectrum.

model = SparsePCA(n_nonzero=20, nonnegative=True).fit(X)
figure, ax = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
ax.plot(X.mean(axis=0), color="0.6", label="mean spectrum")
chosen = np.flatnonzero(model.support_[0])
ax.scatter(chosen, X.mean(axis=0)[chosen], zorder=3, label="twenty bands")
ax.set_xlabel("band")
ax.set_ylabel("flux")
ax.legend(frameon=False)
plt.show()
