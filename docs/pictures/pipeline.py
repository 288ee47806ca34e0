"""The pipeline: stages, the files between them, and who reads each file."""
from draw import *

p = Picture(1120, 430, "From a machine to bytes moved, one file an arrow")
y = 60
# stages and artefacts from left to right
p.box(20, y, 120, 90, "machine", "GPUs, NICs,\nPCIe, NVLink", PLAIN)
p.file(215, y, 130, 90, "topology", "XML, as NCCL's")
p.box(420, y, 110, 90, "graph", "routes between\nevery two\ndevices", BLUE)
p.file(605, y, 130, 90, "plan", "JSON: channels,\nshares, proof")
p.box(810, y, 110, 90, "programs", "one a rank,\nsteps of one\nprimitive", GREEN)
p.file(990, y, 110, 90, "report", "JSON, text")
mid = y + 45
for a, b, name in ((140, 215, "detect"), (345, 420, ""), (530, 605, "search"),
                   (735, 810, "lower"), (920, 990, "run")):
    p.line([(a, mid), (b, mid)])
    p.text((a + b) / 2, mid - 9, name, 14, bold=True)
# folders
for x, name in ((177, "src/topo/probe"), (382, "src/topo/graph"),
                (567, "src/search"), (772, "src/plan/lower"),
                (955, "src/exec")):
    p.text(x, y - 22, name, 12, fill=GREY, mono=True)
    p.line([(x, y - 15), (x, mid - 24)], GREY, 1, "2 3", head=False)
# checkers
for x, w, head, body in (
        (205, 150, "checked by", "gt_topo_check()\nschema, gtopo lint"),
        (595, 150, "checked by", "gt_plan_check()\nbound, loads, routes"),
        (785, 160, "proven by", "gt_simulate()\nright result, no deadlock,\nno race")):
    p.line([(x + w / 2, y + 90), (x + w / 2, y + 124)], GREY, 1.2, "4 3",
           tail=True, head=False)
    p.box(x, y + 124, w, 74, head, body, ORANGE, size=13)
# commands
p.line([(20, 285), (1100, 285)], FAINT, 1, head=False)
p.text(20, 309, "Every stage can start from a file:", 14, "start", bold=True)
for x, w, lines in (
        (205, 330, "gtopo show · paths · diff · lint · search\n"
                   "fuse and synth write files of other machines\n"
                   "a dump of NCCL's is such a file, too"),
        (560, 320, "gtopo verify · predict · tune · run\n"
                   "export, import: MSCCL, MSCCL++\n"
                   "libgtopo runs one in your program"),
        (905, 195, "comparison with\nprediction and NCCL")):
    p.text(x, 340, lines, 13, "start")
p.text(20, 340, "commands that\nread the file\nabove them", 13, "start", GREY)
p.text(205, 410, "needs no GPU", 13, "start", "#2f6db3", bold=True)
p.line([(310, 405), (770, 405)], "#2f6db3", 1.4)
p.text(785, 410, "runs on GPUs, or on CPUs as threads", 13, "start", "#3a8f46",
       bold=True)
p.save("pipeline.svg")
