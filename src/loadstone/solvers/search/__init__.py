"""The parts of the portfolio search: sparse blocks of starts, sample space, screen, finish."""
