"""Prints a topology with peer access off: shut.py FILE [PAIRS].

Every GPU's gt_p2p says that it reaches the memory of no other one, or not that
of those it is paired with by number (0-1,2-3); whatever else the file says of
peer access is left out.
"""
import re
import sys


def main(path, pairs=None):
    apart = pairs and {frozenset(map(int, pair.split("-")))
                       for pair in pairs.split(",")}
    text = open(path, encoding="utf-8").read()
    text = re.sub(r' gt_p2p(_why)?="[^"]*"', "", text)
    devs = sorted(int(dev) for dev in re.findall(
        r'<gpu\b[^>]*\bdev="(\d+)"', text))

    def row(gpu):
        me = int(re.search(r'\bdev="(\d+)"', gpu[0])[1])
        words = " ".join(
            "x" if dev == me else
            "rwa" if apart and {dev, me} not in apart else "---"
            for dev in devs)
        return '<gpu gt_p2p="%s"' % words + gpu[0][4:]

    sys.stdout.write(re.sub(r"<gpu\b[^>]*", row, text))


main(*sys.argv[1:])
