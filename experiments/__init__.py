"""The five papers, claim by claim: every figure, table and sentence that can be measured.

``python -m experiments PAPER`` measures the claims of a paper, ``python -m experiments all``
those of all. A paper is a folder here; a claim is a function in one of its modules, wrapped by
:func:`experiments.claim.claim`. Nothing else has to be changed to add one.
"""
