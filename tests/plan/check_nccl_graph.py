"""check_nccl_graph.py PLAN GRAPH: what NCCL's reader wants of a graph file, and
what the plan says of its channels."""
import json
import re
import sys
import xml.etree.ElementTree as ET
from fractions import Fraction

plan = json.load(open(sys.argv[1], encoding="utf-8"))
text = open(sys.argv[2], encoding="utf-8").read()

# NCCL's own parser takes no tabs, no declaration, one blank between
# attributes, and no text.
assert "\t" not in text and "<?" not in text and "  />" not in text
assert not re.search(r'" {2,}[a-z]', text) and " />" not in text
root = ET.fromstring(text)
assert all(not (e.text or "").strip() and not (e.tail or "").strip()
           for e in root.iter())

assert root.tag == "graphs" and root.attrib == {"version": "1"}
(graph,) = root
wanted = ["id", "pattern", "crossnic", "nchannels", "speedintra", "speedinter",
          "latencyinter", "typeintra", "typeinter", "samechannels"]
assert list(graph.attrib) == wanted, graph.attrib
kinds = {"LOC", "NVL", "NVB", "PIX", "PXB", "PXN", "PHB", "SYS"}
assert {graph.get("typeintra"), graph.get("typeinter")} <= kinds
ring = plan["channels"][0]["shape"] == "ring"
assert (graph.get("id"), graph.get("pattern")) == (("0", "4") if ring
                                                   else ("1", "3"))
assert int(graph.get("nchannels")) == len(graph) >= 1

devs = [rank["dev"] for rank in plan["ranks"]]
orders = {tuple(channel["order"]): Fraction(channel["gbs"])
          for channel in plan["channels"]}
used = dict.fromkeys(orders, 0)
for channel in graph:
    assert channel.tag == "channel" and not channel.attrib
    assert all(gpu.tag == "gpu" for gpu in channel)
    order = tuple(devs.index(int(gpu.get("dev"), 16)) for gpu in channel)
    assert sorted(order) == list(range(len(devs)))
    used[order] += Fraction(graph.get("speedintra"))
for order, gbs in orders.items():
    assert used[order] <= gbs, (order, used[order], gbs)
assert 1 <= len(graph) <= 16
kept = float(sys.argv[3]) if len(sys.argv) > 3 else 0.9999
assert sum(used.values()) >= kept * float(sum(orders.values()))
