"""Which folder of src may include which: tests/layers.order, which
tests/check-layers.sh proves."""
from draw import *

# Folder -> {folder it may include: is all of it meant, not named headers?}
MAY = {}
for row in open("../../tests/layers.order", encoding="utf-8"):
    if not row.startswith("#"):
        name, targets = row.split(": ")
        MAY[name] = {t.split("/")[0]: t.endswith("/") for t in targets.split()}
# What stands in the picture's words: all rest on base; cli, lib and nccl.
drawn = {(a, b) for a in MAY for b in MAY[a]
         if b in (a, "base", "gtopo.h") or a in ("main.c", "cli") or
         (a == "lib" and b in ("plan", "world", "search", "topo")) or
         (a == "nccl" and b in ("plan", "world", "exec"))}

p = Picture(1000, 560, "Which folder may include which")
B = {}


def brick(name, x, y, w, body, fill, h=64):
    B[name] = (x, y, w, h)
    p.box(x, y, w, h, name, body, fill, size=16)


def arrow(a, b, dx=0, ax=None, note=None):
    dash = None if MAY[a][b] else "5 4"
    drawn.add((a, b))
    xa, ya, wa, ha = B[a]
    xb, yb, wb, hb = B[b]
    x0 = xa + (wa / 2 if ax is None else ax)
    x1 = xb + wb / 2 + dx
    p.line([(x0, ya + ha), (x1, yb)], INK, 1.6, dash)
    if note:
        p.text((x0 + x1) / 2, (ya + ha + yb) / 2, note, 12, fill=GREY)


p.text(20, 28, "An arrow says: may include.", 14, "start")
p.text(20, 48, "Everything rests on base.", 14, "start")
p.text(20, 68, "exec knows neither topo nor search.", 14, "start")
brick("cli", 330, 50, 230, "one short file a command", VIOLET)
brick("lib", 800, 50, 180, "include/gtopo.h", VIOLET)
brick("nccl", 600, 50, 150, "NCCL's ABI", VIOLET)
brick("report", 40, 210, 150, "results as text, JSON", ORANGE)
brick("search", 230, 210, 170, "topology -> plan", ORANGE)
brick("measure", 440, 210, 170, "this machine's GPUs", ORANGE)
brick("exec", 700, 210, 220, "engines, memory, links", ORANGE)
brick("topo", 130, 360, 170, "the machine", BLUE)
brick("plan", 370, 360, 170, "the plan, its proof", BLUE)
brick("kernels", 580, 360, 170, "device code", BLUE)
brick("world", 800, 360, 160, "processes of a job", BLUE)
brick("base", 40, 480, 920, "errors, arenas, fractions, units, files, JSON, XML",
      GREEN, 58)
arrow("cli", "report", ax=20)
arrow("cli", "search", ax=70)
arrow("cli", "measure", ax=150)
arrow("cli", "exec", ax=210)
arrow("lib", "exec", dx=60)
p.line([(750, 82), (800, 82)], INK, 1.6, "5 4")
drawn.add(("nccl", "lib"))
arrow("search", "topo", dx=30, ax=60)
arrow("search", "plan", dx=-40, ax=130)
arrow("measure", "topo", ax=40, dx=70)
arrow("measure", "kernels", ax=130, dx=-60)
arrow("exec", "plan", ax=30, dx=60)
arrow("exec", "kernels", ax=90, dx=20)
arrow("exec", "world", ax=180, dx=0)
x, y, w, h = B["kernels"]
p.line([(x, y + 44), (540, y + 44)], INK, 1.6, "5 4")
drawn.add(("kernels", "plan"))
for n in ("topo", "plan", "kernels", "world"):
    x, y, w, h = B[n]
    p.line([(x + w / 2, y + h), (x + w / 2, 480)])
x, y, w, h = B["report"]
p.line([(70, y + h), (70, 480)])
p.text(20, 150, "cli may include all below\nit but kernels", 12, "start", GREY)
p.text(20, 96, "lib may include search and topo, lib and\nnccl plan, world and base, "
       "too, and nccl a\nheader of exec", 12, "start", GREY)
p.text(335, 446, "no arrow", 12, fill="#c0392b", bold=True)
p.line([(302, 392), (368, 392)], "#c0392b", 1.6, "2 3", head=False)
p.text(335, 396, "x", 20, fill="#c0392b", bold=True)
p.text(500, 555, "dashed: a few named headers only "
       "(kernels: the C ABI; measure: one header each; plan: ir/program.h)",
       12, fill=GREY)
missing = {(a, b) for a in MAY for b in MAY[a]} - drawn
assert not missing, missing
assert "kernels" not in MAY["cli"] and not {"topo", "search"} & set(MAY["exec"])
p.save("layers.svg")
