"""Principal components people can read: sparse, non-negative, exactly sized, certified."""

from loadstone._version import __version__

__all__ = ["__version__"]
