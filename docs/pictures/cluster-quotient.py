"""A cluster and its quotient: what the search sees of many equal nodes."""
from draw import *

p = Picture(1080, 560, "A cluster and its quotient: one node, classes of "
            "others, levels")
FILL = [RED, ORANGE, GREEN, GREEN] + [BLUE] * 4
NAMES = ["itself", "below its leaf", "below its pod", "below its spine"]
p.text(280, 30, "the cluster: equal nodes, levels of switches", 16, bold=True)
p.text(835, 30, "its quotient, seen from node 0", 16, bold=True)
p.line([(555, 20), (555, 540)], FAINT, 1.4, "4 4", head=False)

# the cluster
leaf = [30 + 135 * i for i in range(4)]
p.box(190, 60, 160, 38, "spine", "", PLAIN, 14)
for i in range(2):
    x = 97 + 270 * i
    p.line([(x + 55, 150), (230 + 80 * i, 98)], GREY, 1.4, head=False)
    p.box(x, 150, 110, 36, "pod", "", PLAIN, 14)
for i, x in enumerate(leaf):
    pod = 97 + 270 * (i // 2) + 35 + 40 * (i % 2)
    p.line([(x + 55, 240), (pod, 186)], GREY, 1.4, head=False)
    p.box(x, 240, 110, 36, "leaf", "", PLAIN, 14)
    for j in range(2):
        n = 2 * i + j
        nx = x - 5 + 62 * j
        p.line([(nx + 29, 330), (x + 30 + 50 * j, 276)], GREY, 1.4, head=False)
        p.rect(nx, 330, 57, 92, FILL[n], r=4, width=3 if n == 0 else 1.4)
        p.text(nx + 28, 349, f"node {n}", 12, bold=n == 0)
        for g in range(4):
            p.rect(nx + 7 + 23 * (g % 2), 357 + 30 * (g // 2), 20, 24,
                   "#ffffff", GREY, r=2, width=1)
            p.text(nx + 17 + 23 * (g % 2), 373 + 30 * (g // 2), str(g), 12)
for x0, x1, words, fill in ((24, 82, "class 0", RED), (86, 145, "class 1", ORANGE),
                            (160, 280, "class 2", GREEN),
                            (295, 550, "class 3", BLUE)):
    p.line([(x0, 436), (x0, 442), (x1, 442), (x1, 436)], DEEP[fill], 2,
           head=False)
    p.text((x0 + x1) / 2, 460, words, 13, fill=DEEP[fill], bold=True)
p.text(280, 492, "A class: all nodes whose lowest switch in common with node 0\n"
       "is of the same level.  Swapping nodes of a class changes\n"
       "nothing for node 0, so their flows may be averaged.", 13)

# the quotient
xs = [590, 712, 834, 956]
times = ["x 1", "x 1", "x 2", "x 4"]
p.box(870, 60, 170, 38, "spine", "", PLAIN, 14)
pods = [(700, 150, "pod"), (956, 150, "pod of class 3")]
p.line([(755, 150), (905, 98)], GREY, 2, head=False)
p.line([(1000, 150), (985, 98)], GREY, 2, head=False)
p.box(680, 150, 150, 36, "its pod", "", PLAIN, 14)
p.box(925, 150, 125, 36, "pods x 1", "", BLUE, 14)
p.line([(670, 240), (725, 186)], GREY, 2, head=False)
p.line([(870, 240), (790, 186)], GREY, 3, head=False)
p.line([(1002, 240), (992, 186)], GREY, 5, head=False)
p.box(600, 240, 150, 36, "its leaf", "", PLAIN, 14)
p.box(820, 240, 105, 36, "leaves x 1", "", GREEN, 14)
p.box(945, 240, 112, 36, "leaves x 2", "", BLUE, 14)
ups = [(640, 276), (715, 276), (876, 276), (1004, 276)]
for i, x in enumerate(xs):
    n = (1, 1, 2, 4)[i]
    fill = (RED, ORANGE, GREEN, BLUE)[i]
    p.line([(x + 50, 330), ups[i]], GREY, 1 + n, head=False)
    p.rect(x, 330, 100, 92, fill, r=4, width=3 if i == 0 else 1.4)
    p.text(x + 50, 349, "node 0" if i == 0 else f"class {i}", 13, bold=True)
    for g in range(4):
        p.rect(x + 12 + 40 * (g % 2), 357 + 30 * (g // 2), 36, 24, "#ffffff",
               GREY, r=2, width=1)
        p.text(x + 30 + 40 * (g % 2), 374 + 30 * (g // 2),
               f"{g}" if n == 1 else f"{g} x{n}", 12)
    p.text(x + 50, 442, "1 node" if n == 1 else f"{n} nodes as one", 13,
           fill=DEEP[fill], bold=True)
p.text(822, 475, "Vertex is added to like vertex, link to like link: the "
       "thicker,\nthe more links in one.  A class more a level, however many\n"
       "nodes: 100,000 GPUs become a few hundred vertices, and no\n"
       "maximum flow to a GPU of node 0 changes.", 13)
p.save("cluster-quotient.svg")
