#!/usr/bin/env python3
"""Adds up what a job's plans put on links, from shares and hops alone, and
compares it with the report of `gtopo search --job JOB -o FOLDER`.  It knows
nothing of rates: how much a hop carries follows from what the collective is."""

import collections
import json
import sys

folder = ''


def load(name):
    with open(f'{folder}/{name}') as file:
        return json.load(file)


def number(text):
    above, _, below = str(text).partition('/')
    return float(above) / float(below or 1)


def fail(*words):
    sys.exit(f'{folder}: ' + ' '.join(map(str, words)))


def main_row(plan):
    return [row for row in plan['select']
            if row.get('collective', plan['collective']) ==
            plan['collective']][-1]


def uses(plan, row, channel):
    """Yields (hop, bytes on it for a byte of the buffer)."""
    n = len(plan['ranks'])
    share, coll = number(channel['share']), plan['collective']
    hops = {(hop['from'], hop['to']): hop for hop in channel['hops']}
    times = 2 if coll == 'allreduce' else 1
    if channel['shape'] == 'ring':
        for hop in channel['hops']:
            yield hop, share * times * (n - 1) / n
    elif channel['shape'] == 'tree':
        for hop in channel['hops']:
            yield hop, share
    elif coll in ('alltoall', 'sendrecv'):
        paths = {(path[0], path[-1]): path
                 for path in (p['ranks'] if isinstance(p, dict) else p
                              for p in channel.get('paths', []))}
        for a in range(n):
            for b in range(n):
                if a == b or (coll == 'sendrecv' and b != (a + 1) % n):
                    continue
                path = paths.get((a, b), [a, b])
                for hop in zip(path, path[1:]):
                    yield hops[hop], share / (n if coll == 'alltoall' else 1)
    elif row['algo'] == 'one-shot':
        for hop in channel['hops']:
            yield hop, share / (1 if coll == 'allreduce' else n)
    else:
        for hop in channel['hops']:
            yield hop, share * times / n


def charges(plan, hop):
    """Yields (link, bytes for each byte of the hop)."""
    kinds = {link['id']: link['kind'] for link in plan['links']}
    for link in hop['route']:
        charge = number(hop.get('charge', 1)) if kinds[link] == 'PCI' else 1
        yield link, charge


def back(link):
    return '>'.join(reversed(link.split('>')))


def add_template(plan, channel, sums, levels):
    cluster = plan['cluster']
    nodes, local = cluster['nodes'], len(cluster['ranks'])
    ports = {port['id']: port['rail'] for port in cluster['ports']}
    block = number(channel['share']) / (nodes * local)
    coll = plan['collective']
    ways = [way for way in (0, 1) if coll == 'allreduce' or
            way == (coll == 'reducescatter')]
    inside = {(hop['from'], hop['to']): hop for hop in channel['hops']
              if not hop.get('network')}

    def add(hop, times, way):
        came = False
        for link in hop['route']:
            a, b = link.split('>')
            came = came or a in ports
            charge = 1 if came else dict(charges(plan, hop))[link]
            sums[back(link) if way else link] += block * times * charge
            for port, comes in ((a, 1), (b, 0)):
                if port not in ports:
                    continue
                for number_, level in enumerate(cluster['levels'][:-1]):
                    rail = ports[port] if level['rails'] else 0
                    levels[number_, rail, comes ^ way] += block * (
                        nodes - level['nodes'])

    for tree in channel['trees']:
        for way in ways:
            for rank in range(local):
                if tree['home'][rank] >= 0:
                    add(inside[tree['home'][rank], rank], 1, way)
                if tree['away'][rank] >= 0:
                    add(inside[tree['away'][rank], rank], nodes - 1, way)
                else:
                    add(channel['hops'][tree['net'][rank]], nodes - 1, way)


def add_paths(plan, channel, sums, levels):
    """A path is for all pairs of two local ranks of nodes of its class."""
    cluster = plan['cluster']
    spans = [1] + [level['nodes'] for level in cluster['levels']]
    ports = {port['id']: port['rail'] for port in cluster['ports']}
    block = number(channel['share']) / (
        cluster['nodes'] * len(cluster['ranks']))
    for path in channel['paths']:
        away = path['class']
        times = spans[away] - spans[away - 1] if away else 1
        for index in path['hops']:
            hop, came = channel['hops'][index], False
            for link in hop['route']:
                a, b = link.split('>')
                came = came or a in ports
                charge = 1 if came else dict(charges(plan, hop))[link]
                sums[link] += block * times * charge
                for port, comes in ((a, 1), (b, 0)):
                    for level in range(away - 1 if port in ports else 0):
                        rail = ports[port] if \
                            cluster['levels'][level]['rails'] else 0
                        levels[level, rail, comes] += \
                            block * times * spans[level + 1]


def plan_loads(about, plan):
    """(node of the plan, or None for all; link) -> bytes for a byte, and the
    same of uplinks of plans by node."""
    sums, levels = collections.Counter(), collections.Counter()
    row = main_row(plan)
    channels = {channel['id']: channel for channel in plan['channels']}
    if 'cluster' in plan:
        for index in row['channels']:
            if channels[index]['shape'] == 'flow':
                add_paths(plan, channels[index], sums, levels)
            else:
                add_template(plan, channels[index], sums, levels)
        return {(None, link): load for link, load in sums.items()}, levels
    for index in row['channels']:
        for hop, part in uses(plan, row, channels[index]):
            for link, charge in charges(plan, hop):
                sums[link] += part * charge
    if len(about['nodes']) == 1:
        return {(0, link): load for link, load in sums.items()}, levels
    loads = collections.Counter()
    for link, load in sums.items():
        ends = link.split('>')
        node = [i for i, name in enumerate(about['nodes'])
                if any(end.startswith(name + ':') for end in ends)]
        if not node:
            levels[link] += load
            continue
        name = about['nodes'][node[0]] + ':'
        ends = ['switch' if 'switch' in end.split(':')[0] and
                not end.startswith(name) else end.removeprefix(name)
                for end in ends]
        loads[node[0], '>'.join(ends)] += load
    return loads, levels


def check(report, plans, key):
    made = report[key]
    if 'seconds' not in made:
        return
    place = {entry['rank']: (entry['node'], entry['gpu'])
             for entry in made['ranks']}
    if len(set(place.values())) != len(place):
        fail(key, 'two ranks have one GPU')
    entries = made['communication']
    sums = collections.defaultdict(lambda: [0.0] * len(entries))
    uplinks = [0.0] * len(entries)
    for e, entry in enumerate(entries):
        for group in entry['groups']:
            if len(group['ranks']) < 2:
                continue
            about, (loads, levels) = plans[group['plan']]
            where = [place[rank] for rank in group['ranks']]
            nodes = list(dict.fromkeys(node for node, _ in where))
            if entry['collective'] != 'sendrecv':
                nodes.sort(key=report['order'].get)
            gpus = [gpu for node, gpu in where if node == nodes[0]]
            if entry['collective'] != 'sendrecv':
                gpus.sort()
            if gpus != about['gpus'] or len(nodes) != len(about['nodes']):
                fail(key, entry['name'], 'a plan of other GPUs', group)
            total = entry['bytes'] * entry['count']
            for at, load in levels.items():
                uplinks[e] += total * load * (
                    1 if isinstance(at, str) else
                    len(nodes) / about['levels'][at[0]]['nodes'])
            for (node, link), load in loads.items():
                for name in nodes if node is None else [nodes[node]]:
                    sums[f'{name}:{link}'][e] += total * load
    told = {link['link']: link for link in made['links']
            if ':' in link['link']}
    if set(told) != {link for link, load in sums.items() if any(load)}:
        fail(key, 'other links:',
             sorted(set(told) ^ set(sums))[:4])
    for link, loads in sums.items():
        for mine, its in zip(loads, told[link]['bytes']):
            if abs(mine - its) > 1e-9 * max(mine, its):
                fail(key, link, mine, 'bytes, the report has', its)
    for e, mine in enumerate(uplinks):
        its = sum(link['bytes'][e] for link in made['links']
                  if ':' not in link['link'])
        # A plan knows only of levels that limit it, the report of all.
        if its < mine * (1 - 1e-9):
            fail(key, 'uplinks', mine, 'bytes, the report has', its)
    seconds = 0
    for p, phase in enumerate(made['phases']):
        most = max([sum(load for load, entry in zip(link['bytes'], entries)
                        if entry['phase'] == p) / link['gbs'] / 1e9
                    for link in made['links']], default=0)
        if abs(most - phase['seconds']) > 1e-9 * most:
            fail(key, 'phase', p, 'takes', most, 'not', phase['seconds'])
        seconds += most
    if abs(seconds - made['seconds']) > 1e-9 * seconds:
        fail(key, 'takes', seconds, 'not', made['seconds'])
    if made['bound_s'] > seconds * (1 + 1e-9) or \
            report['bound_s'] > seconds * (1 + 1e-9):
        fail(key, 'is below its bound')


def main():
    global folder
    folder = sys.argv[1]
    report = load('report.json')
    report['order'] = {name: i for i, name in enumerate(
        dict.fromkeys(entry['node'] for entry in sorted(
            report['by_number']['ranks'], key=lambda entry: entry['rank'])))}
    plans = {}
    for about in report['plans']:
        plan = load(f'plan-{about["plan"]}.json')
        about['levels'] = plan.get('cluster', {}).get('levels')
        plans[about['plan']] = about, plan_loads(about, plan)
    check(report, plans, 'assignment')
    check(report, plans, 'by_number')
    print('confirmed', len(report['assignment']['links']), 'links')


if __name__ == '__main__':
    main()
