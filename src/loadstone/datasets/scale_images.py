"""Images of equal brightness and contrast."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def scale_images(X: Any) -> NDArray[np.float64]:
    """Scale each image to mean and deviation 1/4, clip it to [0, 1] and keep 8 bits.

    The scaling of Lee and Seung, on which published figures about the CBCL faces rest. It
    is of each image alone: nothing is learned from the others. An image of a single grey value
    becomes 1/4 throughout.

    Parameters
    ----------
    X : array-like of shape (n_images, n_pixels)
        Grey values in any unit, one image in each row.

    Returns
    -------
    ndarray of shape (n_images, n_pixels)
        Whole numbers from 0 to 255.

    References
    ----------
    Lee, D. D., & Seung, H. S. (1999). Learning the parts of objects by non-negative matrix
    factorization. Nature, 401, 788-791. https://doi.org/10.1038/44565

    Examples
    --------
    >>> from loadstone.datasets import scale_images
    >>> scale_images([[10.0, 20.0, 30.0], [1.0, 2.0, 3.0]])
    array([[  0.,  63., 127.],
           [  0.,  63., 127.]])
    """
    X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2 or X.shape[1] < 2:
        msg = (
            f"X has shape {X.shape}; expected one image in each row, (n_images, n_pixels) with at "
            "least 2 pixels: use X.reshape(n_images, -1)"
        )
        raise ValueError(msg)
    centred = X - X.mean(axis=1, keepdims=True)
    deviation = centred.std(axis=1, ddof=1, keepdims=True)
    flat = deviation <= np.finfo(np.float64).eps * np.abs(X).max(axis=1, keepdims=True)
    centred /= np.where(flat, 1, deviation)
    scaled: NDArray[np.float64] = np.floor(np.clip(centred / 4 + 0.25, 0, 1) * 255)
    return scaled
