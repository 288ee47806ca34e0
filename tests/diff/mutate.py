#!/usr/bin/env python3
"""mutate.py FILE FOLDER N [FAULT]: N copies of a topology, wired alike.

Bus ids, guids, names, GPU numbers and NUMA nodes are drawn anew and siblings
shuffled, all from a seed: FOLDER/SEED.xml, from 1 on.  FAULT plants one fault,
its place drawn too: nic (one removed), x8 (one link), move (a GPU to another
switch or CPU), nvlink (one down).  Exit status 77 when the machine has no place for it.
"""
import random
import sys
import xml.etree.ElementTree as ET


def links_of(root):
    return [e for e in root.iter() if e.tag in ("nvlink", "xgmi")]


def kind(pci):
    for name in ("gpu", "nic"):
        if pci.find(name) is not None:
            return name
    return "switch"


def plant(root, fault, draw):
    parents = {child: up for up in root.iter() for child in up}
    pcis = list(root.iter("pci"))
    if fault == "nic":
        places = [p for p in pcis if kind(p) == "nic"]
    elif fault == "move":
        places = [p for p in pcis if kind(p) == "gpu"]
    elif fault == "nvlink":
        places = links_of(root)
    else:
        places = [p for p in pcis if p.get("link_width") == "16"]
    if not places:
        sys.exit(77)
    place = draw.choice(places)
    if fault == "nic":
        parents[place].remove(place)
    elif fault == "x8":
        place.set("link_width", "8")
    elif fault == "move":
        up = parents[place]
        others = [p for p in pcis if kind(p) == "switch" and p is not up]
        if not others:
            others = [c for c in root.findall("cpu") if c is not up]
        if not others:
            sys.exit(77)
        up.remove(place)
        draw.choice(others).append(place)
    elif fault == "nvlink":
        links = [place]
        me = parents[parents[place]].get("busid")
        for other in links_of(root):
            up = parents[parents[other]].get("busid")
            if up == place.get("target") and other.get("target") == me:
                links.append(other)
        for link in links:
            count = int(link.get("count")) - 1
            if count:
                link.set("count", str(count))
            else:
                parents[link].remove(link)


def rename(root, draw):
    pcis = list(root.iter("pci"))
    spare = draw.sample(range(1, 0x10000), len(pcis) + 64)
    ids = {}

    def fresh(old):
        if old not in ids:
            n = spare.pop()
            ids[old] = "%04x:%02x:00.0" % (n >> 8, n & 0xFF)
        return ids[old]

    for pci in pcis:
        pci.set("busid", fresh(pci.get("busid")))
    for link in links_of(root):
        if not link.get("target").startswith("fffffff"):
            link.set("target", fresh(link.get("target")))
    for tag, attr in (("gpu", "dev"), ("cpu", "numaid"), ("net", "dev")):
        found = [e for e in root.iter(tag) if e.get(attr)]
        numbers = list(range(len(found)))
        draw.shuffle(numbers)
        for elem, number in zip(found, numbers):
            elem.set(attr, str(number))
            if tag == "gpu":
                elem.set("rank", str(number))
            if tag == "net":
                elem.set("name", "eth%d" % number)
    guids = {}
    for net in root.iter("net"):
        if net.get("guid"):
            guids.setdefault(net.get("guid"), "0x%016x" % draw.getrandbits(64))
            net.set("guid", guids[net.get("guid")])


def shuffle(root, draw):
    for elem in list(root.iter()):
        children = list(elem)
        draw.shuffle(children)
        elem[:] = children


def main():
    file, folder, last, *fault = sys.argv[1:]
    for seed in range(1, int(last) + 1):
        root = ET.parse(file).getroot()
        draw = random.Random(seed)
        for what in fault:
            plant(root, what, draw)
        rename(root, draw)
        shuffle(root, draw)
        ET.indent(root)
        ET.ElementTree(root).write("%s/%d.xml" % (folder, seed))


if __name__ == "__main__":
    main()
