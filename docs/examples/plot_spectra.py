"""
Spectra: how many bands are needed?
===================================

Infrared spectra of 531 stars in 93 bands. The curve shows what the best component with a
given number of bands explains; the shaded band reaches up to a bound that no other choice of
bands can exceed. Where the spectra cannot be had, simulated ones with two emission lines of
varying strength take their place.
"""

import matplotlib.pyplot as plt
import numpy as np

from loadstone import cardinality_path, suggest_cardinality
from loadstone.datasets import fetch_lrs
from loadstone.plotting import plot_variance_path

try:
    X = fetch_lrs().data
except OSError:
    print("the spectra are not at hand: simulated ones instead")
    rng = np.random.default_rng(0)
    centres, bands = np.array([[30.0], [62.0]]), np.arange(93)
    lines = np.exp(-0.5 * ((bands - centres) / 4) ** 2)
    X = rng.gamma(4.0, size=(300, 2)) @ lines + 5 + 0.2 * rng.normal(size=(300, 93))

path = cardinality_path(X, standardize=False, certify="instant")
suggestion = suggest_cardinality(path)
print(suggestion.n_nonzero, "bands:", suggestion.reason)

# %%
plot_variance_path(path, chosen=suggestion.n_nonzero)
plt.show()

# %%
# Where the chosen bands lie on the mean spectrum.

model = path.estimator(suggestion.n_nonzero)
chosen = np.flatnonzero(model.support_[0])
mean = X.mean(axis=0)
figure, ax = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
ax.plot(mean, color="0.6", label="mean spectrum")
ax.scatter(chosen, mean[chosen], zorder=3, label=f"{chosen.size} bands")
ax.set_xlabel("band")
ax.set_ylabel("flux")
ax.legend(frameon=False)
plt.show()
