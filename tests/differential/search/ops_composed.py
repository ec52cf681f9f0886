"""Ops that are composed of other operations. See op.py."""

from arguments import (ANY, NUMBER, REAL, anything, dim, dims, exactly, expanded_sizes, fewest, flag, integers, maybe_dim, number, one_of,
                       partner, real, scalar, target)
from op import op

op("movedim", "x.movedim(source, destination)", x=anything, source=dim("x"), destination=dim("x"))
op("diagonal", "x.diagonal(offset, dim1, dim2)", x=fewest(2, ANY), offset=integers(-3, 3), dim1=dim("x"), dim2=dim("x"))
op("tensor_split", "x.tensor_split(sections, dim)", x=fewest(1, ANY), sections=integers(0, 4), dim=dim("x"))
op("broadcast_to", "x.broadcast_to(sizes)", x=anything, sizes=expanded_sizes("x"))
op("ravel", "x.ravel()", x=anything)
op("flip", "x.flip(dims)", x=anything, dims=dims("x"))
op("roll", "x.roll(shift, dim)", x=anything, shift=integers(-5, 5), dim=dim("x"))
op("rot90", "x.rot90(k)", x=fewest(2, ANY), k=integers(-4, 4))
op("tile", "x.tile(repeats)", x=anything, repeats=one_of([2], [2, 1], [1, 2, 2], [0]))
op("repeat_interleave", "x.repeat_interleave(repeats, dim)", x=anything, repeats=integers(-1, 3), dim=maybe_dim("x"))
for name in ("tril", "triu"):
    op(name, f"x.{name}(diagonal)", x=fewest(2, ANY), diagonal=integers(-3, 3))
op("tril_", "x.tril_(diagonal)", x=target(), diagonal=integers(-3, 3))
op("diag_embed", "x.diag_embed(offset)", x=fewest(1, ANY, 4), offset=integers(-2, 2))
op("trace", "x.trace()", x=exactly(2, NUMBER))
op("lerp", "x.lerp(y, weight)", x=real, y=partner("x"), weight=one_of(0.0, 0.25, 0.5, 1.0, -2.0))
for name in ("addcmul", "addcdiv"):
    op(name, f"x.{name}(y, z, value=value)", x=anything, y=partner("x"), z=partner("x"), value=scalar("x"))
for name in ("hypot", "logaddexp", "copysign", "xlogy"):
    op(name, f"x.{name}(y)", x=anything, y=partner("x"))
op("nan_to_num", "x.nan_to_num()", x=anything)
op("deg2rad", "x.deg2rad()", x=anything)
op("hardshrink", "x.hardshrink()", x=real)
for name, function in (("hardtanh", "hardtanh"), ("hardswish", "hardswish"), ("log_sigmoid", "logsigmoid"), ("celu", "celu")):
    op(name, f"F.{function}(x)", x=real)
op("glu", "F.glu(x, dim)", x=real, dim=dim("x"))
op("count_nonzero", "x.count_nonzero(dims)", x=anything, dims=dims("x"))
op("nansum", "x.nansum(dims, keepdim)", x=anything, dims=dims("x"), keepdim=flag)
op("aminmax", "tuple(x.aminmax(dim=dim, keepdim=keepdim))", x=number, dim=maybe_dim("x"), keepdim=flag)
op("median", "x.median()", x=number)
op("cumprod", "x.cumprod(dim)", x=anything, dim=dim("x"))
op("logcumsumexp", "x.logcumsumexp(dim)", x=real, dim=dim("x"))
op("diff", "x.diff(n, dim)", x=anything, n=integers(-1, 3), dim=dim("x"))
op("outer", "x.outer(y)", x=exactly(1, ANY), y=exactly(1, ANY))
op("inner", "x.inner(y)", x=number, y=partner("x"))
op("kron", "x.kron(y)", x=exactly(2, ANY), y=exactly(2, ANY))
op("dist", "x.dist(y, p)", x=real, y=partner("x"), p=one_of(2.0, 2.0, 1.0, 0.0, 3.0, "inf", "-inf", 0.5, -1.0))
