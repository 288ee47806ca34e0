#!/usr/bin/env python3
"""How long a plan for a demand takes: demands.py GTOPO [GTOPO ...]

Runs gtopo search --demand on as many dgx-h100 below rails as NODES says
("1 2 4 8"), for as many matrices as MATRICES says (7): four experts a rank,
asked for by Zipf's law of exponent 1.2, by every other one's ranks in one
order.  Prints processor time in milliseconds, reading and writing included, a
line for each number of GPUs and each program, so that two builds are compared
in turns.
"""
import os
import random
import statistics
import subprocess
import sys
import tempfile

MACHINE = """<cluster version="1">
<node file="%s" nets="0,3-6,9-11" count="%d"/>
<fabric><level rail="each"/></fabric>
</cluster>
"""
EXPERTS_EACH, RANK_BYTES, GRAIN = 4, 1 << 26, 1 << 16


def matrix(n, seed):
    draw = random.Random(seed)
    order = list(range(n * EXPERTS_EACH))
    weights = [(e + 1) ** -1.2 for e in order]
    rows = []
    for rank in range(n):
        if rank == 0 or seed % 2:
            draw.shuffle(order)
        row = [0] * n
        for expert, weight in zip(order, weights):
            row[expert // EXPERTS_EACH] += RANK_BYTES * weight / sum(weights)
        rows.append(",".join(str(int(b) // GRAIN * GRAIN) for b in row))
    return "\n".join(rows) + "\n"


def processor_ms(command):
    _, status, usage = os.wait4(subprocess.Popen(command).pid, 0)
    if status:
        sys.exit("demands.py: failed: " + " ".join(command))
    return 1e3 * (usage.ru_utime + usage.ru_stime)


def main():
    machine = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                           "../share/xml/dgx-h100.xml")
    count = int(os.environ.get("MATRICES", "7"))
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        cluster, demand, plan = (os.path.join(folder, name) for name in
                                 ("cluster.xml", "demand.csv", "plan.json"))
        for nodes in map(int, os.environ.get("NODES", "1 2 4 8").split()):
            with open(cluster, "w") as out:
                out.write(MACHINE % (machine, nodes))
            took = {gtopo: [] for gtopo in sys.argv[1:]}
            for seed in range(count):
                with open(demand, "w") as out:
                    out.write(matrix(8 * nodes, seed))
                for gtopo in took:
                    took[gtopo].append(processor_ms(
                        [gtopo, "search", "-q", "--demand", demand,
                         "-o", plan, cluster if nodes > 1 else machine]))
            for gtopo, ms in took.items():
                print("%2d GPUs %8.1f ms, %.1f to %.1f  %s" % (
                    8 * nodes, statistics.median(ms), min(ms), max(ms),
                    gtopo), flush=True)


if __name__ == "__main__":
    main()
