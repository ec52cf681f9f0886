"""Draws random programs: tensors and numbers as arguments of ops, and the sequence of steps. PyTorch runs each step as
soon as it is drawn, so that the next step can use the shapes, dtypes and flags of earlier results."""

import math
import random

import frequencies as freq
from machine import DTYPES, NAMES, NO_GRAD, Machine, has_no_answer
from op import BASES, OPS, RANDOM

REAL = ("float32", "float64", "float16", "bfloat16")
INTEGER = ("int64", "int32", "int16", "int8", "uint8")
BOOL = ("bool",)
NUMBER = REAL + INTEGER
ANY = NUMBER + BOOL
LIMITS = {"int64": (-2**63, 2**63 - 1), "int32": (-2**31, 2**31 - 1), "int16": (-2**15, 2**15 - 1),
          "int8": (-128, 127), "uint8": (0, 255)}


class Generator:
    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.machine = Machine(OPS)
        self.steps = []
        self.random_values = set()  # names of random values, which later steps must not read
        self.invalid = self.chance(freq.INVALID)
        self.scale = 10.0 ** self.choice(freq.SCALES) if self.chance(freq.SCALED) else 1.0

    # ---- draws
    def chance(self, p):
        return self.rng.random() < p

    def choice(self, items):
        return items[self.rng.randrange(len(items))]

    def weighted(self, weights):
        return self.rng.choices(list(weights), list(weights.values()))[0]

    def wrong(self):
        """Returns whether to draw an invalid argument now; at most once per program."""
        if self.invalid and self.chance(0.25):
            self.invalid = False
            return True
        return False

    def sizes(self):
        while True:
            sizes = [self.weighted(freq.SIZES) for _ in range(self.weighted(freq.RANKS))]
            if math.prod(sizes) <= freq.MOST_ELEMENTS:
                return sizes

    def dtype(self, kinds=ANY):
        return self.weighted({k: w for k, w in freq.DTYPES.items() if k in kinds})

    # ---- tensors
    def get(self, reference):
        return self.machine.values[reference[1:]]

    def add(self, step):
        """Runs a step and returns references to its results. Drops a step for which PyTorch has no result. Also drops a
        step that PyTorch rejects after changing a tensor, because the remaining state is undefined."""
        self.steps.append(step)
        made = self.machine.step(step)
        error = self.machine.errors[-1]
        if error:
            before = Machine(OPS)
            before.run(self.steps[:-1])
            if has_no_answer(error) or self.seen(before) != self.seen(self.machine):
                self.steps.pop()
                self.machine = before
        return ["$" + name for name in made]

    def seen(self, machine):
        """Returns everything observable about a machine's values, without random values, as text in which NaN equals
        NaN."""
        result = machine.result()
        values = {name: t for name, t in result["values"].items() if name not in self.random_values}
        return repr((values, {} if self.random_values else result["grads"], {} if self.random_values else result["hooks"]))

    def make(self, dtype, sizes, style=None, requires_grad=None, values=None):
        if values is None:
            values = self.values(dtype, style, math.prod(sizes))
        if requires_grad is None:
            requires_grad = self.chance(freq.NEEDS_GRAD)
        return self.add(["make", dtype, sizes, self.strides(sizes), values, dtype in REAL and bool(requires_grad)])[0]

    def strides(self, sizes):
        layout = self.weighted(freq.LAYOUTS)
        order = list(range(len(sizes)))
        step = 1
        if layout == "transposed":
            self.rng.shuffle(order)
        elif layout == "stepped":
            step = 2
        elif layout == "channels_last" and len(sizes) == 4:
            order = [0, 2, 3, 1]
        if layout in ("contiguous", "expanded") or len(sizes) == 0:
            return None  # an expanded tensor is made by a separate step
        strides = [0] * len(sizes)
        for d in reversed(order):
            strides[d] = step
            step *= max(sizes[d], 1)
        return strides

    def values(self, dtype, style, numel):
        count = max(1, min(numel, self.choice([5, 7, 11, 13])))
        if dtype == "bool":
            return [self.chance(0.5) for _ in range(count)]
        if dtype in INTEGER:
            return [self.integer(dtype, style or self.weighted(freq.INTEGER_STYLES)) for _ in range(count)]
        style = style or self.weighted(freq.STYLES)
        drawn = [self.real("plain")] if style == "constant" else [self.real(style) for _ in range(count)]
        return drawn if self.scale == 1 else [v if isinstance(v, str) else v * self.scale for v in drawn]

    def integer(self, dtype, style):
        if style == "extremes":
            return self.choice([*LIMITS[dtype], 0, 1, LIMITS[dtype][1] - 1, 2])
        return self.rng.randint(0 if style == "natural" or dtype == "uint8" else -3, 4)

    def real(self, style):
        r = self.rng
        if style == "plain":
            return r.randint(-12, 12) / 4
        if style == "unit":
            return r.randint(1, 15) / 16
        if style == "positive":
            return r.randint(1, 24) / 8
        if style == "kinks":
            return self.choice([0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 3.0, -3.0])
        if style == "wide":
            return round(r.uniform(-8, 8), 2)
        if style == "special":
            return self.choice(["nan", "inf", "-inf", 0.0, -0.0, 1.0, -2.5, 0.75])
        return self.choice([1000.0, -1000.0, 88.0, -100.0, 1e-4, 12.5, 0.0])

    def readable(self, kinds=ANY, fits=None):
        """Returns references to tensors that an op may read."""
        found = []
        for name, t in self.machine.values.items():
            if t is None or name in self.random_values or NAMES[t.dtype] not in kinds or t.numel() > freq.MOST_ELEMENTS:
                continue
            try:
                if t.dim() <= 6 and (fits is None or fits(t)):
                    found.append("$" + name)
            except RuntimeError:  # a view whose history an in-place change has invalidated
                pass
        return found

    def tensor(self, kinds=ANY, fits=None, sizes=None, style=None, requires_grad=None):
        """Draws an earlier result of one of these dtypes for which `fits` is true, or a new tensor of `sizes` (a list
        or function)."""
        found = self.readable(kinds, fits)
        if found and self.chance(freq.REUSE):
            return self.choice(found[-4:] if self.chance(0.6) else found)
        drawn = sizes() if callable(sizes) else self.sizes() if sizes is None else sizes
        made = self.make(self.dtype(kinds), drawn, style, requires_grad)
        if sizes is None and 1 in drawn and self.chance(freq.LAYOUTS["expanded"] / 100):
            expanded = self.add(["expand", made, [3 if n == 1 else n for n in drawn]])
            return expanded[0] if expanded else made
        return made

    # ---- programs
    def program(self):
        for _ in range(self.weighted(freq.INPUTS)):
            self.make(self.dtype(), self.sizes())
        for _ in range(self.weighted(freq.STEPS)):
            self.call(self.weighted_op())
            self.autograd_step()
        if self.chance(freq.BACKWARD):
            self.gradients()
        return self.steps

    def weighted_op(self):
        base = self.rng.choices(list(BASES), [freq.WEIGHTS.get(b, 1) for b in BASES])[0]
        return self.choice(BASES[base])

    def call(self, op):
        arguments = {}
        for name, draw in op.draws.items():
            arguments[name] = draw(self, arguments)
        prefix = NO_GRAD if self.chance(freq.NO_GRAD) else ""
        made = self.add([prefix + op.name, *arguments.values()])
        if op.name in RANDOM:
            self.random_values.update(name[1:] for name in made)
            if op.name.endswith("_"):
                self.random_values.add(arguments["x"][1:])

    def autograd_step(self):
        reals = self.readable(REAL)
        if not reals:
            return
        wanting = [r for r in reals if self.get(r).requires_grad]
        x = self.choice(wanting if wanting and not self.chance(freq.ON_ANYTHING) else reals)
        if self.chance(freq.HOOK):
            self.add(["hook", x, self.choice(["look", "double"])])
        if self.chance(freq.RETAIN_GRAD):
            self.add(["retain_grad", x])
        if self.chance(freq.REQUIRES_GRAD):
            self.add(["requires_grad_", x, self.chance(0.8)])

    def gradients(self):
        ends = self.readable(REAL, lambda t: t.requires_grad and not t.is_leaf)
        leaves = self.readable(REAL, lambda t: t.requires_grad)
        if not ends:
            return
        end = self.choice(ends[-2:])
        create = self.chance(freq.CREATE_GRAPH)
        retain = True if self.chance(freq.RETAINED) else None
        if not create and self.chance(0.7):
            for _ in range(2 if retain else 1):
                self.add(["backward", end, self.gradient_for(end), retain, False, []])
            return
        inputs = self.rng.sample(leaves, min(len(leaves), self.rng.randint(1, 3)))
        if create and self.chance(0.3):
            self.add(["backward", end, self.gradient_for(end), retain, True, []])
            return
        grads = self.add(["grad", [end], inputs, [self.gradient_for(end)], retain, create, self.chance(0.9)])
        again = [g for g in grads if self.get(g) is not None and self.get(g).requires_grad]
        if create and again:
            g = self.choice(again)
            if self.get(g).is_leaf:
                return
            if self.chance(0.5):
                squared = self.add(["mul", g, g])
                g = squared[0] if squared else g
            self.add(["backward", g, self.gradient_for(g), None, self.chance(0.1), []])

    def gradient_for(self, end):
        t = self.get(end)
        if t.numel() == 1 and self.chance(0.6):
            return None
        if self.wrong():
            return self.make(self.dtype(), self.sizes(), "plain", False)
        wants = self.chance(0.15)
        return self.make(NAMES[t.dtype], list(t.shape), "plain", wants)


def program(seed, index):
    """Returns program number `index` of a seed, and PyTorch's results for it."""
    generator = Generator(f"{seed}:{index}")
    steps = generator.program()
    return steps, generator.machine.result()


assert set(DTYPES) == set(ANY)
