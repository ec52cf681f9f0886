"""Functions that draw the arguments of ops. Each returns a function that draws an argument, given the generator `g` and
the arguments `a` drawn so far."""

import math

import torch

import frequencies as freq
from machine import NAMES

REAL = ("float32", "float64", "float16", "bfloat16")
WIDE = ("float32", "float64")  # dtypes that some PyTorch ops are limited to
INTEGER = ("int64", "int32", "int16", "int8", "uint8")
BOOL = ("bool",)
NUMBER = REAL + INTEGER
ANY = NUMBER + BOOL


# ---- tensors
def tensor(kinds=ANY, fits=None, sizes=None, style=None, mostly=0.97):
    """Draws a tensor of one of the dtypes `kinds`, or rarely of any other dtype."""
    def draw(g, a):
        allowed = kinds if g.chance(mostly) else ANY
        return g.tensor(allowed, fits, sizes and (lambda: sizes(g, a)), style)
    return draw


anything = tensor(ANY)
number = tensor(NUMBER)
real = tensor(REAL)
integer = tensor(INTEGER)
boolean = tensor(BOOL)


def fewest(rank, kinds=REAL, most=5):
    """Draws a tensor of at least `rank` dimensions."""
    def sizes(g, a):
        drawn = [g.weighted(freq.SIZES) for _ in range(g.rng.randint(rank, max(rank, min(most, rank + 1))))]
        return drawn if math.prod(drawn) <= freq.MOST_ELEMENTS else [2] * rank
    return tensor(kinds, lambda t: rank <= t.dim() <= most, sizes)


def exactly(rank, kinds=REAL):
    return fewest(rank, kinds, rank)


def target(kinds=ANY, history=1.0):
    """Draws a tensor for an in-place op to change: rarely a leaf that requires a gradient, and with probability
    `history` one that may have a history."""
    def draw(g, a):
        leaf_too, history_too = g.chance(freq.FRESH_LEAF_IN_PLACE), g.chance(history)
        fits = lambda t: (leaf_too or not (t.is_leaf and t.requires_grad)) and (history_too or not t.requires_grad)
        found = g.readable(kinds if g.chance(0.97) else ANY, fits)
        if found and g.chance(0.85):
            return g.choice(found[-4:])
        return g.make(g.dtype(kinds), g.sizes(), None, False)
    return draw


def partner(x, kinds=ANY, shrink_only=False, style=None):
    """Draws a tensor that broadcasts with argument `x`, mostly of the dtype of `x`."""
    def draw(g, a):
        t = g.get(a[x])
        sizes = list(t.shape)
        if g.wrong():
            sizes = [*sizes[:-1], (sizes[-1] if sizes else 0) + 2]
        kind = g.rng.random()
        if kind < 0.2:
            sizes = [1 if g.chance(0.4) else n for n in sizes]
        elif kind < 0.3:
            sizes = sizes[g.rng.randint(0, len(sizes)):]
        elif kind < 0.37:
            sizes = []
        elif kind < 0.47 and not shrink_only:
            sizes = [2 if n == 1 else n for n in sizes]
            if len(sizes) < 3 and g.chance(0.4):
                sizes = [2, *sizes]
        wanted = tuple(sizes)
        dtype = NAMES[t.dtype] if g.chance(0.65) and NAMES[t.dtype] in kinds else g.dtype(kinds)
        return g.tensor((dtype,), lambda u: tuple(u.shape) == wanted, sizes, style)
    return draw


def same_shape(x, kinds=None, style=None, mostly=0.97):
    """Draws a tensor with the sizes of argument `x`, and with the dtype of `x` or one of `kinds`."""
    def draw(g, a):
        t = g.get(a[x])
        if g.wrong():
            return g.tensor(kinds or ANY)
        dtype = NAMES[t.dtype] if kinds is None and g.chance(mostly) else g.dtype(kinds or ANY)
        return g.tensor((dtype,), lambda u: u.shape == t.shape, list(t.shape), style)
    return draw


def saved_for(dy):
    """Draws an input of a backward function other than the gradient `dy`: with the same sizes and dtype, requiring no
    gradient."""
    def draw(g, a):
        t = g.get(a[dy])
        return g.tensor((NAMES[t.dtype],), lambda u: u.shape == t.shape and not u.requires_grad,
                        list(t.shape), requires_grad=False)
    return draw


def output(*inputs, kinds=None, mostly=0.9):
    """Draws an output argument: with the result's sizes, or empty, and mostly of the first input's dtype."""
    def draw(g, a):
        given = [g.get(a[x]) for x in inputs]
        try:
            sizes = list(torch.broadcast_shapes(*(t.shape for t in given)))
        except RuntimeError:
            sizes = list(given[0].shape)
        if g.chance(0.1):
            sizes = [0]
        dtype = NAMES[given[0].dtype] if kinds is None else g.choice(kinds)
        # Not float64 if the input is narrower: it would show rounding differences of the narrower computation.
        others = [t for t in ANY if t == dtype or t != "float64"]
        return g.tensor((dtype if g.chance(mostly) else g.choice(others),),
                        lambda t: list(t.shape) == sizes and not t.requires_grad, sizes, requires_grad=False)
    return draw


def of_size(size, x=None, style=None, optional=0.0):
    """Draws a 1-d tensor of `size(g, a)` elements of x's dtype, or None with probability `optional`."""
    def draw(g, a):
        if g.chance(optional):
            return None
        n = size(g, a) + (1 if g.wrong() else 0)
        dtype = NAMES[g.get(a[x]).dtype] if g.chance(0.985) else g.dtype(REAL)
        return g.tensor((dtype,), lambda u: tuple(u.shape) == (n,), [n], style)
    return draw


def constant(draw_one, style=None, often=0.97):
    """Draws an argument for which PyTorch has no derivative: it mostly requires no gradient."""
    def draw(g, a):
        drawn = draw_one(g, a)
        if drawn is None or not g.get(drawn).requires_grad or not g.chance(often):
            return drawn
        return g.make(NAMES[g.get(drawn).dtype], list(g.get(drawn).shape), style, False)
    return draw


def operand(draw_one, x="x"):
    """Draws the other operand of an in-place op on `x`. If `x` is an integer tensor, it rarely requires a gradient."""
    unrecorded = constant(draw_one)
    return lambda g, a: (draw_one if NAMES[g.get(a[x]).dtype] in REAL else unrecorded)(g, a)


def optional(draw_one, p=0.4):
    return lambda g, a: None if g.chance(p) else draw_one(g, a)


# ---- numbers
def scalar(x=None):
    """Draws a Python number: bool, int or float, inside or outside of the range of x's dtype."""
    def draw(g, a):
        kind = g.weighted(freq.NUMBERS)
        if kind == "small":
            return g.rng.randint(-3, 4)
        if kind == "fraction":
            return g.real("plain")
        if kind == "bool":
            return g.chance(0.5)
        if kind == "zero":
            return g.choice([0, 0.0, -0.0])
        if kind == "range":
            return g.choice([256, 300, -129, 128, 255, -1, 2**31, 40000, 1e10, 3.5])
        return g.choice(["nan", "inf", "-inf"])
    return draw


def one_of(*values):
    return lambda g, a: g.choice(values)


flag = one_of(False, True)
def integers(low, high):
    return lambda g, a: g.rng.randint(low, high)


def bound(x):
    """Draws a bound for clamp, often equal to an element of x."""
    def draw(g, a):
        if g.chance(0.25):
            return None
        return g.choice([0, 1, -1, 0.5, 2, 0.0, 1.0, -0.25]) if g.chance(0.8) else scalar(x)(g, a)
    return draw


dtype = lambda g, a: g.dtype()
real_dtype = lambda g, a: g.dtype(REAL)
reduction = one_of("none", "mean", "sum")


# ---- dims and sizes
def rank_of(g, a, x):
    return g.get(a[x]).dim()


def one_dim(g, rank):
    if g.wrong():
        return g.choice([rank, -rank - 1, rank + 2]) if rank else g.choice([1, -2])
    return g.rng.randint(-max(rank, 1), max(rank, 1) - 1)


def dim(x, extra=0):
    """Draws a dimension of x, or, with `extra` 1, of a result with one more dimension."""
    return lambda g, a: one_dim(g, rank_of(g, a, x) + extra)


def maybe_dim(x):
    return lambda g, a: None if g.chance(0.3) else one_dim(g, rank_of(g, a, x))


def dims(x):
    """Draws a list of dimensions in any order; it may be empty, or contain a dimension twice."""
    def draw(g, a):
        rank = rank_of(g, a, x)
        if rank == 0:
            return g.choice([[], [0], [-1]])
        chosen = g.rng.sample(range(rank), g.rng.randint(0 if g.chance(0.15) else 1, rank))
        chosen = [d - rank if g.chance(0.3) else d for d in chosen]
        return chosen + [one_dim(g, rank)] if g.wrong() else chosen
    return draw


def maybe_dims(x):
    """Draws a list of at least one dimension, or None, which means all dimensions."""
    return lambda g, a: None if g.chance(0.4) else dims(x)(g, a) or None


def permutation(x):
    def draw(g, a):
        rank = rank_of(g, a, x)
        order = [d - rank if g.chance(0.2) else d for d in g.rng.sample(range(rank), rank)]
        return order[1:] if order and g.wrong() else order
    return draw


def factors(g, n):
    """Draws sizes whose product is n."""
    sizes = []
    while n > 1 and len(sizes) < 3:
        divisor = g.choice([d for d in range(1, n + 1) if n % d == 0])
        sizes.append(divisor)
        n //= divisor
    sizes.insert(g.rng.randint(0, len(sizes)), n)
    return sizes


def new_sizes(x, dim=None):
    """Draws sizes for as many elements as x (or its dimension `dim`) has, sometimes with a -1."""
    def draw(g, a):
        t = g.get(a[x])
        if dim is not None:
            n = t.shape[a[dim]] if -t.dim() <= a[dim] < t.dim() else 4
        else:
            n = t.numel()
        sizes = factors(g, n) if g.chance(0.8) or dim is not None else list(t.shape)
        if n == 0 and dim is None:
            sizes = g.choice([[0], [0, 3], [2, 0], [3, 0, 1]])
        if g.wrong():
            return [*sizes, 2]
        if sizes and g.chance(0.35):
            sizes[g.rng.randrange(len(sizes))] = -1
        return sizes
    return draw


def expanded_sizes(x):
    def draw(g, a):
        sizes = [g.choice([1, 2, 3, -1]) if n == 1 else g.choice([n, n, -1]) for n in g.get(a[x]).shape]
        if g.wrong():
            return [*sizes, 5]
        return [g.choice([1, 2]), *sizes] if g.chance(0.3) and len(sizes) < 5 else sizes
    return draw


any_sizes = lambda g, a: g.sizes() if not g.wrong() else [2, -3]


def shrunk_sizes(x):
    """Draws sizes that broadcast to those of x."""
    def draw(g, a):
        sizes = [1 if g.chance(0.4) else n for n in g.get(a[x]).shape]
        return sizes[1:] if sizes and g.chance(0.3) else sizes
    return draw


def size_at(g, a, x, dim):
    t = g.get(a[x])
    return t.shape[a[dim]] if -t.dim() <= a[dim] < t.dim() else 1


# ---- indices
def position(x, dim):
    def draw(g, a):
        n = size_at(g, a, x, dim)
        if g.wrong() or n == 0:
            return g.choice([n, -n - 1])
        return g.rng.randint(-n, n - 1)
    return draw


def indices_below(g, n, sizes, negative=False):
    """Makes an int64 tensor with values in [0, n), or in [-n, n) if `negative`."""
    count = max(1, min(math.prod(sizes), 7))
    low = -n if negative else 0
    values = [g.rng.randint(low, n - 1) if n > 0 else 0 for _ in range(count)]
    if g.wrong():
        values[-1] = g.choice([n, -n - 1])
    return g.make("int64" if g.chance(0.95) else g.dtype(INTEGER), sizes, None, False, values)


def index_along(x, dim):
    """Draws 1-d indices along a dimension of x."""
    return lambda g, a: indices_below(g, size_at(g, a, x, dim), [g.rng.randint(0, 4)] if g.chance(0.9) else [])


def index_like(x, dim, longer=False):
    """Draws an index for gather and scatter: as many dimensions as x, and no larger than x except along dim."""
    def draw(g, a):
        t = g.get(a[x])
        sizes = [g.rng.randint(1, n) if n > 1 and g.chance(0.3) else n for n in t.shape]
        if sizes and -t.dim() <= a[dim] < t.dim() and g.chance(0.5):
            sizes[a[dim]] = g.rng.randint(0, 4)
        return indices_below(g, size_at(g, a, x, dim), sizes)
    return draw


def source_for(index, x):
    """Draws a source for scatter: at least as large as the index."""
    def draw(g, a):
        sizes = [n + (1 if g.chance(0.1) else 0) for n in g.get(a[index]).shape]
        if g.wrong() and sizes:
            sizes[0] = max(0, sizes[0] - 1)
        dtype = NAMES[g.get(a[x]).dtype] if g.chance(0.98) else g.dtype()
        return g.tensor((dtype,), lambda u: list(u.shape) == sizes, sizes)
    return draw


def added_rows(x, dim, index):
    def draw(g, a):
        t = g.get(a[x])
        sizes = list(t.shape)
        if sizes and -t.dim() <= a[dim] < t.dim():
            sizes[a[dim]] = g.get(a[index]).numel()
        if g.wrong():
            sizes = [*sizes, 2]
        dtype = NAMES[t.dtype] if g.chance(0.98) else g.dtype()
        return g.tensor((dtype,), lambda u: list(u.shape) == sizes, sizes)
    return draw


def a_slice(g, n):
    ends = [None, None, 0, 1, 2, -1, -2, n, n + 2]
    return {"slice": [g.choice(ends), g.choice(ends), g.choice([None, 1, 1, 2, 3])]}


def index_list(x):
    """Draws a list of indices in brackets: numbers, slices, None, Ellipsis, and index and mask tensors."""
    def draw(g, a):
        left, entries = list(g.get(a[x]).shape), []
        ellipsis = False
        together = [g.rng.randint(1, 3)]  # shape that most index tensors share
        while left and g.chance(0.8) or not entries:
            kind = g.rng.random()
            if kind < 0.12:
                entries.append(None)
            elif kind < 0.22 and not ellipsis:
                ellipsis = True
                entries.append("...")
                left = left[g.rng.randint(0, len(left)):]
            elif not left and not g.wrong():
                entries.append(None if ellipsis else "...")
                ellipsis = True
            elif kind < 0.45:
                n = left.pop(0) if left else 2
                entries.append(g.rng.randint(-n, n - 1) if n and not g.wrong() else n)
            elif kind < 0.72 or not left:
                entries.append(a_slice(g, left.pop(0) if left else 2))
            elif kind < 0.9:
                sizes = together if g.chance(0.7) else g.choice([[], [1], [2, *together]])
                entries.append(indices_below(g, left.pop(0), sizes, negative=True))
            else:
                count = g.rng.randint(0 if g.chance(0.2) else 1, min(2, len(left)))
                sizes, left = left[:count], left[count:]
                entries.append(g.tensor(BOOL, lambda u: list(u.shape) == sizes, sizes))
        return entries
    return draw


def value_at(x, indices):
    """Draws a value for index_put_, mostly one that broadcasts to the indexed shape."""
    def draw(g, a):
        t = g.get(a[x])
        try:
            sizes = list(t[tuple(g.machine.resolved(a[indices]))].shape)
        except Exception:
            sizes = []
        if g.chance(0.4):
            sizes = []
        elif g.chance(0.2):
            sizes = [1 if g.chance(0.5) else n for n in sizes]
        elif g.wrong():
            sizes = [*sizes, 3]
        dtype = NAMES[t.dtype] if g.chance(0.97) else g.dtype()
        return g.tensor((dtype,), lambda u: list(u.shape) == sizes, sizes)
    return draw
