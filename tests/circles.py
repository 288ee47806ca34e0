#!/usr/bin/env python3
"""Who depends on whom in src: circles of files, and arrows that run back up.

    circles.py SRC ORDER

A module is x.c with its x.h.  It calls another if it uses a function that is
defined there: a name that Universal Ctags finds as a global function of a .c, as
a word outside of comments and strings.  Modules may not call each other in
circles, nor headers include each other.  ORDER is a file of lines "FOLDER: SUB
SUB ...", lowest first ("." is the folder itself): a module may include and call
what is in its own sub-folder and in those before it.  What is wrong goes to standard output, a line a finding;
the exit status is 0 in any case, 2 if the arguments are wrong.
"""
import os
import re
import subprocess
import sys
from collections import defaultdict

SOURCES = re.compile(r"\.(c|h|cu|cuh)$")
# What names no function: comments, strings, tags, members.
NOISE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\])+\'|'
                   r'\b(?:struct|enum|union)\s+\w+|(?:->|\.)\s*[A-Za-z_]\w*', re.S)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"([^"]+)"', re.M)
WORD = re.compile(r"\b[A-Za-z_]\w*\b")


def sources(src):
    found = []
    for folder, _, names in os.walk(src):
        found += [os.path.relpath(os.path.join(folder, name), src)
                  for name in names if SOURCES.search(name)]
    return sorted(found)


def module(file):
    return SOURCES.sub("", file)


def functions(src, files):
    """Global functions by name, and each file's static ones."""
    command = ["ctags", "-L", "-", "--kinds-C=f", "--fields=Kf", "-f", "-"]
    out = subprocess.run(command, input="\n".join(files), text=True, cwd=src,
                         capture_output=True, check=True).stdout
    shared, static = {}, defaultdict(set)
    for line in out.splitlines():
        fields = line.split("\t")
        if fields[0].startswith("!"):
            continue
        if "file:" in fields[3:]:
            static[fields[1]].add(fields[0])
        else:
            shared[fields[0]] = fields[1]
    return shared, static


def arrows(src):
    """Calls and includes of modules, and includes of headers, each with why."""
    files = sources(src)
    shared, static = functions(src, [f for f in files if f.endswith(".c")])
    calls, includes, headers = (defaultdict(dict) for _ in range(3))
    for file in files:
        with open(os.path.join(src, file), encoding="utf-8") as handle:
            text = handle.read()
        own = module(file)
        for target in INCLUDE.findall(text):
            if SOURCES.search(target) and module(target) != own:
                includes[own][module(target)] = "#include"
                if file.endswith(".h") or file.endswith(".cuh"):
                    headers[own][module(target)] = "#include"
        if not file.endswith(".c"):
            continue
        for word in set(WORD.findall(NOISE.sub(" ", text))) - static[file]:
            if word in shared and module(shared[word]) != own:
                calls[own][module(shared[word])] = word + "()"
    return calls, includes, headers


def circles(graph):
    """Tarjan's strongly connected components of two nodes or more."""
    index, low, stack, out = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for target in graph.get(node, {}):
            if target not in index:
                visit(target)
                low[node] = min(low[node], low[target])
            elif target in stack:
                low[node] = min(low[node], index[target])
        if low[node] == index[node]:
            at = stack.index(node)
            if len(stack) - at > 1:
                out.append(sorted(stack[at:]))
            del stack[at:]

    sys.setrecursionlimit(10000)
    for node in sorted(graph):
        if node not in index:
            visit(node)
    return out


def read_order(path):
    order = {}
    with open(path, encoding="utf-8") as handle:
        for line in handle:
            line = line.split("#")[0]
            if ":" in line:
                folder, subs = line.split(":")
                order[folder.strip()] = subs.split()
    return order


def place(name):
    """A module's folder and sub-folder; "." for the folder itself."""
    parts = name.split("/")
    return parts[0], "/".join(parts[1:-1]) or "."


def up(graph, order):
    for name in sorted(graph):
        folder, sub = place(name)
        if folder not in order:
            continue
        if sub not in order[folder]:
            yield f"src/{name}: {folder}/{sub} is not in the order of folders"
            continue
        for target, why in sorted(graph[name].items()):
            to_folder, to_sub = place(target)
            if to_folder != folder or to_sub not in order[folder]:
                continue
            if order[folder].index(to_sub) > order[folder].index(sub):
                yield f"src/{name}: {why} runs back up to {target}"


def main():
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    calls, includes, headers = arrows(sys.argv[1])
    order = read_order(sys.argv[2])
    for graph in calls, headers:
        for circle in circles(graph):
            print("circle of", len(circle), "files:", " ".join(circle))
            for name in circle:
                for target, why in sorted(graph[name].items()):
                    if target in circle:
                        print(f"    {name} -> {target}: {why}")
    for graph in calls, includes:
        for line in up(graph, order):
            print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
