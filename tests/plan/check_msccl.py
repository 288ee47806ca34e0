"""check_msccl.py FILE: is it an MSCCL algorithm that computes its collective?

Checks elements, attributes and limits, then executes all thread blocks on
sets of contributions, with few slots in each FIFO and in random orders, in
place and out of place.
"""
import random
import sys
import xml.etree.ElementTree as ET

SLOTS = 2
TYPES = {  # receives, reads src, writes dst, sends
    "s": (0, 1, 0, 1), "r": (1, 0, 1, 0), "rcs": (1, 0, 1, 1),
    "rrs": (1, 1, 0, 1), "rrc": (1, 1, 1, 0), "rrcs": (1, 1, 1, 1),
    "cpy": (0, 1, 1, 0), "nop": (0, 0, 0, 0)}
ALGO = ["name", "proto", "nchannels", "nchunksperloop", "ngpus", "coll",
        "inplace", "outofplace", "minBytes", "maxBytes"]
GPU = ["id", "i_chunks", "o_chunks", "s_chunks"]
TB = ["id", "send", "recv", "chan"]
STEP = ["s", "type", "srcbuf", "srcoff", "dstbuf", "dstoff", "cnt", "depid",
        "deps", "hasdep"]


def number(elem, key):
    return int(elem.get(key))


def check_form(algo):
    assert algo.tag == "algo" and list(algo.attrib) == ALGO, algo.attrib
    assert algo.get("proto") in ("Simple", "LL", "LL128")
    n = number(algo, "ngpus")
    assert [number(gpu, "id") for gpu in algo] == list(range(n))
    fifos = {"send": set(), "recv": set()}
    chans = set()
    for gpu in algo:
        assert gpu.tag == "gpu" and list(gpu.attrib) == GPU
        assert [number(tb, "id") for tb in gpu] == list(range(len(gpu)))
        assert len(gpu) <= 64
        waited = {(number(s, "depid"), number(s, "deps")) for s in gpu.iter(
            "step") if s.get("depid") != "-1"}
        for tb in gpu:
            assert tb.tag == "tb" and list(tb.attrib) == TB
            assert len(tb) <= 64
            chans.add(number(tb, "chan"))
            for way in "send", "recv":
                if tb.get(way) == "-1":
                    continue
                ends = number(gpu, "id"), number(tb, way)
                fifo = (ends if way == "send" else ends[::-1],
                        tb.get("chan"))
                assert ends[0] != ends[1] and fifo not in fifos[way], fifo
                fifos[way].add(fifo)
            for i, step in enumerate(tb):
                check_step(gpu, tb, i, step, waited)
    assert fifos["send"] == fifos["recv"]
    assert max(chans) < number(algo, "nchannels") <= 32


def check_step(gpu, tb, i, step, waited):
    assert step.tag == "step" and list(step.attrib) == STEP
    assert number(step, "s") == i
    recv, src, dst, send = TYPES[step.get("type")]
    assert not recv or tb.get("recv") != "-1"
    assert not send or tb.get("send") != "-1"
    count = number(step, "cnt")
    assert 0 < count < 72 or step.get("type") == "nop"
    for name, used in ("src", src), ("dst", dst):
        at = number(step, name + "off")
        assert (at >= 0) == bool(used)
        room = number(gpu, step.get(name + "buf") + "_chunks")
        assert not used or at + count <= room, (at, count, room)
    assert number(step, "hasdep") == ((number(tb, "id"), i) in waited)
    if step.get("depid") != "-1":
        other = gpu[number(step, "depid")]
        assert other is not tb and number(step, "deps") < len(other)


class Run:
    """One execution; memory is a dict of (buffer, chunk) -> contributions."""

    def __init__(self, algo, inplace, seed):
        self.algo, self.inplace = algo, inplace
        self.n = number(algo, "ngpus")
        self.all = number(algo, "nchunksperloop")
        self.random = random.Random(seed)
        self.coll = algo.get("coll")
        self.block = self.all // (self.n if self.blocks() else 1)
        self.memory = [{} for _ in algo]
        self.fifos, self.read = {}, {}
        for r, gpu in enumerate(algo):
            for i in range(number(gpu, "i_chunks")):
                base = r * self.block if self.own("i", gpu) else 0
                self.memory[r][self.place(r, "i", i)] = (base + i,
                                                         frozenset([r]))

    def blocks(self):
        return self.coll in ("allgather", "reducescatter", "alltoall",
                             "gather", "scatter")

    def own(self, buf, gpu):
        return self.blocks() and number(gpu, buf + "_chunks") < self.all

    def place(self, rank, buf, at):
        """In place, the smaller buffer is the rank's part of the larger."""
        if not self.inplace or buf == "s":
            return buf, at
        if self.own(buf, self.algo[rank]):
            at += rank * self.block
        return "io", at

    def step(self, r, tb, step):
        kind = step.get("type")
        recv, src, dst, send = TYPES[kind]
        chan, count = tb.get("chan"), number(step, "cnt")
        came = (number(tb, "recv"), r, chan)
        goes = (r, number(tb, "send"), chan)
        if recv and not self.fifos.get(came):
            return False
        if send and len(self.fifos.setdefault(goes, [])) >= SLOTS:
            return False
        values = [None] * count
        if src:
            at = number(step, "srcoff")
            values = [self.memory[r][self.place(r, step.get("srcbuf"), at + i)]
                      for i in range(count)]
        if recv:
            taken = self.fifos[came].pop(0)
            assert len(taken) == count, "lengths differ on a FIFO"
            values = [self.add(a, b) for a, b in zip(values, taken)]
        if dst:
            at = number(step, "dstoff")
            for i in range(count):
                self.memory[r][self.place(r, step.get("dstbuf"),
                                          at + i)] = values[i]
        if send:
            self.fifos[goes].append(values)
        return True

    @staticmethod
    def add(a, b):
        if a is None or b is None:
            return a or b
        assert a[0] == b[0], "different chunks are added"
        assert not a[1] & b[1], "a contribution counts twice"
        return a[0], a[1] | b[1]

    def go(self):
        at = {(r, t): 0 for r, gpu in enumerate(self.algo)
              for t in range(len(gpu))}
        while True:
            ready = list(at)
            self.random.shuffle(ready)
            moved = False
            for r, t in ready:
                tb = self.algo[r][t]
                if at[r, t] == len(tb):
                    continue
                step = tb[at[r, t]]
                dep = number(step, "depid"), number(step, "deps")
                if dep[0] >= 0 and at[r, dep[0]] <= dep[1]:
                    continue
                if self.step(r, tb, step):
                    at[r, t] += 1
                    moved = True
            if not moved:
                break
        for (r, t), step in at.items():
            assert step == len(self.algo[r][t]), f"gpu {r} tb {t} waits"
        assert not any(self.fifos.values()), "a slice is left over"

    def check(self):
        everyone = frozenset(range(self.n))
        sums = self.coll in ("allreduce", "reducescatter", "reduce")
        for r, gpu in enumerate(self.algo):
            for i in range(number(gpu, "o_chunks")):
                got = self.memory[r].get(self.place(r, "o", i))
                at = i + (r * self.block if self.own("o", gpu) else 0)
                if self.coll == "alltoall":
                    want = (r * self.block + i % self.block,
                            frozenset([i // self.block]))
                elif sums:
                    want = at, everyone
                else:
                    want = at, None
                assert got and got[0] == want[0], (r, i, got, want)
                assert want[1] in (None, got[1]), (r, i, got, want)


tree = ET.parse(sys.argv[1]).getroot()
check_form(tree)
for inplace in 0, 1:
    if not number(tree, "inplace" if inplace else "outofplace"):
        continue
    for seed in range(5):
        run = Run(tree, inplace, seed)
        run.go()
        run.check()
