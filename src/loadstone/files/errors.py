"""What can go wrong with a file or a table, each with the exit code of the command line."""

from __future__ import annotations


class FileError(Exception):
    """A problem with a file that one sentence explains."""

    exit_code = 1


class OptionError(FileError, ValueError):
    """An option that does not fit the data, the method or another option."""

    exit_code = 2


class ColumnError(OptionError):
    """A column was asked for that the table does not have."""


class MissingFileError(FileError, FileNotFoundError):
    """The file is not there, or is not a file."""

    exit_code = 3


class MissingDatasetError(FileError, ValueError):
    """No data set has this name, or it is not at hand."""

    exit_code = 3


class TableError(FileError, ValueError):
    """The file is there but holds no table of numbers."""

    exit_code = 4


class ModelFileError(FileError, ValueError):
    """The file is no model, is damaged, or comes from a newer version."""

    exit_code = 5


class ExistingFileError(FileError, FileExistsError):
    """Something would be overwritten."""

    exit_code = 6


class UnwritableFileError(FileError, OSError):
    """The disk is full, or the place may not be written."""

    exit_code = 7
