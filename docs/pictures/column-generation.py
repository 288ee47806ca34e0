"""Linear program, pricing, exact solution, certificate: the search's loop."""
from draw import *

p = Picture(1080, 500, "How rings, trees and paths are found and proved")


def label(x, y, words, at="middle", color=GREY):
    p.text(x, y, words, 12, at, color)


p.text(285, 28, "in floats: quick, only to find the way", 14, fill=DEEP[BLUE],
       bold=True)
p.rect(20, 42, 530, 300, "#ffffff", DEEP[BLUE], dash="6 4")
p.text(820, 28, "in exact fractions: what is claimed", 14, fill=DEEP[GREEN],
       bold=True)
p.rect(580, 42, 480, 300, "#ffffff", DEEP[GREEN], dash="6 4")

p.box(40, 70, 190, 84, "greedy start", "some rings,\ntrees or paths", PLAIN)
p.box(330, 70, 200, 84, "restricted master", "linear program over\nthe columns so far",
      BLUE)
p.box(330, 230, 200, 90, "pricing", "the cheapest ring, tree\nor path under "
      "these prices", BLUE)
p.box(40, 230, 190, 90, "new columns", "all that cost\nless than 1", BLUE)
p.line([(230, 112), (328, 112)])
p.line([(430, 154), (430, 228)])
label(440, 188, "a price for\neach full link", "start", INK)
p.line([(330, 275), (232, 275)])
label(281, 265, "some cost < 1", color=INK)
p.line([(135, 230), (135, 192), (380, 192), (380, 156)])
label(240, 184, "add, solve again")

p.box(610, 230, 180, 90, "exact basis", "whole numbers of\nany size", GREEN)
p.line([(530, 275), (608, 275)])
p.rect(534, 252, 62, 18, "#ffffff", "#ffffff", width=0)
label(565, 265, "none does", color=INK)
p.box(610, 70, 180, 84, "exact shares,\nexact prices", "", GREEN)
p.line([(700, 230), (700, 156)])
p.box(840, 70, 110, 84, "pricing", "once more", GREEN)
p.line([(790, 112), (838, 112)])
p.line([(895, 70), (895, 56), (470, 56), (470, 68)], DEEP[RED], 1.6, "5 3")
p.rect(636, 48, 158, 17, "#ffffff", "#ffffff", width=0)
p.text(715, 61, "one costs < 1: go on", 12, fill=DEEP[RED])

p.file(610, 385, 180, 84, "channels", "sum of shares = value")
p.file(840, 385, 180, 84, "certificate", "prices x capacities\n= bound")
p.line([(770, 154), (770, 195), (820, 195), (820, 362), (700, 362), (700, 383)])
p.line([(930, 154), (930, 383)])
label(938, 210, "none does: the\nprices bound\nevery packing", "start", INK)
p.box(330, 385, 200, 84, "checker", "adds up both again; shares\nno code with "
      "the search", ORANGE)
p.line([(610, 452), (532, 452)])
p.line([(840, 480), (560, 480), (560, 462), (532, 462)])
p.box(40, 385, 190, 84, "value = bound", "optimal, proven;\nelse the gap is told",
      VIOLET)
p.line([(330, 427), (232, 427)])
p.text(815, 420, "=", 22, bold=True)
p.text(815, 440, "?", 14)
p.save("column-generation.svg")
