"""The scikit-learn face: flat parameters in, ``attributes_`` out."""
