"""How a buffer becomes slices, and how slices travel through a FIFO."""
from draw import *

p = Picture(1000, 745, "A chunk is cut into slices, which travel through the "
            "slots of a FIFO")
X, W = 150, 820


def bar(y, parts, h=40):
    """parts: (fraction, words, fill); returns the x of every cut."""
    x, cuts = X, [X]
    for f, words, fill in parts:
        p.rect(x, y, W * f, h, fill, r=2)
        p.text(x + W * f / 2, y + h / 2 + 5, words, 13)
        x += W * f
        cuts.append(x)
    return cuts


def zoom(x0, x1, y, to):
    """From a part of the bar above to the whole bar below."""
    p.wedge([(x0, y), (x1, y), (X + W, to), (X, to)], "#f1f3f5")


zoom(X, X + W / 2, 60, 90)
zoom(X + W / 4, X + W / 2, 130, 160)
zoom(X, X + W / 2, 200, 230)
for y, name, words in ((20, "buffer", "count elements"),
                       (90, "channel", "its share"),
                       (160, "chunk", "numbered"),
                       (230, "worker's part", "a thread block's")):
    p.text(20, y + 18, name, 14, "start", bold=True)
    p.text(20, y + 35, words, 12, "start", GREY)
bar(20, [(.5, "channel 0: share 1/2", BLUE), (.25, "channel 1: 1/4", PLAIN),
         (.25, "channel 2: 1/4", PLAIN)])
bar(90, [(.25, "chunk 0", PLAIN), (.25, "chunk 1", GREEN),
         (.25, "chunk 2", PLAIN), (.25, "chunk 3", PLAIN)])
bar(160, [(.5, "worker 0", ORANGE), (.5, "worker 1", PLAIN)])
shades = [VIOLET] * 5
bar(230, [(.2, f"slice of loop {i}", VIOLET) for i in range(5)])
p.text(20, 302, "In each loop a worker runs its whole program and moves one "
       "slice of each step's chunk.  Its FIFO, with S = 4 slots:", 13,
       "start")
# the FIFO
L, R, T = 40, 790, 350
p.box(L, T, 170, 210, "sender", "", BLUE, size=16)
p.box(R, T, 170, 210, "receiver", "", GREEN, size=16)
p.rect(300, T - 12, 400, 234, "#ffffff", GREY, dash="4 4")
p.text(500, T + 12, "slice k lives in slot k mod S", 13)
slots = [("8", "being filled", BLUE), ("5", "in flight", VIOLET),
         ("6", "in flight", VIOLET), ("7", "in flight", VIOLET)]
for i, (k, words, fill) in enumerate(slots):
    x = 320 + i * 92
    p.rect(x, T + 26, 84, 74, fill, r=3)
    p.text(x + 42, T + 48, f"slot {i}", 12, fill=GREY)
    p.text(x + 42, T + 68, f"slice {k}", 14, bold=True)
    p.text(x + 42, T + 88, words, 12, fill=GREY)
p.line([(210, T + 50), (318, T + 50)], DEEP[BLUE], 2.2)
p.text(262, T + 42, "1 write", 13, fill=DEEP[BLUE], bold=True)
p.line([(690, T + 78), (788, T + 78)], DEEP[GREEN], 2.2)
p.text(744, T + 70, "4 read", 13, fill=DEEP[GREEN], bold=True)
for y, name, value, words in ((T + 122, "data", "8", "slices written"),
                              (T + 176, "credit", "5", "slices consumed")):
    p.rect(375, y - 6, 250, 36, ORANGE, r=3)
    p.text(387, y + 17, f"{name} = {value}", 15, "start", bold=True, mono=True)
    p.text(615, y + 16, words, 12, "end", GREY)
p.line([(210, T + 134), (373, T + 134)], DEEP[BLUE], 2.2)
p.text(255, T + 126, "2 release", 13, fill=DEEP[BLUE], bold=True)
p.line([(627, T + 134), (788, T + 134)], DEEP[GREEN], 2.2)
p.text(744, T + 126, "3 acquire", 13, fill=DEEP[GREEN], bold=True)
p.line([(788, T + 190), (627, T + 190)], DEEP[GREEN], 2.2)
p.text(744, T + 182, "5 release", 13, fill=DEEP[GREEN], bold=True)
p.line([(373, T + 190), (212, T + 190)], DEEP[BLUE], 2.2)
p.text(255, T + 182, "6 acquire", 13, fill=DEEP[BLUE], bold=True)
p.text(L + 85, T + 240, "waits until\ndata - credit < S", 13)
p.text(R + 85, T + 240, "waits until\ncredit < data", 13)
p.text(500, T + 244, "Both counters only grow; each has one writer.", 13)
# the counters as a number line
y = 675
p.line([(110, y), (930, y)], INK, 1.6)
p.text(20, y + 5, "slices", 14, "start", bold=True)
for k in range(12):
    x = 140 + k * 66
    p.line([(x, y - 6), (x, y + 6)], INK, 1.4, head=False)
    fill = GREEN if k < 5 else VIOLET if k < 8 else BLUE if k == 8 else "#ffffff"
    p.rect(x + 3, y - 34, 60, 26, fill, GREY if k > 8 else None, r=3)
    p.text(x + 33, y - 16, str(k), 13)
for k, name, color in ((5, "credit", DEEP[GREEN]), (8, "data", DEEP[BLUE])):
    x = 140 + k * 66
    p.line([(x, y + 34), (x, y + 8)], color, 2)
    p.text(x, y + 50, name, 14, fill=color, bold=True, mono=True)
p.text(140 + 2.5 * 66, y + 30, "consumed", 13, fill=GREY)
p.text(140 + 6.5 * 66, y + 30, "in flight: at most S", 13, fill=GREY)
p.text(140 + 10.3 * 66, y + 30, "yet to come", 13, fill=GREY)
p.save("chunk-slice-slot-fifo.svg")
