"""Runs a program under PyTorch step by step, and reports everything observable about its tensors. It is the counterpart
of machine.cpp; machine.h describes programs and results."""

import math
import operator  # noqa: F401  (used by the expressions of ops)
import warnings

import torch
import torch.nn.functional as F  # noqa: F401  (used by the expressions of ops)

warnings.filterwarnings("ignore")
torch.set_num_threads(1)

DTYPES = {name: getattr(torch, name) for name in (
    "float32", "float64", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool")}
NAMES = {dtype: name for name, dtype in DTYPES.items()}
NUMBERS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
NO_GRAD = "no_grad:"


# Messages with which PyTorch says that it has no kernel or formula, or failed by a bug of its own. Such steps are not
# compared.
NO_ANSWER = ("not implemented for '", "does not support bool", "is not implemented", "INTERNAL ASSERT FAILED",
             "is not differentiable with respect to argument", "grad_input must be contiguous", "needs_dynamic_casting")


def has_no_answer(error):
    return any(text in error for text in NO_ANSWER)


class Missing(Exception):
    """Raised if a step uses the result of a step that failed."""


def make(dtype, sizes, strides, values, requires_grad):
    numel = math.prod(sizes)
    values = [NUMBERS.get(v, v) for v in values]
    flat = torch.tensor([values[i % len(values)] for i in range(numel)], dtype=DTYPES[dtype])
    x = torch.empty(sizes, dtype=DTYPES[dtype]) if strides is None else torch.empty_strided(sizes, strides, dtype=DTYPES[dtype])
    x.untyped_storage().fill_(0)  # also clears the gaps between elements
    return x.copy_(flat.reshape(sizes)).requires_grad_(requires_grad)


def elements(t):
    t = t.detach()
    if t._is_zerotensor():
        t = torch.zeros(t.shape, dtype=t.dtype)
    return t.reshape(-1).tolist()


class Machine:
    def __init__(self, ops, perturb=None):
        """ops: table by name. perturb(name, tensor), if given, may change the results of each step."""
        self.ops, self.perturb = ops, perturb
        self.values = {}  # by name, in the order of the steps; None if undefined
        self.names, self.errors, self.hooks = [], [], {}
        self.recorded = True  # true if all steps so far ran in grad mode

    def run(self, steps):
        for step in steps:
            self.step(step)
        return self.result()

    def step(self, step):
        """Runs a step and returns the names of its results."""
        number = len(self.errors)
        self.names.append(step and step[0])
        self.errors.append(None)
        self.recorded = self.recorded and not (step and step[0].startswith(NO_GRAD))
        if step is None:
            return []
        try:
            made = self._made(number, step)
        except Missing:
            self.errors[-1] = "missing"
            return []
        except Exception as e:  # any error of PyTorch
            self.errors[-1] = f"{type(e).__name__}: {str(e)[:300]}"
            return []
        names = [f"{number}.{k}" if k else str(number) for k in range(len(made))]
        self.values.update(zip(names, made))
        return names

    def _made(self, number, step):
        name = step[0]
        if name == "make":
            return [make(*step[1:])]
        if name == "hook":
            return self._hook(number, *step[1:])
        recorded = not name.startswith(NO_GRAD)
        op = self.ops[name if recorded else name[len(NO_GRAD):]]
        with torch.set_grad_enabled(recorded):
            made = op.run(*[self.resolved(a) for a in step[1:]])
        if made is None:
            return []
        if isinstance(made, torch.dtype):
            made = torch.empty(0, dtype=made)
        elif isinstance(made, (bool, int, float)):
            made = torch.tensor(made)
        made = [made] if isinstance(made, torch.Tensor) else list(made)
        if self.perturb:
            for t in made:
                self.perturb(name, t)
        return made

    def resolved(self, a):
        if isinstance(a, str):
            if a.startswith("$"):
                if a[1:] not in self.values:
                    raise Missing(a)
                return self.values[a[1:]]
            return NUMBERS.get(a, DTYPES.get(a, ... if a == "..." else a))
        if isinstance(a, list):
            return [self.resolved(each) for each in a]
        return slice(*a["slice"]) if isinstance(a, dict) else a

    def _hook(self, number, tensor, kind):
        log = self.hooks[str(number)] = []

        def hook(grad):
            if grad is None:  # PyTorch also calls hooks without a gradient, Tandem does not
                return None
            log.append([NAMES[grad.dtype], list(grad.shape), elements(grad)])
            return grad * 2 if kind == "double" else None

        try:
            self.resolved(tensor).register_hook(hook)
        except Exception:
            del self.hooks[str(number)]
            raise
        return []

    def result(self):
        storages, same = {}, {}
        for name, t in self.values.items():
            if t is not None:
                storages.setdefault(t.untyped_storage()._cdata, name)
                same.setdefault(id(t), name)

        def seen(name, t, gradient):
            try:
                return facts(name, t, gradient)
            except RuntimeError as e:  # the tensor's storage was never allocated
                return {"error": str(e)}

        def facts(name, t, gradient):
            if t is None:
                return None
            strides = [0 if t.numel() == 0 or n == 1 else s for n, s in zip(t.shape, t.stride())]
            storage = storages.get(t.untyped_storage()._cdata)
            known_as_view = t.is_floating_point() and self.recorded and not gradient and storage != same.get(id(t))
            flags = "r" * t.requires_grad + "l" * t.is_leaf + "v" * (t._is_view() and known_as_view)
            return [NAMES[t.dtype], list(t.shape), strides, flags, storage, same.get(id(t)), elements(t)]

        values = {name: seen(name, t, self.names[int(name.split(".")[0])] == "grad") for name, t in self.values.items()}
        grads = {name: seen("", t.grad, True) for name, t in self.values.items() if t is not None and t.grad is not None}
        return {"errors": self.errors, "values": values, "grads": grads, "hooks": self.hooks}
