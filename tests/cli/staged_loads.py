"""Checks a plan whose hops all wait in the host's memory.

staged_loads.py TOPOLOGY PLAN: reads both by itself, shares no code with gtopo,
and exits 1 with a line that says what is wrong.

Every GPU's way up is the chain of <pci> elements that it is in.  So a hop from
one GPU to another has to be that chain, the interconnect if they are of two
sockets, the memory of the receiver's NUMA node, in and out, and the other chain
down.  Loads of root ports, switches, sockets and memories are added up from
that, rates of links are worked out from the file, as NCCL counts, and that
nothing can be better follows from the plan's prices, for rings, trees and what
only moves, or from its parts, for all-reduce.  It prints what memories and
sockets carry.
"""
import itertools
import json
import math
import sys
import xml.etree.ElementTree as ET
from fractions import Fraction

# 1e8 bits a second and lane, by the GT/s of the link; NCCL, src/graph/xml.h
LANE = {"2.5": 15, "5": 30, "8": 60, "16": 120, "32": 240, "64": 480}
LOCAL = 5000  # GB/s that stand for no limit; NCCL, src/graph/topo.h
MOST_RANKS = 10  # of a ring that all others are compared with


class Wrong(Exception):
    pass


def expect(holds, *what):
    if not holds:
        raise Wrong(" ".join(str(word) for word in what))


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


def memory_rate(cpu):
    """A byte that waits is written and read: half of all goes either way."""
    both = cpu.get("gt_memory_gbs")
    return Fraction(both) / 2 if both else Fraction(LOCAL)


def is_inner(pci, parent):
    """Switches of Broadcom show their halves below them; NCCL makes it one."""
    same = all(pci.get(key) == parent.get(key) for key in ("vendor", "device"))
    return same and pci.get("vendor") == "0x1000" and pci.find("gpu") is None


class Machine:
    def __init__(self, path):
        self.up = {}  # GPU's bus id -> links up to its CPU
        self.numa = {}  # GPU's bus id -> number of its CPU
        self.rates = {}  # link -> GB/s, one way
        cpus = ET.parse(path).getroot().findall("cpu")
        for cpu in cpus:
            numa = cpu.get("numaid")
            self.walk(cpu, numa, "CPU/" + numa, [])
            for way in "CPU/%s>MEM/%s", "MEM/%s>CPU/%s":
                self.rates[way % (numa, numa)] = memory_rate(cpu)
            for other in cpus:
                ends = "CPU/%s>CPU/%s" % (numa, other.get("numaid"))
                self.rates[ends] = socket_rate(cpu)

    def walk(self, elem, numa, above, links, halves=True):
        for pci in elem.findall("pci"):
            if halves and elem.tag == "pci" and is_inner(pci, elem):
                self.walk(pci, numa, above, links, False)
                continue
            gpu = pci.find("gpu") is not None
            bus = pci.get("busid").lower()
            me = ("GPU/" if gpu else "PCI/") + bus
            if not gpu and not any(True for _ in pci.iter("gpu")):
                continue
            way = [me + ">" + above] + links
            # Some files list a bridge once for each device below it.
            for link in me + ">" + above, above + ">" + me:
                self.rates[link] = self.rates.get(link, 0) + rate_of(pci)
            if gpu:
                self.up[bus], self.numa[bus] = way, numa
            self.walk(pci, numa, me, way)

    def route(self, a, b):
        here, there = self.numa[a], self.numa[b]
        down = [">".join(reversed(link.split(">")))
                for link in reversed(self.up[b])]
        between = [] if here == there else ["CPU/%s>CPU/%s" % (here, there)]
        memory = ["CPU/%s>MEM/%s" % (there, there),
                  "MEM/%s>CPU/%s" % (there, there)]
        return self.up[a] + between + memory + down


def ways_of(channel, n):
    """How often a channel's rate goes over each hop, by its two ranks."""
    uses = {(hop["from"], hop["to"]): 0 for hop in channel["hops"]}
    expect(len(uses) == len(channel["hops"]), "a hop is listed twice")
    if channel["shape"] not in ("mesh", "flow"):
        return dict.fromkeys(uses, 1)
    around = {(path[0], path[-1]): path for path in channel.get("paths", [])}
    for pair in itertools.permutations(range(n), 2):
        path = around.get(pair, pair)
        for hop in zip(path, path[1:]):
            expect(hop in uses, "ranks", pair, "have no way")
            uses[hop] += 1
    return uses


def add_loads(machine, plan, channels):
    """What each link of the machine has to carry."""
    device = [rank["device"].lower() for rank in plan["ranks"]]
    loads = {}
    for channel in channels:
        rate = Fraction(channel["gbs"])
        uses = ways_of(channel, len(device))
        for hop in channel["hops"]:
            ends = hop["from"], hop["to"]
            way = machine.route(device[ends[0]], device[ends[1]])
            expect(hop["transport"] == "shm", "hop", ends, "is not staged")
            expect(hop["route"] == way, "hop", ends, "goes", hop["route"],
                   "and not", way)
            for link in way:
                loads[link] = loads.get(link, 0) + rate * uses[ends]
    return loads


def check_loads(machine, plan, loads):
    said = {link["id"]: Fraction(link["gbs"]) for link in plan["links"]}
    for link, load in loads.items():
        expect(said.get(link) == machine.rates[link], link, "has",
               machine.rates[link], "GB/s, and not", said.get(link))
        expect(load <= machine.rates[link], link, "carries", load,
               "GB/s of", machine.rates[link])
    # What comes to a socket's GPUs has waited in its memory, and only that.
    for numa in set(machine.numa.values()):
        came = sum(loads.get(">".join(reversed(way[0].split(">"))), 0)
                   for gpu, way in machine.up.items()
                   if machine.numa[gpu] == numa)
        for way in "CPU/%s>MEM/%s", "MEM/%s>CPU/%s":
            waits = loads.get(way % (numa, numa), 0)
            expect(waits == came, way % (numa, numa), "carries", waits,
                   "GB/s, but", came, "come to the GPUs there")


def cheapest_ring(cost):
    """Held and Karp: over all sets of ranks that a path from 0 has been to."""
    n = len(cost)
    best = {(1, 0): 0}
    for seen in range(1, 1 << n, 2):
        for last in range(n):
            so_far = best.get((seen, last))
            if so_far is None:
                continue
            for to in range(1, n):
                if not seen >> to & 1:
                    key = seen | 1 << to, to
                    best[key] = min(best.get(key, math.inf),
                                    so_far + cost[last][to])
    return min(best[(1 << n) - 1, last] + cost[last][0]
               for last in range(1, n))


def relayed(cost):
    """Each hop may go through one more rank."""
    ranks = range(len(cost))
    return [[min(cost[a][b], *(cost[a][via] + cost[via][b] for via in ranks
                               if via not in (a, b)), cost[a][b])
             for b in ranks] for a in ranks]


def cheapest_tree(cost):
    """Prim: of a tree that goes up and down, each edge is taken both ways."""
    near = {b: cost[0][b] + cost[b][0] for b in range(1, len(cost))}
    total = 0
    while near:
        new = min(near, key=near.get)
        total += near.pop(new)
        for b in near:
            near[b] = min(near[b], cost[new][b] + cost[b][new])
    return total


def shortest(cost):
    ranks = range(len(cost))
    for via, a, b in itertools.product(ranks, ranks, ranks):
        cost[a][b] = min(cost[a][b], cost[a][via] + cost[via][b])
    return sum(cost[a][b] for a in ranks for b in ranks if a != b)


def check_prices(machine, plan):
    """Prices say what a GB/s costs; returns whether that was looked at."""
    proof = plan["proof"]
    certificate = proof.get("certificate", {})
    prices = {k: Fraction(v) for k, v in certificate.get("prices", {}).items()}
    device = [rank["device"].lower() for rank in plan["ranks"]]
    moves = plan["collective"] == "alltoall"
    trees = proof["class"] == "tree" and plan["collective"] == "allreduce"
    rings = proof["class"] == "ring" and len(device) <= MOST_RANKS
    if not prices or not (moves or trees or rings):
        return False
    worth = sum(machine.rates[link] * price for link, price in prices.items())
    expect(worth == Fraction(proof["bound"]), "links are worth", worth,
           "and not the bound", proof["bound"])
    # Integers are faster than fractions.
    unit = math.lcm(*(price.denominator for price in prices.values()))
    cost = [[0 if a == b else int(unit * sum(
        prices.get(link, 0) for link in machine.route(a, b)))
        for b in device] for a in device]
    if moves:
        least = shortest(cost)
    elif trees:
        least = cheapest_tree(cost)
    else:
        least = cheapest_ring(relayed(cost) if certificate.get("relays")
                              else cost)
    expect(least >= unit, "there is something that costs", least, "/", unit)
    return True


def check_parts(machine, plan):
    """Parts of the ranks of an all-reduce send 2 (k - 1) results together.

    To give a result to k parts each byte of it leaves k - 1 of them as a part
    of a sum, and parts k - 1 times as the sum, whoever adds up.
    """
    proof = plan["proof"]
    parts = proof.get("certificate", {}).get("parts", [])
    device = [rank["device"].lower() for rank in plan["ranks"]]
    ranks = sorted(rank for part in parts for rank in part["ranks"])
    if (plan["collective"], proof["class"], ranks) != (
            "allreduce", "any", list(range(len(device)))):
        return False
    room = 0
    for part in parts:
        room += sum(machine.rates[link] for link in part["links"])
        for a, b in itertools.product(part["ranks"], ranks):
            expect(b in part["ranks"] or set(part["links"]) &
                   set(machine.route(device[a], device[b])),
                   "the way from", a, "to", b, "leaves a part elsewhere")
    bound = room / (2 * (len(parts) - 1))
    expect(bound == Fraction(proof["bound"]), "parts allow", bound,
           "and not", proof["bound"])
    return True


def check_value(plan, channels):
    proof = plan["proof"]
    value = sum(Fraction(channel["gbs"]) for channel in channels)
    expect(value == Fraction(proof["value"]), "channels carry", value,
           "and not", proof["value"])
    expect(value <= Fraction(proof["bound"]), value, "is above the bound")
    expect(proof["optimal"] == (value == Fraction(proof["bound"])),
           "optimal is", proof["optimal"])


def main(topology, path):
    machine = Machine(topology)
    with open(path, encoding="utf-8") as file:
        plan = json.load(file)
    channels = [plan["channels"][i] for i in plan["select"][-1]["channels"]]
    loads = add_loads(machine, plan, channels)
    check_loads(machine, plan, loads)
    check_value(plan, channels)
    proved = ("by prices" if check_prices(machine, plan) else
              "by parts" if check_parts(machine, plan) else "elsewhere")
    for link, load in sorted(loads.items()):
        ends = [end.split("/")[0] for end in link.split(">")]
        if ends in (["CPU", "CPU"], ["CPU", "MEM"]):
            print(link, "carries", load, "GB/s of", machine.rates[link])
    print("proved", proved)


try:
    main(sys.argv[1], sys.argv[2])
except Wrong as wrong:
    sys.exit("staged_loads: " + str(wrong))
