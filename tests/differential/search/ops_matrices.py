"""Matrix products and decompositions. See op.py."""

from arguments import REAL, WIDE, anything, exactly, fewest, flag, maybe_dims, one_of, partner, real, same_shape
from machine import NAMES
from op import op
from ops_layers import shape, shaped


def matrices(kind, singular=0.04):
    """Draws well-conditioned matrices, and some singular ones. `kind`: "square", "symmetric" (positive definite) or
    "any"."""
    def draw(g, a):
        n = g.rng.randint(0 if g.chance(0.06) else 1, 4)
        m = n if kind != "any" else g.rng.randint(0 if g.chance(0.06) else 1, 4)
        batch = g.choice([[], [], [], [2], [3], [2, 1], [0]])
        values = []
        for _ in range(max(1, batch[0] if batch else 1)):
            rows = [[g.rng.randint(-12, 12) / 8 for _ in range(m)] for _ in range(n)]
            for i in range(min(n, m)):
                rows[i][i] += 3 * (i + 1)
            if kind == "symmetric":
                rows = [[sum(x * y for x, y in zip(p, q)) for q in rows] for p in rows]
            if g.chance(singular):
                rows = [rows[0]] * n if n else rows
            values += [v for row in rows for v in row]
        sizes = [*batch, n, m + (1 if kind != "any" and g.wrong() else 0)]
        dtype = g.weighted({"float32": 50, "float64": 45, "float16": 1, "bfloat16": 1, "int64": 1})
        return g.make(dtype, sizes, None, g.chance(0.7), [int(v) for v in values] if dtype == "int64" else values or [0.0])
    return draw


square, symmetric, rectangular = matrices("square"), matrices("symmetric"), matrices("any")
# not singular: equal eigenvalues would leave vectors undefined
distinct = {kind: matrices(kind, singular=0) for kind in ("symmetric", "any")}
right_sides = shaped("a", lambda g, a: [*shape(g, a, "a")[:-2], shape(g, a, "a")[-2], g.rng.randint(0 if g.chance(0.05) else 1, 3)])
op("linalg_det", "torch.linalg.det(a)", a=square)
op("linalg_slogdet", "tuple(torch.linalg.slogdet(a))", a=square)
op("logdet", "torch.logdet(a)", a=symmetric)
op("linalg_inv", "torch.linalg.inv(a)", a=square)
op("linalg_solve", "torch.linalg.solve(a, b)", a=square, b=right_sides)
op("linalg_solve_triangular", "torch.linalg.solve_triangular(a, b, upper=upper, unitriangular=unitriangular)", a=square,
   b=right_sides, upper=flag, unitriangular=flag)
op("linalg_lu_factor", "tuple(torch.linalg.lu_factor(a))", a=square)
op("linalg_cholesky", "torch.linalg.cholesky(a, upper=upper)", a=symmetric, upper=flag)
op("cholesky_solve", "torch.cholesky_solve(b, torch.linalg.cholesky(a))",
   b=lambda g, a: g.tensor(("float32", "float64"), lambda t: t.dim() == 2, [3, 2]),
   a=lambda g, a: symmetric_of(g, a))


def symmetric_of(g, a):
    t = g.get(a["b"])
    n = t.shape[0]
    rows = [[g.rng.randint(-8, 8) / 8 + 2 * (i == j) for j in range(n)] for i in range(n)]
    values = [sum(x * y for x, y in zip(p, q)) for p in rows for q in rows]
    return g.make(NAMES[t.dtype], [n, n], None, None, values or [0.0])


# The signs of eigenvectors, singular vectors and Q are not defined, so their squares are compared.
op("linalg_qr", "[t * t for t in torch.linalg.qr(a)]", a=distinct["any"])
op("linalg_eigh", "(lambda r: [r[0], r[1] * r[1]])(torch.linalg.eigh(a))", a=distinct["symmetric"])
op("linalg_eigvalsh", "torch.linalg.eigvalsh(a)", a=symmetric)
op("linalg_svd", "(lambda r: [r[0] * r[0], r[1], r[2] * r[2]])(torch.linalg.svd(a, full_matrices=False))", a=distinct["any"])
op("linalg_svdvals", "torch.linalg.svdvals(a)", a=rectangular)
op("linalg_pinv", "torch.linalg.pinv(a)", a=rectangular)
op("linalg_lstsq", "torch.linalg.lstsq(a, b)[0]", a=rectangular, b=right_sides)
op("linalg_matrix_rank", "torch.linalg.matrix_rank(a)", a=rectangular)
op("linalg_matrix_power", "torch.linalg.matrix_power(a, n)", a=square, n=one_of(0, 1, 2, 3, 5, -1, -2))
op("linalg_matrix_exp", "torch.linalg.matrix_exp(a)", a=lambda g, a: g.make(g.choice(("float32", "float64")), [2, 2], "unit", None))
order = one_of(2, 2, 1, 0, 3, "inf", "-inf", 0.5, -1)
op("linalg_vector_norm", "torch.linalg.vector_norm(x, ord, dims, keepdim)", x=real, ord=order, dims=maybe_dims("x"), keepdim=flag)
op("linalg_matrix_norm", "torch.linalg.matrix_norm(x, ord, keepdim=keepdim)", x=rectangular,
   ord=one_of(1, -1, 2, -2, "inf", "-inf"), keepdim=flag)
op("linalg_matrix_norm/named", "torch.linalg.matrix_norm(x, ord, keepdim=keepdim)", x=rectangular, ord=one_of("fro", "nuc"),
   keepdim=flag)
op("linalg_cond", "torch.linalg.cond(a)", a=square)
op("linalg_cross", "torch.linalg.cross(x, y)", x=lambda g, a: g.tensor(REAL, lambda t: t.dim() > 0 and t.shape[-1] == 3,
                                                                         [*g.sizes()[:1], 3]), y=same_shape("x"))
op("linalg_vecdot", "torch.linalg.vecdot(x, y, dim=dim)", x=fewest(1), y=same_shape("x"), dim=one_of(-1, -1, 0))

# ---- products
factor = one_of(1.0, 0.0, 0.5, -2.0)
last = lambda name: lambda g, a: (shape(g, a, name) or [1])[-1]
op("addmv", "torch.addmv(bias, x, y, beta=beta, alpha=alpha)", bias=exactly(1),
   x=shaped("bias", lambda g, a: [shape(g, a, "bias")[0], g.rng.randint(0, 3)]), y=shaped("bias", lambda g, a: [last("x")(g, a)]),
   beta=factor, alpha=factor)
op("addr", "torch.addr(bias, x, y, beta=beta, alpha=alpha)", bias=exactly(2), x=shaped("bias", lambda g, a: shape(g, a, "bias")[:1]),
   y=shaped("bias", lambda g, a: shape(g, a, "bias")[1:]), beta=factor, alpha=factor)
op("baddbmm", "torch.baddbmm(bias, x, y, beta=beta, alpha=alpha)", bias=exactly(3),
   x=shaped("bias", lambda g, a: [*shape(g, a, "bias")[:2], g.rng.randint(0, 3)]),
   y=shaped("bias", lambda g, a: [shape(g, a, "bias")[0], last("x")(g, a), shape(g, a, "bias")[2]]), beta=factor, alpha=factor)
op("addbmm", "torch.addbmm(bias, x, y, beta=beta, alpha=alpha)", bias=exactly(2),
   x=shaped("bias", lambda g, a: [g.rng.randint(0, 3), shape(g, a, "bias")[0], g.rng.randint(0, 3)]),
   y=shaped("bias", lambda g, a: [shape(g, a, "x")[0], last("x")(g, a), shape(g, a, "bias")[1]]), beta=factor, alpha=factor)


def operands(g, a):
    """Draws tensors whose sizes fit the letters of the equation."""
    size = {letter: g.rng.randint(0 if g.chance(0.05) else 1, 3) for letter in "ijklb"}
    dtype = g.dtype(REAL)
    terms = a["equation"].split("->")[0].split(",")
    return [g.tensor((dtype,), lambda t, s=[size[c] for c in term]: list(t.shape) == s, [size[c] for c in term]) for term in terms]


op("einsum", "torch.einsum(equation, operands)",
   equation=one_of("ij,jk->ik", "bij,bjk->bik", "ii->i", "ij->ji", "i,j->ij", "ij,ij->", "bij,kj->bik", "ij,jk,kl->il", "ij->"),
   operands=operands)
op("tensordot", "torch.tensordot(x, y, ([-1], [0]))", x=fewest(1, REAL, 3), y=shaped("x", lambda g, a: [last("x")(g, a), g.rng.randint(1, 3)]))
op("cdist", "torch.cdist(x, y, p)", x=fewest(2, WIDE, 3), y=shaped("x", lambda g, a: [*shape(g, a)[:-2], g.rng.randint(0, 3), last("x")(g, a)]),
   p=one_of(2.0, 2.0, 1.0, 0.0, 3.0, "inf"))
op("cosine_similarity", "F.cosine_similarity(x, y, dim)", x=fewest(1), y=partner("x", REAL), dim=one_of(0, -1))
