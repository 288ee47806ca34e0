"""Random single changes of the source, which the tests must notice.

    run.py BUILD [-n EACH] [-s SEED] [-g GROUP] [-k WORDS] [-t TEST] [-v]

BUILD is a build folder where the program and the tests are made.  Each group
below gets EACH changes (25), drawn by SEED (1) among all that changes.py finds in
its folders.  With WORDS only those whose line has them, to try one again, and
with TEST only by the tests whose name has it.  A change that the compiler makes
nothing of, or that makes no program, is drawn again; one that stands in the
file `equivalent` with the reason why nothing can notice it is replaced, and
counted.  Of a changed file the objects that it is part of are compiled, and the
group's tests are linked with them, one after the other until one fails.

They run without a network and in namespaces of their own, since a changed
program may kill any process that it can name.  Exit status 0: there were some,
and all were noticed but 5 of 100.
"""
import argparse
import concurrent.futures
import functools
import os
import pathlib
import random
import re
import shlex
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
import changes  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parent.parent

# Which folders, and which tests, the quick ones first.
GROUPS = {
    'checker': (['src/plan/check'],
                ['tests/unit/plan/check/test_check', 'tests/plan/cases.sh',
                 'tests/unit/plan/check/test_mutate_plan']),
    'simulator': (['src/plan/simulate'],
                  ['tests/unit/plan/simulate/test_simulate',
                   'tests/unit/plan/simulate/test_mutate',
                   'tests/plan/cases.sh',
                   'tests/unit/plan/check/test_mutate_plan']),
    'FIFO': (['src/exec/link', 'src/exec/host'],
             ['tests/unit/exec/host/test_reduce',
              'tests/unit/exec/link/test_fd_passing',
              'tests/unit/exec/link/test_fifo',
              'tests/unit/exec/link/test_proxied_link',
              'tests/unit/exec/test_bits',
              'tests/unit/exec/link/tcp/test_tcp',
              'tests/unit/exec/link/test_process_group',
              'tests/unit/exec/link/test_link',
              'tests/unit/exec/test_engine',
              'tests/unit/exec/test_leaks',
              'tests/unit/exec/host/test_watch', 'tests/sim/worlds.sh',
              'tests/cli/50-run.bats',
              'tests/cli/55-processes.bats', 'tests/cli/58-hosts.bats']),
    'world': (['src/world'],
              ['tests/unit/world/test_net', 'tests/unit/world/test_failure',
               'tests/unit/world/test_impostor',
               'tests/unit/world/test_regroup', 'tests/sim/worlds.sh',
               'tests/unit/world/test_world',
               'tests/unit/world/test_children',
               'tests/cli/55-processes.bats', 'tests/cli/58-hosts.bats']),
}
SANDBOX = ['unshare', '--user', '--map-root-user', '--pid', '--fork',
           '--kill-child', '--net', '--ipc', '--mount-proc', 'bash', '-c',
           'ulimit -c 0 -f 4000000 -v 16000000; ip link set lo up; '
           'mount -t tmpfs none /dev/shm && mount -t tmpfs none /tmp && '
           'exec "$@"', 'sandbox']


class Build:
    """How objects are compiled and tests are linked in a build folder."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder).resolve()

    def say(self, what_if, target):
        """The commands that make would run for a target, were a file of the
        build or of the source new."""
        news = (what_if, str(TOP / what_if),
                os.path.relpath(TOP / what_if, self.folder))
        return subprocess.run(
            ['make', '-n', 'V=1', *(f'-W{name}' for name in news), target],
            cwd=self.folder, check=True, text=True, capture_output=True).stdout

    @functools.cache
    def words(self, target, what_if, made):
        """The command that makes a file, but for what notes dependencies."""
        said = self.say(what_if, target).replace('\\\n', '\n')
        line = next(l for l in said.splitlines()
                    if re.search(rf' -o {re.escape(made)} ', l))
        line = re.sub(r' -MT \S+ -MD -MP -MF \S+', '', line)
        return tuple(shlex.split(line.replace('&&', '')))

    def users(self, source):
        """The sources of whose objects this one is a part."""
        if source.endswith('.c'):
            return [source]
        notes = self.folder.glob('**/.deps/*.Po')
        return sorted(
            '/'.join([*n.parent.parent.relative_to(self.folder).parts,
                      n.stem + '.c'])
            for n in notes if f'/{source}' in n.read_text())

    def compiled(self, source, text, room):
        """What a source with this text makes of the objects that it is part
        of, in a folder for them; None: it cannot be compiled."""
        made = {}
        place = room / 'include' / pathlib.Path(source).relative_to('src')
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        for user in self.users(source):
            name = user[:-2] + '.o'
            to = room / name
            to.parent.mkdir(parents=True, exist_ok=True)
            shown = list(self.words(name, user, name))
            shown[shown.index(name)] = str(to)
            shown[-1] = str(place if user == source else TOP / user)
            # Where a source stands is seen in no object.
            done = subprocess.run(
                [shown[0], f'-I{room}/include', *shown[1:], '-w', '-g0',
                 f'-ffile-prefix-map={room}/include={TOP}/src'],
                cwd=self.folder, capture_output=True)
            if done.returncode:
                return None
            made[name] = to
        return made

    def linked(self, program, objects, to):
        """A program with these objects in place of the usual ones."""
        shown = self.words(program, 'libgtopo_core.a', program)
        shown = [str(objects.get(word, word)) for word in shown]
        at = shown.index(program)
        archive = [str(o) for n, o in objects.items() if n.startswith('src/')]
        shown[at:at + 1] = [str(to), *archive]
        to.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(shown, cwd=self.folder, check=True,
                       capture_output=True)
        return to


def command(build, test, objects, room):
    """How a test is run with these objects: words, and its environment."""
    made = {'GTOPO_SRC': str(TOP), 'LC_ALL': 'C.UTF-8',
            'GTOPO_TEST_BRIEF': '1', 'GTOPO_WORLDS': '2000',
            # The changed program is in a folder that none is beside.
            'GTOPO_XML': str(TOP / 'share/xml')}
    if not test.endswith(('.sh', '.bats')):
        return [str(build.linked(test, objects, room / test))], made
    if test.startswith('tests/sim'):
        for name in ('sim_world', 'sim_going', 'sim_links',
                     'sim_library'):
            build.linked(f'tests/sim/{name}', objects, room / name)
        made['GTOPO_SIM'] = str(room)
    else:
        made['GTOPO'] = str(build.linked('gtopo', objects, room / 'gtopo'))
    first = ['bats', '--tap'] if test.endswith('.bats') else ['bash']
    return [*first, str(TOP / test)], made


def notices(build, test, objects, room, limit):
    """Does a test fail, or take longer than `limit` seconds?"""
    words, made = command(build, test, objects, room)
    env = [f'{k}={v}' for k, v in made.items()]
    process = subprocess.Popen(
        [*SANDBOX, 'env', *env, *words], cwd=build.folder, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, errors='replace')
    try:
        said = process.communicate(timeout=limit)[0]
    except subprocess.TimeoutExpired:
        process.kill()  # and with it all of its namespace
        process.communicate()
        return True
    return process.returncode not in (0, 77) or bool(
        re.search(r'^not ok|^\[  FAILED', said, re.M))


def usual_seconds(build, tests):
    """How long each test takes unchanged; it must pass."""
    took = {}
    for test in tests:
        began = time.monotonic()
        with tempfile.TemporaryDirectory(dir=build.folder) as room:
            if notices(build, test, {}, pathlib.Path(room), 600):
                sys.exit(f'{test} fails without any change')
        took[test] = time.monotonic() - began
    return took


def function_of(text, at):
    """The name of the function whose body a place is in."""
    body = text.rindex('\n{\n', 0, at)
    head = text[text.rfind('\n\n', 0, body) + 1:body]
    return re.findall(r'^\w.*?(\w+)\(', head, re.M)[-1]


def place_of(source, text, change):
    """A change in words, with its function and its line as it was."""
    begin = text.rfind('\n', 0, change.begin) + 1
    end = text.find('\n', change.end)
    lines = (text[begin:end], text[begin:change.begin] + change.instead +
             text[change.end:end])
    return f'{source}, {function_of(text, change.begin)}: ' + ' => '.join(
        ' '.join(l.split()) for l in lines)


class Draw:
    """Changes of some folders in a random order."""

    def __init__(self, build, folders, seed, words):
        self.build, self.same = build, set()
        self.texts = {str(f.relative_to(TOP)): f.read_text()
                      for folder in folders
                      for f in sorted((TOP / folder).glob('*.[ch]'))}
        self.order = [(s, c) for s, t in self.texts.items()
                      for c in changes.changes(t)]
        random.Random(seed).shuffle(self.order)
        self.order = [(s, c) for s, c in self.order
                      if words in place_of(s, self.texts[s], c)]

    def objects(self, source, change, room):
        """The changed objects; None: there are none, or none are changed."""
        text = self.texts[source]
        made = [self.build.compiled(source, t, room / kind) for kind, t in (
            ('usual', text), ('other', changes.changed(text, change)))]
        if None in made or all(o.read_bytes() == made[1][n].read_bytes()
                               for n, o in made[0].items()):
            return None
        return made[1]


def judged(build, draw, job, took, argued):
    """A change, and which test noticed it; '' for none."""
    source, change = job
    place = place_of(source, draw.texts[source], change)
    with tempfile.TemporaryDirectory(dir=build.folder) as name:
        room = pathlib.Path(name)
        objects = draw.objects(source, change, room)
        if not objects:
            return place, 'same'
        if place in argued:
            return place, 'argued'
        for test, seconds in took.items():
            if notices(build, test, objects, room, 20 + 4 * seconds):
                return place, test
    return place, ''


def group_of(name, build, args, argued):
    """Tries EACH changes of a group: how many were noticed, argued."""
    folders, tests = GROUPS[name]
    tests = [test for test in tests if args.test in test]
    if not tests:
        sys.exit(f'no test of {name} has "{args.test}" in its name')
    took = usual_seconds(build, tests)
    draw = Draw(build, folders, args.seed, args.words)
    count = {'noticed': 0, 'argued': 0, 'missed': 0}
    jobs = iter(draw.order)
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        while (left := args.each - count['noticed'] - count['missed']) > 0:
            batch = [job for _, job in zip(range(left), jobs)]
            if not batch:
                break
            for place, by in pool.map(
                    lambda job: judged(build, draw, job, took, argued), batch):
                if by == 'same':
                    continue
                kind = {'': 'missed', 'argued': by}.get(by, 'noticed')
                count[kind] += 1
                if kind != 'noticed' or args.verbose:
                    print(f'# {kind} {by}: {place}', flush=True)
    print(f'{name:10} {count["noticed"]:4d} noticed {count["missed"]:3d} '
          f'missed {count["argued"]:3d} argued', flush=True)
    return count


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument('build')
    parser.add_argument('-n', dest='each', type=int, default=25)
    parser.add_argument('-s', dest='seed', type=int, default=1)
    parser.add_argument('-g', dest='groups', action='append')
    parser.add_argument('-k', dest='words', default='')
    parser.add_argument('-t', dest='test', default='')
    parser.add_argument('-j', dest='jobs', type=int, default=2)
    parser.add_argument('-v', dest='verbose', action='store_true')
    args = parser.parse_args()
    if subprocess.run([*SANDBOX, 'true'], capture_output=True).returncode:
        print('1..0 # skip no namespaces of its own')
        sys.exit(77)
    lines = (HERE / 'equivalent').read_text().splitlines()
    argued = {l for l in lines if l.startswith('src/')}
    build = Build(args.build)
    counts = [group_of(name, build, args, argued)
              for name in args.groups or GROUPS]
    noticed = sum(c['noticed'] for c in counts)
    total = noticed + sum(c['missed'] for c in counts)
    print(f'{"all":10} {noticed:4d} of {total} noticed')
    sys.exit(not total or noticed < 0.95 * total)


if __name__ == '__main__':
    main()
