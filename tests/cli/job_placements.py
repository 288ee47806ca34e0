#!/usr/bin/env python3
"""Draws small jobs, puts their ranks on the GPUs of a machine in every way,
adds up by itself what the plans of all groups put on links, and compares the
least time with what `gtopo search --job` finds and what it says is the least:

    job_placements.py GTOPO FIRST COUNT MOST_RANKS FILE..."""

import collections
import itertools
import json
import os
import random
import subprocess
import sys
import tempfile

import job_loads

COLLECTIVES = ['allreduce', 'allgather', 'reducescatter', 'alltoall',
               'sendrecv']
AXES = [[2], [3], [4], [2, 2], [2, 3], [6], [2, 4], [4, 2], [2, 2, 2], [8]]


def draw_job(ngpus, most):
    sizes = random.choice([axes for axes in AXES
                           if product(axes) <= min(ngpus, most)])
    names = 'abc'[:len(sizes)]
    entries = []
    for number in range(random.randint(1, 3)):
        over = random.sample(names, random.randint(1, len(names)))
        each = product(sizes[names.index(name)] for name in over)
        entries.append({
            'name': str(number),
            # Rings of more than 4 GPUs are too many to be planned one by one.
            'collective': random.choice(COLLECTIVES[:5 if each <= 4 else 4]),
            'over': over, 'bytes': random.choice(['64M', '256M', '1G']),
            'count': random.randint(1, 40),
            'phase': random.choice(['x', str(number)])})
    return {'schema': 'gtopo.job/1', 'communication': entries, 'axes': [
        {'name': name, 'size': size} for name, size in zip(names, sizes)]}


def product(sizes):
    result = 1
    for size in sizes:
        result *= size
    return result


def groups_of(job, entry):
    """Ranks that differ on the entry's axes alone, in order."""
    groups, strides, times = collections.defaultdict(list), [], 1
    for axis in job['axes']:
        strides.append(times)
        times *= axis['size']
    for rank in range(times):
        groups[tuple(rank // stride % axis['size']
                     for axis, stride in zip(job['axes'], strides)
                     if axis['name'] not in entry['over'])].append(rank)
    return list(groups.values())


class Machine:
    """What groups put on its links, each planned by the program alone."""

    def __init__(self, gtopo, path):
        self.gtopo, self.path, self.rates, self.loads = gtopo, path, {}, {}
        self.ngpus = json.loads(self.run({
            'schema': 'gtopo.job/1', 'ranks': 1, 'communication': [{
                'name': 'none', 'collective': 'allreduce', 'bytes': 1,
                'groups': [[0]]}]}, '--json'))['gpus_per_node']

    def run(self, job, *options):
        return subprocess.run(
            [self.gtopo, 'search', '-q', '--job', '-', *options, self.path],
            input=json.dumps(job), capture_output=True, text=True,
            check=True).stdout

    def group(self, collective, gpus):
        """Link -> bytes for each byte of the buffer; None: no plan."""
        key = collective, gpus
        if key not in self.loads:
            self.loads[key] = self.plan(collective, gpus)
        return self.loads[key]

    def plan(self, collective, gpus):
        job = {'schema': 'gtopo.job/1', 'ranks': self.ngpus,
               'communication': [{'name': 'one', 'collective': collective,
                                  'bytes': 1, 'groups': [list(gpus)]}]}
        with tempfile.TemporaryDirectory() as folder:
            try:
                self.run(job, '-o', folder)
            except subprocess.CalledProcessError as error:
                if error.returncode != 1:
                    raise
                return None
            with open(os.path.join(folder, 'plan-0.json')) as file:
                plan = json.load(file)
        for link in plan['links']:
            self.rates[link['id']] = job_loads.number(link['gbs'])
        loads, _ = job_loads.plan_loads({'nodes': ['one']}, plan)
        return {link: load for (_, link), load in loads.items()}

    def seconds(self, entries):
        """Of entries: phase, bytes, collective, groups of GPUs."""
        phases = collections.defaultdict(collections.Counter)
        for phase, size, collective, groups in entries:
            for gpus in groups:
                loads = self.group(collective, gpus)
                if loads is None:
                    return None
                for link, load in loads.items():
                    phases[phase][link] += load * size
        return sum(max(size / self.rates[link] / 1e9
                       for link, size in links.items())
                   for links in phases.values())


def bytes_of(entry):
    size = int(entry['bytes'][:-1]) << {'M': 20, 'G': 30}[entry['bytes'][-1]]
    return size * entry['count']


def least_of_all(machine, job):
    entries = [(entry, groups_of(job, entry)) for entry in job['communication']]
    nranks = product(axis['size'] for axis in job['axes'])
    known, least = set(), None
    for place in itertools.permutations(range(machine.ngpus), nranks):
        placed = []
        for entry, groups in entries:
            gpus = [tuple(place[rank] for rank in group) for group in groups]
            if entry['collective'] == 'sendrecv':
                gpus = [min(g[i:] + g[:i] for i in range(len(g)))
                        for g in gpus]
            else:
                gpus = [tuple(sorted(g)) for g in gpus]
            placed.append((entry['phase'], bytes_of(entry),
                           entry['collective'], tuple(sorted(gpus))))
        if (key := tuple(placed)) in known:
            continue
        known.add(key)
        seconds = machine.seconds(placed)
        if seconds is not None and (least is None or seconds < least):
            least = seconds
    return least


def main():
    gtopo, first, count, most = sys.argv[1], *map(int, sys.argv[2:5])
    gaps, lost = [], []
    for path in sys.argv[5:]:
        try:
            machine = Machine(gtopo, path)
        except subprocess.CalledProcessError as error:
            print(error.stderr, end='')  # No machine to be searched.
            continue
        if not 2 <= machine.ngpus <= 8:
            continue
        for seed in range(first, first + count):
            random.seed(f'{os.path.basename(path)} {seed}')
            job = draw_job(machine.ngpus, most)
            made = json.loads(machine.run(job, '--json'))
            best, bound = made['assignment']['seconds'], made['bound_s']
            least = least_of_all(machine, job)
            where = f'{path}, seed {seed}: {json.dumps(job)}'
            assert bound <= least * (1 + 1e-9), \
                f'{where}: the bound is {bound}, but {least} is possible'
            assert best >= least * (1 - 1e-9), \
                f'{where}: {best} is told, and the least is {least}'
            if made['complete'] and made['nodes_bounded']:
                assert best <= least * 1.01, \
                    f'{where}: {best} was found, and {least} is possible'
            gaps.append(1 - bound / best)
            lost.append(best / least - 1)
            if gaps[-1] > 0.05 or lost[-1] > 0.01:
                print(f'{os.path.basename(path)} {seed}: gap '
                      f'{gaps[-1]:.4f}, {lost[-1]:.4f} above the least')
    print(f'{len(gaps)} jobs: the bound is reached in '
          f'{sum(gap < 1e-9 for gap in gaps)}, within 5% in '
          f'{sum(gap <= 0.05 for gap in gaps)}, the largest gap '
          f'{max(gaps, default=0):.4f}; the least of all placements is '
          'found in '
          f'{sum(part <= 1e-9 for part in lost)}, at most '
          f'{max(lost, default=0):.4f} above it')


main()
