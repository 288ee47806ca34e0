#!/usr/bin/env python3
"""routes.py GTOPO MUTATE COPIES FILE...: values of plans beside what wires allow.

A row a machine, on standard output: the value of the best rings and trees of an
all-reduce and of an all-gather by trees, GB/s busbw, with < where the plan's
bound is higher, and +N where COPIES renumbered machines have N other values;
then what an all-gather could reach on all links that lead from GPU to GPU,
whatever their routes are: the least cut, by exact maximum flows made here and
not by gtopo, and its part that the all-gather reaches.  PCI links count there
without the charge of traffic between peers.  MUTATE is tests/diff/mutate.py,
which renumbers; what has no plan is left out.
"""
import glob
import json
import os
import subprocess
import sys
import tempfile
from fractions import Fraction
from math import lcm

SHAPES = (("ring", "allreduce"), ("tree", "allreduce"),
          ("forest", "allgather"))


def run(*words):
    return subprocess.run(words, capture_output=True, text=True)


def searched(gtopo, file, algo, coll):
    """The exact busbw of value and bound, or None where there is no such plan."""
    got = run(gtopo, "search", "-q", "--algo", algo, "--coll", coll, file)
    if got.returncode:
        return None
    plan = json.loads(got.stdout)
    n = len(plan["ranks"])
    unit = {"ring": Fraction(1), "tree": Fraction(2 * (n - 1), n),
            "forest": Fraction(n - 1, n)}[algo]
    return [Fraction(plan["proof"][k]) * unit for k in ("value", "bound")]


def maxflow(n, arcs, source, sink):
    """Dinic's algorithm; returns the flow and the source's side."""
    head = [[] for _ in range(n)]
    to, left = [], []
    for a, b, c in arcs:
        head[a].append(len(to))
        to += [b, a]
        left += [c, 0]
        head[b].append(len(to) - 1)
    total = 0
    while True:
        level = {source: 0}
        queue = [source]
        for v in queue:
            for e in head[v]:
                if left[e] and to[e] not in level:
                    level[to[e]] = level[v] + 1
                    queue.append(to[e])
        if sink not in level:
            return total, set(level)
        at = [0] * n

        def push(v, room):
            if v == sink:
                return room
            while at[v] < len(head[v]):
                e = head[v][at[v]]
                if left[e] and level.get(to[e]) == level[v] + 1:
                    got = push(to[e], min(room, left[e]))
                    if got:
                        left[e] -= got
                        left[e ^ 1] += got
                        return got
                at[v] += 1
            return 0

        while True:
            got = push(source, 1 << 200)
            if not got:
                break
            total += got


def links_bound(gtopo, file):
    """(n - 1) times the least of what leaves a set, over its GPUs."""
    got = run(gtopo, "show", "--json", "--rates", "measured", file)
    graph = json.loads(got.stdout)
    place = {node["id"]: i for i, node in enumerate(graph["nodes"])}
    gpus = [place[x["id"]] for x in graph["nodes"] if x["kind"] == "GPU"]
    links = [(place[x["from"]], place[x["to"]], Fraction(x["gbs"]))
             for x in graph["links"]]
    unit = lcm(*[c.denominator for _, _, c in links])
    arcs = [(a, b, int(c * unit)) for a, b, c in links]
    n, source = len(place), len(place)
    if len(gpus) < 2:
        return None
    best = Fraction(sum(c for _, _, c in arcs) + 1)
    fine = 0
    while fine < len(gpus):
        for g in gpus:
            p, q = best.numerator, best.denominator
            feed = [(source, x, p) for x in gpus]
            flow, side = maxflow(n + 1, [(a, b, c * q) for a, b, c in arcs] + feed,
                                 source, g)
            fine += 1
            if flow < p * len(gpus):
                out = sum(c for a, b, c in arcs if a in side and b not in side)
                best = Fraction(out, len([x for x in gpus if x in side]))
                fine = 0
            if fine == len(gpus):
                break
    return best / unit * (len(gpus) - 1)


def cell(found, others):
    if not found:
        return "%12s" % "-"
    more = len(others - {found[0]})
    return "%9.2f%s%-2s" % (found[0], " " if found[0] == found[1] else "<",
                            "+%d" % more if more else "")


def row(gtopo, mutate, copies, file):
    values = [searched(gtopo, file, *shape) for shape in SHAPES]
    if not values[2]:
        return
    others = [set() for _ in SHAPES]
    with tempfile.TemporaryDirectory() as tmp:
        run(sys.executable, mutate, file, tmp, copies)
        for copy in glob.glob(tmp + "/*.xml"):
            for shape, found in zip(SHAPES, others):
                got = searched(gtopo, copy, *shape)
                found.add(got and got[0])
    bound = links_bound(gtopo, file)
    print("%-36s" % os.path.basename(file)[:-4],
          *[cell(v, o) for v, o in zip(values, others)],
          "%9.2f %7.1f%%" % (bound, 100 * values[2][0] / bound), flush=True)


def main():
    gtopo, mutate, copies, *files = sys.argv[1:]
    print("%-36s" % "machine",
          *["%9s   " % s for s in ("ring", "tree", "all-gather")],
          "%9s %8s" % ("links", "reached"))
    for file in files:
        row(gtopo, mutate, copies, file)


main()
