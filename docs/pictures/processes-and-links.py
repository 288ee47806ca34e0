"""Processes of a job: the star that keeps them, the links that carry bytes."""
from draw import *

p = Picture(1080, 560, "Processes, the star around process 0, and the links "
            "between ranks")
STAR, SHM, NET = "#c0392b", DEEP[GREEN], DEEP[BLUE]
p.rect(20, 60, 500, 380, "#ffffff", GREY, dash="6 4")
p.rect(560, 60, 500, 380, "#ffffff", GREY, dash="6 4")
p.text(40, 84, "host A", 15, "start", bold=True)
p.text(1040, 84, "host B", 15, "end", bold=True)


def process(x, y, n, ranks, body):
    p.rect(x, y, 200, 130, PLAIN, r=6)
    p.text(x + 10, y + 20, f"process {n}", 14, "start", bold=True)
    for i, r in enumerate(ranks):
        p.rect(x + 14 + 92 * i, y + 32, 80, 44, GREEN, r=4)
        p.text(x + 54 + 92 * i, y + 58, f"rank {r}", 13)
    p.rect(x + 14, y + 86, 80, 32, RED, r=4)
    p.text(x + 54, y + 106, "star", 13)
    p.rect(x + 106, y + 86, 80, 32, BLUE, r=4)
    p.text(x + 146, y + 106, "proxy", 13)


process(40, 110, 0, (0, 1), "")
process(300, 110, 1, (2, 3), "")
process(580, 110, 2, (4, 5), "")
process(840, 110, 3, (6, 7), "")
# the star: under the processes
for x in (354, 634, 894):
    p.line([(94, 228), (94, 268), (x, 268), (x, 230)], STAR, 1.6, head=False)
p.dot(94, 268, 4, STAR)
p.text(40, 292, "star: TCP to process 0, kept by a thread of its own.  It\n"
       "carries signs of life, five times a second, and meetings,\nat which "
       "everybody tells and everybody hears.", 13, "start", STAR)
# ring fifos: along the ranks
y = 100
p.text(540, 50, "a ring's FIFOs go from rank to rank", 14, bold=True)
p.line([(134, 164), (144, 164)], SHM, 2)
p.line([(394, 164), (404, 164)], SHM, 2)
p.line([(674, 164), (684, 164)], SHM, 2)
p.line([(934, 164), (944, 164)], SHM, 2)
p.line([(226, 158), (312, 158)], SHM, 2.6)
p.text(270, 150, "shm", 13, fill=SHM, bold=True)
p.line([(766, 158), (852, 158)], SHM, 2.6)
p.text(810, 150, "shm", 13, fill=SHM, bold=True)
p.line([(446, 186), (446, 194)], NET, 2, head=False)
p.line([(486, 164), (592, 164)], NET, 2.6)
p.rect(512, 138, 58, 17, "#ffffff", "#ffffff", width=0)
p.rect(512, 170, 58, 17, "#ffffff", "#ffffff", width=0)
p.text(540, 151, "tcp or", 13, fill=NET, bold=True)
p.text(540, 183, "verbs", 13, fill=NET, bold=True)
p.line([(1026, 154), (1046, 154), (1046, 96), (30, 96), (30, 154), (52, 154)],
       NET, 2.6)
p.text(760, 91, "tcp or verbs", 13, fill=NET, bold=True)
# the launcher
p.box(40, 345, 170, 72, "launcher", "mpirun, srun (PMIx),\n--procs, variables", ORANGE, 14)
p.text(222, 372, "tells each process who it is and\nwhere process 0 listens; "
       "then\nit is left alone", 13, "start")
# what a link is
p.text(580, 320, "shm: slots in the receiver's memory, which both map", 13,
       "start", SHM)
p.text(580, 350, "tcp: slots on both sides; the proxy, or a rank that\npolls "
       "anyway, sends slices from slot to slot", 13, "start", NET)
p.text(580, 397, "verbs: one RDMA write a slice, from slot to slot,\nover the "
       "card that the plan counted with", 13, "start", NET)
# faults
p.text(20, 470, "Who is at fault:", 14, "start", bold=True)
p.rect(20, 484, 1040, 16, PLAIN, r=2)
for part, words, at, x in (
        (0, "time limit begins", "start", 20),
        (.75, "3/4: a silent process, a rank\nthat stands still, is named", "middle", 0),
        (.875, "", "middle", 0), (1, "1: all wait", "end", 1060)):
    X = 20 + 1040 * part
    p.line([(X, 480), (X, 506)], INK, 2, head=False)
    if words:
        p.text(x or X - 60, 524, words, 12, at)
p.text(935, 524, "7/8: TCP breaks", 12)
p.save("processes-and-links.svg")
