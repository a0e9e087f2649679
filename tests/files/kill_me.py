"""Writes a folder of three files that belong together, slowly: python kill_me.py FOLDER WORD."""

import sys
import time
from pathlib import Path

from loadstone.files.atomic import writing_folder

NAMES = ("a", "b", "c")


def main(folder, word):
    print("ready", flush=True)
    with writing_folder(Path(folder), NAMES, force=True) as workshop:
        for name in NAMES:
            (workshop / name).write_text(word)
            time.sleep(0.01)


if __name__ == "__main__":
    main(*sys.argv[1:])
