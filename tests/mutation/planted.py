#!/usr/bin/env python3
"""Bugs that are planted in the source, which simulated worlds must find.

    planted.py BUILD [-k WORDS] [-t SECONDS]

Plants each bug of the file `planted` (with WORDS only those that have them)
alone, as run.py does with its changes, and lets the program of tests/sim that
it names try worlds from seed 1 on until one is bad, for at most SECONDS (60).
Prints how long that took, and which world it was.  Exit status 0: all were
found.
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
import run  # noqa: E402


def bugs():
    """Part, words, program, source, and pairs of text before and after; a line
    of two dashes stands between two places."""
    text = (run.HERE / 'planted').read_text()
    for block in re.split(r'^\* ', text, flags=re.M)[1:]:
        title, where, *lines = block.rstrip('\n').split('\n')
        part, words = title.split(': ', 1)
        yield (part, words, *where.split(), [
            ['\n'.join(l[1:] for l in place.split('\n') if l[:1] == sign)
             for sign in '-+']
            for place in '\n'.join(lines).split('\n--\n')])


def planted(source, places):
    """The text of a source with the bug."""
    text = (run.TOP / source).read_text()
    for before, after in places:
        if text.count(before) != 1:
            sys.exit(f'{source} has not one place with\n{before}')
        text = text.replace(before, after)
    return text


def find(build, program, source, text, limit):
    """Seconds until a world is bad and what was said of it; None: none is."""
    with tempfile.TemporaryDirectory(dir=build.folder) as name:
        room = pathlib.Path(name)
        objects = build.compiled(source, text, room)
        if not objects:
            sys.exit(f'{source} cannot be compiled with the bug')
        made = build.linked(f'tests/sim/{program}', objects, room / program)
        begin = time.monotonic()
        try:
            done = subprocess.run(
                [*run.SANDBOX, str(made), '-f', '-n', '1000000000'], text=True,
                capture_output=True, errors='replace', timeout=limit)
        except subprocess.TimeoutExpired:
            return None
        return time.monotonic() - begin, (done.stdout.split('\n')[0] or
                                          f'status {done.returncode}')


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument('build')
    parser.add_argument('-k', dest='words', default='')
    parser.add_argument('-t', dest='limit', type=float, default=60)
    args = parser.parse_args()
    build = run.Build(args.build)
    missed = 0
    for part, words, program, source, places in bugs():
        if args.words not in f'{part}: {words}':
            continue
        found = find(build, program, source, planted(source, places),
                     args.limit)
        missed += found is None
        print(f'| {part} | {words} | {program} | ' +
              (f'{found[0]:.1f} s |' if found else 'not |'), flush=True)
        if found:
            print(f'# {found[1]}', flush=True)
    sys.exit(missed > 0)


if __name__ == '__main__':
    main()
