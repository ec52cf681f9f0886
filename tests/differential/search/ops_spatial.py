"""Convolutions and pooling in one to three dimensions, norms, resampling, recurrent cells, and more losses. See
op.py."""

from arguments import REAL, WIDE, constant, dim, exactly, fewest, flag, indices_below, integers, of_size, one_of, optional, partner, real, reduction, same_shape
from op import op
from ops_layers import channels, classes, images, pair, shape, shaped, target_of


def grid_of(rank, kinds=REAL):
    """Draws x (N, C, ...) with `rank` spatial dimensions, sometimes without N."""
    def draw(g, a):
        sizes = [g.rng.randint(0 if g.chance(0.04) else 1, 2), g.choice([1, 2, 4]), *[g.rng.randint(1, 5) for _ in range(rank)]]
        sizes = sizes[1:] if g.chance(0.12) else sizes
        return g.tensor(kinds, lambda t: t.dim() == rank + 2 and 0 < t.numel() < 300, sizes)
    return draw


def kernel_of(rank, transposed):
    def sizes(g, a):
        x = shape(g, a)
        count = x[-rank - 1] if len(x) > rank else 1
        windows = [g.rng.randint(1, 3) for _ in range(rank)]
        groups = g.choice([1, 1, 1, 2]) if count % 2 == 0 else 1
        return [count, g.rng.randint(1, 2), *windows] if transposed else [groups * g.rng.randint(1, 2), max(1, count // groups), *windows]
    return sizes


def groups_of(rank, transposed):
    def draw(g, a):
        x, weight = shape(g, a), shape(g, a, "weight")
        count = x[-rank - 1] if len(x) > rank else 1
        if transposed:
            return g.choice([1, 1, 2]) if count % 2 == 0 else 1
        return 2 if g.wrong() else max(1, count // max(weight[1], 1))
    return draw


def bias_of(transposed):
    count = (lambda g, a: shape(g, a, "weight")[1] * a.get("groups", 1)) if transposed else (lambda g, a: shape(g, a, "weight")[0])
    return of_size(count, "x", optional=0.5)


for rank in (1, 3):
    op(f"conv{rank}d", f"F.conv{rank}d(x, weight, bias, stride, padding, dilation, groups)", x=grid_of(rank),
       weight=shaped("x", kernel_of(rank, False)), bias=bias_of(False), stride=integers(1, 3), padding=integers(0, 2),
       dilation=one_of(1, 1, 2), groups=groups_of(rank, False))
for rank in (1, 2, 3):
    op(f"conv_transpose{rank}d", f"F.conv_transpose{rank}d(x, weight, bias, stride, padding, output_padding, groups, dilation)",
       x=grid_of(rank), weight=shaped("x", kernel_of(rank, True)), bias=of_size(lambda g, a: shape(g, a, "weight")[1], "x", optional=0.5),
       stride=integers(1, 3), padding=integers(0, 2), output_padding=one_of(0, 0, 1, 2), groups=one_of(1, 1, 1, 1, 1, 2), dilation=one_of(1, 1, 2, 3))
for rank in (1, 3):
    least = lambda g, a, rank=rank: g.rng.randint(1, max(1, min([3, *shape(g, a)[-rank:]])))
    pool = {"x": grid_of(rank), "kernel": least, "stride": integers(1, 3), "padding": one_of(0, 0, 1), "ceil_mode": flag}
    op(f"max_pool{rank}d", f"torch.max_pool{rank}d(x, kernel, stride, padding, 1, ceil_mode)", **pool)
    op(f"avg_pool{rank}d", f"F.avg_pool{rank}d(x, kernel, stride, padding, ceil_mode)", **pool | {"x": grid_of(rank, WIDE if rank == 3 else REAL)})
    op(f"adaptive_avg_pool{rank}d", f"F.adaptive_avg_pool{rank}d(x, size)", x=grid_of(rank), size=integers(1, 4))
for rank in (1, 2, 3):
    op(f"adaptive_max_pool{rank}d", f"tuple(torch.nn.functional.adaptive_max_pool{rank}d(x, size, return_indices=True))", x=grid_of(rank), size=integers(1, 4))

# ---- norms
by_channel = of_size(channels, "x", optional=0.3)
divisor = lambda g, a: g.choice([d for d in range(1, channels(g, a) + 1) if channels(g, a) % d == 0] or [1]) + (1 if g.wrong() else 0)
op("group_norm", "torch.group_norm(x, groups, weight, bias)", x=fewest(2), groups=divisor, weight=by_channel, bias=by_channel)
op("instance_norm", "torch.instance_norm(x, weight, bias, None, None, True, 0.1, 1e-5, False)", x=fewest(3), weight=by_channel, bias=by_channel)
op("rms_norm", "F.rms_norm(x, shape, weight)", x=fewest(1), shape=lambda g, a: shape(g, a)[-g.rng.randint(1, 2):] if not g.wrong() else [9],
   weight=optional(shaped("x", lambda g, a: a["shape"])))
op("normalize", "F.normalize(x, p, dim)", x=real, p=one_of(2.0, 2.0, 1.0, 3.0), dim=dim("x"))

# ---- resampling
picture = grid_of(2)
size = pair(1, 5)
op("upsample_nearest2d", "torch.ops.aten.upsample_nearest2d(x, size)", x=picture, size=size)
for name in ("bilinear", "bicubic"):
    op(f"upsample_{name}2d", f"torch.ops.aten.upsample_{name}2d(x, size, align_corners)", x=picture, size=size, align_corners=flag)
op("grid_sampler", "torch.grid_sampler(x, grid, mode, padding, align_corners)", x=images,
   grid=shaped("x", lambda g, a: [(shape(g, a) or [1])[0], g.rng.randint(1, 3), g.rng.randint(1, 3), 2]), mode=one_of(0, 0, 1, 2), padding=one_of(0, 1, 2),
   align_corners=flag)
op("affine_grid", "torch.affine_grid_generator(theta, size, align_corners)",
   theta=lambda g, a: g.tensor(("float32", "float64"), lambda t: t.dim() == 3 and list(t.shape[1:]) == [2, 3], [g.rng.randint(1, 2), 2, 3]),
   size=lambda g, a: [shape(g, a, "theta")[0], 1, g.rng.randint(1, 4), g.rng.randint(1, 4)], align_corners=flag)


def pads(g, a):
    count = 2 * g.rng.randint(1, 2)
    return [g.choice([0, 1, 1, 2, -1 if g.chance(0.3) else 1]) for _ in range(count)]


op("pad", "F.pad(x, pads, mode)", x=fewest(3, REAL, 4), pads=pads, mode=one_of("constant", "reflect", "replicate", "circular"))
op("pixel_shuffle", "F.pixel_shuffle(x, factor)", x=images, factor=one_of(1, 2))
op("im2col", "F.unfold(x, kernel, dilation, padding, stride)", x=images, kernel=pair(1, 3), dilation=pair(1, 2), padding=pair(0, 1), stride=pair(1, 3))

# ---- recurrent cells
def cell(gates):
    hidden = lambda g, a: shape(g, a, "h")[-1]
    return {"w_ih": shaped("x", lambda g, a: [gates * hidden(g, a), shape(g, a)[-1]]),
            "w_hh": shaped("x", lambda g, a: [gates * hidden(g, a), hidden(g, a)]),
            "b_ih": of_size(lambda g, a: gates * hidden(g, a), "x"), "b_hh": of_size(lambda g, a: gates * hidden(g, a), "x")}


state = shaped("x", lambda g, a: [shape(g, a)[0], g.rng.randint(1, 3)])
for name, gates in (("rnn_tanh_cell", 1), ("rnn_relu_cell", 1), ("gru_cell", 3)):
    op(name, f"torch.{name}(x, h, w_ih, w_hh, b_ih, b_hh)", x=exactly(2), h=state, **cell(gates))
op("lstm_cell", "tuple(torch.lstm_cell(x, (h, c), w_ih, w_hh, b_ih, b_hh))", x=exactly(2), h=state, c=shaped("x", lambda g, a: shape(g, a, "h")), **cell(4))

# ---- losses
signs = lambda x: lambda g, a: g.make(str(g.get(a[x]).dtype)[6:], shape(g, a, x), None, False, [1.0, -1.0, -1.0, 1.0, 1.0])
op("huber_loss", "F.huber_loss(x, y, reduction=reduction, delta=delta)", x=real, y=same_shape("x"), reduction=reduction, delta=one_of(1.0, 0.5))
op("kl_div", "F.kl_div(x, y, reduction=reduction, log_target=log_target)", x=real, y=same_shape("x", style="unit"), reduction=reduction, log_target=flag)
op("poisson_nll_loss", "F.poisson_nll_loss(x, y, log_input=log_input, full=full, reduction=reduction)", x=real, y=same_shape("x", style="positive"),
   log_input=flag, full=flag, reduction=reduction)
op("gaussian_nll_loss", "F.gaussian_nll_loss(x, y, var, full=full, reduction=reduction)", x=real, y=same_shape("x"), var=same_shape("x", style="positive"),
   full=flag, reduction=reduction)
op("soft_margin_loss", "F.soft_margin_loss(x, y, reduction=reduction)", x=real, y=signs("x"), reduction=reduction)
op("hinge_embedding_loss", "F.hinge_embedding_loss(x, y, margin, reduction=reduction)", x=real, y=signs("x"), margin=one_of(1.0, 0.5), reduction=reduction)
op("margin_ranking_loss", "F.margin_ranking_loss(x, y, z, margin, reduction=reduction)", x=real, y=same_shape("x"), z=signs("x"), margin=one_of(0.0, 1.0),
   reduction=reduction)
first_sign = lambda g, a: g.make(str(g.get(a["x"]).dtype)[6:], shape(g, a)[:-1], None, False, [1.0, -1.0, 1.0])
op("cosine_embedding_loss", "F.cosine_embedding_loss(x, y, z, margin, reduction=reduction)", x=exactly(2), y=same_shape("x"), z=first_sign,
   margin=one_of(0.0, 0.5), reduction=reduction)
op("triplet_margin_loss", "F.triplet_margin_loss(x, y, z, margin, p, swap=swap, reduction=reduction)", x=fewest(1), y=same_shape("x"), z=same_shape("x"),
   margin=one_of(1.0, 0.5), p=one_of(2.0, 1.0), swap=flag, reduction=reduction)
op("multi_margin_loss", "F.multi_margin_loss(x, target, p, margin, reduction=reduction)", x=lambda g, a: fewest(1, WIDE, 2)(g, a),
   target=lambda g, a: indices_below(g, classes(g, a), shape(g, a)[:-1]), p=one_of(1, 2), margin=one_of(1.0, 0.5), reduction=reduction)
