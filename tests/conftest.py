"""Runs before anything is imported."""

import os

# Workers run side by side; threads inside each of them would only get in the way.
for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
