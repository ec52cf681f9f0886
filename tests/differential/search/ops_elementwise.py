"""Elementwise operations, their in-place variants, and conversions. See op.py."""

import pathlib
import sys

import torch

from arguments import (ANY, BOOL, INTEGER, NUMBER, REAL, anything, bound, constant, dtype, flag, integer, integers, number,
                       one_of, operand, output, partner, same_shape, saved_for, scalar, target, tensor)
from op import op

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "fixtures"))
import op_lists  # noqa: E402

PREDICATES = op_lists.names("PREDICATE")
BINARY = op_lists.names("BINARY")
EXTREMES = ["maximum", "minimum", "fmax", "fmin"]  # these have no variant with a number, nor have the ops added to them
WITHOUT_NUMBER = EXTREMES + ["atan2", "nextafter", "igamma", "igammac", "gcd", "lcm"]
COMPARE = op_lists.names("COMPARE")
LOGICAL = ["logical_and", "logical_or", "logical_xor"]
BITWISE = op_lists.names("BITWISE")
# PyTorch has no derivative of their in-place variants
NO_DERIVATIVE_IN_PLACE = ["logical_not", "asinh", "acosh", "atanh"]
INTEGERS = op_lists.names("INTEGER")

mostly_real = tensor(REAL, mostly=0.85)
into = operand(partner("x", shrink_only=True))
for name in op_lists.names("UNARY") + op_lists.names("NOT") + PREDICATES:
    reals = name in op_lists.names("UNARY", "floating", "real")
    x = mostly_real if reals else tensor(INTEGER + BOOL) if name == "bitwise_not" else anything
    if name in ("floor", "ceil", "round", "trunc"):
        x = tensor(NUMBER, mostly=0.98)
    method, aten = hasattr(torch.Tensor, name), name in ("silu", "gelu", "relu")  # aten: variants without a public name
    call = f"torch.ops.aten.{name}" if aten else f"torch.{name}" if hasattr(torch, name) else f"F.{name}"
    op(name, f"x.{name}()" if method else f"{call}(x)", x=x)
    op(name + "/free", f"{call}(x)", x=x)
    if name in PREDICATES or call.startswith("F."):
        continue
    change = target(REAL if reals else INTEGER + BOOL if name == "bitwise_not" else ANY, 0.0 if name in NO_DERIVATIVE_IN_PLACE else 1.0)
    op(name + "_", f"x.{name}_()" if method else f"{call}_(x)", x=change)
    # aten variants need an output of the exact dtype
    op(name + "/out", f"{call}(x, out=out)", x=constant(x), out=output("x", mostly=1 if aten else 0.9))
for name in BINARY + COMPARE + BITWISE + INTEGERS:
    kinds = INTEGER + BOOL if name in BITWISE else INTEGER if name in INTEGERS else ANY
    x = tensor(kinds) if name in BITWISE + INTEGERS else anything
    method, with_number = hasattr(torch.Tensor, name + "_"), name not in LOGICAL + WITHOUT_NUMBER
    op(name, f"x.{name}(y)", x=x, y=partner("x", kinds))
    op(name + "/free", f"torch.{name}(x, y)", x=x, y=partner("x", kinds))
    if with_number:
        op(name + "/scalar", f"x.{name}(y)", x=x, y=scalar("x"))
    if method:
        change = target(kinds, 0.0 if name in LOGICAL else 1.0)
        beside = partner("x", kinds, shrink_only=True) if name in BITWISE + INTEGERS else constant(into) if name in LOGICAL else into
        op(name + "_", f"x.{name}_(y)", x=change, y=beside)
    if method and with_number:
        op(name + "_/scalar", f"x.{name}_(y)", x=change, y=scalar("x"))
    op(name + "/out", f"torch.{name}(x, y, out=out)", x=constant(x), y=constant(partner("x", kinds)),
       out=output("x", "y", kinds=BOOL if name in COMPARE else None))
for symbol in "+ - * / % == <".split():
    op("operator" + symbol, f"x {symbol} y", x=anything, y=partner("x"))
    op(f"operator{symbol}/scalar", f"x {symbol} y", x=anything, y=scalar("x"))
for symbol in "+-*/":
    op(f"operator{symbol}/left", f"x {symbol} y", x=scalar(), y=anything)
op("operator-/unary", "-x", x=anything)

alpha = one_of(1, 1, 1, 2, -1, 0.5, -1.5, True, 0)
for name in ("add", "sub"):
    op(name, f"x.{name}(y, alpha=alpha)", x=anything, y=partner("x"), alpha=alpha)
    op(name + "/scalar", f"x.{name}(y, alpha=alpha)", x=anything, y=scalar("x"), alpha=alpha)
    op(name + "/free", f"torch.{name}(x, y)", x=anything, y=partner("x"))
    op(name + "_", f"x.{name}_(y, alpha=alpha)", x=target(), y=into, alpha=alpha)
    op(name + "/out", f"torch.{name}(x, y, out=out)", x=constant(anything), y=constant(partner("x")), out=output("x", "y"))
    op(name + "_/scalar", f"x.{name}_(y, alpha=alpha)", x=target(), y=scalar("x"), alpha=alpha)
op("clamp", "x.clamp(low, high)", x=anything, low=bound("x"), high=bound("x"))
op("clamp/free", "torch.clamp(x, low, high)", x=anything, low=bound("x"), high=bound("x"))
op("clamp/tensors", "x.clamp(low, high)", x=number, low=partner("x", NUMBER), high=partner("x", NUMBER))
op("clamp_min", "x.clamp_min(low)", x=anything, low=scalar("x"))
op("clamp_max", "x.clamp_max(high)", x=anything, high=scalar("x"))
condition = tensor(BOOL, mostly=0.97)
op("where", "torch.where(condition, x, y)", condition=condition, x=partner("condition"), y=partner("x"))
op("where/method", "x.where(condition, y)", condition=condition, x=partner("condition"), y=partner("x"))
op("where/scalar_left", "torch.where(condition, x, y)", condition=condition, x=scalar(), y=partner("condition"))
op("where/scalar_right", "torch.where(condition, x, y)", condition=condition, x=partner("condition"), y=scalar("x"))
op("masked_fill", "x.masked_fill(mask, value)", x=anything, mask=partner("x", BOOL), value=scalar("x"))

op("leaky_relu", "F.leaky_relu(x, slope)", x=mostly_real, slope=one_of(0.01, 0.25, 0.0, -0.5, 1.0))
op("elu", "F.elu(x, alpha)", x=mostly_real, alpha=one_of(1.0, 0.5, 0.0, -1.0))
op("softplus", "F.softplus(x, beta, threshold)", x=mostly_real, beta=one_of(1.0, 2.0, 0.5), threshold=one_of(20.0, 1.0))
same = saved_for("dy")
real = tensor(REAL, mostly=1)
op("leaky_relu_backward", "torch.ops.aten.leaky_relu_backward(dy, x, slope, False)", dy=real, x=same,
   slope=one_of(0.01, 0.25))
op("elu_backward", "torch.ops.aten.elu_backward(dy, alpha, 1, 1, False, x)", dy=real, x=same, alpha=one_of(1.0, 0.5))
op("silu_backward", "torch.ops.aten.silu_backward(dy, x)", dy=constant(real), x=same)
op("gelu_backward", "torch.ops.aten.gelu_backward(dy, x)", dy=real, x=same)
op("softplus_backward", "torch.ops.aten.softplus_backward(dy, x, beta, threshold)", dy=real, x=same,
   beta=one_of(1.0, 2.0), threshold=one_of(20.0, 1.0))
op("relu_backward", "torch.ops.aten.threshold_backward(dy, y, 0)", dy=real, y=same)
op("sigmoid_backward", "torch.ops.aten.sigmoid_backward(dy, y)", dy=real, y=same)
op("tanh_backward", "torch.ops.aten.tanh_backward(dy, y)", dy=real, y=same)

# ---- in place
op("operator+=", "operator.iadd(x, y)", x=target(), y=into)
op("operator*=", "operator.imul(x, y)", x=target(), y=into)
op("copy_", "x.copy_(y)", x=target(), y=into)
op("fill_", "x.fill_(value)", x=target(), value=scalar("x"))
op("fill_/tensor", "x.fill_(value)", x=target(), value=tensor(sizes=lambda g, a: [], fits=lambda t: t.dim() == 0))
op("zero_", "x.zero_()", x=target())
op("clamp_", "x.clamp_(low, high)", x=target(), low=bound("x"), high=bound("x"))
op("masked_fill_", "x.masked_fill_(mask, value)", x=target(), mask=partner("x", BOOL, shrink_only=True), value=scalar("x"))


def fresh(kinds):
    """Draws a tensor that shares no memory, because the op makes its values random."""
    return lambda g, a: g.make(g.dtype(kinds if g.chance(0.9) else ANY), g.sizes(), None, False)


op("uniform_", "x.uniform_(low, high)", random=True, x=fresh(REAL), low=one_of(0.0, -1.0), high=one_of(1.0, 2.5))
op("normal_", "x.normal_(mean, std)", random=True, x=fresh(REAL), mean=one_of(0.0, 1.0), std=one_of(1.0, 0.0, 2.0, -1.0))
op("bernoulli_", "x.bernoulli_(p)", random=True, x=fresh(ANY), p=one_of(0.0, 0.5, 1.0, 1.5))
op("random_", "x.random_(low, high)", random=True, x=fresh(ANY), low=integers(0, 2), high=integers(1, 5))

# ---- copies and conversions
op("contiguous", "x.contiguous()", x=anything)
op("clone", "x.clone()", x=anything)
op("clone/free", "torch.clone(x)", x=anything)
op("to", "x.to(dtype)", x=anything, dtype=dtype)
op("toType", "x.to(dtype)", x=anything, dtype=dtype)
op("type_as", "x.type_as(y)", x=anything, y=anything)
op("result_type", "torch.result_type(x, y)", x=anything, y=anything)
op("result_type/scalar", "torch.result_type(x, y)", x=anything, y=scalar("x"))
op("item", "x.item()", x=tensor(fits=lambda t: t.numel() == 1, sizes=lambda g, a: [1] * g.rng.randint(0, 2)))
op("equal", "torch.equal(x, y)", x=anything, y=same_shape("x"))
op("allclose", "torch.allclose(x, y, rtol, atol, equal_nan)", x=number, y=same_shape("x"), rtol=one_of(1e-5, 0.5),
   atol=one_of(1e-8, 1.0), equal_nan=flag)
