#!/usr/bin/env python3
"""planted.py GTOPO [--faults N] [--seed S] [--keep FOLDER] FILE|FOLDER...

Plants one fault in a copy of a machine whose bus ids, guids, names, numbers and
order are drawn anew (mutate.py), N times, and asks gtopo diff.  It must tell
each fault in one line of the right kind, and the device that it names must be
one: the same fault planted there in the machine itself must give an equal
server.  One copy in five has no fault, and nothing must be said of it.

Machines are those of 2 to 16 GPUs.  Status 0 when no fault is passed over, no
control is spoken of, and 99 % are told in one line.
"""
import argparse
import collections
import copy
import json
import os
import random
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET

from mutate import kind, links_of, rename, shuffle

FAULTS = ("gpu", "nic", "switch", "nvlink", "lanes", "speed")
SPEEDS = ["2.5", "5", "8", "16", "32", "64"]


def places(root, fault):
    """The elements in which a fault may be planted."""
    if fault == "nvlink":
        # Some files have links from a GPU to itself, which are none.
        return [link for pci in root.iter("pci") for gpu in pci.findall("gpu")
                for link in links_of(gpu)
                if link.get("target") != pci.get("busid")]
    if fault == "lanes":
        return [p for p in root.iter("pci")
                if int(p.get("link_width") or 0) > 1]
    if fault == "speed":
        return [p for p in root.iter("pci") if slower(p)]
    if fault == "nic":
        return [p for p in root.iter("pci") if kind(p) == "nic"]
    return [p for p in root.iter("pci") if kind(p) == fault
            and (fault == "gpu" or p.find("pci") is not None)]


def slower(pci):
    number, _, unit = (pci.get("link_speed") or "").partition(" ")
    number = number[:-2] if number.endswith(".0") else number
    if number not in SPEEDS[1:]:
        return None
    return SPEEDS[SPEEDS.index(number) - 1] + " " + unit


def one_less(link, parents):
    count = int(link.get("count")) - 1
    if count:
        link.set("count", str(count))
    else:
        parents[link].remove(link)


def plant(root, fault, place, dangling):
    """One fault; with dangling, others still list NVLinks to lost GPUs."""
    parents = {child: up for up in root.iter() for child in up}
    if fault == "lanes":
        place.set("link_width", str(int(place.get("link_width")) // 2))
    elif fault == "speed":
        place.set("link_speed", slower(place))
    elif fault == "nvlink":
        up = parents[parents[place]].get("busid")
        there = place.get("target")
        one_less(place, parents)
        for other in links_of(root):
            if other is not place and other.get("target") == up and \
               parents[parents[other]].get("busid") == there:
                one_less(other, parents)
                break
    else:
        lost = {p.get("busid") for p in place.iter("pci")}
        parents[place].remove(place)
        for link in links_of(root):
            if link.get("target") in lost and not dangling:
                parents[link].remove(link)


def machines(paths):
    files = []
    for path in paths:
        if os.path.isdir(path):
            files += [os.path.join(path, f) for f in sorted(os.listdir(path))
                      if f.endswith(".xml")]
        else:
            files.append(path)
    for file in files:
        try:
            root = ET.parse(file).getroot()
        except ET.ParseError:
            continue
        if root.tag == "system" and 2 <= len(list(root.iter("gpu"))) <= 16:
            yield file, root


def diff(gtopo, a, b):
    run = subprocess.run([gtopo, "diff", "--json", a, b], timeout=60,
                         capture_output=True, text=True)
    if run.returncode not in (0, 1):
        return None
    groups = json.loads(run.stdout)["groups"]
    return [f for g in groups for f in g["findings"]]


def at_bus(root, name):
    """All devices of that bus id; files may give one to several."""
    bus = name.split()[-1].lower()
    return [p for p in root.iter("pci")
            if bus.endswith((p.get("busid") or "-").lower())]


def named(root, fault, finding):
    """Where the finding may say that the fault is."""
    pcis = at_bus(root, finding["norm_device"])
    if fault != "nvlink":
        return [p for p in pcis if p in places(root, fault)]
    peers = at_bus(root, finding["norm_peer"]) \
        if "norm_peer" in finding else []
    links = [link for pci in pcis for gpu in pci.iter("gpu") for link in gpu]
    return [link for link in links if link in places(root, fault)
            and at_bus(root, link.get("target")) == peers]


def replants(root, fault, finding, dangling):
    """The machine with the fault where the finding says it is."""
    for i in range(len(named(root, fault, finding))):
        again = copy.deepcopy(root)
        plant(again, fault, named(again, fault, finding)[i], dangling)
        yield again


def judge(args, root, file, fault, findings, dangling):
    """What is wrong with the findings of a fault, or None."""
    want = {"lanes": "width", "nvlink": "nvlink", "speed": "speed"}
    if not findings:
        return "not told"
    if len(findings) > 1:
        return "%d lines" % len(findings)
    if findings[0]["kind"] != want.get(fault, "missing"):
        return "told as %s" % findings[0]["kind"]
    for again in replants(root, fault, findings[0], dangling):
        ET.ElementTree(again).write(args.keep + "/again.xml")
        if not diff(args.gtopo, args.keep + "/again.xml", file):
            return None
    return "another place"


def one(args, number, file, root, fault):
    draw = random.Random(args.seed * 1000003 + number)
    bad = copy.deepcopy(root)
    dangling = draw.random() < 0.5
    if fault:
        plant(bad, fault, draw.choice(places(bad, fault)), dangling)
    rename(bad, draw)
    shuffle(bad, draw)
    ET.indent(bad)
    path = "%s/%d.xml" % (args.keep, number)
    ET.ElementTree(bad).write(path)
    findings = diff(args.gtopo, file, path)
    if findings is None:
        return "refused", path
    if fault:
        return judge(args, root, path, fault, findings, dangling), path
    return ("told %d" % len(findings) if findings else None), path


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("gtopo")
    parser.add_argument("files", nargs="+")
    parser.add_argument("--faults", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep")
    args = parser.parse_args()
    folder = tempfile.TemporaryDirectory()
    args.keep = args.keep or folder.name
    fleet = [(f, r) for f, r in machines(args.files)
             if diff(args.gtopo, f, f) == []]
    draw = random.Random(args.seed)
    sums, worst = collections.Counter(), collections.Counter()
    for number in range(args.faults + args.faults // 5):
        file, root = draw.choice(fleet)
        able = [f for f in FAULTS if places(root, f)]
        fault = draw.choice(able) if number < args.faults and able else None
        wrong, path = one(args, number, file, root, fault)
        name = fault or "control"
        sums[name] += 1
        if wrong:
            worst[name] += 1
            sums["not told"] += wrong in ("not told", "refused")
            print("# %s, %s: %s: %s" % (os.path.basename(file), name, wrong,
                                        os.path.basename(path)))
        elif not args.keep == folder.name:
            os.remove(path)
    planted = sum(sums[f] for f in FAULTS)
    missed = sum(worst[f] for f in FAULTS)
    for name in FAULTS + ("control",):
        print("# %-8s %5d planted, %d not in one line" %
              (name, sums[name], worst[name]))
    print("# %d machines, %d of %d faults in one line, %d not told" %
          (len(fleet), planted - missed, planted, sums["not told"]))
    return missed * 100 > planted or worst["control"] or sums["not told"]


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
