#!/usr/bin/env python3
"""PyTorch as a peer: one self-contained file, CPU or CUDA, torch 2.11 or later.

  python torch_peers.py --workloads fashion_cnn_train:64,gpt_train --mode eager
  python torch_peers.py --device cuda --mode graphs --dtype bf16 --json out.jsonl

Modes: eager; compile (torch.compile, default mode); graphs (torch.compile, mode
reduce-overhead: CUDA graphs of forward and backward); wholegraph (CUDA only: the
whole eager step, optimizer included, captured by hand into one CUDA graph).
Rounds of all workloads are interleaved; one JSON line per workload. A workload's
name may carry its batch: fashion_cnn_train:512. Beside the models there are groups of
small workloads: op_overhead, bandwidth, layers (convolution, layer norm, Adam alone),
past_cache (the same op from 16 K to 64 M floats) and hello (a process, one op).
"""
import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
import types

import torch
import torch.nn as nn
import torch.nn.functional as F


# ---------------------------------------------------------------- models
def fashion_cnn():
    return nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(64 * 6 * 6, 600), nn.Dropout(0.25),
        nn.Linear(600, 120), nn.Linear(120, 10))


def mlp():
    return nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(),
                         nn.Linear(64, 10))


class MnistNet(nn.Module):  # pytorch/examples cpp/mnist
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 10, 5), nn.Conv2d(10, 20, 5)
        self.drop, self.fc1, self.fc2 = nn.Dropout2d(), nn.Linear(320, 50), nn.Linear(50, 10)

    def forward(self, x):
        x = F.relu(F.max_pool2d(self.conv1(x), 2))
        x = F.relu(F.max_pool2d(self.drop(self.conv2(x)), 2))
        x = F.dropout(F.relu(self.fc1(x.flatten(1))), 0.5, self.training)
        return F.log_softmax(self.fc2(x), 1)


class Block(nn.Module):
    def __init__(self, d, heads, causal, pre_ln):
        super().__init__()
        self.h, self.causal, self.pre_ln = heads, causal, pre_ln
        self.ln1, self.ln2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv, self.proj = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.up, self.down = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)

    def attn(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.h, d // self.h).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.proj(y.transpose(1, 2).reshape(b, t, d))

    def mlp(self, x):
        return self.down(F.gelu(self.up(x)))

    def forward(self, x):
        if self.pre_ln:
            x = x + self.attn(self.ln1(x))
            return x + self.mlp(self.ln2(x))
        x = self.ln1(x + self.attn(x))
        return self.ln2(x + self.mlp(x))


class Transformer(nn.Module):
    """GPT (causal, pre-LN, untied head over the vocabulary) or BERT-like encoder."""

    def __init__(self, layers, d, heads, ctx, vocab, causal=True):
        super().__init__()
        self.tok, self.pos = nn.Embedding(vocab, d), nn.Embedding(ctx, d)
        self.blocks = nn.ModuleList(Block(d, heads, causal, causal) for _ in range(layers))
        self.ln = nn.LayerNorm(d)
        self.head = nn.Linear(d, vocab, bias=False) if causal else nn.Linear(d, 2)
        self.causal = causal

    def forward(self, ids):
        x = self.tok(ids) + self.pos(torch.arange(ids.shape[1], device=ids.device))
        if not self.causal:
            x = self.ln(x)
        for b in self.blocks:
            x = b(x)
        return self.head(self.ln(x)).flatten(0, 1) if self.causal else self.head(x[:, 0])


# ---------------------------------------------------------------- workloads
def build(name, batch, dev):
    """-> model, x, y, loss function, optimizer maker, items per step, train?"""
    img = lambda *s: torch.randn(batch, *s, device=dev)
    cls = lambda n, k: torch.randint(n, (k,), device=dev)
    adam = lambda p, **k: torch.optim.Adam(p, lr=1e-3, **k)
    adamw = lambda p, **k: torch.optim.AdamW(p, lr=3e-4, **k)
    sgd = lambda lr, m: (lambda p, **k: torch.optim.SGD(
        p, lr=lr, momentum=m, **{a: b for a, b in k.items() if a != "capturable"}))
    if name in ("fashion_cnn_train", "fashion_cnn_infer"):
        return fashion_cnn(), img(1, 28, 28), cls(10, batch), F.cross_entropy, adam, batch, name.endswith("train")
    if name == "mlp_train":
        return mlp(), img(784), cls(10, batch), F.cross_entropy, sgd(.01, .9), batch, True
    if name == "simple_train":
        return nn.Linear(10, 1), img(10), img(1), F.mse_loss, adam, batch, True
    if name == "mnist_train":
        return MnistNet(), img(1, 28, 28), cls(10, batch), F.nll_loss, sgd(.01, .5), batch, True
    if name == "gpt_train":
        ids = torch.randint(8192, (batch, 129), device=dev)
        return (Transformer(4, 256, 4, 128, 8192), ids[:, :-1].contiguous(),
                ids[:, 1:].flatten(), F.cross_entropy, adamw, batch * 128, True)
    if name == "bert_train":
        ids = torch.randint(30522, (batch, 64), device=dev)
        return (Transformer(12, 768, 12, 512, 30522, causal=False), ids, cls(2, batch),
                F.cross_entropy, None, batch * 64, True)
    raise SystemExit(f"unknown workload {name}")


DEFAULT_BATCH = {"fashion_cnn_train": 64, "fashion_cnn_infer": 512, "mlp_train": 64,
                 "simple_train": 32, "mnist_train": 64, "gpt_train": 8, "bert_train": 4}
DEFAULT_LIST = ("fashion_cnn_train:64,fashion_cnn_train:512,fashion_cnn_infer,mlp_train,"
                "simple_train,mnist_train,gpt_train")


def make_step(name, batch, a):
    torch.manual_seed(0)
    model, x, y, loss_fn, make_opt, items, train = build(name, batch, a.device)
    model = model.to(a.device)
    if a.channels_last and x.dim() == 4:
        model, x = model.to(memory_format=torch.channels_last), x.to(memory_format=torch.channels_last)
    amp = lambda: torch.autocast(a.device, torch.bfloat16, enabled=a.dtype == "bf16",
                                 cache_enabled=a.mode != "wholegraph")
    if train:
        def forward(x, y):
            with amp():
                out = model(x)
                return loss_fn(out.float() if a.dtype == "bf16" else out, y)
    else:
        model.eval()

        def forward(x, y):
            with amp():
                return model(x)
    if a.mode in ("compile", "graphs"):
        # a code object of its own: dynamo's cache (and its limit of recompiles) is per code object
        forward = types.FunctionType(forward.__code__.replace(co_name=f"{name}_{batch}"), forward.__globals__,
                                     closure=forward.__closure__)
        forward = torch.compile(forward, mode="reduce-overhead" if a.mode == "graphs" else None)
    if not train:
        @torch.no_grad()
        def step():
            return forward(x, y)
    else:
        kw = {} if a.opt == "default" else {a.opt: True}
        if a.mode == "wholegraph":
            kw["capturable"] = True
        opt = make_opt(model.parameters(), **kw) if make_opt else None
        graphs = a.mode == "graphs"

        def step():
            if graphs:
                torch.compiler.cudagraph_mark_step_begin()
            if opt:
                opt.zero_grad(set_to_none=True)
            else:  # forward + backward only
                for p in model.parameters():
                    p.grad = None
            loss = forward(x, y)
            loss.backward()
            if opt:
                opt.step()
            return loss
    if a.mode == "wholegraph":
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                step()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            step()
        return graph.replay, items
    return step, items


# ---------------------------------------------------------------- op overhead, bandwidth
def op_cases(dev):
    """(name, function, unit, work per call): ns cases carry work 1."""
    one = lambda g=False: torch.ones(1, device=dev, requires_grad=g)
    a, b, c, ga, gb, gc = one(), one(), one(), one(True), one(True), one(True)

    def bwd():
        ga.grad = gb.grad = gc.grad = None
        (ga * gb + gc).sum().backward()
    yield "op_add_nograd", lambda: a + b, "ns", 1
    yield "op_add_grad", lambda: ga + gb, "ns", 1
    yield "op_mul_add_sum_nograd", lambda: (a * b + c).sum(), "ns", 1
    yield "op_mul_add_sum_backward", bwd, "ns", 1


def band_cases(dev):
    n = 16 << 20
    a, b, c = (torch.randn(n, device=dev) for _ in range(3))
    s = torch.randn(8192, 1024, device=dev)
    out = torch.empty(n, device=dev)
    yield "chain_relu_ab_c_16M", lambda: torch.relu(a * b + c), "GB/s", 16.0 * n

    def out_chain():
        torch.mul(a, b, out=out)
        out.add_(c)
        out.relu_()
    yield "chain_inplace_16M", out_chain, "GB/s", 16.0 * n
    if dev == "cpu" or torch.cuda.is_available():
        fused = torch.compile(lambda a, b, c: torch.relu(a * b + c))
        yield "chain_compiled_16M", lambda: fused(a, b, c), "GB/s", 16.0 * n
    yield "add_16M", lambda: a + b, "GB/s", 12.0 * n
    yield "add_out_16M", lambda: torch.add(a, b, out=out), "GB/s", 12.0 * n
    yield "softmax_8192x1024", lambda: torch.softmax(s, 1), "GB/s", 8.0 * s.numel()
    yield "sum_16M", lambda: a.sum(), "GB/s", 4.0 * n
    for k in (1024, 2048):
        m1, m2 = torch.randn(k, k, device=dev), torch.randn(k, k, device=dev)
        yield f"matmul_{k}", (lambda p, q: lambda: p @ q)(m1, m2), "GFLOP/s", 2.0 * k ** 3


# ---------------------------------------------------------------- single layers, Adam alone
def layer_cases(dev, channels_last):
    """A layer's forward without a graph, its backward alone (the graph is kept), and one step of Adam."""
    layout = torch.channels_last if channels_last else torch.contiguous_format

    def both(name, layer, x, needs_dx, unit, forward_work, backward_work):
        x = x.requires_grad_(needs_dx)
        y = layer(x)
        wanted = [x] * needs_dx + list(layer.parameters())
        dy = torch.randn_like(y)

        @torch.no_grad()
        def forward():
            return layer(x)
        yield name + "_forward", forward, unit, forward_work
        yield (name + "_backward", lambda: torch.autograd.grad(y, wanted, dy, retain_graph=True), unit, backward_work)

    # the two convolutions of fashion_cnn, whose first needs no gradient for its input
    for c, o, size, padding in ((1, 32, 28, 1), (32, 64, 14, 0)):
        out = size + 2 * padding - 2
        flops = 2.0 * 64 * o * out * out * c * 9
        conv = nn.Conv2d(c, o, 3, padding=padding).to(dev, memory_format=layout)
        x = torch.randn(64, c, size, size, device=dev).contiguous(memory_format=layout)
        yield from both(f"conv2d_{c}_{o}_{size}x{size}_b64", conv, x, c > 1, "GFLOP/s",
                        flops, flops * (2 if c > 1 else 1))
    x = torch.randn(8192, 1024, device=dev)
    yield from both("layer_norm_8192x1024", nn.LayerNorm(1024).to(dev), x, True, "GB/s",
                    8.0 * x.numel(), 12.0 * x.numel())


def adam_case(dev, opt):
    """fashion_cnn's parameters, 5.9 MB of them: reads p, g, m, v and writes p, m, v."""
    model = fashion_cnn().to(dev)
    for p in model.parameters():
        p.grad = torch.randn_like(p) * 1e-3
    adam = torch.optim.Adam(model.parameters(), lr=1e-3, **({} if opt == "default" else {opt: True}))
    return "adam_step_5.9MB", adam.step, "GB/s", 28.0 * sum(p.numel() for p in model.parameters())


SIZES = {"16K": 16 << 10, "256K": 256 << 10, "4M": 4 << 20, "64M": 64 << 20}


def past_cache_cases(dev):
    a, b, out = (torch.randn(SIZES["64M"], device=dev) for _ in range(3))
    for name, n in SIZES.items():
        x, y, z = a[:n], b[:n], out[:n]
        yield f"add_out_{name}", lambda x=x, y=y, z=z: torch.add(x, y, out=z), "GB/s", 12.0 * n
        yield f"add_{name}", lambda x=x, y=y: x + y, "GB/s", 12.0 * n
        yield f"exp_{name}", lambda x=x: torch.exp(x), "GB/s", 8.0 * n
        yield f"sum_{name}", lambda x=x: x.sum(), "GB/s", 4.0 * n


def hello_cases(dev):
    program = f"import torch; print((torch.ones(3, device={dev!r}) + 1).sum().item())"

    def hello():
        subprocess.run([sys.executable, "-c", program], check=True, stdout=subprocess.DEVNULL)
    yield "hello", hello, "ns", 1


def group_cases(name, a):
    """The (name, function, unit, work per call) of a group of small workloads, or None for another name."""
    if name == "op_overhead":
        return op_cases(a.device)
    if name == "bandwidth":
        return band_cases(a.device)
    if name == "layers":
        return [*layer_cases(a.device, a.channels_last), adam_case(a.device, a.opt)]
    if name == "past_cache":
        return past_cache_cases(a.device)
    return hello_cases(a.device) if name == "hello" else None


# ---------------------------------------------------------------- timing
def sync(dev):
    if dev == "cuda":
        torch.cuda.synchronize()


def timed(fn, n, dev):
    sync(dev)
    t = time.perf_counter()
    for _ in range(n):
        fn()
    sync(dev)
    return (time.perf_counter() - t) / n


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--workloads", default=DEFAULT_LIST, help="comma list; also bert_train, op_overhead, "
                   "bandwidth, layers, past_cache, hello")
    p.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    p.add_argument("--mode", default="eager", choices=["eager", "compile", "graphs", "wholegraph"])
    p.add_argument("--dtype", default="fp32", choices=["fp32", "tf32", "bf16"])
    p.add_argument("--opt", default="default", choices=["default", "foreach", "fused"])
    p.add_argument("--channels-last", action="store_true")
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--round-s", type=float, default=0.5, help="seconds aimed at per workload and round")
    p.add_argument("--json", help="append the JSON lines to this file too")
    a = p.parse_args()
    torch.set_num_threads(a.threads)
    fast = a.dtype == "tf32"
    torch.backends.cuda.matmul.allow_tf32 = fast
    torch.backends.cudnn.allow_tf32 = fast

    cases = []  # [row, function, calls per round, seconds samples]
    for w in a.workloads.split(","):
        name, _, b = w.partition(":")
        try:
            group = group_cases(name, a)
            if group is not None:
                todo = [(dict(workload=n, unit=u, work=k), f) for n, f, u, k in group]
            else:
                batch = int(b or DEFAULT_BATCH.get(name, 0))
                f, items = make_step(name, batch, a)
                todo = [(dict(workload=name, batch=batch, items=items), f)]
            for row, f in todo:
                t0 = time.perf_counter()
                f()
                sync(a.device)
                row["first_call_s"] = round(time.perf_counter() - t0, 3)
                for _ in range(3):
                    f()
                est = timed(f, 1, a.device)
                est = timed(f, max(1, min(2000, int(0.2 / est))), a.device)
                cases.append([row, f, max(1, int(a.round_s / est)), []])
        except Exception as e:  # a peer that cannot do a workload says so; the rest go on
            print(json.dumps(dict(workload=w, mode=a.mode, error=repr(e)[:300])), flush=True)
    for _ in range(a.rounds):
        for case in cases:
            case[3].append(timed(case[1], case[2], a.device))

    for row, _, n, ts in cases:
        med = statistics.median(ts)
        out = dict(peer=f"torch-{torch.__version__}", mode=a.mode, dtype=a.dtype, opt=a.opt, device=a.device,
                   channels_last=a.channels_last, threads=a.threads, calls_per_round=n)
        out.update((k, v) for k, v in row.items() if k not in ("work", "items", "unit"))
        out.update(median_ms=med * 1e3, min_ms=min(ts) * 1e3, max_ms=max(ts) * 1e3,
                   rounds_ms=[round(t * 1e3, 6) for t in ts])
        if "items" in row:
            out["items_per_s"] = row["items"] / med
        elif row["unit"] == "ns":
            out["median_ns"] = med * 1e9
        else:
            out[row["unit"]] = row["work"] / med / 1e9
        out["peak_rss_mib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        if a.device == "cuda":
            out["peak_gpu_mib"] = torch.cuda.max_memory_allocated() >> 20
            out["gpu"] = torch.cuda.get_device_name()
        line = json.dumps(out)
        print(line, flush=True)
        if a.json:
            with open(a.json, "a") as fh:
                fh.write(line + "\n")


if __name__ == "__main__":
    sys.exit(main())
