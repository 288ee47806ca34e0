"""Prints a plan of staged hops with a fault: staged_faults.py PLAN FAULT.

FAULT is one of
  elsewhere    a hop between sockets waits in the sender's memory
  claimed      so it does, and the certificate claims that route, too
  nowhere      a hop waits in no memory
  load         channels carry an eighth more than links do, bound included
  rate         a memory has more GB/s than the machine's
"""
import json
import sys
from fractions import Fraction


def is_between(link):
    return all(end.startswith("CPU/") for end in link.split(">"))


def is_memory(link):
    return "MEM/" in link


def hop_between(plan):
    return next(hop for channel in plan["channels"] for hop in channel["hops"]
                if any(map(is_between, hop["route"])))


def elsewhere(plan):
    hop = hop_between(plan)
    route = [link for link in hop["route"] if not is_memory(link)]
    at = next(i for i, link in enumerate(route) if is_between(link))
    numa = route[at].split(">")[0][len("CPU/"):]
    hop["route"] = (route[:at] + ["CPU/%s>MEM/%s" % (numa, numa),
                                  "MEM/%s>CPU/%s" % (numa, numa)] + route[at:])
    return hop


def claimed(plan):
    hop = elsewhere(plan)
    for route in plan["proof"]["certificate"]["routes"]:
        if (route["from"], route["to"]) == (hop["from"], hop["to"]):
            route["route"] = hop["route"]


def nowhere(plan):
    hop = hop_between(plan)
    hop["route"] = [link for link in hop["route"] if not is_memory(link)]


def load(plan):
    more = Fraction(9, 8)
    for channel in plan["channels"]:
        channel["gbs"] = str(Fraction(channel["gbs"]) * more)
        channel["bw_gbs"] *= float(more)
    proof = plan["proof"]
    for key in "value", "bound", "any_bound":
        if key in proof:
            proof[key] = str(Fraction(proof[key]) * more)
    for key in "busbw_gbs", "algbw_gbs":
        proof[key] *= float(more)


def rate(plan):
    link = next(link for link in plan["links"] if is_memory(link["id"]))
    link["gbs"] = str(Fraction(link["gbs"]) + 1)


FAULTS = {fault.__name__: fault
          for fault in (elsewhere, claimed, nowhere, load, rate)}
with open(sys.argv[1], encoding="utf-8") as file:
    spoilt = json.load(file)
FAULTS[sys.argv[2]](spoilt)
json.dump(spoilt, sys.stdout)
