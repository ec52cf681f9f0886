"""Intended differences (wanted.py) of strides, storage and flags: memory layout, and which tensors have a history."""

from machine import NO_GRAD
from wanted import contiguous_strides, is_view_of_leaf, only_theirs_requires_grad, op_of, results_of, sources, wanted


@wanted("views of leaves",
        "In PyTorch, a view that was created without recording, before its base required a gradient, and what is computed "
        "from the view, report requires_grad but never get a gradient")
def _(difference, steps, ours, theirs):
    if difference.kind == "does not throw":
        return "A view was created in no_grad mode" in theirs["errors"][difference.step]
    if not only_theirs_requires_grad(difference):
        return False
    return any(is_view_of_leaf(name, steps, theirs) for at in sources(difference.step, steps) for name in results_of(at, theirs))


@wanted("integers that require a gradient",
        "A tensor that requires a gradient may be copied into an integer tensor; PyTorch then reports that the integer "
        "tensor requires one")
def _(difference, steps, ours, theirs):
    if difference.kind == "does not throw":
        return "Autograd not support dtype" in theirs["errors"][difference.step]
    tensor = theirs["values"].get(difference.detail[1:].split(":")[0])
    return difference.kind == "flags" and isinstance(tensor, list) and "float" not in tensor[0] and only_theirs_requires_grad(difference)


@wanted("results that are views",
        "Integer tensors have no history, and Tandem does not record which of them are views; in PyTorch, one-dimensional "
        "pools and repeat_interleave return a view of their own memory")
def _(difference, steps, ours, theirs):
    made = sources(difference.step, steps)
    own = any(steps[at][0].removeprefix(NO_GRAD).startswith(("adaptive_avg_pool1d", "avg_pool1d", "repeat_interleave")) for at in made)
    return (difference.kind == "does not throw" and "Can't detach views in-place" in theirs["errors"][difference.step]
            and ("float" not in ours["values"][str(difference.step)][0] or own))


# Ops whose gradients have another memory layout than PyTorch's.
MEANS = {"mean", "nanmean", "var_mean", "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "cov"}
PRODUCTS = {"matmul", "mm", "bmm", "mv", "linear", "addmm", "addmv", "addbmm", "baddbmm", "einsum", "cdist", "scaled_dot_product_attention"}
LOSSES = {"mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "kl_div", "poisson_nll_loss", "multi_margin_loss",
          "cosine_embedding_loss", "nll_loss"}


@wanted("strides of gradients",
        "The gradient of a mean is one expanded number, as the gradient of a sum is in both, which saves writing a full "
        "tensor. The gradients of matrix products, losses and conv_transpose3d have the strides of the operands, which "
        "saves a copy")
def _(difference, steps, ours, theirs):
    made = {steps[at][0].removeprefix(NO_GRAD).split("/")[0] for at in sources(difference.step, steps)}
    return difference.kind == "strides" and op_of(difference, steps) == "grad" and bool(
        made & (MEANS | PRODUCTS | LOSSES | {"conv_transpose3d"}))


# Ops whose results are contiguous, whereas PyTorch keeps the layout of its kernels.
CONTIGUOUS = {"sort", "argsort", "msort", "nonzero", "quantile", "nanquantile", "unique_dim", "unique_consecutive", "kron", "addr",
              "einsum", "linalg_cholesky", "linalg_qr", "gru_cell", "group_norm", "adaptive_max_pool1d", "adaptive_max_pool2d",
              "max_pool3d", "grad"}


# Ops whose results have the layout of their operands, whereas PyTorch's are contiguous.
AS_OPERANDS = {"conv1d", "conv_transpose1d", "scaled_dot_product_attention"}


@wanted("results of other strides",
        "Results of these operations are contiguous; PyTorch's have the strides that its kernels left, which shows in "
        "their views and in whether a view can be taken. One-dimensional convolutions and attention keep the memory "
        "format of the operands")
def _(difference, steps, ours, theirs):
    def other_strides(name):
        a, b = ours["values"].get(name), theirs["values"][name]
        return isinstance(a, list) and isinstance(b, list) and b[2] != (a[2] or contiguous_strides(b[1]))

    if difference.kind == "strides" and op_of(difference, steps) in AS_OPERANDS:
        return True
    seen = ("strides", "storage", "same", "flags") + ("values", "finite") * (op_of(difference, steps) == "as_strided")
    refused = difference.kind == "does not throw" and "view size is not compatible" in theirs["errors"][difference.step]
    return (difference.kind in seen or refused) and any(
        other_strides(name) for at in sources(difference.step, steps) - {difference.step}
        if steps[at][0].removeprefix(NO_GRAD).split("/")[0] in CONTIGUOUS | AS_OPERANDS for name in results_of(at, theirs))


@wanted("gradients that are handed on",
        "PyTorch may keep the gradient that the program passed as a tensor's grad, and adds the next gradient into it, "
        "which changes the program's own tensor")
def _(difference, steps, ours, theirs):
    name = difference.detail[1:].split(":")[0]
    return difference.kind == "values" and any(
        grad and isinstance(grad, list) and grad[4] == name for grad in theirs["grads"].values())


@wanted("gradients that Tandem hands on",
        "An operation that changes nothing returns the incoming gradient itself as its gradient, as sums do in both")
def _(difference, steps, ours, theirs):
    name = difference.detail[1:].split(":")[0]
    value = ours["values"].get(name)
    handed_on = isinstance(value, list) and value[5] != name  # the result is another value of the program
    is_leaf_too = difference.kind == "flags" and (difference.detail.endswith("Tandem r, PyTorch rl") or handed_on)
    # a later backward accumulates into the program's own tensor
    accumulates = difference.kind == "grad undefined" and handed_on
    return op_of(difference, steps) == "grad" and (difference.kind in ("same", "storage") or is_leaf_too or accumulates)
