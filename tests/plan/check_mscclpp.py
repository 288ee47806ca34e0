"""check_mscclpp.py FILE: is it an MSCCL++ execution plan that computes its
collective?  Checks keys and limits, then executes it in random orders."""
import json
import random
import sys

MAX_OPS, MAX_CHANNELS, MAX_IDS, MAX_LOCAL = 64, 16, 8, 2
plan = json.load(open(sys.argv[1], encoding="utf-8"))
gpus = plan["gpus"]
n = len(gpus)
assert set(plan) == {"name", "collective", "protocol", "inplace", "gpus"}
assert plan["protocol"] == "Simple" and plan["inplace"] is False
assert [gpu["id"] for gpu in gpus] == list(range(n))

# The k-th channel of a GPU to another one pairs with that one's k-th to it.
peers, pair = [], {}
for gpu in gpus:
    (channels,) = gpu["channels"]
    assert channels["channel_type"] == "memory"
    peers.append(channels["connected_to"])
for r in range(n):
    seen = {}
    for c, p in enumerate(peers[r]):
        assert p != r
        k = seen[p] = seen.get(p, -1) + 1
        back = [i for i, q in enumerate(peers[p]) if q == r]
        pair[r, c] = p, back[k]
assert all(pair[pair[at]] == at for at in pair)


def check_gpu(r, gpu):
    assert {b["type"] for b in gpu["remote_buffers"]} <= {"s"}
    assert all(b["rank"] != r for b in gpu["remote_buffers"])
    used = []
    for i, tb in enumerate(gpu["threadblocks"]):
        assert tb["id"] == i and len(tb["ops"]) <= MAX_OPS
        ids = tb["channels"][0]["channel_ids"]
        assert len(ids) <= MAX_CHANNELS
        used += ids
        for op in tb["ops"]:
            check_op(gpu, tb, op)
    assert sorted(used) == list(range(len(peers[r])))


def check_op(gpu, tb, op):
    keys = {"nop": set(), "signal": {"channel_type", "channel_ids"},
            "wait": {"channel_type", "channel_ids"},
            "put": {"channel_type", "channel_ids", "src_buff", "dst_buff"},
            "copy": {"src_buff", "dst_buff"}, "re": {"src_buff", "dst_buff"}}
    assert set(op) - {"name"} == keys[op["name"]], op
    assert len(op.get("channel_ids", [])) <= MAX_IDS
    for at in op.get("channel_ids", []):
        assert at < len(tb["channels"][0]["channel_ids"])
    local = [b for b in op.get("src_buff", []) + op.get("dst_buff", [])
             if "type" in b]
    assert len(op.get("src_buff", [])) <= MAX_LOCAL
    sizes = {"i": "input_chunks", "o": "output_chunks", "s": "scratch_chunks"}
    for b in local:
        assert b["index"] + b["size"] <= gpu[sizes[b["type"]]], (b, gpu["id"])
    assert len({b["size"] for b in op.get("src_buff", [])
                + op.get("dst_buff", [])}) <= 1


for r, gpu in enumerate(gpus):
    check_gpu(r, gpu)

coll = plan["collective"]
blocks = coll in ("allgather", "reducescatter", "alltoall", "gather", "scatter")
whole = max(max(g["input_chunks"], g["output_chunks"]) for g in gpus)
block = whole // n if blocks else whole


def base(r, size):
    return r * block if blocks and size == block else 0


def add(values):
    chunks = {v[0] for v in values}
    assert len(chunks) == 1, "different chunks are added"
    total = frozenset().union(*(v[1] for v in values))
    assert len(total) == sum(len(v[1]) for v in values), "counted twice"
    return chunks.pop(), total


def run(seed):
    rand = random.Random(seed)
    memory = [{("i", i): (base(r, g["input_chunks"]) + i, frozenset([r]))
               for i in range(g["input_chunks"])} for r, g in enumerate(gpus)]
    flags = dict.fromkeys(pair, 0)

    def op_done(r, tb, op):
        ids = [tb["channels"][0]["channel_ids"][c]
               for c in op.get("channel_ids", [])]
        if op["name"] == "wait":
            if any(not flags[r, c] for c in ids):
                return False
            for c in ids:
                flags[r, c] -= 1
        elif op["name"] == "signal":
            for c in ids:
                flags[pair[r, c]] += 1
        elif op["name"] != "nop":
            (dst,) = op["dst_buff"]
            for i in range(dst["size"]):
                got = add([memory[r][s["type"], s["index"] + i]
                           for s in op["src_buff"]])
                where, buf = r, dst.get("type")
                if op["name"] == "put":
                    ref = tb["remote_buffer_refs"][0]["remote_buffer_ids"]
                    remote = gpus[r]["remote_buffers"][ref[dst["buffer_id"]]]
                    where, buf = remote["rank"], remote["type"]
                    assert where == pair[r, ids[0]][0]
                    assert dst["index"] + dst["size"] <= gpus[where][
                        "scratch_chunks"]
                memory[where][buf, dst["index"] + i] = got
        return True

    at = {(r, t): 0 for r, g in enumerate(gpus)
          for t in range(len(g["threadblocks"]))}
    moved = True
    while moved:
        moved = False
        todo = list(at)
        rand.shuffle(todo)
        for r, t in todo:
            tb = gpus[r]["threadblocks"][t]
            if at[r, t] < len(tb["ops"]) and op_done(r, tb,
                                                     tb["ops"][at[r, t]]):
                at[r, t] += 1
                moved = True
    for (r, t), done in at.items():
        assert done == len(gpus[r]["threadblocks"][t]["ops"]), (r, t, done)
    assert not any(flags.values()), "a signal is left over"
    everyone = frozenset(range(n))
    for r, g in enumerate(gpus):
        for i in range(g["output_chunks"]):
            got = memory[r][("o", i)]
            want = base(r, g["output_chunks"]) + i
            if coll == "alltoall":
                want = r * block + i % block
                assert got[1] == {i // block}, (r, i, got)
            elif coll in ("allreduce", "reducescatter", "reduce"):
                assert got[1] == everyone, (r, i, got)
            assert got[0] == want, (r, i, got, want)


for seed in range(4):
    run(seed)
