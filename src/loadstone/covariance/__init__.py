"""covariance."""
