"""PyTorch's collectives, unmodified, on whatever libnccl.so.2 is loaded.

    face_torch.py RANKS [kill]

A process a rank; ranks share GPUs where there are too few, which gtopo's
library allows with NCCL_MULTI_RANK_GPU_ENABLE.  Prints a line for each check of
rank 0, and ends with 1 if a check of any rank fails.  With `kill` the last rank
is killed instead, and the time is told until rank 0 hears of it.
"""

import os
import signal
import sys
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.distributed.fsdp import fully_shard

PORT = 29611
TYPES = (torch.float32, torch.bfloat16, torch.float16, torch.float64,
         torch.int32, torch.int64, torch.uint8)
COUNTS = (1, 1000, 1 << 18, 3 << 20)
STEPS = 5
WIDTH = 256


class Rank:
    """One rank and what it found."""

    def __init__(self, rank, ranks):
        self.rank, self.ranks, self.bad = rank, ranks, 0
        self.device = torch.device("cuda", rank % torch.cuda.device_count())
        torch.cuda.set_device(self.device)

    def check(self, name, good):
        self.bad += not good
        if not self.rank or not good:
            print("ok" if good else "not ok", "-", name,
                  "" if good else f"of rank {self.rank}", flush=True)

    def full(self, count, value):
        return torch.full((count,), float(value), device=self.device)


def all_reduces(me):
    for dtype in TYPES:
        for count in COUNTS:
            base = torch.arange(count, device=me.device) % 7
            want = torch.zeros(count, dtype=dtype, device=me.device)
            for rank in range(me.ranks):
                want += (base + rank).to(dtype)
            got = (base + me.rank).to(dtype)
            dist.all_reduce(got)
            me.check(f"all_reduce, {count} of {dtype}", torch.equal(got, want))
    got = me.full(100, me.rank)
    dist.all_reduce(got, op=dist.ReduceOp.AVG)
    me.check("all_reduce, avg", bool((got == (me.ranks - 1) / 2).all()))
    got = me.full(100, me.rank)
    dist.all_reduce(got, op=dist.ReduceOp.MAX)
    me.check("all_reduce, max", bool((got == me.ranks - 1).all()))


def blocks(me):
    n, count = me.ranks, 1 << 20
    out = torch.empty(n * count, device=me.device)
    dist.all_gather_into_tensor(out, me.full(count, me.rank + 1))
    want = torch.arange(1, n + 1, device=me.device).repeat_interleave(count)
    me.check("all_gather_into_tensor", bool((out == want).all()))
    out = torch.empty(count, device=me.device)
    dist.reduce_scatter_tensor(out, want.float() + me.rank)
    me.check("reduce_scatter_tensor", bool(
        (out == n * (me.rank + 1) + n * (n - 1) / 2).all()))
    out = torch.empty(n * count, device=me.device)
    dist.all_to_all_single(out, want.float() * 100 + me.rank)
    me.check("all_to_all_single", bool(
        (out == 100 * (me.rank + 1) + want - 1).all()))
    sends, takes = list(range(1, n + 1)), [me.rank + 1] * n
    out = torch.empty(sum(takes), device=me.device)
    dist.all_to_all_single(
        out, torch.cat([me.full(k, 10 * me.rank + k) for k in sends]), takes,
        sends)
    want = torch.cat([me.full(k, 10 * r + me.rank + 1)
                      for r, k in enumerate(takes)])
    me.check("all_to_all_single, uneven", torch.equal(out, want))


def rest(me):
    got = me.full(1000, me.rank)
    dist.broadcast(got, me.ranks - 1)
    me.check("broadcast", bool((got == me.ranks - 1).all()))
    got = me.full(1000, 1)
    dist.reduce(got, 0)
    me.check("reduce", me.rank > 0 or bool((got == me.ranks).all()))
    got = me.full(5000, -1)
    before, behind = (me.rank - 1) % me.ranks, (me.rank + 1) % me.ranks
    for work in dist.batch_isend_irecv([
            dist.P2POp(dist.isend, me.full(5000, me.rank), behind),
            dist.P2POp(dist.irecv, got, before)]):
        work.wait()
    me.check("isend, irecv", bool((got == before).all()))
    objects = [None] * me.ranks
    dist.all_gather_object(objects, {"rank": me.rank})
    me.check("all_gather_object",
             [o["rank"] for o in objects] == list(range(me.ranks)))
    group = dist.new_group(list(range(1, me.ranks)))
    if me.rank:
        got = me.full(10, 1)
        dist.all_reduce(got, group=group)
        me.check("new_group", bool((got == me.ranks - 1).all()))
    dist.barrier(device_ids=[me.device.index])
    me.check("barrier", True)


def graph(me):
    stream, given = torch.cuda.Stream(), me.full(1 << 16, 1)
    with torch.cuda.stream(stream):
        dist.all_reduce(given.clone())
        torch.cuda.synchronize()
        captured = torch.cuda.CUDAGraph()
        with torch.cuda.graph(captured, stream=stream):
            got = given * 1
            dist.all_reduce(got)
        for _ in range(3):
            captured.replay()
        torch.cuda.synchronize()
    me.check("a graph, replayed", bool((got == me.ranks).all()))


def model(device):
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Linear(WIDTH, 2 * WIDTH), torch.nn.ReLU(),
        torch.nn.Linear(2 * WIDTH, WIDTH)).to(device)


def batch(rank, step, device):
    made = torch.Generator().manual_seed(1000 * step + rank)
    return torch.randn(32, WIDTH, generator=made).to(device)


def train(net, inputs):
    steps = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(STEPS):
        loss = net(inputs(step)).pow(2).mean()
        steps.zero_grad()
        loss.backward()
        steps.step()
    return [p.full_tensor() if hasattr(p, "full_tensor") else p.detach()
            for p in net.parameters()]


def training(me):
    alone = train(model(me.device), lambda step: torch.cat(
        [batch(r, step, me.device) for r in range(me.ranks)]))
    mine = lambda step: batch(me.rank, step, me.device)
    nets = {"DDP": torch.nn.parallel.DistributedDataParallel(
        model(me.device), device_ids=[me.device.index]),
            "FSDP2": fully_shard(model(me.device))}
    for name, net in nets.items():
        pairs = zip(train(net, mine), alone)
        me.check(f"{name}: {STEPS} steps as one process takes them",
                 all(torch.allclose(a, b, atol=1e-5) for a, b in pairs))


def killed(me):
    dist.all_reduce(me.full(1, 1))
    torch.cuda.synchronize()
    begin = time.time()
    if me.rank == me.ranks - 1:
        os.kill(os.getpid(), signal.SIGKILL)
    try:
        dist.all_reduce(me.full(1 << 20, 1))
        torch.cuda.synchronize()
        words = "nothing"
    except RuntimeError as error:
        words = str(error).strip().splitlines()[-1]
    if not me.rank:
        print(f"ok - heard after {time.time() - begin:.2f} s: {words}",
              flush=True)
    os._exit(0)


def work(rank, ranks, kill):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(PORT),
                      RANK=str(rank), WORLD_SIZE=str(ranks))
    me = Rank(rank, ranks)
    dist.init_process_group("nccl", rank=rank, world_size=ranks)
    if kill:
        killed(me)
    for part in (all_reduces, blocks, rest, graph, training):
        part(me)
    dist.destroy_process_group()
    sys.exit(1 if me.bad else 0)


def main():
    ranks, kill = int(sys.argv[1]), sys.argv[2:] == ["kill"]
    context = mp.get_context("spawn")
    all_of = [context.Process(target=work, args=(r, ranks, kill))
              for r in range(ranks)]
    for process in all_of:
        process.start()
    for process in all_of:
        process.join()
    waited = all_of[:-1] if kill else all_of
    sys.exit(1 if any(p.exitcode for p in waited) else 0)


if __name__ == "__main__":
    main()
