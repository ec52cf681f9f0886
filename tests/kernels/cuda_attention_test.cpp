// Tests attention on the GPU against its definition in double, with dropout masks that a plain loop draws. Inputs that
// are not finite are compared with the CPU's kernel instead.
#include <cmath>
#include <limits>
#include <vector>

#include "tandem/core/loop/graph.h"
#include "tandem/kernels/attention.h"
#include "tandem/kernels/cuda/attention/implementations.h"
#include "tandem/kernels/philox.h"
#include "tandem/ops/gradcheck.h"
#include "tandem/tests/kernels/cuda_tensors.h"
#include "tandem/tests/nn/fusion_guard.h"

namespace tandem::test::attention_cases {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
enum class MaskKind { none, causal, boolean, floating, wide };  // wide: float32, which half types accept, too

struct Problem {
  Tensor q, k, v, dout, mask;  // on the CPU; mask: four dimensions like the scores, or undefined
  bool causal = false;
  double scale = 1;
  double dropout_p = 0;
};
/// out, lse (log-sum-exp of the scores), dq, dk, dv
using Results = std::vector<Tensor>;

constexpr uint64_t kRandom[3] = {9, 5, 1234567};  // Philox's seed, stream and first block
/// Returns the factor by which dropout multiplies weight i of (..., L, S).
double dropout_factor(const Problem& p, int64_t i) {
  if (p.dropout_p == 0) return 1;
  const uint32_t word = philox32(kRandom[0], kRandom[1], kRandom[2], static_cast<uint64_t>(i));
  return uniform_float(word) < static_cast<float>(1 - p.dropout_p) ? 1 / (1 - p.dropout_p) : 0;
}

/// Computes attention and its gradients from the definition, with plain loops in double. Sets `bounds` to the largest
/// errors, in units of rounding, that rounding weights, gradients of scores and out to a half type can cause, to first
/// order.
Results defined(const Problem& p, Results& bounds) {
  const int64_t n = p.q.size(0) * p.q.size(1), l = p.q.size(2), s = p.k.size(2), e = p.q.size(3), width = p.v.size(3);
  const auto zeros_of = [](IntArrayRef sizes) { return zeros(sizes, kFloat64); };
  Results r{zeros_of(p.dout.sizes()), zeros_of({p.q.size(0), p.q.size(1), l}), zeros_of(p.q.sizes()),
            zeros_of(p.k.sizes()), zeros_of(p.v.sizes())};
  bounds.clear();
  for (const Tensor& x : r) bounds.push_back(zeros_of(x.sizes()));
  const auto number = [](const Tensor& x) { return x.data<double>(); };
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
    double peak = -kInfinity, sum = 0, mean = 0, mean_size = 0;
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
    double *const out = number(r[0]) + row * width, *const out_bound = number(bounds[0]) + row * width,
                  *const dq = number(r[2]) + row * e, *const dq_bound = number(bounds[2]) + row * e;
    for (int64_t j = 0; j < s; ++j) {
      x[j] /= sum, slope[j] = 0;
      const double kept = dropout_factor(p, row * s + j), weight = x[j] * kept;
      const double* const value = values + j * width;
      double *const dv = number(r[4]) + (matrix * s + j) * width, *const dv_bound =
                                                                      number(bounds[4]) + (matrix * s + j) * width;
      for (int64_t i = 0; i < width; ++i) {
        out[i] += weight * value[i];
        out_bound[i] += std::abs(weight * value[i]);
        slope[j] += kept * dy[i] * value[i];
        dv[i] += weight * dy[i];
        dv_bound[i] += std::abs(weight * dy[i]);
      }
      mean += x[j] * slope[j];
    }
    for (int64_t i = 0; i < width; ++i) mean_size += std::abs(out[i] * dy[i]);
    for (int64_t j = 0; j < s; ++j) {
      const double ds = x[j] * (slope[j] - mean) * p.scale;
      const double ds_error = std::abs(ds) + x[j] * mean_size * std::abs(p.scale);
      double *const dk = number(r[3]) + (matrix * s + j) * e, *const dk_bound =
                                                                  number(bounds[3]) + (matrix * s + j) * e;
      for (int64_t i = 0; i < e; ++i) {
        dq[i] += ds * keys[j * e + i];
        dq_bound[i] += ds_error * std::abs(keys[j * e + i]);
        dk[i] += ds * a[i];
        dk_bound[i] += ds_error * std::abs(a[i]);
      }
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
  Tensor random;
  if (p.dropout_p > 0) {
    random = core::empty({3}, kInt64, kCPU);
    std::copy_n(kRandom, 3, random.data<int64_t>());
    random = there(random);
  }
  const auto like = [&](IntArrayRef sizes) { return core::empty(sizes, q.dtype(), device); };
  Results r{like(dout.sizes()),
            core::empty({scores[0], scores[1], scores[2]}, is_reduced_floating_point(q.dtype()) ? kFloat32 : q.dtype(),
                        device),
            like(q.sizes()), like(k.sizes()), like(v.sizes())};
  const double drop = p.dropout_p;
  if (device.is_cpu()) {
    kernels::cpu::attention(q, k, v, mask, p.causal, p.scale, drop, random, r[0], r[1]);
    kernels::cpu::attention_backward(dout, q, k, v, mask, r[0], r[1], p.causal, p.scale, drop, random, r[2], r[3],
                                     r[4]);
  } else {
    REQUIRE(kernels::cuda::supports_attention(q, k, v));
    kernels::cuda::attention(q, k, v, mask, p.causal, p.scale, drop, random, r[0], r[1]);
    kernels::cuda::attention_backward(dout, q, k, v, mask, r[0], r[1], p.causal, p.scale, drop, random, r[2], r[3],
                                      r[4]);
  }
  if (!device.is_cpu())
    for (Tensor& x : r) x = to_cpu(x);
  return r;
}

struct Sizes {
  int64_t batch, heads, l, s, e, v;
};
Problem problem(const Sizes& z, DType dtype, MaskKind kind = MaskKind::none, double dropout_p = 0) {
  Problem p{randn({z.batch, z.heads, z.l, z.e}, dtype),
            randn({z.batch, z.heads, z.s, z.e}, dtype),
            randn({z.batch, z.heads, z.s, z.v}, dtype),
            randn({z.batch, z.heads, z.l, z.v}, dtype),
            {}};
  p.dropout_p = dropout_p;
  p.scale = 1 / std::sqrt(static_cast<double>(z.e));
  p.causal = kind == MaskKind::causal;
  if (kind == MaskKind::boolean) p.mask = rand({z.batch, 1, z.l, z.s}) < 0.7;
  if (kind == MaskKind::floating) p.mask = randn({z.heads, z.l, 1}, dtype).expand({1, z.heads, z.l, z.s});
  if (kind == MaskKind::wide) p.mask = randn({z.batch, 1, 1, z.s}, kFloat32).expand({z.batch, z.heads, z.l, z.s});
  return p;
}
void check(const Problem& p) {
  Results bounds;
  const Results got = computed(p, kCUDA), want = defined(p, bounds);
  const bool half = is_reduced_floating_point(p.q.dtype());
  for (size_t i = 0; i < got.size(); ++i) {
    const Tensor error = (got[i].to(kFloat64) - want[i]).abs();
    CAPTURE(i, p.q.sizes(), p.k.sizes(), p.v.sizes(), p.causal, p.q.dtype(), p.dropout_p, error.max().item<double>());
    // Tolerance: sums of up to a few hundred terms of size 1.
    const double unit = unit_of(half ? kFloat32 : p.q.dtype());
    Tensor bound = 100 * unit * want[i].abs() + 50 * unit;
    // Half types: rounding inside of sums, and of the result. Small results of float16 are rounded to multiples of
    // 2^-24.
    if (half && i != 1) bound = bound + unit_of(p.q.dtype()) * (1.01 * bounds[i] + want[i].abs()) + 0x1p-24;
    CHECK((error <= bound).logical_or(got[i].to(kFloat64).eq(want[i])).all().item<bool>());
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

TEST_CASE("attention on the GPU is what defines it, in half types and with dropout", "[cuda][attention]") {
  TANDEM_NEEDS_GPU();
  manual_seed(31);
  // heads of every width of tile; numbers of keys that are and are not multiples of 4
  const Sizes of_halves[] = {{2, 1, 65, 130, 40, 24}, {1, 1, 1, 1, 1, 1},      {2, 2, 7, 5, 3, 9},
                             {1, 2, 130, 68, 8, 8},   {1, 1, 140, 72, 64, 64}, {1, 1, 40, 100, 96, 20},
                             {1, 1, 33, 67, 128, 128}};
  const Sizes of_others[] = {{2, 3, 7, 5, 3, 3}, {1, 1, 33, 300, 5, 8}, {1, 1, 70, 66, 64, 3}, {1, 1, 9, 68, 128, 9}};
  int turn = 0;
  for (const double dropout_p : {0.2, 0.0})
    for (const Sizes& z : of_halves)
      for (const DType dtype : {kFloat16, kBFloat16}) {
        const auto kind = static_cast<MaskKind>(turn++ % 5);
        if (TANDEM_TEST_SANITIZED && (turn % 4 != 1 || z.e > 64)) continue;  // takes long
        check(problem(z, dtype, kind, dropout_p));
      }
  for (const Sizes& z : of_others)
    for (const DType dtype : {kFloat32, kFloat64}) check(problem(z, dtype, static_cast<MaskKind>(turn++ % 4), 0.2));
}

TEST_CASE("every implementation of attention on the GPU is chosen", "[cuda][attention]") {
  TANDEM_NEEDS_GPU();
  std::vector<std::string> chosen;
  for (const DType dtype : {kFloat16, kBFloat16, kFloat32, kFloat64}) {
    const Tensor x = core::empty({1, 1, 2, 128}, dtype, kCUDA);
    for (const auto& each : kernels::cuda::attention_implementations())
      if (each.supports({x, x, x})) {
        chosen.push_back(each.name);
        break;
      }
  }
  const std::string half = "halves on tensor cores", full = "float32 and float64";
  CHECK(chosen == std::vector<std::string>{half, half, full, full});
  CHECK(kernels::cuda::attention_implementations().size() == 2);
  const Tensor wide = core::empty({1, 1, 2, 129}, kFloat16, kCUDA), three = core::empty({1, 2, 128}, kFloat16, kCUDA);
  CHECK_FALSE(kernels::cuda::supports_attention(wide, wide, wide));
  CHECK_FALSE(kernels::cuda::supports_attention(three, three, three));
}

TEST_CASE("attention on the GPU gives 0 where a mask hides all keys", "[cuda][attention]") {
  TANDEM_NEEDS_GPU();
  manual_seed(22);
  for (const DType dtype : {kFloat32, kFloat64, kBFloat16})
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
      for (const auto& [keys, dtype] : {std::pair(6, kFloat32), {600, kFloat32}, {70, kFloat16}}) {
        CAPTURE(value, static_cast<int>(kind), keys, dtype);
        const double unit = unit_of(dtype);
        Problem p = problem({1, 1, 5, keys, 3, 4}, dtype, kind);
        if (p.mask.defined()) p.mask.select(2, 2).fill_(0);
        p.q[0][0][1][0] = value, p.q[0][0][2][1] = value;
        const Results got = computed(p, kCUDA), want = computed(p, kCPU);
        CHECK(got[0].allclose(want[0], 1e-5 + 4 * unit, 1e-6 + 4 * unit, /*equal_nan=*/true));
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
  for (const auto& [width, dtype] : {std::pair(5, kFloat32), {32, kFloat32}, {5, kBFloat16}, {32, kBFloat16}}) {
    const Tensor packed = randn({2, length, 3, heads, width}, dtype);
    const auto part = [&](int64_t i) { return packed.select(2, i).transpose(1, 2); };
    const Problem strided{part(0), part(1), part(2), randn({2, length, heads, width}, dtype).transpose(1, 2),
                          {},      true,    0.3};
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

TEST_CASE("attention on the GPU serves half types and dropout, with the mask that the composition draws",
          "[cuda][attention]") {
  TANDEM_NEEDS_GPU();
  for (const DType dtype : {kFloat32, kFloat16, kBFloat16})
    for (const double dropout_p : {0.0, 0.4}) {
      CAPTURE(dtype, dropout_p);
      manual_seed(27);
      const auto made = [&](IntArrayRef sizes) { return randn(sizes).to(dtype).to(kCUDA); };
      const Tensor x = made({1, 2, 9, 8}).requires_grad_(), slope = made({1, 2, 9, 8}),
                   mask = (rand({9, 9}) < 0.8).to(kCUDA);
      std::vector<Tensor> both;
      for (const bool on : {true, false}) {
        const FusionGuard fusion(on);
        manual_seed(28);
        const Tensor y = scaled_dot_product_attention(x, x, x, mask, dropout_p);
        CHECK((std::string(y.grad_fn()->name()) == "scaled_dot_product_attention") == on);
        both.push_back(y.detach());
        both.push_back(autograd::grad({y}, {x}, {slope})[0]);
      }
      // A different mask would change results by much more. Tolerance: results of up to 8, rounded several times
      const double tolerance = 16 * std::max(unit_of(dtype), 1e-6);
      for (size_t i = 0; i < 2; ++i) CHECK(both[i].allclose(both[i + 2], tolerance, tolerance));
    }
}

TEST_CASE("attention on the GPU in halves and with dropout needs no memory for the weights", "[cuda][attention]") {
  TANDEM_NEEDS_GPU();
  if (TANDEM_TEST_SANITIZED) {
    WARN("SKIPPED: it takes long under a sanitizer, which does not check memory use");
    return;
  }
  const int64_t length = 512, weights = length * length * 4;
  const auto peak = [&](DType dtype, double dropout_p) {
    manual_seed(29);
    const Tensor x = randn({1, 1, length, 8}).to(dtype).to(kCUDA).requires_grad_();
    const int64_t before = memory_stats(kCUDA).current;
    reset_peak_memory_stats(kCUDA);
    const Tensor y = scaled_dot_product_attention(x, x, x, {}, dropout_p);
    y.backward(y.detach());
    return memory_stats(kCUDA).peak - before;
  };
  {
    const FusionGuard composed(false);
    CHECK(peak(kFloat32, 0.1) > weights);  // the test measures what it is meant to
  }
  const int64_t plain = peak(kFloat32, 0), dropout = peak(kFloat32, 0.1), half = peak(kBFloat16, 0),
                both = peak(kBFloat16, 0.1);
  CAPTURE(plain, dropout, half, both);
  CHECK(plain < weights / 2);
  CHECK(dropout <= 1.05 * plain + 512);  // the random state takes a block of 512 bytes
  CHECK(half <= plain);
  CHECK(both <= 1.05 * half + 512);
}

TEST_CASE("attention on the GPU is captured in graphs", "[cuda][attention]") {
  TANDEM_NEEDS_GPU();
  for (const auto& [dtype, dropout_p] : {std::pair(kFloat32, 0.0), {kFloat32, 0.3}, {kBFloat16, 0.3}}) {
    CAPTURE(dtype, dropout_p);
    manual_seed(26);
    const int64_t length = dropout_p > 0 ? 40 : 300;
    const auto made = [&, type = dtype](IntArrayRef sizes) { return randn(sizes).to(type).to(kCUDA); };
    const Tensor x = made({1, 2, 3, length, 4}), slope = made({1, 2, length, 4});
    std::vector<Tensor> in;
    for (int64_t i = 0; i < 3; ++i) in.push_back(x.select(2, i).clone().requires_grad_());
    Tensor y;
    Graph graph;
    const auto attend = [&, p = dropout_p](const std::vector<Tensor>& x) {
      const Tensor out = scaled_dot_product_attention(x[0], x[1], x[2], {}, p, true);
      out.backward(slope);
      return out.detach();
    };
    graph.capture([&] {
      for (const Tensor& each : in) each.mutable_grad() = Tensor();
      y = attend(in);
    });
    std::vector<std::vector<Tensor>> sets(2), replayed;
    for (auto& set : sets)
      for (int i = 0; i < 3; ++i) set.push_back(made({1, 2, length, 4}));
    manual_seed(30);
    for (const auto& set : sets) {
      for (size_t i = 0; i < 3; ++i) in[i].detach().copy_(set[i]);
      graph.replay();
      replayed.push_back({y.clone(), in[0].grad().clone(), in[1].grad().clone(), in[2].grad().clone()});
    }
    manual_seed(30);
    for (size_t turn = 0; turn < sets.size(); ++turn) {
      std::vector<Tensor> same;
      for (const Tensor& each : sets[turn]) same.push_back(each.detach().requires_grad_());
      CHECK(same_bits(to_cpu(replayed[turn][0]), to_cpu(attend(same))));
      for (size_t i = 0; i < 3; ++i) CHECK(same_bits(to_cpu(replayed[turn][i + 1]), to_cpu(same[i].grad())));
    }
  }
}

}  // namespace tandem::test::attention_cases
