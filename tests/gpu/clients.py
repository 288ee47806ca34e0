"""What clients compute on whatever libnccl.so.2 is loaded, and how long.

    clients.py torch|cupy|jax RANKS

A process a rank (JAX: one for all GPUs).  Rank 0 prints, for clients.sh:

    value NAME DIGEST   bits that every library must give
    near NAME NUMBER    what may differ by rounding
    time NAME US        median of several, not counting the first

Exits with 77 where the client is not installed or lacks GPUs.
"""

import hashlib
import multiprocessing
import os
import socket
import statistics
import sys
import time

SKIP = 77
TIMES = 20
ROW = 20  # operations, one after another or in a graph
SIZES = (1 << 10, 1 << 16, 1 << 20, 1 << 24)
WIDTH, STEPS = 256, 5


def value(name, host_bytes):
    print("value", name, hashlib.sha256(host_bytes).hexdigest()[:16],
          flush=True)


def near(name, number):
    print("near", name, repr(float(number)), flush=True)


def timed(name, once, done, tell, parts=1):
    """What one takes alone until it is done, or one of a row's parts."""
    times = []
    for _ in range(TIMES):
        begin = time.perf_counter()
        once()
        done()
        times.append((time.perf_counter() - begin) * 1e6 / parts)
    if tell:
        print("time", name, f"{statistics.median(times[1:]):.1f}", flush=True)


# PyTorch: collectives, and steps of three ways of training.

def torch_collectives(torch, dist, rank, ranks, device):
    ops = {"sum": dist.ReduceOp.SUM, "max": dist.ReduceOp.MAX,
           "min": dist.ReduceOp.MIN}
    for dtype in (torch.int32, torch.int64, torch.uint8, torch.float32,
                  torch.float16, torch.bfloat16, torch.float64):
        for op, number in ops.items():
            for count in (1, 1000, 1 << 20):
                # Sums of two are the same in any order; of more, whole ones.
                data = (torch.arange(count, device=device) % 5 + rank).to(dtype)
                dist.all_reduce(data, op=number)
                if not rank:
                    value(f"all_reduce-{op}-{dtype}-{count}",
                          data.cpu().view(torch.uint8).numpy().tobytes())
    part = torch.arange(4096, device=device, dtype=torch.float32) + rank
    whole = torch.empty(4096 * ranks, device=device)
    dist.all_gather_into_tensor(whole, part)
    dist.reduce_scatter_tensor(part, whole)
    swapped = torch.empty_like(whole)
    dist.all_to_all_single(swapped, whole * (rank + 1))
    if not rank:
        value("blocks", part.cpu().numpy().tobytes() +
              swapped.cpu().numpy().tobytes())
    for size in SIZES:
        data = torch.ones(size // 2, dtype=torch.bfloat16, device=device)
        name = f"all_reduce-bf16-{size}"

        def row():
            for _ in range(ROW):
                dist.all_reduce(data)

        timed(name, lambda: dist.all_reduce(data), torch.cuda.synchronize,
              not rank)
        timed(name + "-row", row, torch.cuda.synchronize, not rank, ROW)
        timed(name + "-graph", torch_graph(torch, row).replay,
              torch.cuda.synchronize, not rank, ROW)


def torch_graph(torch, body):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        body()
    return graph


def torch_plain(torch, device):
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Linear(WIDTH, 4 * WIDTH), torch.nn.ReLU(),
        torch.nn.Linear(4 * WIDTH, WIDTH)).to(device)


def torch_ways(torch, ranks, device):
    """Models by their name, and whether all ranks have the same data."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    from torch.distributed.tensor.parallel import (
        ColwiseParallel, RowwiseParallel, parallelize_module)
    ddp = torch.nn.parallel.DistributedDataParallel
    mesh = init_device_mesh("cuda", (ranks,))
    return (
        ("DDP", ddp(torch_plain(torch, device), device_ids=[device.index]), 0),
        ("FSDP2", fully_shard(torch_plain(torch, device)), 0),
        ("TP", parallelize_module(torch_plain(torch, device), mesh, {
            "0": ColwiseParallel(), "2": RowwiseParallel()}), 1))


def torch_training(torch, dist, rank, ranks, device):
    for name, net, same in torch_ways(torch, ranks, device):
        steps = torch.optim.SGD(net.parameters(), lr=0.1)
        made = torch.Generator().manual_seed(0 if same else rank)
        data = torch.randn(64, WIDTH, generator=made).to(device)

        def step():
            loss = net(data).pow(2).mean()
            steps.zero_grad()
            loss.backward()
            steps.step()
            return loss.detach()

        for _ in range(STEPS):
            loss = step()
        dist.all_reduce(loss)
        if not rank:
            near(f"loss-{name}", loss.item())
        timed(f"step-{name}", step, torch.cuda.synchronize, not rank)


def torch_rank(rank, ranks, port):
    import torch
    import torch.distributed as dist
    device = torch.device("cuda", rank % torch.cuda.device_count())
    torch.cuda.set_device(device)
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port),
                      RANK=str(rank), WORLD_SIZE=str(ranks))
    dist.init_process_group("nccl", rank=rank, world_size=ranks)
    torch_collectives(torch, dist, rank, ranks, device)
    torch_training(torch, dist, rank, ranks, device)
    dist.destroy_process_group()


# CuPy: its own classes on NCCL.

def cupy_rank(rank, ranks, port):
    import cupy
    from cupyx.distributed import NCCLBackend
    # Its store is a process of its own, which only a fork can begin.
    multiprocessing.set_start_method("fork", force=True)
    cupy.cuda.Device(rank % cupy.cuda.runtime.getDeviceCount()).use()
    comm = NCCLBackend(ranks, rank, host="127.0.0.1", port=port)
    for dtype in ("int32", "int64", "float32", "float64", "float16"):
        for op in ("sum", "prod", "min", "max"):
            data = (cupy.arange(5000) % 3 + rank + 1).astype(dtype)
            out = cupy.zeros_like(data)
            comm.all_reduce(data, out, op)
            cupy.cuda.Device().synchronize()
            if not rank:
                value(f"all_reduce-{op}-{dtype}", out.get().tobytes())
    data = cupy.arange(1000 * ranks, dtype="float32") + rank
    out = cupy.zeros((ranks, 1000 * ranks), dtype="float32")
    comm.all_gather(data, out, data.size)
    back = cupy.zeros_like(data)
    comm.all_to_all(out, out.copy())
    comm.broadcast(back, ranks - 1)
    cupy.cuda.Device().synchronize()
    if not rank:
        value("all_gather", out.get().tobytes())
    for size in SIZES:
        data = cupy.ones(size // 4, dtype="float32")
        out = cupy.zeros_like(data)
        timed(f"all_reduce-float32-{size}",
              lambda: comm.all_reduce(data, out),
              cupy.cuda.Device().synchronize, not rank)


# JAX: a process with a thread for each GPU.

def jax_all(ranks):
    import jax
    import jax.numpy as jnp
    from jax import lax
    if jax.local_device_count() < ranks:
        sys.exit(SKIP)
    devices = jax.local_devices()[:ranks]
    data = jnp.arange(ranks * 4 * ranks, dtype=jnp.int32).reshape(
        ranks, 4 * ranks)
    ring = [(r, (r + 1) % ranks) for r in range(ranks)]
    ways = {
        "psum": lambda x: lax.psum(x, "i"),
        "all_gather": lambda x: lax.all_gather(x, "i"),
        "psum_scatter": lambda x: lax.psum_scatter(x, "i", tiled=True),
        "all_to_all": lambda x: lax.all_to_all(x, "i", 0, 0, tiled=True),
        "ppermute": lambda x: lax.ppermute(x, "i", ring)}
    for name, way in ways.items():
        mapped = jax.pmap(way, axis_name="i", devices=devices)
        value(name, bytes(memoryview(jax.device_get(mapped(data)).copy()).cast(
            "B")))
        timed(name, lambda: mapped(data).block_until_ready(), lambda: None,
              True)


def pinned(body, rank, ranks, port):
    """Each has processors of its own: beside another that waits in a loop on
    the same core, one operation alone took half as long again."""
    cpus = sorted(os.sched_getaffinity(0))
    each = len(cpus) // ranks
    if each:
        os.sched_setaffinity(0, cpus[rank * each:(rank + 1) * each])
    body(rank, ranks, port)


def free_port():
    """A port that the client before has not left connections on."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


def installed(client):
    try:
        __import__(client)
    except ImportError:
        return False
    return True


def main():
    client, ranks = sys.argv[1], int(sys.argv[2])
    if not installed(client):
        sys.exit(SKIP)
    if client == "jax":
        jax_all(ranks)
        return
    body = {"torch": torch_rank, "cupy": cupy_rank}[client]
    context = multiprocessing.get_context("spawn")
    port = free_port()
    parts = [context.Process(target=pinned, args=(body, r, ranks, port))
             for r in range(ranks)]
    for part in parts:
        part.start()
    for part in parts:
        part.join()
    sys.exit(1 if any(part.exitcode for part in parts) else 0)


if __name__ == "__main__":
    main()
