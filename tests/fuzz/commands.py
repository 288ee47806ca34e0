#!/usr/bin/env python3
"""Whole commands on files that are nearly right.

    commands.py [-n CASES] [-s SEED] [-t SECONDS] [-k DIR] GTOPO SOURCES

Takes the topologies and plans of a source tree, changes one to four things of
their structure, and gives the result to every command that reads such a file.
A case is its number: `-s SEED -n 1` makes it again, and -k keeps the files of
what failed.  What must hold:

  - no signal, no sanitizer's words, no run beyond the time limit;
  - status 0, 1 or 2; 2 says why, after the command's name;
  - a plan that search finds is one that verify accepts;
  - a plan that verify refuses does not run, and one that it accepts runs on
    CPU ranks with right values;
  - what lint --fix writes has nothing left that it could mend.
"""
import argparse
import copy
import glob
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET

LIMIT_S = 60
MOST_CHANGES = 4
NUMBERS = ["0", "-1", "1", "2", "0.5", "1e-9", "1e9", "1e400", "nan", "inf",
           "4294967296", "18446744073709551616", "-0", "0x10", "", " ", "7z"]
WORDS = ["", "gpu", "GPU0", "0000:00:00.0", "ffff:ff:1f.7", "\u00e9\u4e2d",
         "a" * 300, "../../x", "%s%n", "<&>", "mlx5_0"]


class Failure(Exception):
    """Something that must hold does not."""


# --- topologies ------------------------------------------------------------

def parents_of(root):
    return [(parent, child) for parent in root.iter() for child in parent]


def values_of(root):
    return [value for node in root.iter() for value in node.attrib.values()]


def xml_attribute(rng, root):
    node = rng.choice([n for n in root.iter() if n.attrib] or [root])
    if not node.attrib:
        return
    key = rng.choice(sorted(node.attrib))
    what = rng.randrange(6)
    if what == 0:
        del node.attrib[key]
    elif what == 1:
        node.attrib[key] = rng.choice(NUMBERS)
    elif what == 2:
        node.attrib[key] = rng.choice(WORDS)
    elif what == 3:
        node.attrib[key] = rng.choice(values_of(root))
    elif what == 4:
        node.attrib[rng.choice(["x", key + "_", "bandwidth"])] = \
            node.attrib[key]
    else:
        other = rng.choice([n for n in root.iter() if n.attrib])
        node.attrib[key] = other.attrib.get(key, node.attrib[key])


def xml_drop(rng, root):
    parent, child = rng.choice(parents_of(root))
    parent.remove(child)


def xml_twin(rng, root):
    parent, child = rng.choice(parents_of(root))
    parent.insert(rng.randrange(len(parent) + 1), copy.deepcopy(child))


def xml_move(rng, root):
    parent, child = rng.choice(parents_of(root))
    inside = set(child.iter())
    to = rng.choice([n for n in root.iter() if n not in inside])
    parent.remove(child)
    to.append(child)


def xml_swap(rng, root):
    (a, x), (b, y) = rng.choice(parents_of(root)), rng.choice(parents_of(root))
    if x in y.iter() or y in x.iter():
        return
    i, j = list(a).index(x), list(b).index(y)
    a[i], b[j] = y, x


def xml_tag(rng, root):
    node = rng.choice(list(root.iter()))
    node.tag = rng.choice([n.tag for n in root.iter()] + ["thing"])


XML_CHANGES = [xml_attribute] * 6 + [xml_drop] * 2 + \
    [xml_twin, xml_move, xml_swap, xml_tag]


def change_topology(rng, source, target):
    root = ET.parse(source).getroot()
    for _ in range(rng.randint(1, MOST_CHANGES)):
        if len(root):
            rng.choice(XML_CHANGES)(rng, root)
    ET.ElementTree(root).write(target, encoding="utf-8")


# --- plans -----------------------------------------------------------------

def places_of(value):
    """Every (container, key) of a JSON value."""
    keys = value.keys() if isinstance(value, dict) else range(len(value))
    for key in keys:
        yield value, key
        if isinstance(value[key], (dict, list)):
            yield from places_of(value[key])


def json_leaf(rng, old):
    if isinstance(old, bool):
        return not old
    if isinstance(old, (int, float)):
        return rng.choice([0, -1, 1, old + 1, old - 1, old * 2, -old, 1e308,
                           2 ** 32, 2 ** 63, 0.5, str(old), None])
    if isinstance(old, str):
        return rng.choice(WORDS + [0, None, [], old + " ", old.upper()])
    return rng.choice([0, "", None, [], {}])


def change_place(rng, places):
    at, key = rng.choice(places)
    what = rng.randrange(8)
    if what < 3:
        at[key] = json_leaf(rng, at[key])
    elif what == 3:
        other, its = rng.choice(places)
        at[key] = copy.deepcopy(other[its])
    elif what == 4 and isinstance(at, dict):
        at[rng.choice(["x_free", "unknown", key + "s"])] = at[key]
    elif what == 5:
        del at[key]
    elif what == 6 and isinstance(at, list):
        rng.shuffle(at)
    elif isinstance(at, list):
        at.insert(key, copy.deepcopy(at[key]))
    else:
        at[key] = json_leaf(rng, at[key])


def change_plan(rng, source, target):
    with open(source, encoding="utf-8") as file:
        plan = json.load(file)
    for _ in range(rng.randint(1, MOST_CHANGES)):
        places = list(places_of(plan))
        if places:
            change_place(rng, places)
    with open(target, "w", encoding="utf-8") as file:
        json.dump(plan, file)


# --- what must hold --------------------------------------------------------

class Commands:
    def __init__(self, gtopo, work):
        self.gtopo, self.work, self.calls = gtopo, work, 0

    def path(self, name):
        return os.path.join(self.work, name)

    def call(self, *args, allowed=(0, 1, 2)):
        """Runs one command; returns its status."""
        self.calls += 1
        told = " ".join(args)
        try:
            done = subprocess.run([self.gtopo, *args], cwd=self.work,
                                  stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, timeout=LIMIT_S,
                                  check=False)
        except subprocess.TimeoutExpired:
            raise Failure(f"{told}: not done after {LIMIT_S} s") from None
        words = done.stderr.decode(errors="replace")
        if done.returncode < 0:
            raise Failure(f"{told}: signal {-done.returncode}: {words[-900:]}")
        if "Sanitizer" in words or "runtime error:" in words:
            raise Failure(f"{told}: {words[-1800:]}")
        if done.returncode not in allowed:
            raise Failure(f"{told}: status {done.returncode}: {words[-900:]}")
        if done.returncode == 2 and f"gtopo {args[0]}: " not in words:
            raise Failure(f"{told}: status 2 without a reason: {words[-900:]}")
        return done.returncode

    def topology(self, rng, name, origin):
        for args in (["show"], ["show", "--svg"], ["show", "--json"],
                     ["paths"], ["paths", "--matrix"],
                     ["paths", "--bottlenecks"], ["lint", "--json"], ["nccl"],
                     ["page", "-o", "page.html"], ["pick", "-n", "2"]):
            self.call(*args, name)
        self.call("diff", name, origin)
        self.lint_mends(name)
        algo = rng.choice(["auto", "ring", "forest", "tree", "flow"])
        coll = rng.choice(["allreduce", "allgather", "broadcast", "alltoall"])
        found = self.call("search", "--algo", algo, "--coll", coll,
                          "--budget", "2s", "-o", "found.json", name)
        if not found and self.call("verify", "found.json"):
            raise Failure(f"search --algo {algo} --coll {coll}: verify "
                          "refuses what it found")

    def lint_mends(self, name):
        if self.call("lint", "--fix", "-o", "mended.xml", name) == 2:
            return
        if os.path.exists(self.path("mended.xml")):
            self.call("lint", "--fix", "-o", "again.xml", "mended.xml")
            with open(self.path("mended.xml"), "rb") as one, \
                    open(self.path("again.xml"), "rb") as two:
                if one.read() != two.read():
                    raise Failure("lint --fix of what it wrote changes it")

    def plan(self, name, origin):
        right = self.call("verify", name) == 0
        for args in (["predict"], ["steps"],
                     ["export", "--to", "dot"], ["export", "--to", "msccl"],
                     ["export", "--to", "nccl-graph"]):
            self.call(*args, name)
        self.call("compare", name, origin)
        run = ("run", "--device", "host", "-b", "4K", "-e", "4K", "-n", "1",
               "-w", "0", "--timeout", "20s")
        ran = self.call(*run, name)
        # There are plans for what no engine does, such as switches that add up.
        if right and ran and not self.call(*run, origin):
            raise Failure("run: does not run what verify accepts")
        if not right and not ran:
            raise Failure("run: runs what verify refuses")


def sources_of(tree):
    topologies = sorted(glob.glob(f"{tree}/share/xml/*.xml") +
                        glob.glob(f"{tree}/tests/cases/topo/*/*/input.xml"))
    plans = sorted(glob.glob(f"{tree}/tests/cases/plan/good/*/plan.json"))
    # A cluster of a hundred GPUs takes long and shows no more.
    small = [t for t in topologies if os.path.getsize(t) < 40000]
    return [(change_topology, "node.xml", t) for t in small if readable(t)] + \
        [(change_plan, "plan.json", p) for p in plans]


def readable(path):
    try:
        return len(ET.parse(path).getroot()) > 0
    except ET.ParseError:
        return False


def one_case(commands, seed, sources):
    rng = random.Random(seed)
    change, name, source = rng.choice(sources)
    shutil.rmtree(commands.work, ignore_errors=True)
    os.mkdir(commands.work)
    origin = "origin" + os.path.splitext(name)[1]
    shutil.copy(source, commands.path(origin))
    change(rng, source, commands.path(name))
    try:
        if name == "node.xml":
            commands.topology(rng, name, origin)
        else:
            commands.plan(name, origin)
    except Failure as failure:
        print(f"seed {seed}, {os.path.basename(os.path.dirname(source))}/"
              f"{os.path.basename(source)}: {failure}", flush=True)
        return 1
    return 0


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("-n", type=int, default=100)
    parser.add_argument("-s", type=int, default=1)
    parser.add_argument("-t", type=float, default=1e9)
    parser.add_argument("-k", default="")
    parser.add_argument("gtopo")
    parser.add_argument("tree")
    args = parser.parse_args()
    sources = sources_of(os.path.abspath(args.tree))
    end, bad, done = time.monotonic() + args.t, 0, 0
    with tempfile.TemporaryDirectory() as work:
        commands = Commands(os.path.abspath(args.gtopo),
                            os.path.join(work, "case"))
        for seed in range(args.s, args.s + args.n):
            if time.monotonic() > end:
                break
            failed = one_case(commands, seed, sources)
            if failed and args.k:
                shutil.copytree(commands.work, os.path.join(args.k, str(seed)),
                                dirs_exist_ok=True)
            bad += failed
            done += 1
    print(f"{done} cases of {len(sources)} files, {commands.calls} commands, "
          f"{bad} failed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
