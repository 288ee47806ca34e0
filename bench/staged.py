#!/usr/bin/env python3
"""The cost model against GPUs without peer access:

    staged.py [-v] GTOPO TABLE...

Tables are bench/results/*.no-peers.txt: races of bench/no-peers.sh, which name
the way that each size took, and runs of tests/gpu/run.sh, whose ways are those
that src/exec/cuda/tuning.c chose at that commit (way_of).  A run has two
iterations a value, so the quicker one of in place and out of place counts.

Prints how far the price of each value's way is from what was measured: with
the defaults of src/plan/cost/params.c; and for each kind of GPU with what
bench/fit, beside GTOPO, fits to all tables of another kind, of values that were
measured the same way, on streams or in graphs.  `median` is that of |price /
measured - 1| over all sizes from 1 KiB on, `bias` the median without its sign,
`small` the median up to 64 KiB, `large` above.  -v prints each value, too.

The machine is share/xml/h200-vm-4.xml, two GPUs of it, peer access off.
"""
import collections
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile

MACHINE = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                       "../share/xml/h200-vm-4.xml")
BLOCKS = {"allgather", "reducescatter", "alltoall", "gather", "scatter"}
SUMS = {"allreduce", "reduce", "reducescatter"}
SMALL_BYTES = 64 << 10

# What a fit of a protocol cannot tell: which part of a message without bytes
# is the launch, and what workers and the rank's memory, far from full, carry.
KEPT = {"ll": "base,worker,local", "simple": "worker,local",
        "ce": "worker,local"}

Value = collections.namedtuple("Value", "coll bytes mode us algo protocol")
Table = collections.namedtuple("Table", "kind name values")


def way_of(coll, size):
    """The way that the engine of 7db8e41 took, with a plan that has a ring."""
    block = size // 2 if coll in BLOCKS else size
    if block <= (384 << 10 if coll in SUMS else 768 << 10):
        return "one-shot", "ll"
    if coll in SUMS and block <= 8 << 20:
        return "ring", "simple"
    return "two-shot" if coll == "allreduce" else "one-shot", "ce"


def read_race(lines):
    for line in lines:
        row = re.match(r"(\w+) +(\d+) (?:(stream|graph) )? *([\d.]+) "
                       r"([\w-]+) (\w+) ", line)
        if row:
            yield Value(row[1], int(row[2]), row[3] or "stream",
                        float(row[4]), row[5], row[6])


def read_run(lines):
    mode, coll = "stream", None
    for line in lines:
        if line.startswith("$ gtopo run"):
            mode = "graph" if "--graph" in line else "stream"
        if re.fullmatch(r"# (\w+)\n", line):
            coll = line[2:-1]
        words = line.split()
        if words and words[0].isdigit():
            yield Value(coll, int(words[0]), mode,
                        min(float(words[5]), float(words[9])),
                        *way_of(coll, int(words[0])))


def read_table(path):
    with open(path, encoding="utf-8") as text:
        lines = text.readlines()
    is_run = any("out-of-place" in line for line in lines)
    kind = re.search(r"NVIDIA (\w+)", "".join(lines[:1]))
    values = list((read_run if is_run else read_race)(lines))
    if not kind or not values:
        sys.exit("staged.py: %s: its first line names no kind of GPU, or it "
                 "has no line of a race and no row of a run" % path)
    return Table(kind[1], os.path.basename(path).split(".")[0], values)


class Model:
    """Prices of two GPUs' ways, by gtopo predict."""

    def __init__(self, gtopo, folder):
        self.gtopo, self.folder, self.known = gtopo, folder, {}
        out = subprocess.check_output(
            [gtopo, "search", "-q", "--p2p", "off", "--gpus", "0,1", MACHINE])
        self.plan = json.loads(out)
        self.plan.pop("proof", None)

    def write(self, name, what):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as out:
            json.dump(what, out)
        return path

    def row(self, coll, algo, protocol):
        shape = "ring" if algo == "ring" else "mesh"
        channels = [i for i, c in enumerate(self.plan["channels"])
                    if c["shape"] == shape]
        return dict(self.plan["select"][-1], coll=coll, algo=algo,
                    protocol=protocol, channels=channels)

    def ways(self, ways):
        """A plan whose rows are these ways, one a collective."""
        rows = [self.row(*way) for way in sorted(ways)]
        if all(row["coll"] != "allreduce" for row in rows):
            last = {"ce": ("two-shot", "ce"), "ll": ("one-shot", "ll"),
                    "simple": ("ring", "simple")}[rows[0]["protocol"]]
            rows.append(self.row("allreduce", *last))
        return dict(self.plan, select=rows)

    def prices(self, way, params):
        """Times in us by size, powers of two."""
        if (way, params) not in self.known:
            command = [self.gtopo, "predict", "--coll", way[0], "-b", "1K",
                       "-e", "256M", "--json",
                       self.write("plan.json", self.ways([way]))]
            if params:
                command[2:2] = ["--params", params]
            rows = json.loads(subprocess.check_output(command))["rows"]
            self.known[way, params] = {r["bytes"]: r["time_us"] for r in rows}
        return self.known[way, params]

    def fit(self, name, values):
        """The file of parameters that fit these values."""
        params = {"schema": "gtopo.cost/1", "protocols": {}}
        fit = os.path.join(os.path.dirname(self.gtopo), "bench/fit")
        for protocol in sorted({v.protocol for v in values}):
            mine = [v for v in values if v.protocol == protocol]
            plan = self.ways({(v.coll, v.algo, v.protocol) for v in mine})
            report = {"rows": [{"ranks": 2, "coll": v.coll, "bytes": v.bytes,
                                "time_us": v.us} for v in mine]}
            out = subprocess.check_output(
                [fit, "-k", KEPT[protocol], self.write("fit.json", plan),
                 self.write("report.json", report)])
            params["protocols"].update(json.loads(out)["protocols"])
        for protocol, p in params["protocols"].items():
            print("# %s: %-6s host_base_us %s, hop_us %s, host_rate %s, "
                  "host_one_way_rate %s" % (
                      name, protocol, p["host_base_us"], p["hop_us"]["HOST"],
                      p["host_rate"], p["host_one_way_rate"]))
        return self.write(name.replace(" ", "-") + ".json", params)


def judge(model, values, params, words, verbose):
    off, small, large = [], [], []
    for v in values:
        price = model.prices((v.coll, v.algo, v.protocol), params)[v.bytes]
        ratio = price / v.us - 1
        off.append(ratio)
        (small if v.bytes <= SMALL_BYTES else large).append(abs(ratio))
        if verbose:
            print("  %-13s %9d %-6s %9.2f measured %9.2f price %+4.0f %%  "
                  "%s %s" % (v.coll, v.bytes, v.mode, v.us, price,
                             100 * ratio, v.algo, v.protocol))
    print("%-52s median %3.0f %%  bias %+3.0f %%  most %3.0f %%  small "
          "%3.0f %%  large %3.0f %%  %d values" % (
              words, 100 * statistics.median(map(abs, off)),
              100 * statistics.median(off), 100 * max(map(abs, off)),
              100 * statistics.median(small), 100 * statistics.median(large),
              len(off)))


def main(verbose, gtopo, paths):
    tables = [read_table(path) for path in paths]
    kinds = sorted({table.kind for table in tables})
    with tempfile.TemporaryDirectory() as folder:
        model = Model(gtopo, folder)
        for mode in "stream", "graph":
            params = {"defaults": None}
            for kind in kinds:
                values = [v for t in tables if t.kind == kind
                          for v in t.values if v.mode == mode]
                params[kind] = model.fit("%s %s" % (kind, mode), values)
            for table in tables:
                values = [v for v in table.values if v.mode == mode]
                for source in params:
                    if values and source != table.kind:
                        judge(model, values, params[source],
                              "%s, %s, on %s" % (
                                  source if source == "defaults" else
                                  "fitted on " + source, mode, table.name),
                              verbose)


if __name__ == "__main__":
    arguments = [a for a in sys.argv[1:] if a != "-v"]
    if len(arguments) < 2:
        sys.exit(__doc__)
    main("-v" in sys.argv, arguments[0], arguments[1:])
