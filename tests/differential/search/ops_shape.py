"""Views, joins, indexing and reductions. See op.py."""

from arguments import (ANY, BOOL, INTEGER, NUMBER, REAL, added_rows, anything, dim, dims, expanded_sizes, exactly, fewest, flag,
                       index_along, index_like, index_list, indices_below, integers, maybe_dim, new_sizes, number, one_of,
                       partner, permutation, position, real, same_shape, shrunk_sizes, size_at, source_for, target, tensor,
                       value_at)
from op import op

# ---- views
op("view", "x.view(sizes)", x=anything, sizes=new_sizes("x"))
op("reshape", "x.reshape(sizes)", x=anything, sizes=new_sizes("x"))
numel_of = lambda x: lambda g, a: g.tensor(ANY, lambda u: u.numel() == g.get(a[x]).numel(), [g.get(a[x]).numel()])
op("view_as", "x.view_as(y)", x=anything, y=numel_of("x"))
op("reshape_as", "x.reshape_as(y)", x=anything, y=numel_of("x"))
op("flatten", "x.flatten(start_dim, end_dim)", x=anything, start_dim=dim("x"), end_dim=dim("x"))
op("unflatten", "x.unflatten(dim, sizes)", x=fewest(1, ANY), dim=dim("x"), sizes=new_sizes("x", "dim"))
op("transpose", "x.transpose(dim0, dim1)", x=anything, dim0=dim("x"), dim1=dim("x"))
op("t", "x.t()", x=tensor(fits=lambda t: t.dim() <= 2, sizes=lambda g, a: g.sizes()[:2]))
op("mT", "x.mT", x=fewest(2, ANY))
op("permute", "x.permute(dims)", x=anything, dims=permutation("x"))


def length_at(g, a):
    n = size_at(g, a, "x", "dim")
    start = a["start"] + n if a["start"] < 0 else a["start"]
    return g.choice([-1, n - start + 1]) if g.wrong() else g.rng.randint(0, max(0, n - start))


op("narrow", "x.narrow(dim, start, length)", x=fewest(1, ANY), dim=dim("x"), start=position("x", "dim"), length=length_at)
op("select", "x.select(dim, index)", x=fewest(1, ANY), dim=dim("x"), index=position("x", "dim"))
op("operator[]", "x[index]", x=fewest(1, ANY), index=lambda g, a: position("x", "dim")(g, {**a, "dim": 0}))
end = one_of(None, 0, 1, 2, 3, -1, -2, 100, -100)
op("slice", "torch.ops.aten.slice(x, dim, start, end, step)", x=fewest(1, ANY), dim=dim("x"), start=end, end=end,
   step=lambda g, a: g.choice([0, -1]) if g.wrong() else g.choice([1, 1, 2, 3]))
op("expand", "x.expand(sizes)", x=anything, sizes=expanded_sizes("x"))
op("expand_as", "x.expand_as(y)", x=anything, y=partner("x"))
op("unsqueeze", "x.unsqueeze(dim)", x=anything, dim=dim("x", extra=1))
op("squeeze", "x.squeeze()", x=anything)
op("squeeze/dim", "x.squeeze(dim)", x=anything, dim=dim("x"))


def strided_sizes(g, a):
    return [g.rng.randint(0 if g.chance(0.1) else 1, 3) for _ in range(g.rng.randint(0, 3))]


op("as_strided", "x.as_strided(sizes, strides, offset)", x=anything, sizes=strided_sizes,
   strides=lambda g, a: [g.rng.randint(0, 3) for _ in a["sizes"]], offset=one_of(None, None, 0, 1, 2))
op("chunk", "x.chunk(chunks, dim)", x=fewest(1, ANY), chunks=lambda g, a: 0 if g.wrong() else g.rng.randint(1, 4), dim=dim("x"))
op("split", "x.split(size, dim)", x=fewest(1, ANY), size=lambda g, a: -1 if g.wrong() else g.rng.randint(0 if g.chance(0.1)
   else 1, 4), dim=dim("x"))


def split_sizes(g, a):
    n = size_at(g, a, "x", "dim")
    sizes = []
    while n > 0 and len(sizes) < 3:
        sizes.append(g.rng.randint(0 if g.chance(0.1) else 1, n))
        n -= sizes[-1]
    return [*sizes, n + (1 if g.wrong() else 0)]


op("split/sizes", "x.split(sizes, dim)", x=fewest(1, ANY), sizes=lambda g, a: split_sizes(g, {**a, "dim": 0}),
   dim=one_of(0, 0, 0, -1))
op("unbind", "x.unbind(dim)", x=fewest(1, ANY), dim=dim("x"))
op("detach", "x.detach()", x=anything)
op("data", "x.data", x=anything)
op("detach_", "x.detach_()", x=anything)
op("repeat", "x.repeat(repeats)", x=anything, repeats=lambda g, a: [g.choice([1, 1, 1, 2, 3, 0] if g.chance(0.3) else [1, 1, 2])
   for _ in range(max(0, g.get(a["x"]).dim() + g.choice([0, 0, 1])) - (1 if g.wrong() else 0))])


# ---- joining and indexing
def joined(new_dim):
    """Draws a list of tensors whose sizes agree except in dimension 0 (for cat), or in all dimensions (for stack)."""
    def draw(g, a):
        first = g.tensor(ANY, lambda t: t.dim() > 0 or new_dim, None)
        t, chosen = g.get(first), [first]
        for _ in range(g.rng.randint(0, 2)):
            dtype = {} if g.chance(0.7) else {"kinds": ANY}
            sizes = list(t.shape)
            if not new_dim and sizes:
                sizes[0] = g.rng.randint(0, 3) if g.chance(0.5) else sizes[0]
                if g.chance(0.05):
                    sizes = [0]
            if g.wrong():
                sizes = [*sizes, 2]
            kinds = dtype.get("kinds") or (str(t.dtype).removeprefix("torch."),)
            chosen.append(g.tensor(kinds, lambda u: list(u.shape) == sizes, sizes))
        g.rng.shuffle(chosen)
        return chosen
    return draw


first_dim = lambda extra: lambda g, a: 0 if g.chance(0.6) else dim("x", extra)(g, {"x": a["tensors"][0]})
op("cat", "torch.cat(tensors, dim)", tensors=joined(False), dim=first_dim(0))
op("stack", "torch.stack(tensors, dim)", tensors=joined(True), dim=first_dim(1))
op("index", "x[tuple(indices)]", x=anything, indices=index_list("x"))
op("index_put_", "x.__setitem__(tuple(indices), value) or x", x=target(), indices=index_list("x"), value=value_at("x", "indices"))
op("index_select", "x.index_select(dim, index)", x=anything, dim=dim("x"), index=index_along("x", "dim"))
op("gather", "x.gather(dim, index)", x=anything, dim=dim("x"), index=index_like("x", "dim"))
op("scatter", "x.scatter(dim, index, source)", x=anything, dim=dim("x"), index=index_like("x", "dim"),
   source=source_for("index", "x"))
op("scatter_add", "x.scatter_add(dim, index, source)", x=anything, dim=dim("x"), index=index_like("x", "dim"),
   source=source_for("index", "x"))
op("index_add", "x.index_add(dim, index, source)", x=anything, dim=dim("x"), index=index_along("x", "dim"),
   source=added_rows("x", "dim", "index"))
op("masked_select", "x.masked_select(mask)", x=anything, mask=partner("x", BOOL))
op("nonzero", "x.nonzero()", x=anything)
classes = lambda g, a: indices_below(g, 4, g.sizes())
op("one_hot", "F.one_hot(x, classes)", x=classes, classes=one_of(-1, 4, 5, 2))
rows = lambda g, a: indices_below(g, g.get(a["weight"]).shape[0] if g.get(a["weight"]).dim() else 1, g.sizes()[:3])
table = exactly(2)
op("embedding", "F.embedding(index, weight)", weight=table, index=rows)
op("embedding/padding", "F.embedding(index, weight, padding_idx)", weight=table, index=rows,
   padding_idx=lambda g, a: position("weight", "dim")(g, {**a, "dim": 0}))
op("sum_to_size", "x.sum_to_size(sizes)", x=number, sizes=shrunk_sizes("x"))

# ---- reductions
whole = {"x": anything}
for name in ("sum", "mean"):
    x = anything if name == "sum" else tensor(REAL)
    op(name, f"x.{name}()", x=x)
    op(name + "/dims", f"x.{name}(dims, keepdim)", x=x, dims=dims("x"), keepdim=flag)
    op(name + "/dim", f"x.{name}(dim, keepdim)", x=x, dim=dim("x"), keepdim=flag)
for name in ("var", "std"):
    op(name, f"x.{name}(unbiased)", x=real, unbiased=flag)
    op(name + "/dim", f"x.{name}(dim)", x=real, dim=dim("x"))
    op(name + "/dims", f"x.{name}(dims, unbiased, keepdim)", x=real, dims=dims("x"), unbiased=flag, keepdim=flag)
p = one_of(2.0, 2.0, 1.0, 0.0, 3.0, "inf", "-inf", 0.5, -1.0)
op("norm", "x.norm(p)", x=real, p=p)
op("norm/dims", "x.norm(p, dims, keepdim)", x=real, p=p, dims=dims("x"), keepdim=flag)
for name in ("max", "min"):
    op(name, f"x.{name}()", x=anything)
    op(name + "/dim", f"tuple(x.{name}(dim, keepdim))", x=anything, dim=dim("x"), keepdim=flag)
    op("a" + name, f"x.a{name}(dims, keepdim)", x=anything, dims=dims("x"), keepdim=flag)
    op("arg" + name, f"x.arg{name}(dim, keepdim)", x=tensor(NUMBER, mostly=0.98), dim=maybe_dim("x"), keepdim=flag)
for name in ("all", "any"):
    op(name, f"x.{name}()", x=anything)
    op(name + "/dim", f"x.{name}(dim, keepdim)", x=anything, dim=dim("x"), keepdim=flag)
op("prod", "x.prod()", x=anything)
op("logsumexp", "x.logsumexp(dims, keepdim)", x=anything, dims=lambda g, a: dims("x")(g, a) or [0], keepdim=flag)
op("cumsum", "x.cumsum(dim)", x=anything, dim=dim("x"))
op("softmax", "x.softmax(dim)", x=real, dim=dim("x"))
op("log_softmax", "x.log_softmax(dim)", x=real, dim=dim("x"))
op("sort", "tuple(x.sort(dim=dim, descending=descending, stable=True))", x=anything, dim=dim("x"), descending=flag)
op("argsort", "x.argsort(dim=dim, descending=descending, stable=True)", x=anything, dim=dim("x"), descending=flag)
def count_at(g, a):
    n = size_at(g, a, "x", "dim")
    return n + 1 if g.wrong() else g.rng.randint(0, n)


op("topk", "tuple(x.topk(k, dim, largest))", x=number, k=lambda g, a: count_at(g, {**a, "dim": -1}), dim=one_of(-1, -1, 0),
   largest=flag)
