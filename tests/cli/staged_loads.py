"""Checks the loads of a plan whose hops all wait in the host's memory.

staged_loads.py TOPOLOGY PLAN: reads both by itself.  Every GPU's way up is the
chain of <pci> elements that it is in, so a hop from one GPU to another has to
be that chain, the interconnect if they are of two sockets, and the other chain
down.  What root ports, switches, memories and sockets carry is added up from
that, and rates of links are worked out from the file, as NCCL counts.
"""
import json
import sys
import xml.etree.ElementTree as ET
from fractions import Fraction

# 1e8 bits a second and lane, by the GT/s of the link; NCCL, src/graph/xml.h
LANE = {"2.5": 15, "5": 30, "8": 60, "16": 120, "32": 240, "64": 480}


def rate_of(pci):
    gts = pci.get("link_speed", "").split(" ")[0]
    gts = gts[:-2] if gts.endswith(".0") else gts
    lanes = int(pci.get("link_width") or 0)
    return Fraction(LANE.get(gts, 60) * (lanes or 16), 80)


def socket_rate(cpu):
    """Between two sockets; NCCL, src/graph/topo.h and topo.cc."""
    if cpu.get("vendor") == "AuthenticAMD":
        return Fraction(16)
    model = int(cpu.get("modelid", 0))
    for least, gbs in (0xCF, 40), (0x8F, 22), (0x55, 10):
        if model >= least:
            return Fraction(gbs)
    return Fraction(6)


def is_inner(pci, parent):
    """Switches of Broadcom show their halves below them; NCCL makes it one."""
    same = all(pci.get(key) == parent.get(key) for key in ("vendor", "device"))
    return same and pci.get("vendor") == "0x1000" and pci.find("gpu") is None


class Machine:
    def __init__(self, path):
        self.up = {}  # GPU's bus id -> links up to its CPU
        self.rates = {}  # link -> GB/s, one way
        root = ET.parse(path).getroot()
        for cpu in root.iter("cpu"):
            self.walk(cpu, "CPU/" + cpu.get("numaid"), [])
        for a in root.iter("cpu"):
            for b in root.iter("cpu"):
                ends = "CPU/%s>CPU/%s" % (a.get("numaid"), b.get("numaid"))
                self.rates[ends] = socket_rate(a)

    def walk(self, elem, above, links, halves=True):
        for pci in elem.findall("pci"):
            if halves and elem.tag == "pci" and is_inner(pci, elem):
                self.walk(pci, above, links, False)
                continue
            gpu = pci.find("gpu") is not None
            me = ("GPU/" if gpu else "PCI/") + pci.get("busid").lower()
            if not gpu and not any(True for _ in pci.iter("gpu")):
                continue
            way = [me + ">" + above] + links
            # Some files list a bridge once for each device below it.
            for link in me + ">" + above, above + ">" + me:
                self.rates[link] = self.rates.get(link, 0) + rate_of(pci)
            if gpu:
                self.up[pci.get("busid").lower()] = way
            self.walk(pci, me, way)

    def route(self, a, b):
        up = list(self.up[a])
        down = [">".join(reversed(link.split(">")))
                for link in reversed(self.up[b])]
        here, there = up[-1].split(">")[1], down[0].split(">")[0]
        between = [] if here == there else [here + ">" + there]
        return up + between + down, here


def main(topology, plan):
    machine = Machine(topology)
    plan = json.load(open(plan))
    said = {link["id"]: Fraction(link["gbs"]) for link in plan["links"]}
    device = [rank["device"].lower() for rank in plan["ranks"]]
    loads = dict.fromkeys(said, Fraction(0))
    memory = {}
    for channel in plan["channels"]:
        for hop in channel["hops"]:
            assert hop["transport"] == "shm", hop
            way, waits = machine.route(device[hop["from"]], device[hop["to"]])
            assert way == hop["route"], (way, hop["route"])
            rate = Fraction(channel["gbs"])
            memory[waits] = memory.get(waits, Fraction(0)) + rate
            for link in way:
                loads[link] += rate
    for link, load in loads.items():
        assert said[link] == machine.rates[link], (link, said[link])
        assert load <= machine.rates[link], (link, load)
    # Every byte waits once, in the memory of its sender's socket.
    assert sum(memory.values()) == sum(
        Fraction(c["gbs"]) * len(c["hops"]) for c in plan["channels"])
    for cpu, load in memory.items():
        ports = sum(loads[link] for link in loads
                    if link.endswith(">" + cpu) and not link.startswith("CPU"))
        assert ports == load, (cpu, ports, load)
    assert any(loads[link] == said[link] for link in said), loads


main(sys.argv[1], sys.argv[2])
