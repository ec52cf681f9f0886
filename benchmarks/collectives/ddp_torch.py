"""The PyTorch counterpart of ddp.cpp: measures the same over PyTorch's Gloo, with two processes of one thread each, and prints
one line of JSON."""
import json
import os
import socket
import statistics
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn.functional as F

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "peers"))
from torch_models import fashion_cnn


def median_ms(calls, call):
    for _ in range(3):
        call()
    times = []
    for _ in range(calls):
        dist.barrier()
        start = time.perf_counter()
        call()
        times.append(1e3 * (time.perf_counter() - start))
    return statistics.median(times)


def step_ms(wrap):
    torch.manual_seed(1)
    model = wrap(fashion_cnn())
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    x, y = torch.randn(64, 1, 28, 28), torch.randint(10, (64,))

    def call():
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
    return median_ms(15, call)


def all_reduce_ms(elements, calls):
    x = torch.ones(elements)
    return median_ms(calls, lambda: dist.all_reduce(x))


def rank_main(rank, port):
    torch.set_num_threads(1)
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), GLOO_SOCKET_IFNAME="lo")
    dist.init_process_group("gloo", rank=rank, world_size=2)
    ddp = torch.nn.parallel.DistributedDataParallel
    result = {
        "step_without_ddp": step_ms(lambda m: m),
        "step_ddp": step_ms(ddp),
        "step_ddp_bucket_view": step_ms(lambda m: ddp(m, gradient_as_bucket_view=True)),
        "all_reduce_4B": all_reduce_ms(1, 200),
        "all_reduce_4MiB": all_reduce_ms(1 << 20, 30),
        "all_reduce_64MiB": all_reduce_ms(1 << 24, 8),
    }
    dist.barrier()
    if rank == 0:
        print(json.dumps(result), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        free_port = s.getsockname()[1]
    mp.spawn(rank_main, (free_port,), nprocs=2, join=True)
