#!/usr/bin/env python3
"""Clusters of made-up nodes whose GPUs share PCIe switches and cards as a seed
decides, of `gtopo search --algo collnet`: is the bound what all sets of ranks
prove, each with the least cut between the others and the network?  It is
computed from the plan's links alone, with a maximum flow of its own.

    switch_exits.py GTOPO FIRST LAST     seeds; prints how many reach the bound
"""

import collections
import fractions
import itertools
import json
import random
import subprocess
import sys

Fraction = fractions.Fraction


def node_xml(draw, gpus):
    """A node of so many GPUs below one to three PCIe switches with cards."""
    places = draw.randint(1, min(3, gpus))
    homes = [i % places for i in range(gpus)]
    text, card = '<system version="1">\n<cpu numaid="0" affinity="ff" ' \
        'arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">\n', 0
    for place in range(places):
        text += (f'<pci busid="0000:{16 * (place + 1):02x}:00.0" '
                 'class="0x060400" link_speed="32 GT/s" link_width="16">\n')
        for i in [i for i in range(gpus) if homes[i] == place]:
            text += (f'<pci busid="0000:{160 + i:02x}:00.0" class="0x030200" '
                     'link_speed="32 GT/s" link_width="16">'
                     f'<gpu dev="{i}" sm="90" rank="{i}" gdr="1">'
                     f'<nvlink target="0000:f0:00.0" tclass="0x068000" '
                     f'count="{draw.choice((1, 2, 4, 8, 18))}"/></gpu></pci>\n')
        for _ in range(draw.randint(1, 3)):
            text += (f'<pci busid="0000:{200 + card:02x}:00.0" '
                     'class="0x020000" link_speed="32 GT/s" link_width="16">'
                     f'<nic><net name="mlx5_{card}" dev="{card}" port="1" '
                     f'speed="{draw.choice((100000, 200000, 400000))}" '
                     f'guid="0x{card + 1:x}" maxconn="131072" gdr="1" '
                     'coll="1"/></nic></pci>\n')
            card += 1
        text += '</pci>\n'
    return text + '</cpu></system>\n'


def flow(arcs, source, sink):
    """The value of a maximum flow, by augmenting paths."""
    left, total = collections.defaultdict(dict), Fraction(0)
    for (a, b), room in arcs.items():
        left[a][b] = left[a].get(b, 0) + room
        left[b].setdefault(a, Fraction(0))
    while True:
        parent, queue = {source: None}, [source]
        for at in queue:
            for to, room in left[at].items():
                if room > 0 and to not in parent:
                    parent[to] = at
                    queue.append(to)
        if sink not in parent:
            return total
        path, at = [], sink
        while parent[at] is not None:
            path.append((parent[at], at))
            at = parent[at]
        least = min(left[a][b] for a, b in path)
        for a, b in path:
            left[a][b] -= least
            left[b][a] += least
        total += least


def node_of(vertex):
    return vertex.partition(':')[0] if '/' in vertex else None


def cut(links, node, ranks, down):
    arcs = {('source', rank): Fraction(10**9) for rank in ranks}
    for (a, b), gbs in links.items():
        a, b = (b, a) if down else (a, b)
        if node_of(a) != node or 'GPU/' in b:
            continue
        to = b if node_of(b) == node else 'network'
        arcs[a, to] = arcs.get((a, to), 0) + gbs
    return flow(arcs, 'source', 'network') if ranks else Fraction(0)


def bound(links):
    gpus = collections.defaultdict(dict)
    for (a, b), gbs in links.items():
        for gpu, other in ((a, b), (b, a)):
            if 'GPU/' in gpu and 'NVS/' in other:
                known = gpus[node_of(gpu)]
                known[gpu] = min(gbs, known.get(gpu, gbs))
    least = min(gbs for node in gpus.values() for gbs in node.values())
    for node, own in gpus.items():
        for n in range(len(own) + 1):
            for chosen in itertools.combinations(own, n):
                rest = [gpu for gpu in own if gpu not in chosen]
                for down in (0, 1):
                    least = min(least, (sum(own[g] for g in chosen) +
                                        cut(links, node, rest, down)) / (n + 1))
    return least


def ends(link):
    """The vertices of a link; within a node its name stands only once."""
    a, b = link.split('>')
    node = node_of(a)
    if node and '/' in b and not b.startswith(node + ':'):
        b = f'{node}:{b}'
    return a, b


def run(*words):
    return subprocess.run(words, check=True, stdout=subprocess.PIPE).stdout


def main(gtopo, first, last):
    reached = 0
    for seed in range(first, last + 1):
        draw = random.Random(seed)
        gpus = draw.randint(2, 5)
        for name in 'ab':
            with open(f'{name}.xml', 'w') as file:
                file.write(node_xml(draw, gpus))
        with open('two.xml', 'w') as file:
            file.write('<cluster version="1"><node file="a.xml" names="a"/>'
                       '<node file="b.xml" names="b"/>'
                       '<fabric sharp="1"><level/></fabric></cluster>')
        plan = json.loads(run(gtopo, 'search', '--algo', 'collnet', 'two.xml'))
        links = {ends(link['id']): Fraction(link['gbs'])
                 for link in plan['links']}
        said, best = Fraction(plan['proof']['bound']), bound(links)
        value = Fraction(plan['proof']['value'])
        if said != best or value > best:
            sys.exit(f'seed {seed}: bound {said}, value {value}; '
                     f'all sets prove {best}')
        reached += value == best
    print(f'{reached} of {last - first + 1} reach the bound')


main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
