"""Measurements that no test asserts: values, time and memory, beside those of others.

``python -m benchmarks`` runs the comparisons with rivals: data set x method x measure, results as
data in ``benchmarks/results``, from which tables of the documentation are made. The other modules
are studies of one question each: ``python -m benchmarks.NAME --help`` or the top of the file.
"""
