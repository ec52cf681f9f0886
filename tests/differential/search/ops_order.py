"""Operations that depend on the order of elements: scans, quantiles, indices, unique values. See op.py."""

import math

from arguments import (ANY, BOOL, INTEGER, NUMBER, REAL, WIDE, added_rows, anything, dim, dims, exactly, fewest, flag, index_along, index_like,
                       integers, maybe_dim, number, one_of, partner, real, scalar, size_at, source_for, tensor)
from op import op

ways = one_of("linear", "linear", "lower", "higher", "midpoint", "nearest")
share = one_of(0.0, 0.25, 0.5, 0.7, 1.0)
shares = lambda g, a: g.make("float64" if "float64" in str(g.get(a["x"]).dtype) else "float32", [g.rng.randint(1, 3)], "unit", False)
op("quantile", "x.quantile(q, dim, keepdim, interpolation=interpolation)", x=tensor(WIDE), q=shares, dim=maybe_dim("x"), keepdim=flag,
   interpolation=ways)
op("quantile/one", "x.quantile(q, dim, keepdim)", x=tensor(WIDE), q=share, dim=maybe_dim("x"), keepdim=flag)
op("nanquantile", "x.nanquantile(q, dim, keepdim)", x=tensor(WIDE), q=share, dim=maybe_dim("x"), keepdim=flag)
op("median/dim", "tuple(x.median(dim, keepdim))", x=number, dim=dim("x"), keepdim=flag)
op("nanmedian", "tuple(x.nanmedian(dim, keepdim))", x=number, dim=dim("x"), keepdim=flag)
# The index of mode, and of other choices among equal elements, is not defined, so only values are compared.
op("mode", "x.mode(dim, keepdim)[0]", x=number, dim=dim("x"), keepdim=flag)


def rank_at(g, a):
    n = size_at(g, a, "x", "dim")
    return n + 1 if g.wrong() else g.rng.randint(1, max(n, 1))


op("kthvalue", "x.kthvalue(k, dim, keepdim)[0]", x=number, k=lambda g, a: rank_at(g, {**a, "dim": -1}), dim=one_of(-1, -1, 0), keepdim=flag)
op("msort", "x.msort()", x=number)
for name in ("cummax", "cummin"):
    op(name, f"tuple(x.{name}(dim))", x=anything, dim=dim("x"))
op("cumulative_trapezoid", "torch.cumulative_trapezoid(x, dim=dim)", x=fewest(1, NUMBER), dim=dim("x"))
op("nanmean", "x.nanmean(dims, keepdim)", x=real, dims=dims("x"), keepdim=flag)
op("var_mean", "tuple(torch.var_mean(x, dims, unbiased=unbiased, keepdim=keepdim))", x=real, dims=dims("x"), unbiased=flag, keepdim=flag)
op("prod/dim", "x.prod(dim, keepdim)", x=anything, dim=dim("x"), keepdim=flag)
op("cov", "x.cov()", x=tensor(REAL, lambda t: t.dim() <= 2, lambda g, a: [2, 3]))
op("renorm", "x.renorm(p, dim, maxnorm)", x=fewest(2), p=one_of(2.0, 1.0, 3.0), dim=dim("x"), maxnorm=one_of(1.0, 0.5, 5.0))
op("unique", "torch.unique(x, return_inverse=True, return_counts=True)", x=anything)
op("unique_dim", "torch.unique(x, dim=dim, return_inverse=True, return_counts=True)", x=fewest(1, ANY, 3), dim=dim("x"))
op("unique_consecutive", "torch.unique_consecutive(x, return_inverse=True, return_counts=True, dim=dim)", x=fewest(1, ANY, 3), dim=maybe_dim("x"))
ascending = lambda g, a: g.make(g.choice(("float32", "float64", "int64")), [5], None, False, [-2, -1, 0, 1, 3])
op("searchsorted", "torch.searchsorted(sorted, x, right=right)", sorted=ascending,
   x=lambda g, a: g.tensor((str(g.get(a["sorted"]).dtype)[6:],), None), right=flag)
op("isin", "torch.isin(x, y, invert=invert)", x=number, y=number, invert=flag)
op("bincount", "x.bincount(minlength=minlength)", x=lambda g, a: g.make(g.dtype(INTEGER), [g.rng.randint(0, 7)], "natural", False),
   minlength=integers(-1 , 5))
op("histc", "x.histc(bins, low, high)", x=tensor(WIDE), bins=integers(1, 5), low=one_of(0.0, -2.0), high=one_of(0.0, 1.0, 3.0))
way = one_of("sum", "prod", "mean", "amax", "amin")
op("scatter_reduce", "x.scatter_reduce(dim, index, source, reduce, include_self=include_self)", x=number, dim=dim("x"),
   index=index_like("x", "dim"), source=source_for("index", "x"), reduce=way, include_self=flag)
op("index_reduce", "x.index_reduce(dim, index, source, reduce, include_self=include_self)", x=fewest(1, NUMBER), dim=dim("x"),
   index=index_along("x", "dim"), source=added_rows("x", "dim", "index"), reduce=one_of("prod", "mean", "amax", "amin"), include_self=flag)


def distinct(x, d):
    """Draws indices without duplicates, because the order of writes is not defined."""
    def draw(g, a):
        n = size_at(g, a, x, d)
        chosen = g.rng.sample(range(n), g.rng.randint(0, min(n, 4)))
        return g.make("int64", [len(chosen)], None, False, chosen or [0])
    return draw


op("index_copy", "x.index_copy(dim, index, source)", x=fewest(1, ANY), dim=dim("x"), index=distinct("x", "dim"),
   source=added_rows("x", "dim", "index"))
op("index_fill", "x.index_fill(dim, index, value)", x=fewest(1, ANY), dim=dim("x"), index=index_along("x", "dim"), value=scalar("x"))
enough = lambda g, a: g.tensor((str(g.get(a["x"]).dtype)[6:],), lambda t: t.numel() >= g.get(a["x"]).numel(), [g.get(a["x"]).numel() + 2])
op("masked_scatter", "x.masked_scatter(mask, source)", x=anything, mask=partner("x", BOOL, shrink_only=True), source=enough)
def inside(g, a):
    """Draws indices within the last dimension of x, because PyTorch does not always throw for others."""
    sizes = list(g.get(a["x"]).shape)
    count = max(1, min(math.prod(sizes), 7))
    return g.make("int64", sizes, None, False, [g.rng.randrange(max(sizes[-1], 1)) for _ in range(count)])


op("take_along_dim", "x.take_along_dim(index, dim)", x=fewest(1, ANY), index=inside, dim=one_of(-1))
op("unfold", "x.unfold(dim, size, step)", x=fewest(1, ANY), dim=dim("x"),
   size=lambda g, a: size_at(g, a, "x", "dim") + 1 if g.wrong() else g.rng.randint(0, size_at(g, a, "x", "dim")), step=lambda g, a: 0 if g.wrong() else g.rng.randint(1, 3))
