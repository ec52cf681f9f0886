// Tests attention on the GPU against its definition in double. Inputs that are not finite are compared with the CPU's
// kernel instead.
#include <cmath>
#include <limits>
#include <vector>

#include "tandem/core/loop/graph.h"
#include "tandem/kernels/attention.h"
#include "tandem/ops/gradcheck.h"
#include "tandem/tests/kernels/cuda_tensors.h"
#include "tandem/tests/nn/fusion_guard.h"

namespace tandem::test::attention_cases {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
enum class MaskKind { none, causal, boolean, floating };

struct Problem {
  Tensor q, k, v, dout, mask;  // on the CPU; mask: four dimensions like the scores, or undefined
  bool causal = false;
  double scale = 1;
};
/// out, lse (log-sum-exp of the scores), dq, dk, dv
using Results = std::vector<Tensor>;

/// Computes attention and its gradients from the definition, with plain loops in double.
Results defined(const Problem& p) {
  const int64_t n = p.q.size(0) * p.q.size(1), l = p.q.size(2), s = p.k.size(2), e = p.q.size(3), width = p.v.size(3);
  const auto zeros_of = [](IntArrayRef sizes) { return zeros(sizes, kFloat64); };
  Results r{zeros_of(p.dout.sizes()), zeros_of({p.q.size(0), p.q.size(1), l}), zeros_of(p.q.sizes()),
            zeros_of(p.k.sizes()), zeros_of(p.v.sizes())};
  const auto wide = [](const Tensor& t) { return t.to(kFloat64).contiguous(); };
  const Tensor q = wide(p.q), k = wide(p.k), v = wide(p.v), dout = wide(p.dout);
  Tensor mask;
  if (p.mask.defined()) mask = wide(p.mask.expand({p.q.size(0), p.q.size(1), l, s}));
  const bool boolean = mask.defined() && p.mask.dtype() == kBool;
  std::vector<double> x(s), slope(s);
  for (int64_t row = 0; row < n * l; ++row) {
    const int64_t matrix = row / l, query = row % l;
    const double *const a = q.data<double>() + row * e, *const keys = k.data<double>() + matrix * s * e,
                        *const values = v.data<double>() + matrix * s * width,
                        *const dy = dout.data<double>() + row * width;
    double peak = -kInfinity, sum = 0, mean = 0;
    bool seen = !mask.defined();
    for (int64_t j = 0; j < s; ++j) {
      double score = 0;
      for (int64_t i = 0; i < e; ++i) score += a[i] * keys[j * e + i];
      const double m = mask.defined() ? mask.data<double>()[row * s + j] : 0;
      const bool hidden = p.causal ? j > query : boolean ? m == 0 : m == -kInfinity;
      x[j] = hidden ? -kInfinity : score * p.scale + (boolean ? 0 : m);
      seen = seen || !hidden;
      peak = std::max(peak, x[j]);
    }
    if (!seen) {
      r[1].data<double>()[row] = kInfinity;
      continue;
    }
    for (double& each : x) sum += each = std::exp(each - peak);
    r[1].data<double>()[row] = peak + std::log(sum);
    double* const out = r[0].data<double>() + row * width;
    for (int64_t j = 0; j < s; ++j) {
      x[j] /= sum, slope[j] = 0;
      for (int64_t i = 0; i < width; ++i) {
        out[i] += x[j] * values[j * width + i];
        slope[j] += dy[i] * values[j * width + i];
        r[4].data<double>()[(matrix * s + j) * width + i] += x[j] * dy[i];
      }
      mean += x[j] * slope[j];
    }
    for (int64_t j = 0; j < s; ++j)
      for (int64_t i = 0; i < e; ++i) {
        const double ds = x[j] * (slope[j] - mean) * p.scale;
        r[2].data<double>()[row * e + i] += ds * keys[j * e + i];
        r[3].data<double>()[(matrix * s + j) * e + i] += ds * a[i];
      }
  }
  return r;
}

Results computed(const Problem& p, Device device) {
  const NoGradGuard guard;
  const auto there = [&](const Tensor& x) {  // copies x to the device with its strides
    if (device.is_cpu()) return x;
    const auto count = static_cast<int64_t>(x.storage().nbytes() / x.itemsize());
    return core::as_strided(to_device(core::as_strided(x, {count}, {1}, 0), device), x.sizes(), x.strides(),
                            x.storage_offset());
  };
  const Tensor q = there(p.q), k = there(p.k), v = there(p.v), dout = there(p.dout);
  const Shape scores{q.size(0), q.size(1), q.size(2), k.size(2)};
  const Tensor mask = p.mask.defined() ? core::expand(there(p.mask), scores) : Tensor();
  const auto like = [&](IntArrayRef sizes) { return core::empty(sizes, q.dtype(), device); };
  Results r{like(dout.sizes()), like({scores[0], scores[1], scores[2]}), like(q.sizes()), like(k.sizes()),
            like(v.sizes())};
  if (device.is_cpu()) {
    kernels::cpu::attention(q, k, v, mask, p.causal, p.scale, 0, {}, r[0], r[1]);
    kernels::cpu::attention_backward(dout, q, k, v, mask, r[0], r[1], p.causal, p.scale, 0, {}, r[2], r[3], r[4]);
  } else {
    REQUIRE(kernels::cuda::supports_attention(q, k, v, 0));
    kernels::cuda::attention(q, k, v, mask, p.causal, p.scale, 0, {}, r[0], r[1]);
    kernels::cuda::attention_backward(dout, q, k, v, mask, r[0], r[1], p.causal, p.scale, 0, {}, r[2], r[3], r[4]);
  }
  if (!device.is_cpu())
    for (Tensor& x : r) x = to_cpu(x);
  return r;
}

struct Sizes {
  int64_t batch, heads, l, s, e, v;
};
Problem problem(const Sizes& z, DType dtype, MaskKind kind = MaskKind::none) {
  Problem p{randn({z.batch, z.heads, z.l, z.e}, dtype),
            randn({z.batch, z.heads, z.s, z.e}, dtype),
            randn({z.batch, z.heads, z.s, z.v}, dtype),
            randn({z.batch, z.heads, z.l, z.v}, dtype),
            {}};
  p.scale = 1 / std::sqrt(static_cast<double>(z.e));
  p.causal = kind == MaskKind::causal;
  if (kind == MaskKind::boolean) p.mask = rand({z.batch, 1, z.l, z.s}) < 0.7;
  if (kind == MaskKind::floating) p.mask = randn({z.heads, z.l, 1}, dtype).expand({1, z.heads, z.l, z.s});
  return p;
}
void check(const Problem& p) {
  const Results got = computed(p, kCUDA), want = defined(p);
  for (size_t i = 0; i < got.size(); ++i) {
    CAPTURE(i, p.q.sizes(), p.k.sizes(), p.v.sizes(), p.causal, p.q.dtype());
    // Tolerance: sums of up to a few hundred terms of size 1.
    const double unit = unit_of(p.q.dtype());
    CHECK(got[i].to(kFloat64).allclose(want[i], 100 * unit, 50 * unit));
  }
  if (TANDEM_TEST_SANITIZED) {
    WARN("SKIPPED: it takes long under a sanitizer");
    return;
  }
  const Results again = computed(p, kCUDA);
  for (size_t i = 0; i < got.size(); ++i) CHECK(same_bits(got[i], again[i]));
}

}  // namespace

TEST_CASE("attention on the GPU is what defines it, at every size of head and tile", "[cuda][attention]") {
  TANDEM_NEEDS_GPU();
  manual_seed(21);
  const Sizes all[] = {
      {1, 1, 1, 1, 1, 1},    {2, 3, 7, 5, 3, 3},     {1, 2, 65, 64, 32, 32},  {1, 1, 1, 300, 64, 64},
      {1, 2, 33, 131, 3, 8}, {1, 1, 70, 66, 64, 64}, {1, 1, 40, 300, 96, 20}, {1, 1, 40, 70, 128, 128},
      {1, 1, 70, 1, 64, 1},  {1, 1, 64, 530, 5, 33}, {1, 1, 300, 40, 8, 8},
  };
  int turn = 0;  // testing each size with each kind of mask would be slow, so each size uses the next kind
  for (const Sizes& z : all) {
    for (const DType dtype : {kFloat32, kFloat64})
      for (int i = dtype == kFloat64; i < 2; ++i) check(problem(z, dtype, static_cast<MaskKind>(turn++ % 4)));
  }
  if (!TANDEM_TEST_SANITIZED)  // more blocks than the GPU runs at the same time
    check(problem({1, 130, 65, 2, 1, 1}, kFloat32, MaskKind::causal));
}

TEST_CASE("attention on the GPU gives 0 where a mask hides all keys", "[cuda][attention]") {
  TANDEM_NEEDS_GPU();
  manual_seed(22);
  for (const DType dtype : {kFloat32, kFloat64})
    for (const int64_t keys : {70, 600}) {  // 70 fit in one block; 600 are split into parts that are merged
      Problem p = problem({1, 2, 5, keys, 4, 4}, dtype);
      Tensor seen = ones({5, keys}, kBool);
      seen[1].fill_(0);
      seen[2].slice(0, 3).fill_(0);            // hides all keys but the first three
      seen[3].slice(0, 0, keys - 2).fill_(0);  // hides all keys but the last two
      p.mask = seen.view({1, 1, 5, keys});
      check(p);
      p.mask = zeros({1, 1, 5, keys}, dtype).masked_fill(p.mask.logical_not(), -kInfinity);
      check(p);
      p.v[0][0][0][0] = kInfinity;  // a value that no query attends to must not matter
      const Tensor out = computed(p, kCUDA)[0];
      CHECK(out.select(2, 1).equal(zeros({1, 2, 4}, dtype)));
    }
}

TEST_CASE("attention on the GPU treats NaN and infinity as the CPU's kernel does", "[cuda][attention]") {
  TANDEM_NEEDS_GPU();
  manual_seed(23);
  for (const double value : {std::nan(""), kInfinity, -kInfinity})
    for (const MaskKind kind : {MaskKind::none, MaskKind::causal, MaskKind::boolean})
      for (const int64_t keys : {6, 600}) {
        CAPTURE(value, static_cast<int>(kind), keys);
        Problem p = problem({1, 1, 5, keys, 3, 4}, kFloat32, kind);
        if (p.mask.defined()) p.mask.select(2, 2).fill_(0);
        p.q[0][0][1][0] = value, p.q[0][0][2][1] = value;
        const Results got = computed(p, kCUDA), want = computed(p, kCPU);
        CHECK(got[0].allclose(want[0], 1e-5, 1e-6, /*equal_nan=*/true));
        CHECK(got[1].allclose(want[1], 1e-5, 1e-6, /*equal_nan=*/true));
        // If causal, a hidden key may still get NaN (0 * NaN), but only in blocks that are computed at all. So dk and
        // dv are not
        // compared.
        for (size_t i = 2; i < (p.causal ? 3U : 5U); ++i) CHECK(got[i].isnan().equal(want[i].isnan()));
      }
}

TEST_CASE("attention on the GPU takes heads as they lie", "[cuda][attention]") {
  TANDEM_NEEDS_GPU();
  manual_seed(24);
  const int64_t length = 70, heads = 3;
  for (const int64_t width : {5, 32}) {
    const Tensor packed = randn({2, length, 3, heads, width});
    const auto part = [&](int64_t i) { return packed.select(2, i).transpose(1, 2); };
    const Problem strided{part(0), part(1), part(2), randn({2, length, heads, width}).transpose(1, 2), {}, true, 0.3};
    check(strided);
    const Problem repeated{part(0),  // one key head is expanded to all heads
                           part(1).slice(1, 0, 1).expand({2, heads, length, width}),
                           part(2),
                           strided.dout,
                           {},
                           false,
                           0.3};
    check(repeated);
  }
}

TEST_CASE("scaled_dot_product_attention on the GPU takes the kernel where it serves", "[cuda][attention]") {
  TANDEM_NEEDS_GPU();
  manual_seed(25);
  const auto fused = [](const Tensor& y) { return std::string(y.grad_fn()->name()) == "scaled_dot_product_attention"; };
  for (const int64_t width : {4, 128, 129}) {
    const Tensor x = randn({1, 2, 9, width}).to(kCUDA).requires_grad_(), slope = randn({1, 2, 9, width}).to(kCUDA);
    std::vector<Tensor> both;
    for (const bool on : {true, false}) {
      const FusionGuard fusion(on);
      const Tensor y = scaled_dot_product_attention(x, x, x, {}, 0, true);
      CHECK(fused(y) == (on && width <= 128));
      both.push_back(y.detach());
      both.push_back(autograd::grad({y}, {x}, {slope})[0]);
    }
    for (size_t i = 0; i < 2; ++i) CHECK(both[i].allclose(both[i + 2], 1e-5, 5e-6));
  }
  const auto leaf = [](IntArrayRef sizes) { return randn(sizes, kFloat64).requires_grad_(); };
  const Tensor mask = (rand({4, 5}) < 0.7).to(kCUDA);
  const std::vector<Tensor> in{leaf({1, 2, 4, 3}), leaf({1, 1, 5, 3}), leaf({1, 2, 5, 2})};
  const auto f = [&](const std::vector<Tensor>& x) -> std::vector<Tensor> {
    return {scaled_dot_product_attention(x[0].to(kCUDA), x[1].to(kCUDA), x[2].to(kCUDA), mask).to(kCPU)};
  };
  CHECK(autograd::gradcheck(f, in));
  CHECK(autograd::gradgradcheck(f, in));
}

TEST_CASE("attention on the GPU is captured in graphs", "[cuda][attention]") {
  TANDEM_NEEDS_GPU();
  manual_seed(26);
  const Tensor x = randn({1, 2, 3, 300, 4}).to(kCUDA), slope = randn({1, 2, 300, 4}).to(kCUDA);
  std::vector<Tensor> in;
  for (int64_t i = 0; i < 3; ++i) in.push_back(x.select(2, i).clone().requires_grad_());
  Tensor y;
  Graph graph;
  graph.capture([&] {
    for (const Tensor& each : in) each.mutable_grad() = Tensor();
    y = scaled_dot_product_attention(in[0], in[1], in[2], {}, 0, true);
    y.backward(slope);
  });
  for (int i = 0; i < 2; ++i) {
    for (const Tensor& each : in) each.detach().copy_(randn(each.sizes()));
    graph.replay();
    std::vector<Tensor> same;
    for (const Tensor& each : in) same.push_back(each.detach().clone().requires_grad_());
    const Tensor expected = scaled_dot_product_attention(same[0], same[1], same[2], {}, 0, true);
    expected.backward(slope);
    CHECK(same_bits(to_cpu(y.detach()), to_cpu(expected.detach())));
    for (size_t j = 0; j < 3; ++j) CHECK(same_bits(to_cpu(in[j].grad()), to_cpu(same[j].grad())));
  }
}

}  // namespace tandem::test::attention_cases
