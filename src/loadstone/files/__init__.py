"""Files in and out: written whole or not at all, read without guessing in silence."""
