"""Threads of libgtopo in time: on the host, and on GPUs."""
from draw import *

p = Picture(1080, 640, "Threads of libgtopo on a time line")
COLORS = {"0": BLUE, "1": GREEN}


def lane(y, name, words, x1=1060):
    p.text(20, y + 16, name, 13, "start", bold=True)
    p.text(20, y + 31, words, 12, "start", GREY)
    p.line([(210, y + 34), (x1, y + 34)], FAINT, 1, head=False)


def piece(y, x0, x1, words, fill, dash=None):
    p.rect(x0, y, x1 - x0, 28, fill, r=3, dash=dash)
    p.text((x0 + x1) / 2, y + 19, words, 12)


# host
p.text(20, 30, "On the host: a call only queues", 16, "start", bold=True)
A, B, C, R0, R1 = 50, 100, 150, 200, 250
lane(A, "your thread, rank 0", "")
lane(B, "your thread, rank 1", "")
lane(C, "communicator's thread", "one a communicator")
lane(R0, "thread of rank 0", "made with the engine")
lane(R1, "thread of rank 1", "")
piece(A, 220, 300, "all-reduce", BLUE)
piece(A, 310, 480, "your own work", "#ffffff", "4 3")
piece(A, 490, 820, "gtopo_wait(): sleeps", "#ffffff", "2 3")
piece(B, 220, 410, "your own work", "#ffffff", "4 3")
piece(B, 420, 500, "all-reduce", GREEN)
piece(B, 510, 820, "gtopo_wait(): sleeps", "#ffffff", "2 3")
piece(C, 220, 500, "sleeps", "#ffffff", "2 3")
piece(C, 510, 590, "all called?", ORANGE)
piece(C, 600, 760, "runs it, watches", ORANGE)
piece(C, 765, 815, "done", ORANGE)
piece(R0, 605, 755, "lanes of rank 0", VIOLET)
piece(R1, 605, 755, "lanes of rank 1", VIOLET)
p.line([(300, A + 28), (508, C + 10)], DEEP[BLUE], 1.5, "4 3")
p.line([(500, B + 28), (512, C - 1)], DEEP[GREEN], 1.5, "4 3")
p.text(385, C - 8, "queue a rank", 12, fill=GREY)
p.line([(600, C + 28), (604, R0 - 1)], DEEP[ORANGE], 1.5)
p.line([(757, R0), (766, C + 29)], DEEP[VIOLET], 1.5)
p.line([(815, C), (820, A + 30)], DEEP[ORANGE], 1.5)
p.text(840, A + 8, "goes on: the result\nis in your buffers", 13, "start")
p.text(840, C + 10, "Who called different things is\nfound here, before a byte "
       "moves.", 12, "start", GREY)
p.line([(20, 305), (1060, 305)], FAINT, 1.4, head=False)

# GPUs
p.text(20, 335, "On GPUs: the last caller launches for all", 16, "start",
       bold=True)
A, B, C, S0, S1 = 355, 405, 455, 505, 555
lane(A, "your thread, rank 0", "")
lane(B, "your thread, rank 1", "")
lane(C, "communicator's thread", "looks every 20 ms for failures")
lane(S0, "stream of rank 0", "on GPU 0")
lane(S1, "stream of rank 1", "on GPU 1")
piece(A, 220, 500, "all-reduce: waits for rank 1's call", BLUE)
piece(A, 510, 700, "your next call, at once", "#ffffff", "4 3")
piece(B, 220, 410, "your own work", "#ffffff", "4 3")
piece(B, 420, 500, "launches", GREEN)
piece(B, 510, 700, "your next call, at once", "#ffffff", "4 3")
for x in range(230, 1050, 110):
    piece(C, x, x + 22, "", ORANGE)
piece(S0, 220, 495, "what you enqueued before", "#ffffff", "4 3")
piece(S0, 530, 800, "all-reduce", VIOLET)
piece(S0, 810, 1050, "what you enqueued behind it", "#ffffff", "4 3")
piece(S1, 220, 460, "what you enqueued before", "#ffffff", "4 3")
piece(S1, 530, 800, "all-reduce", VIOLET)
piece(S1, 810, 1050, "what you enqueued behind it", "#ffffff", "4 3")
p.line([(500, B + 14), (506, B + 14), (506, S1 + 14), (528, S1 + 14)], DEEP[GREEN], 1.6)
p.line([(506, S0 + 14), (528, S0 + 14)], DEEP[GREEN], 1.6)
p.text(720, A + 12, "The operation is on the stream when the call\nreturns, so "
       "the order of a stream holds.", 12, "start", GREY)
p.line([(210, 612), (1060, 612)], INK, 1.6)
p.text(1060, 630, "time", 13, "end")
p.save("library-threads.svg")
