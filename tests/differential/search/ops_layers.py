"""Products, layers, losses, factories, and calls that deal with gradients. See op.py."""

from arguments import (ANY, INTEGER, NUMBER, REAL, any_sizes, anything, constant, dtype, exactly, fewest, flag, indices_below, integers, number,
                       of_size, one_of, optional, partner, real, real_dtype, reduction, same_shape, scalar, tensor)
from machine import NAMES
from op import op


def shaped(x, sizes, kinds=None):
    """Draws a tensor of x's dtype whose sizes follow from earlier arguments."""
    def draw(g, a):
        wanted = sizes(g, a)
        if g.wrong() and wanted:
            wanted = [*wanted[:-1], wanted[-1] + 1]
        dtype = NAMES[g.get(a[x]).dtype] if g.chance(0.96) else g.dtype()
        return g.tensor((dtype,), lambda u: list(u.shape) == wanted, wanted)
    return draw


def shape(g, a, x="x"):
    return list(g.get(a[x]).shape)


# ---- products
def second_factor(g, a):
    sizes = shape(g, a)
    if not sizes:
        return [2]
    inner, batch = sizes[-1], [1 if g.chance(0.2) else n for n in sizes[:-2]]
    return g.choice([[inner], [inner, g.rng.randint(1, 3)], [*batch, inner, 2]])


op("matmul", "torch.matmul(x, y)", x=fewest(1, REAL), y=shaped("x", second_factor))
op("mm", "torch.mm(x, y)", x=exactly(2), y=shaped("x", lambda g, a: [shape(g, a)[-1], g.rng.randint(0, 3)]))
op("bmm", "torch.bmm(x, y)", x=exactly(3), y=shaped("x", lambda g, a: [shape(g, a)[0], shape(g, a)[-1], g.rng.randint(0, 3)]))
op("mv", "torch.mv(x, y)", x=exactly(2), y=shaped("x", lambda g, a: [shape(g, a)[-1]]))
op("dot", "torch.dot(x, y)", x=exactly(1), y=shaped("x", lambda g, a: shape(g, a)))
op("addmm", "torch.addmm(bias, x, y, beta=beta, alpha=alpha)",
   bias=lambda g, a: g.tensor(REAL, lambda t: t.dim() <= 2, [g.rng.randint(1, 3) for _ in range(g.rng.randint(0, 2))]),
   x=lambda g, a: shaped("bias", lambda g, a: [(shape(g, a, "bias") or [2])[0] if len(shape(g, a, "bias")) == 2 else 2,
                                               g.rng.randint(0, 3)])(g, a),
   y=shaped("bias", lambda g, a: [(shape(g, a) or [1])[-1], (shape(g, a, "bias") or [3])[-1]]),
   beta=one_of(1.0, 0.0, 0.5), alpha=one_of(1.0, -2.0, 0.0))
op("linear", "F.linear(x, weight, bias)", x=fewest(1, REAL),
   weight=shaped("x", lambda g, a: [g.rng.randint(0 if g.chance(0.05) else 1, 4), (shape(g, a) or [1])[-1]]),
   bias=of_size(lambda g, a: (shape(g, a, "weight") or [1])[0], "x", optional=0.4))

op("scaled_dot_product_attention",
   "F.scaled_dot_product_attention(query, key, value, mask, dropout_p, causal, scale=scale)", query=fewest(2, REAL),
   key=shaped("query", lambda g, a: [*shape(g, a, "query")[:-2], g.rng.randint(1, 3), *shape(g, a, "query")[-1:]]),
   value=shaped("key", lambda g, a: [*shape(g, a, "key")[:-1], g.rng.randint(1, 3)]),
   mask=optional(lambda g, a: g.tensor((g.choice(("bool", NAMES[g.get(a["query"]).dtype])),), None,
                                       [*shape(g, a, "query")[-2:-1], *shape(g, a, "key")[-2:-1]])),
   dropout_p=one_of(0.0), causal=lambda g, a: a["mask"] is None and g.chance(0.5), scale=one_of(1.0, 0.5))

# ---- layers
def images(g, a):
    return g.tensor(REAL, lambda t: t.dim() == 4 and t.numel() < 300,
                    [g.rng.randint(1, 2), g.choice([1, 2, 4]), g.rng.randint(1, 6), g.rng.randint(1, 7)])


def pair(low, high):
    return lambda g, a: [g.rng.randint(low, high)] * 2 if g.chance(0.6) else [g.rng.randint(low, high) for _ in range(2)]


small = lambda g, a: [0, 0] if g.chance(0.6) else pair(0, 1)(g, a)
dilation = lambda g, a: [1, 1] if g.chance(0.7) else pair(1, 2)(g, a)
stride = lambda g, a: pair(0 if g.wrong() else 1, 3)(g, a)


def kernel(g, a):
    groups = g.choice([1, 1, 1, 2])
    channels = (shape(g, a) + [2] * 4)[1]
    return [groups * g.rng.randint(1, 2), max(1, channels // groups), g.rng.randint(1, 3), g.rng.randint(1, 3)]


def groups(g, a):
    channels, of_weight = (shape(g, a) + [1] * 4)[1], (shape(g, a, "weight") + [1] * 4)[1]
    return 2 if g.wrong() else max(1, channels // max(of_weight, 1))


op("conv2d", "F.conv2d(x, weight, bias, stride, padding, dilation, groups)", x=images, weight=shaped("x", kernel),
   bias=of_size(lambda g, a: (shape(g, a, "weight") or [1])[0], "x", optional=0.5), stride=stride,
   padding=lambda g, a: pair(0, 2)(g, a), dilation=dilation, groups=groups)
channels = lambda g, a: (shape(g, a) + [1, 1])[1]
statistic = lambda style: lambda g, a: g.make(NAMES[g.get(a["x"]).dtype], [channels(g, a) + (1 if g.wrong() else 0)], style, False)
op("batch_norm", "F.batch_norm(x, mean, var, weight, bias, training, momentum, eps)", x=fewest(2),
   weight=of_size(channels, "x", optional=0.3), bias=of_size(channels, "x", optional=0.3),
   mean=lambda g, a: statistic("plain")(g, a), var=lambda g, a: statistic("positive")(g, a),
   training=flag, momentum=one_of(0.1, 0.5, 0.0), eps=one_of(1e-5, 1e-3))
last_sizes = lambda g, a: shape(g, a)[-g.rng.randint(1, 2):] if not g.wrong() else [9]
op("layer_norm", "F.layer_norm(x, shape, weight, bias, eps)", x=fewest(1), shape=last_sizes,
   weight=optional(shaped("x", lambda g, a: a["shape"])), bias=optional(shaped("x", lambda g, a: a["shape"])),
   eps=one_of(1e-5, 1e-3))
pooled = lambda g, a: images(g, a) if g.chance(0.85) else fewest(3, ANY, 4)(g, a)
pool = {"x": pooled, "kernel": pair(1, 3), "stride": lambda g, a: [] if g.chance(0.4) else stride(g, a), "padding": small}
arguments = "x, kernel, stride, padding, dilation, ceil_mode"
op("max_pool2d", f"torch.max_pool2d({arguments})", **pool, dilation=dilation, ceil_mode=flag)
op("max_pool2d_with_indices", f"torch.ops.aten.max_pool2d_with_indices({arguments})", **pool, dilation=dilation, ceil_mode=flag)
op("avg_pool2d", "F.avg_pool2d(x, kernel, stride or None, padding, ceil_mode, count_include_pad)", **pool, ceil_mode=flag,
   count_include_pad=flag)
op("adaptive_avg_pool2d", "F.adaptive_avg_pool2d(x, size)", x=pooled, size=pair(1, 4))
op("dropout", "torch.dropout(x, p, training)", random=True, x=real, p=one_of(0.5, 0.0, 1.0, 0.25, 1.5), training=flag)
op("dropout2d", "torch.feature_dropout(x, p, training)", random=True, x=fewest(2), p=one_of(0.5, 0.0, 1.0, 0.25), training=flag)


# ---- losses
def target_of(g, a):
    sizes = shape(g, a)
    count = sizes[1] if len(sizes) > 1 else sizes[0] if sizes else 1
    left = [] if len(sizes) <= 1 else [sizes[0], *sizes[2:]]
    made = indices_below(g, count, left)
    if g.chance(0.25):  # some targets are ignored
        return g.make("int64", left, None, False, [-100 if g.chance(0.5) else g.rng.randrange(max(count, 1)) for _ in range(3)])
    return made


classes = lambda g, a: (shape(g, a) + [1])[1] if len(shape(g, a)) > 1 else (shape(g, a) or [1])[0]
by_class = constant(of_size(classes, "x", style="positive", optional=0.6), "positive")
ignored = one_of(-100, -100, -100, 0, 1)
op("nll_loss", "F.nll_loss(x, target, weight, reduction=reduction, ignore_index=ignore_index)", x=fewest(1, REAL, 4),
   target=target_of, weight=by_class, reduction=reduction, ignore_index=ignored)
op("cross_entropy", "F.cross_entropy(x, target, weight, reduction=reduction, ignore_index=ignore_index, "
   "label_smoothing=smoothing)", x=fewest(1, REAL, 4), target=target_of, weight=by_class, reduction=reduction,
   ignore_index=ignored, smoothing=one_of(0.0, 0.0, 0.0, 0.25, 1.0))
op("mse_loss", "F.mse_loss(x, y, reduction=reduction)", x=real, y=same_shape("x"), reduction=reduction)
op("l1_loss", "F.l1_loss(x, y, reduction=reduction)", x=real, y=same_shape("x"), reduction=reduction)
op("smooth_l1_loss", "F.smooth_l1_loss(x, y, reduction=reduction, beta=beta)", x=real, y=same_shape("x"), reduction=reduction,
   beta=one_of(1.0, 0.5, 0.0))
by_element = constant(optional(partner("x", REAL, True), 0.7))
unit = tensor(REAL, lambda t: t.numel() == 0 or bool(((t >= 0) & (t <= 1)).all()), None, "unit")
op("binary_cross_entropy", "F.binary_cross_entropy(x, y, weight, reduction=reduction)", x=unit,
   y=same_shape("x", style="unit"), weight=by_element, reduction=reduction)
op("binary_cross_entropy_with_logits", "F.binary_cross_entropy_with_logits(x, y, weight, reduction=reduction, "
   "pos_weight=pos_weight)", x=real, y=same_shape("x", style="unit"), weight=by_element,
   pos_weight=by_element, reduction=reduction)

# ---- factories
op("zeros", "torch.zeros(sizes, dtype=dtype)", sizes=any_sizes, dtype=dtype)
op("ones", "torch.ones(sizes, dtype=dtype)", sizes=any_sizes, dtype=dtype)
op("full", "torch.full(sizes, value)", sizes=any_sizes, value=scalar())
op("full/dtype", "torch.full(sizes, value, dtype=dtype)", sizes=any_sizes, value=scalar(), dtype=dtype)
for name in ("zeros_like", "ones_like", "empty_like", "randn_like"):
    op(name, f"torch.{name}(x)", random=name in ("empty_like", "randn_like"), x=anything)
op("full_like", "torch.full_like(x, value)", x=anything, value=scalar("x"))
op("eye", "torch.eye(n, m)", n=integers(0, 4), m=integers(0, 4))
start, step = one_of(0, 1, -2, 0.5, 3), one_of(1, 2, 0.25, -1, 0, 3)
limits = {"start": start, "end": one_of(0, 5, 2.25, -4, 9), "step": step}
op("arange", "torch.arange(start, end, step)", **limits)
op("arange/dtype", "torch.arange(start, end, step, dtype=dtype)", **limits, dtype=dtype)
op("linspace", "torch.linspace(start, end, steps, dtype=dtype)", start=one_of(0.0, -1.0, 2.5), end=one_of(1.0, 10.0, -3.0),
   steps=lambda g, a: -1 if g.wrong() else g.rng.randint(0, 6), dtype=dtype)
op("rand", "torch.rand(sizes, dtype=dtype)", random=True, sizes=any_sizes, dtype=dtype)
op("randint", "torch.randint(low, high, sizes)", random=True, low=integers(-1, 2), high=integers(0, 5), sizes=any_sizes)
op("randperm", "torch.randperm(n)", random=True, n=lambda g, a: -1 if g.wrong() else g.rng.randint(0, 6))

# ---- gradients: the generator calls them by name
op("backward", "x.backward(gradient, retain_graph, create_graph, inputs or None)", drawn=False, x=None, gradient=None,
   retain_graph=None, create_graph=None, inputs=None)
op("grad", "torch.autograd.grad(x, inputs, gradients, retain_graph, create_graph, allow_unused=allow_unused)", drawn=False, x=None,
   inputs=None, gradients=None, retain_graph=None, create_graph=None, allow_unused=None)
op("requires_grad_", "x.requires_grad_(wanted)", drawn=False, x=None, wanted=None)
op("retain_grad", "x.retain_grad()", drawn=False, x=None)
