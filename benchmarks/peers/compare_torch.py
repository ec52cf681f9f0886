"""Runs the job of `tandem compare` under PyTorch's DDP (and DataParallel if there are enough GPUs), and writes the results to
a report.json with the schema in docs/compare.md, so that the charts of `tandem compare` show PyTorch too.

    python compare_torch.py --out compare_torch/report.json       # a separate report, with PyTorch on one device
    python compare_torch.py --into compare/report.json            # adds PyTorch's runs to a report of `tandem compare`
    tandem compare page compare/report.json                       # makes the page again

In a separate report, speedups are relative to PyTorch on one device with all cores. In a report of `tandem compare`, they are
relative to Tandem on one device. Times are of whole steps (forward, backward, Adam) on random images. PyTorch's runs have no
breakdown of the step.
"""
import argparse
import json
import math
import os
import platform
import socket
import statistics
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn.functional as F

sys.path.insert(0, str(Path(__file__).resolve().parent))
import torch_models


def interval(values, error=0.05):
    """Returns the median and its interval, computed as in tools/compare/statistics.cpp; no interval for too few values."""
    values, n, k, outside = sorted(values), len(values), 0, 0.0
    needed = math.ceil(1 - math.log2(error))
    while k < (n + 1) // 2 and 2 * (outside + math.comb(n, k) / 2**n) <= error:
        outside += math.comb(n, k) / 2**n
        k += 1
    ends = {"low": values[k - 1], "high": values[-k]} if k else {"low": None, "high": None}
    return {"median": statistics.median(values) if n else 0.0, **ends, "n": n, "needed": needed}


def percentile(values, p):
    values = sorted(values)
    at = p * (len(values) - 1)
    low = int(at)
    return values[low] + (values[min(low + 1, len(values) - 1)] - values[low]) * (at - low)


class Job:
    """Training steps of a model, wrapped by `wrap`, on a random batch of this rank's size."""

    def __init__(self, model, batch, device, wrap=lambda net: net):
        torch.manual_seed(1)
        self.flat = model == "mlp"
        self.loss = F.nll_loss if model == "lenet" else F.cross_entropy
        make = torch_models.Lenet if model == "lenet" else getattr(torch_models, model)
        self.net = wrap(make().to(device))
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=1e-3)
        self.x, self.y = torch.rand(batch, 1, 28, 28, device=device), torch.randint(10, (batch,), device=device)

    def step(self):
        self.optimizer.zero_grad()
        loss = self.loss(self.net(self.x.flatten(1) if self.flat else self.x), self.y)
        loss.backward()
        self.optimizer.step()
        return loss.item()  # waits for a GPU

    def seconds(self, steps):
        times = []
        for i in range(steps + 2):
            start = time.perf_counter()
            self.step()
            if i >= 2:  # the first two steps are warm-up, as in `tandem compare`
                times.append(time.perf_counter() - start)
        return times


def rank_main(rank, o, port, out):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), GLOO_SOCKET_IFNAME="lo")
    gpus = torch.cuda.is_available() and torch.cuda.device_count() >= o.devices
    device = torch.device("cuda", rank) if gpus else torch.device("cpu")
    dist.init_process_group("nccl" if gpus else "gloo", rank=rank, world_size=o.devices)
    cores = torch.get_num_threads() if o.threads == 0 else o.threads
    ddp = torch.nn.parallel.DistributedDataParallel
    jobs = {}
    if rank == 0:
        jobs["single"] = Job(o.model, o.batch_size, device)
        if gpus:
            jobs["dp_torch"] = Job(o.model, o.batch_size, device,
                                   lambda net: torch.nn.DataParallel(net, list(range(o.devices))))
    key = "ddp_torch_nccl" if gpus else "ddp_torch_gloo"
    ddp_job = Job(o.model, o.batch_size // o.devices, device, lambda net: ddp(net, [rank] if gpus else None))
    samples = {name: [] for name in [*jobs, key]}
    for _ in range(o.repeats):
        for name, job in jobs.items():  # the other ranks wait below
            torch.set_num_threads(cores)
            samples[name].append(job.seconds(o.steps))
        dist.barrier()
        torch.set_num_threads(max(1, cores // o.devices))
        samples[key].append(ddp_job.seconds(o.steps))
        dist.barrier()
    if rank == 0:
        Path(out).write_text(json.dumps({"samples": samples, "gpus": gpus, "threads": cores}))
    dist.destroy_process_group()


def speedup(single, means, error):
    """Returns the speedup over one device, paired by repeat. If `single` was measured by another program, at another time,
    pairs mean nothing, and there is no interval: n is 0."""
    if error is None:
        return interval([]) | {"median": statistics.median(single) / statistics.median(means)}
    return interval([s / m for s, m in zip(single, means)], error)


def run_of(o, mode, label, devices, samples, single, error):
    means = [statistics.mean(sample) for sample in samples]
    steps = [seconds for sample in samples for seconds in sample]
    return {"model": o.model, "mode": mode, "label": label, "devices": devices, "batch": o.batch_size,
            "scaling": "strong", "failed": "", "repeats": means, "p50": percentile(steps, 0.5),
            "p95": percentile(steps, 0.95), "examples_per_second": interval([o.batch_size / m for m in means]),
            "speedup": speedup(single, means, error), "lanes": [], "steps": [], "cores_of_others": -1,
            "shown_step": {"number": 0, "of": 0, "seconds": 0.0}, "timeline": [], "memory": [],
            "transfers": [], "buckets": [], "agreement": [], "predicted": 0.0}


def processor():
    try:
        names = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
        return names[0].split(":", 1)[1].strip()
    except (OSError, IndexError):
        return platform.processor() or "unknown"


def report_of(o, runs, measured):
    gpus = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    return {"schema": 2, "complete": True, "incomplete_because": "", "virtual_devices": not measured["gpus"],
            "measured_on": "gpus" if measured["gpus"] else "cpu", "repeats": [], "verdict": "", "turning_points": [], "diagnosis": [], "runs": runs, "links": [], "bucket_sweeps": [],
            "overheads": [], "inference": [], "projections": [], "published": [], "tracing_cost": [],
            "notes": [], "provenance": {
                "version": f"PyTorch {torch.__version__}", "commit": "", "cpu": processor(),
                "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()), "command": " ".join(sys.argv),
                "os": f"{platform.system()} {platform.release()}", "compiler": "",
                "cores": len(os.sched_getaffinity(0)), "threads": measured["threads"],
                "memory_gib": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, "seed": 1,
                "gpus": gpus, "libraries": []}}


def write_whole(path, text):
    part = Path(str(path) + ".part")
    try:
        part.write_text(text)
        part.replace(path)
    except OSError:
        part.unlink(missing_ok=True)
        raise


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="fashion_cnn", choices=["fashion_cnn", "mlp", "lenet"])
    parser.add_argument("--devices", type=int, default=2, help="number of ranks")
    parser.add_argument("--batch-size", type=int, default=128, help="examples per step, over all ranks")
    parser.add_argument("--repeats", type=int, default=6)
    parser.add_argument("--steps", type=int, default=8, help="steps of each mode in a repeat")
    parser.add_argument("--threads", type=int, default=0, help="threads of all ranks together (default: all cores)")
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--out", type=Path, help="write a separate report to this file")
    where.add_argument("--into", type=Path, help="add PyTorch's runs to this report of tandem compare")
    o = parser.parse_args()
    if o.devices < 2 or o.batch_size % o.devices or min(o.repeats, o.steps) < 1:
        parser.error(f"--devices {o.devices}, --batch-size {o.batch_size}; accepted: 2 or more ranks, a batch size that is a "
                     "multiple of the ranks, and --repeats and --steps of 1 or more")
    report = json.loads(o.into.read_text()) if o.into else None
    tandem = None
    if report:
        tandem = next((r for r in report["runs"] if r["mode"] == "single" and r["model"] == o.model and
                       r["batch"] == o.batch_size and r["scaling"] == "strong" and not r["failed"]), None)
        if not tandem:
            parser.error(f"--into {o.into}: the report has no run of {o.model} on one device with batch {o.batch_size}")
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    target = o.into or o.out
    target.parent.mkdir(parents=True, exist_ok=True)
    samples_file = f"{target}.samples"
    try:
        mp.spawn(rank_main, (o, port, samples_file), nprocs=o.devices, join=True)
        measured = json.loads(Path(samples_file).read_text())
    finally:
        Path(samples_file).unlink(missing_ok=True)
    samples = measured["samples"]
    single = tandem["repeats"] if tandem else [statistics.mean(sample) for sample in samples["single"]]
    labels = {"dp_torch": "PyTorch DataParallel", "ddp_torch_gloo": "PyTorch DDP over gloo",
              "ddp_torch_nccl": "PyTorch DDP over nccl"}
    modes = [mode for mode in labels if mode in samples]
    error = None if tandem else 0.05 / len(modes)  # the intervals of all modes hold together
    runs = [run_of(o, mode, labels[mode], o.devices, samples[mode], single, error) for mode in modes]
    if report:
        jobs = [(run["mode"], run["model"], run["devices"], run["batch"]) for run in runs]
        report["runs"] = [r for r in report["runs"] if (r["mode"], r["model"], r["devices"], r["batch"]) not in jobs]
        report["runs"] += runs
    else:
        one = run_of(o, "single", "PyTorch, one device", 1, samples["single"], single, error)
        report = report_of(o, [one, *runs], measured)
    write_whole(target, json.dumps(report, indent=1) + "\n")
    for run in report["runs"]:
        if "PyTorch" in run["label"]:
            print(f"{run['label']}, devices {run['devices']}: {run['examples_per_second']['median']:.0f} examples/s, "
                  f"{run['speedup']['median']:.2f} times one device")
    print(target)


if __name__ == "__main__":
    main()
