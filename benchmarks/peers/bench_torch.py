#!/usr/bin/env python3
"""The PyTorch peer of `tandem bench --peers`. It reads requests from standard input, one case at a time (protocol: README.md).

  python bench_torch.py [--threads N] [--channels-last] [--mode compiled] [--tuned]
  python bench_torch.py --device cuda [--mode eager|compiled|graphs] [--precision high] [--tuned]

A case is "name shapes" ("linear/forward 64x784,128x784,128"). It does the same work as the benchmark of that name in
benchmarks/ops or benchmarks/models, with the same sizes and in float32.
"""
import argparse
import os
import signal
import sys
import time

import torch
import torch._dynamo
import torch.nn.functional as F

from torch_models import Gpt, Lenet, fashion_cnn, mlp

LAYOUT = torch.contiguous_format
MODE = "eager"  # or compiled (torch.compile), or graphs (CUDA graphs)
TUNED = False  # fused optimizers, cudnn.benchmark, and torch.compile's max-autotune
COMPILE_SECONDS = 60.0  # time limit for compiling a case; a case that exceeds it is answered with "unknown"
CLOCKED = ("train_step", "overhead")  # timed by the host's clock even on a GPU, as in benchmarks/program.cpp


# ---------------------------------------------------------------- making a case from an op
def values(shape, positive=False):
    return torch.empty(shape).uniform_(0.5, 1.5) if positive else torch.empty(shape).uniform_(-1, 1)


def inputs(shapes, positive=False):
    made = [values(s, positive) for s in shapes]
    return [x.contiguous(memory_format=LAYOUT) if x.dim() == 4 else x for x in made]


def compiled(work):
    """Compiles `work` in mode compiled; otherwise returns it. fullgraph makes code that cannot be compiled an error, instead of
    running a part of it eagerly. An optimizer's step is the exception: it breaks the graph itself, before its update."""
    whole = not isinstance(getattr(work, "__self__", None), torch.optim.Optimizer)
    if MODE != "compiled":
        return work
    return torch.compile(work, dynamic=False, fullgraph=whole, mode="max-autotune-no-cudagraphs" if TUNED else None)


def forward(op, positive=False):
    def prepare(shapes):
        x = inputs(shapes, positive)
        return lambda: op(*x)
    return prepare


def narrow(shapes):
    """Returns bfloat16 inputs that require a gradient."""
    return [x.to(torch.bfloat16).requires_grad_() for x in inputs(shapes)]


def bfloat16(op):
    def prepare(shapes):
        x = [a.detach() for a in narrow(shapes)]
        return lambda: op(*x)
    return prepare


def backward(op, make=None, positive=False):
    """Times the op's backward alone. The forward runs once, and its graph is retained."""
    def prepare(shapes):
        x = make(shapes) if make else [a.requires_grad_() for a in inputs(shapes, positive)]
        wanted = [a for a in x if a.requires_grad]
        y = compiled(lambda *a: op(*a))(*x)
        dy = values(y.shape).to(y.dtype)
        return lambda: torch.autograd.grad(y, wanted, dy, retain_graph=True)
    return prepare


def both(name, op):
    return {f"{name}/forward": forward(op), f"{name}/backward": backward(op)}


# ---------------------------------------------------------------- ops
def overhead(a, b, c):
    return lambda: (a * b + c).sum()


def overhead_grad(shapes):
    x = values(shapes[0]).requires_grad_()
    return lambda: x + 1


def overhead_backward(shapes):
    leaves = [values(shapes[0]).requires_grad_() for _ in range(3)]
    run = compiled(lambda a, b, c: (a * b + c).sum())

    def call():
        for x in leaves:
            x.grad = None
        run(*leaves).backward()
    return call


def where(shapes):
    a, b, condition = values(shapes[0]), values(shapes[1]), values(shapes[0]) > 0
    return lambda: torch.where(condition, a, b)


ELEMENTWISE = {
    **{f"{name}/forward": forward(getattr(torch, name), name in ("log", "log1p", "sqrt", "rsqrt", "pow", "div"))
       for name in ("abs", "neg", "exp", "expm1", "log", "log1p", "sqrt", "rsqrt", "sin", "cos", "tanh", "sigmoid", "erf",
                    "reciprocal", "square", "relu", "add", "sub", "mul", "div", "pow", "maximum", "minimum", "eq", "lt")},
    "gelu/forward": forward(F.gelu),
    "silu/forward": forward(F.silu),
    "elu/forward": forward(F.elu),
    "softplus/forward": forward(F.softplus),
    "leaky_relu/forward": forward(lambda x: F.leaky_relu(x, 0.1)),
    "clamp/forward": forward(lambda x: torch.clamp(x, -0.5, 0.5)),
    "dropout/forward": forward(lambda x: F.dropout(x, 0.5)),
    "where/forward": where,
    "multiply_add_relu/forward": forward(lambda a, b, c: torch.relu(a * b + c)),
    "exp/backward": backward(torch.exp),
    "relu/backward": backward(torch.relu),
    "gelu/backward": backward(F.gelu),
    "mul/backward": backward(torch.mul),
    "add/broadcast_row": forward(torch.add),
    "add/broadcast_column": forward(torch.add),
    "add/broadcast_backward": backward(torch.add),
    "add/overhead": forward(lambda x: x + 1),
    "add/overhead_grad": overhead_grad,
    "mul_add_sum/overhead": lambda shapes: overhead(*inputs(shapes * 3)),
    "mul_add_sum/overhead_backward": overhead_backward,
}
REDUCTIONS = {
    "sum/forward": forward(lambda x: x.sum()),
    "sum/rows": forward(lambda x: x.sum(-1)),
    "sum/columns": forward(lambda x: x.sum(0)),
    "sum/backward": backward(lambda x: x.sum()),
    "mean/forward": forward(lambda x: x.mean()),
    "mean/channels": forward(lambda x: x.mean((0, 2, 3))),
    "var/forward": forward(lambda x: x.var()),
    "var/channels": forward(lambda x: x.var((0, 2, 3))),
    "var/rows": forward(lambda x: x.var(-1)),
    "max/forward": forward(lambda x: x.max()),
    "max/rows": forward(lambda x: x.max(-1)),
    "argmax/rows": forward(lambda x: x.argmax(-1)),
    "cumsum/rows": forward(lambda x: x.cumsum(-1)),
    "sort/rows": forward(lambda x: x.sort(-1)),
    "topk/rows": forward(lambda x: x.topk(10, -1)),
}


def logits_and_classes(shapes):
    rows, classes = shapes[0]
    return [values((rows, classes)).requires_grad_(), torch.randint(classes, (rows,))]


def on_classes(op):
    def prepare(shapes):
        x, classes = logits_and_classes(shapes)
        x = x.detach()
        return lambda: op(x, classes)
    return prepare


LOSSES = {
    **both("softmax", lambda x: torch.softmax(x, -1)),
    **both("log_softmax", lambda x: torch.log_softmax(x, -1)),
    "cross_entropy/forward": on_classes(F.cross_entropy),
    "cross_entropy/backward": backward(F.cross_entropy, logits_and_classes),
    "nll_loss/forward": on_classes(F.nll_loss),
    "nll_loss/backward": backward(F.nll_loss, logits_and_classes),
    **both("mse_loss", F.mse_loss),
}
PRODUCTS = {
    "matmul/forward": forward(torch.matmul),
    "matmul/transposed": forward(lambda a, b: a.t() @ b),
    "mm/forward": forward(torch.mm),
    **both("bmm", torch.bmm),
    "addmm/forward": forward(lambda a, b, c: torch.addmm(c, a, b)),
    "mv/forward": forward(torch.mv),
    "dot/forward": forward(torch.dot),
    **both("linear", F.linear),
    "linear/bfloat16": bfloat16(F.linear),
    "linear/bfloat16_backward": backward(F.linear, narrow),
}


def first_layer(shapes):
    """Returns the inputs of a first layer: only the parameters require a gradient."""
    x, *rest = inputs(shapes)
    return [x] + [p.requires_grad_() for p in rest]


def conv_same(x, w, b):
    return F.conv2d(x, w, b, padding=w.size(2) // 2)


def batch_norm(x, w, b):
    return F.batch_norm(x, None, None, w, b, training=True)


def batch_norm_evaluation(shapes):
    x, w, b = inputs(shapes)
    mean, var = torch.zeros(shapes[1]), torch.ones(shapes[1])
    return lambda: F.batch_norm(x, mean, var, w, b, training=False)


def attention(variant, causal=False, dropout=0.0):
    """Uses values(), not inputs(): the 4-dimensional inputs are no images, so channels-last does not apply."""
    def op(q, k, v):
        return F.scaled_dot_product_attention(q, k, v, dropout_p=dropout, is_causal=causal)

    def prepare(shapes):
        x = [values(s) for s in shapes]
        return lambda: op(*x)
    name = "scaled_dot_product_attention/" + variant
    return {name + "forward": prepare,
            name + "backward": backward(op, lambda shapes: [values(s).requires_grad_() for s in shapes])}


def bfloat16_attention():
    def narrowed(shapes):
        return [values(s).to(torch.bfloat16).requires_grad_() for s in shapes]

    def prepare(shapes):
        x = [a.detach() for a in narrowed(shapes)]
        return lambda: F.scaled_dot_product_attention(*x)
    name = "scaled_dot_product_attention/bfloat16"
    return {name: prepare, name + "_backward": backward(F.scaled_dot_product_attention, narrowed)}


LAYERS = {
    **both("conv2d", F.conv2d),
    "conv2d/bfloat16": bfloat16(F.conv2d),
    "conv2d/bfloat16_backward": backward(F.conv2d, narrow),
    "conv2d/backward_first": backward(F.conv2d, first_layer),
    "conv2d/same_forward": forward(conv_same),
    "conv2d/same_backward_first": backward(conv_same, first_layer),
    **both("max_pool2d", lambda x: F.max_pool2d(x, 2)),
    **both("avg_pool2d", lambda x: F.avg_pool2d(x, 2)),
    **both("adaptive_avg_pool2d", lambda x: F.adaptive_avg_pool2d(x, 1)),
    **both("batch_norm", batch_norm),
    "batch_norm/evaluation": batch_norm_evaluation,
    **attention(""),
    **attention("causal_", causal=True),
    **attention("dropout_", dropout=0.1),
    **bfloat16_attention(),
    **both("layer_norm", lambda x, w, b: F.layer_norm(x, w.shape, w, b)),
}


def table_and_index(shapes):
    return [values(shapes[0]).requires_grad_(), torch.randint(shapes[0][0], shapes[1])]


def on_table(op):
    def prepare(shapes):
        w, i = table_and_index(shapes)
        w = w.detach()
        return lambda: op(w, i)
    return prepare


def gather(shapes):
    x, i = values(shapes[0]), torch.randint(shapes[0][1], shapes[0])
    return lambda: x.gather(1, i)


def scatter_add(shapes):
    x, y, i = values(shapes[0]), values(shapes[0]), torch.randint(shapes[0][1], shapes[0])
    return lambda: x.scatter_add(1, i, y)


def made_in_place(fill):
    def prepare(shapes):
        x = torch.empty(shapes[0])
        return lambda: fill(x)
    return prepare


INDEXING = {
    "embedding/forward": on_table(lambda w, i: F.embedding(i, w)),
    "embedding/backward": backward(lambda w, i: F.embedding(i, w), table_and_index),
    "index_select/forward": on_table(lambda w, i: w.index_select(0, i)),
    "index_select/backward": backward(lambda w, i: w.index_select(0, i), table_and_index),
    "gather/forward": gather,
    "scatter_add/forward": scatter_add,
    "cat/forward": forward(lambda a, b: torch.cat((a, b), 1)),
    "stack/forward": forward(lambda a, b: torch.stack((a, b), 0)),
    "clone/forward": forward(torch.clone),
    "contiguous/transposed": forward(lambda x: x.t().contiguous()),
    "view/overhead": forward(lambda x: x.view(24)),
    "transpose/overhead": forward(lambda x: x.transpose(0, 2)),
}
FILLS = {
    "zeros/forward": lambda shapes: lambda: torch.zeros(shapes[0]),
    "full/forward": lambda shapes: lambda: torch.full(shapes[0], 2.5),
    "rand/forward": lambda shapes: lambda: torch.rand(shapes[0]),
    "randn/forward": lambda shapes: lambda: torch.randn(shapes[0]),
    "uniform_/forward": made_in_place(lambda x: x.uniform_()),
    "normal_/forward": made_in_place(lambda x: x.normal_()),
}


# ---------------------------------------------------------------- optimizers and models
VOCABULARY = 8192


def parameters(shapes):
    made = [values(s).requires_grad_() for s in shapes]
    for p in made:
        p.grad = values(p.shape) * 1e-3
    return made


def adam_options():
    return {"capturable": MODE == "graphs", "fused": TUNED or None}


def adam(p):
    return torch.optim.Adam(p, lr=1e-3, **adam_options())


def sgd(momentum):
    return lambda p: torch.optim.SGD(p, lr=0.01, momentum=momentum, fused=TUNED or None)


def clip(shapes):
    p = parameters(shapes)
    return lambda: torch.nn.utils.clip_grad_norm_(p, 100.0)


def train_step(make_model, make_optimizer, loss, make_target, make_input=lambda shapes: inputs(shapes)[0],
               autocast=False):
    def prepare(shapes):
        model, x = make_model().to(memory_format=LAYOUT), make_input(shapes)
        optimizer, target = make_optimizer(model.parameters()), make_target(shapes[0][0])

        def forward_and_loss(x, target):
            with torch.autocast(x.device.type, torch.bfloat16, enabled=autocast):
                return loss(model(x), target)
        run, update = compiled(forward_and_loss), compiled(optimizer.step)

        def step():
            optimizer.zero_grad()
            value = run(x, target)
            value.backward()
            update()
            return value

        def call():
            return step().item()
        call.step = step  # the part that a CUDA graph can capture: without item()
        return call
    return prepare


def inference(make_model):
    def prepare(shapes):
        model, x = make_model().to(memory_format=LAYOUT).eval(), inputs(shapes)[0]

        def call():
            with torch.inference_mode():
                return model(x)
        return call
    return prepare


def gpt_step(shapes, autocast=False):
    """Prepares a training step of a small GPT on random tokens."""
    def tokens(_):
        return torch.randint(VOCABULARY, shapes[0])
    return train_step(lambda: Gpt(VOCABULARY, shapes[0][1]),
                      lambda p: torch.optim.AdamW(p, lr=3e-4, **adam_options()),
                      lambda y, target: F.cross_entropy(y.flatten(0, 1), target.flatten()), tokens, tokens,
                      autocast)(shapes)


def classes(rows):
    return torch.randint(10, (rows,))


MODELS = {
    "sgd/step": lambda shapes: sgd(0.9)(parameters(shapes)).step,
    "adam/step": lambda shapes: adam(parameters(shapes)).step,
    "adamw/step": lambda shapes: torch.optim.AdamW(parameters(shapes), lr=1e-3, **adam_options()).step,
    "clip_grad_norm_/forward": clip,
    "simple_model/train_step": train_step(lambda: torch.nn.Linear(10, 1), adam, F.mse_loss,
                                          lambda rows: values((rows, 1))),
    "mlp/train_step": train_step(mlp, sgd(0.9), F.cross_entropy, classes),
    "lenet/train_step": train_step(Lenet, sgd(0.5), F.nll_loss, classes),
    "gpt/train_step": gpt_step,
    "fashion_cnn/train_step": train_step(fashion_cnn, adam, F.cross_entropy, classes),
    "fashion_cnn/bfloat16_train_step": train_step(lambda: fashion_cnn().to(torch.bfloat16), adam, F.cross_entropy, classes,
                                                  lambda shapes: inputs(shapes)[0].to(torch.bfloat16)),
    "lenet/bfloat16_autocast_train_step": train_step(Lenet, sgd(0.5), F.nll_loss, classes, autocast=True),
    "fashion_cnn/bfloat16_autocast_train_step": train_step(fashion_cnn, adam, F.cross_entropy, classes, autocast=True),
    "gpt/bfloat16_autocast_train_step": lambda shapes: gpt_step(shapes, autocast=True),
    "mlp/inference": inference(mlp),
    "lenet/inference": inference(Lenet),
    "fashion_cnn/inference": inference(fashion_cnn),
}
CASES = {**ELEMENTWISE, **REDUCTIONS, **LOSSES, **PRODUCTS, **LAYERS, **INDEXING, **FILLS, **MODELS}


# ---------------------------------------------------------------- protocol
def captured(call):
    """Captures `call` in a CUDA graph, and returns a function that replays it."""
    step, graph = getattr(call, "step", call), torch.cuda.CUDAGraph()
    for _ in range(3):
        step()
    with torch.cuda.graph(graph, stream=torch.cuda.current_stream()):
        result = step()

    def replay(held=call):  # `held` keeps the tensors alive that the graph reads
        graph.replay()
        return result if step is held else result.item()
    return replay


FLUSH = []


def seconds_on_gpu(call, iterations):
    """Returns the mean seconds per call, timed by events. The L2 cache is overwritten before each call."""
    if not FLUSH:
        FLUSH.append(torch.empty(2 * torch.cuda.get_device_properties(0).L2_cache_size, dtype=torch.uint8))
    count = min(iterations, 200)
    events = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(count)]
    for start, end in events:
        FLUSH[0].zero_()
        start.record()
        call()
        end.record()
    torch.cuda.synchronize()
    return sum(start.elapsed_time(end) for start, end in events) * 1e-3 / count


def seconds_per_call(name, call, iterations):
    on_gpu = torch.get_default_device().type == "cuda"
    if on_gpu and not any(part in name for part in CLOCKED):
        return seconds_on_gpu(call, iterations)
    if on_gpu:
        torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(iterations):
        call()
    if on_gpu:
        torch.cuda.synchronize()
    return (time.perf_counter() - start) / iterations


def answer(words, ready):
    if words == ["version"]:
        return f"version {torch.__version__}"
    if words[0] == "prepare":
        name, shapes = words[1:]
        if name not in CASES:
            return "unknown"
        torch.manual_seed(0)
        if MODE == "compiled":
            signal.setitimer(signal.ITIMER_REAL, COMPILE_SECONDS)
        try:
            call = CASES[name]([tuple(int(n) for n in sizes.split("x")) for sizes in shapes.split(",")])
            if "backward" not in name and "train_step" not in name:  # those compile their parts when they are prepared
                call = compiled(call)
            for _ in range(3):
                call()
            if MODE == "graphs":
                call = captured(call)
        except Exception as error:  # not every case can be compiled or captured
            if MODE == "eager":
                raise
            print(f"{MODE}: {name}: {error}".splitlines()[0], file=sys.stderr)
            return "unknown"
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        ready[name, shapes] = call
        one = seconds_per_call(name, call, 1)
        return repr(seconds_per_call(name, call, max(1, min(10000, int(0.005 / max(one, 1e-9))))))
    if words[0] == "time":
        iterations, name, shapes = words[1:]
        call = ready[name, shapes]
        call()
        return repr(seconds_per_call(name, call, int(iterations)))
    return f"error: {' '.join(words)}"


def too_long(*_):
    raise TimeoutError(f"not compiled within {COMPILE_SECONDS:g} s")


def main():
    global LAYOUT, MODE, TUNED, COMPILE_SECONDS
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--channels-last", action="store_true")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--mode", choices=("eager", "compiled", "graphs"), default="eager")
    parser.add_argument("--precision", choices=("highest", "high", "medium"), default="highest")
    parser.add_argument("--tuned", action="store_true", help="fused optimizers, cudnn.benchmark, max-autotune")
    parser.add_argument("--compile-seconds", type=float, default=float(os.environ.get("TANDEM_COMPILE_SECONDS", 60)),
                        help="a case that takes longer to be compiled is unknown (TANDEM_COMPILE_SECONDS)")
    options = parser.parse_args()
    MODE, TUNED, COMPILE_SECONDS = options.mode, options.tuned, options.compile_seconds
    torch.backends.cudnn.benchmark = TUNED
    signal.signal(signal.SIGALRM, too_long)
    if MODE == "compiled":  # cases that share a line of this file are compiled separately, beyond the default limit
        torch._dynamo.config.recompile_limit = torch._dynamo.config.accumulated_recompile_limit = 1 << 20
    torch.set_default_device(options.device)
    torch.set_float32_matmul_precision(options.precision)
    torch.backends.cudnn.allow_tf32 = options.precision != "highest"
    if MODE == "graphs":  # the default stream cannot be captured, and a backward runs on its forward's stream
        torch.cuda.set_stream(torch.cuda.Stream())
    torch.set_num_threads(options.threads)
    if options.channels_last:
        LAYOUT = torch.channels_last
    ready = {}
    for line in sys.stdin:
        print(answer(line.split(), ready), flush=True)


if __name__ == "__main__":
    main()
