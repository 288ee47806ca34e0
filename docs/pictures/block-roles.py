"""A thread block of the interpreter in time: three roles and their gates."""
from draw import *

p = Picture(1080, 400, "Scheduler, movers and poster of a block in time")
S, M, P = 95, 195, 295          # rows
COLORS = [BLUE, GREEN, ORANGE, VIOLET, RED]
for y, name, words in ((S, "scheduler", "one warp"), (M, "movers", "all other warps"),
                       (P, "poster", "one warp")):
    p.text(20, y + 22, name, 16, "start", bold=True)
    p.text(20, y + 40, words, 12, "start", GREY)
    p.line([(150, y + 52), (1060, y + 52)], FAINT, 1, head=False)


def piece(row, x0, x1, words, fill, dash=None):
    p.rect(x0, row, x1 - x0, 42, fill, r=3, dash=dash)
    p.text((x0 + x1) / 2, row + 26, words, 12)


def gate(x0, y0, x1, y1, words, color, dx=6, at="start"):
    p.line([(x0, y0), (x1, y1)], color, 2)
    if words:
        p.text((x0 + x1) / 2 + dx, (y0 + y1) / 2 + 5, words, 12, at, color, True)


# slice: (task begins, wait begins, ready, moved, posted)
rows = [(150, 200, 290, 440, 520), (290, 340, 400, 590, 670),
        (400, 450, 620, 770, 850), (620, 670, 700, 920, 1000)]
red, blue, green = "#c0392b", DEEP[BLUE], DEEP[GREEN]
moved = 0
for i, (t, w, ready, done, post) in enumerate(rows):
    fill = COLORS[i]
    piece(S, t, w, "task", fill)
    piece(S, w, ready, "waits" if ready - w > 55 else "", "#ffffff", "4 3")
    begin = max(ready, moved) + 6
    piece(M, begin, done, f"move slice {i}", fill)
    piece(P, done + 8, post, "fence, post", fill)
    gate(ready, S + 42, begin, M, "READY" if i == 0 else "", blue)
    gate(done, M + 42, done + 8, P, "DONE" if i == 1 else "", red, 10)
    moved = done
piece(S, 700, 750, "task", COLORS[4])
piece(S, 750, 1050, "waits for the flags of slice 4", "#ffffff", "4 3")
# free
p.line([(468, P), (468, S + 44)], green, 1.6, "3 3")
p.text(474, 172, "FREE", 12, "start", green, True)
p.text(150, 40, "A slice's flags are awaited, its bytes are moved and its flags "
       "are posted by different warps at the same time.", 14, "start")
p.text(150, 62, "task: writes down where a slice's bytes lie and how many; at most 4 "
       "ahead.  waits: polls the slice's flags in local memory.", 12, "start",
       GREY)
p.line([(150, 375), (1060, 375)], INK, 1.6)
p.text(1060, 393, "time", 13, "end")
p.text(150, 393, "READY: the movers may begin.   DONE: they have ended.   FREE: "
       "the task's place may be used again, slice 0's by slice 4.", 12,
       "start", GREY)
p.save("block-roles.svg")
