"""
Spectra: how many bands are needed?
===================================

Infrared spectra of 531 stars in 93 bands. The curve shows what the best component with a
given number of bands explains; the shaded band reaches up to a bound that no other choice of
bands can exceed.
"""

import matplotlib.pyplot as plt
import numpy as np

from loadstone import cardinality_path, suggest_cardinality
from loadstone.datasets import fetch_lrs
from loadstone.plotting import plot_variance_path

spectra = fetch_lrs()
X = spectra.data

path = cardinality_path(X, certify="instant")
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
