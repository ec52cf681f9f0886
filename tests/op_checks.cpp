// The checks of the op tests, which are made for each op case (see op_case.h).
#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>

#include "tandem/autograd/engine.h"
#include "tandem/autograd/meta.h"
#include "tandem/core/threads/thread_pool.h"
#include "tandem/ops/elementwise/compare.h"
#include "tandem/ops/elementwise/complex.h"
#include "tandem/ops/elementwise/operators.h"
#include "tandem/ops/elementwise/unary.h"
#include "tandem/ops/elementwise/where.h"
#include "tandem/ops/factory/tensor.h"
#include "tandem/ops/factory/zeros_ones_full.h"
#include "tandem/ops/gradcheck.h"
#include "tandem/ops/reduce/all_any.h"
#include "tandem/ops/reduce/minmax.h"
#include "tandem/ops/reduce/std_var.h"
#include "tandem/ops/shape/clone.h"
#include "tandem/tests/op_case.h"

namespace tandem::test {
namespace {

/// Largest number of elements for finite differences, which take two calls per element. An op with larger inputs also
/// has
/// cases with smaller ones.
constexpr int64_t kMostElements = 600;

std::vector<Tensor> make_inputs(const Fixture& f, DType real) {
  std::vector<Tensor> inputs;
  for (size_t k = 0; k < f.inputs.size(); ++k) inputs.push_back(make_input(f.inputs[k], k, real));
  return inputs;
}
bool has_real(const Fixture& f) {
  return std::any_of(f.inputs.begin(), f.inputs.end(),
                     [](const InputSpec& s) { return s.kind == InputSpec::Kind::real; });
}
std::string output(size_t j) { return "output " + std::to_string(j); }
std::string gradient(size_t k) { return "gradient " + std::to_string(k); }

void compare_with_fixture(const Ran& ran, const Fixture& f, DType real, double tolerance) {
  TANDEM_CHECK(ran.outputs.size() == f.outputs.size(), ran.outputs.size(), " outputs, PyTorch's ", f.outputs.size());
  for (size_t j = 0; j < f.outputs.size(); ++j) compare(output(j), ran.outputs[j], f.outputs[j], real, tolerance);
  for (size_t k = 0; k < f.grads.size(); ++k) {
    const bool is_zero = f.grads[k] && f.grads[k]->abs_sum == 0;  // an undefined gradient stands for zeros
    TANDEM_CHECK(ran.grads[k].defined() ? f.grads[k].has_value() : is_zero || !f.grads[k], gradient(k), " is ",
                 f.grads[k] ? "missing" : "there, but PyTorch has none");
    if (ran.grads[k].defined()) compare(gradient(k), ran.grads[k], *f.grads[k], real, tolerance);
  }
}

/// Checks that each element of a is within `relative` and `absolute` tolerance of the element of b. NaN equals NaN.
void compare_elements(const std::string& what, const Tensor& a, const Tensor& b, double relative, double absolute) {
  TANDEM_CHECK(a.sizes() == b.sizes(), what, " has shape ", a.sizes(), " and not ", b.sizes());
  const NoGradGuard guard;
  const Tensor x = a.cpu().to(kFloat64).contiguous(), y = b.cpu().to(kFloat64).contiguous();
  for (int64_t i = 0; i < x.numel(); ++i) {
    const double p = x.data<double>()[i], q = y.data<double>()[i];
    if (p == q || (std::isnan(p) && std::isnan(q))) continue;
    TANDEM_CHECK(std::abs(p - q) <= relative * std::abs(q) + absolute, what, "[", i, "] is ", p, " and not ", q,
                 "; accepted: off by ", relative * std::abs(q) + absolute);
  }
}
/// Returns the largest absolute value among the finite elements.
double largest(const Tensor& x) {
  const NoGradGuard guard;
  if (x.numel() == 0 || !x.is_floating_point()) return 0;
  const Tensor size = x.to(kFloat64).abs();
  return where(size.isfinite(), size, Scalar(0)).max().item<double>();
}

}  // namespace

std::string check_fixture(const OpCase& row, DType real) {
  const Fixture& f = fixture(row.name);
  // Tolerance 1e-9: float64 sums of up to 1e5 terms in another order, and functions within a few ulp. 1e-4 in float32
  // for
  // the same reasons.
  compare_with_fixture(run_case(row, make_inputs(f, real)), f, real, real == kFloat64 ? 1e-9 : 1e-4);
  return "";
}

std::string check_half(const OpCase& row, DType half) {
  const Fixture& f = fixture(row.name);
  if (row.notes.no_half) return row.notes.no_half;
  if (row.notes.refuses_half) {
    std::string what;
    try {
      row.run(make_inputs(f, half));
    } catch (const Error& error) {
      what = error.what();
    }
    TANDEM_CHECK(what.find(name(half)) != std::string::npos, name(half), " gives \"", what, "\"; expected: an error");
    return "refused, as PyTorch does";
  }
  if (!has_real(f)) return "no real numbers";
  std::vector<Tensor> inputs = make_inputs(f, half), wide;
  for (const Tensor& t : inputs)
    wide.push_back(t.is_floating_point() ? t.detach().to(kFloat64).requires_grad_(t.requires_grad()) : t);
  const Ran got = run_case(row, inputs), want = run_case(row, wide);
  // Each op rounds once, by half a unit in the last place. A composed op also rounds intermediate results, which are as
  // large as the largest element, a few times. Gradients are rounded a few times more.
  const double unit = half == kFloat16 ? 0x1p-11 : 0x1p-8;
  for (size_t j = 0; j < want.outputs.size(); ++j) {
    const Tensor& y = got.outputs[j];
    const bool real = want.outputs[j].dtype() == kFloat64;
    TANDEM_CHECK(y.dtype() == (real ? half : want.outputs[j].dtype()), output(j), " is ", y.dtype());
    compare_elements(output(j), y, want.outputs[j], real ? unit : 0, real ? 4 * unit * largest(want.outputs[j]) : 0);
  }
  for (size_t k = 0; k < wide.size(); ++k) {
    TANDEM_CHECK(got.grads[k].defined() == want.grads[k].defined(), gradient(k), " is there for one dtype only");
    if (!got.grads[k].defined()) continue;
    const double size = std::max(largest(want.grads[k]), 0x1p-10);
    compare_elements(gradient(k), got.grads[k], want.grads[k], unit, 8 * unit * size);
  }
  return "";
}

std::string check_half_fixture(const OpCase& row, DType half) {
  const Fixture* const f = half_fixture(row.name, half);
  if (f == nullptr) return "not among PyTorch's results in half types";
  // Each side rounds a result once, so results differ by a unit in the last place. PyTorch's CPU kernels round some
  // intermediate results too: gradients of averages, products of several factors.
  compare_with_fixture(run_case(row, make_inputs(*f, half)), *f, half, 4 * (half == kFloat16 ? 0x1p-11 : 0x1p-8));
  return "";
}

/// Ops (by prefix) that accept inputs on different devices: they copy between devices, treat each input alone, or, like
/// index_put, move the values to the tensor's device.
const char* const kOfAnyDevice[] = {"copy_", "broadcast_tensors", "atleast_", "index_put"};
std::string check_devices(const OpCase& row) {
  const std::vector<Tensor> inputs = make_inputs(fixture(row.name), kFloat32);
  if (inputs.size() < 2 || !cuda::is_available() || !test_device().is_cpu()) return "";
  // Ops also accept a zero-dimensional tensor of another device.
  const std::string op = row.name;
  const bool takes_any =
      std::any_of(inputs.begin(), inputs.end(), [](const Tensor& x) { return x.dim() == 0; }) ||
      std::any_of(std::begin(kOfAnyDevice), std::end(kOfAnyDevice), [&](const char* s) { return op.starts_with(s); });
  const NoGradGuard guard;
  const std::vector<Tensor> want = row.run(inputs);
  for (size_t k = 0; k < inputs.size(); ++k)
    for (const bool alone : {true, false}) {  // true: input k alone is on a GPU; false: all others are
      const std::string which = "input " + std::to_string(k) + (alone ? " on a GPU" : " on the CPU");
      std::vector<Tensor> mixed = inputs;
      for (size_t j = 0; j < mixed.size(); ++j)
        if ((j == k) == alone) mixed[j] = mixed[j].to(kCUDA);
      std::vector<Tensor> got;
      try {
        got = row.run(mixed);
      } catch (const Error& error) {
        const std::string what = error.what();
        TANDEM_CHECK(what.find("cuda:0") != std::string::npos && what.find("cpu") != std::string::npos, which,
                     " gives \"", what, "\"; expected: an error that names both devices");
        continue;
      }
      TANDEM_CHECK(takes_any, which, " is accepted; expected: an error that names both devices");
      for (size_t j = 0; j < want.size(); ++j)
        compare_elements(which + ", accepted: " + output(j), got[j], want[j], 1e-4, 1e-4);
    }
  return "";
}

std::string check_integers(const OpCase& row) {
  using Kind = InputSpec::Kind;
  const Fixture& f = fixture(row.name);
  const Kind replaced = has_real(f) ? Kind::real : Kind::integer;
  if (!row.notes.integers) return has_real(f) ? "not an op of integers" : "an op of bool, or of positions";
  std::vector<Tensor> real, wide;
  for (size_t k = 0; k < f.inputs.size(); ++k) {
    const InputSpec& spec = f.inputs[k];
    // Integers from 1 to 6: no division by zero, and no product overflows int8.
    const bool number = spec.kind == replaced;
    wide.push_back(number ? make_input(integer(6, spec.shape), k, kFloat64) + 1 : make_input(spec, k, kFloat64));
    real.push_back(number && has_real(f) ? wide[k].to(kFloat64) : wide[k]);
  }
  const NoGradGuard guard;
  const std::vector<Tensor> want = row.run(real), from_int64 = row.run(wide);
  for (size_t j = 0; j < want.size(); ++j) {
    TANDEM_CHECK(!from_int64[j].is_floating_point(), output(j), " of int64 inputs is ", from_int64[j].dtype());
    compare_elements(output(j) + " of int64", from_int64[j], want[j], 0, 0);
  }
  for (const DType narrow : {kInt32, kInt16, kInt8, kUInt8}) {
    std::vector<Tensor> inputs;
    for (size_t k = 0; k < wide.size(); ++k)
      inputs.push_back(f.inputs[k].kind == replaced ? wide[k].to(narrow) : wide[k]);
    const std::vector<Tensor> got = row.run(inputs);
    for (size_t j = 0; j < got.size(); ++j)
      compare_elements(output(j) + " of " + name(narrow), got[j], from_int64[j].to(got[j].dtype()), 0, 0);
  }
  return "";
}

namespace {
#if TANDEM_TEST_ASAN
/// Replaces gradcheck in builds with AddressSanitizer: memory errors show at the first call, while finite differences
/// would take thousands of calls. Other builds compare the differences.
void differentiate(const autograd::GradcheckFunction& f, const std::vector<Tensor>& inputs, bool second) {
  std::vector<Tensor> wanted;
  std::copy_if(inputs.begin(), inputs.end(), std::back_inserter(wanted),
               [](const Tensor& x) { return x.requires_grad(); });
  const auto gradients = [&](const std::vector<Tensor>& outputs, bool create) {
    std::vector<Tensor> made, slopes;
    for (const Tensor& y : outputs)
      if (y.defined() && y.requires_grad()) made.push_back(y), slopes.push_back(ones_like(y));
    return made.empty() ? std::vector<Tensor>() : autograd::grad(made, wanted, slopes, true, create, true);
  };
  const std::vector<Tensor> first = gradients(f(inputs), second);
  if (second) gradients(first, false);
}
#endif

std::string check_differences(const OpCase& row, bool second) {
  const Fixture& f = fixture(row.name);
  if (std::none_of(f.grads.begin(), f.grads.end(), [](const auto& g) { return g.has_value(); })) return "no gradient";
  if (row.notes.no_gradcheck) return row.notes.no_gradcheck;
  if (second && row.notes.no_gradgradcheck) return row.notes.no_gradgradcheck;
  int64_t n = 0;
  for (const InputSpec& s : f.inputs) n += s.differentiable() ? s.numel() : 0;
  if (n > kMostElements) return "large: a smaller row of the op is checked";
  const std::vector<Tensor> inputs = make_inputs(f, kFloat64);
  std::vector<size_t> recorded;  // outputs that require a gradient, so not running statistics, for example
  const Outputs probe = row.run(inputs);
  for (size_t j = 0; j < probe.size(); ++j)
    if (probe[j].requires_grad()) recorded.push_back(j);
  const auto call = [&](In in) {
    const Outputs all = row.run(in);
    std::vector<Tensor> some;
    for (const size_t j : recorded) some.push_back(all[j]);
    return some;
  };
#if TANDEM_TEST_ASAN
  differentiate(call, inputs, second);
#else
  second ? autograd::gradgradcheck(call, inputs) : autograd::gradcheck(call, inputs);
#endif
  return "";
}
}  // namespace
std::string check_gradcheck(const OpCase& row) { return check_differences(row, false); }
std::string check_gradgradcheck(const OpCase& row) { return check_differences(row, true); }

std::string check_strided(const OpCase& row) {
  const Fixture& f = fixture(row.name);
  if (row.notes.no_strided) return row.notes.no_strided;
  std::vector<Tensor> inputs;
  for (const Tensor& t : make_inputs(f, kFloat64)) inputs.push_back(scattered_copy(t));
  // Tolerance 1e-9: sums may be added in another order than over contiguous elements.
  compare_with_fixture(run_case(row, inputs, /*scattered_seeds=*/true), f, kFloat64, 1e-9);
  return "";
}

std::string check_channels_last(const OpCase& row) {
  const Fixture& f = fixture(row.name);
  std::vector<Tensor> inputs = make_inputs(f, kFloat64);
  bool any = false;
  for (Tensor& x : inputs) {
    if (x.dim() != 4) continue;
    x = x.detach().to(MemoryFormat::ChannelsLast).requires_grad_(x.requires_grad());
    any = true;
  }
  if (!any) return "no input of four dimensions";
  // Tolerance 1e-9: sums may be added in another order than over contiguous elements.
  compare_with_fixture(run_case(row, inputs), f, kFloat64, 1e-9);
  compare_with_fixture(run_case(row, inputs, /*scattered_seeds=*/true), f, kFloat64, 1e-9);
  return "";
}
std::string check_empty(const OpCase& row) {
  const Fixture& f = fixture(row.name);
  if (row.notes.no_empty) return row.notes.no_empty;
  if (f.inputs[0].shape.empty() || f.inputs[0].numel() == 0) return "no rows to take away";
  // Takes the first dimension of the first input as the batch, and sets it to 0 in every input that has it.
  const int64_t rows = f.inputs[0].shape[0];
  std::vector<Tensor> inputs;
  for (size_t k = 0; k < f.inputs.size(); ++k) {
    InputSpec spec = f.inputs[k];
    if (spec.shape.size() == f.inputs[0].shape.size() || (k && f.inputs[k].kind != InputSpec::Kind::real))
      if (!spec.shape.empty() && spec.shape[0] == rows) spec.shape[0] = 0;
    inputs.push_back(make_input(spec, k, kFloat64));
  }
  run_case(row, inputs);  // also checks the shapes of gradients
  return "";
}

std::string check_threads(const OpCase& row, const std::vector<Tensor>& inputs) {
  struct Restore {
    int threads = get_num_threads();
    ~Restore() { set_num_threads(threads); }
  } restore;
  std::vector<Tensor> first;
  for (const int threads : {1, 2, 3}) {
    set_num_threads(threads);
    const Ran ran = run_case(row, inputs);
    std::vector<Tensor> all = ran.outputs;
    all.insert(all.end(), ran.grads.begin(), ran.grads.end());
    for (size_t i = 0; i < all.size(); ++i) {
      all[i] = all[i].defined() ? all[i].detach().contiguous() : Tensor();
      if (threads == 1 || !all[i].defined()) continue;
      TANDEM_CHECK(!all[i].nbytes() || std::memcmp(all[i].raw_data(), first[i].raw_data(), all[i].nbytes()) == 0,
                   i < ran.outputs.size() ? output(i) : gradient(i - ran.outputs.size()), " with ", threads,
                   " threads is not what it is with one");
    }
    if (threads == 1) first = all;
  }
  return "";
}
std::string check_storage(const OpCase& row) {
  if (row.notes.no_storage) return row.notes.no_storage;
  const std::vector<Tensor> inputs = make_inputs(fixture(row.name), kFloat64);
  const std::vector<Tensor> outputs = row.run(inputs);
  for (size_t j = 0; j < outputs.size(); ++j) {
    const Tensor& y = outputs[j];
    const autograd::AutogradMeta* const m = autograd::get_autograd_meta(y);
    const Tensor base = m ? m->base : Tensor();  // recorded base of the view y
    const auto holds = [&](const Tensor& x) { return x.storage() == y.storage(); };
    const auto owner = std::find_if(inputs.begin(), inputs.end(), holds);
    if (row.notes.view) {
      TANDEM_CHECK(owner != inputs.end(), output(j), " is a view, and shares storage with no input");
      TANDEM_CHECK(!y.is_floating_point() || y.is_same(*owner) || base.is_same(*owner), output(j),
                   " shares the storage of an input, and does not say so");
      continue;
    }
    TANDEM_CHECK(owner == inputs.end(), output(j), " shares the storage of input ", owner - inputs.begin());
    TANDEM_CHECK(!base.defined(), output(j), " says that it is a view of a tensor ", base.sizes());
    TANDEM_CHECK(core::is_non_overlapping_and_dense(*y.impl()), output(j), " ", y.sizes(), " has strides ",
                 y.strides());
    for (size_t k = 0; k < j; ++k)
      TANDEM_CHECK(outputs[k].storage() != y.storage(), output(j), " shares the storage of output ", k);
  }
  return "";
}
std::string check_threads(const OpCase& row, DType real) {
  if (is_reduced_floating_point(real) && row.notes.refuses_half) return "refused";
  return check_threads(row, make_inputs(fixture(row.name), real));
}

}  // namespace tandem::test
