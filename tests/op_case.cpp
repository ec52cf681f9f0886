#include "tandem/tests/op_case.h"

#include <cmath>
#include <cstring>
#include <map>

#include "tandem/autograd/engine.h"
#include "tandem/ops/factory/empty.h"
#include "tandem/ops/factory/tensor.h"
#include "tandem/ops/factory/zeros_ones_full.h"
#include "tandem/ops/shape/clone.h"
#include "tandem/ops/shape/copy.h"
#include "tandem/tests/json.h"

namespace tandem::test {
namespace {

using Json = nlohmann::json;

/// Parses a number. JSON has no infinities or NaN, so they are stored as the strings "nan", "inf" and "-inf".
double parse_number(const Json& j) { return j.is_string() ? std::stod(j.get<std::string>()) : j.get<double>(); }
std::vector<double> parse_numbers(const Json& list) {
  std::vector<double> out;
  for (const Json& j : list) out.push_back(parse_number(j));
  return out;
}
InputSpec parse_spec(const Json& j) {
  const auto shape = j.at("shape").get<std::vector<int64_t>>();
  if (j.contains("int")) return integer(j.at("int"), shape);
  if (j.contains("bool")) return boolean(shape);
  if (j.contains("permutation")) return permutation(shape);
  InputSpec spec =
      j.contains("listed") ? listed(parse_numbers(j.at("listed")), shape) : real(shape, j.at("lo"), j.at("hi"));
  if (j.contains("away_from")) spec.avoid = j.at("away_from").get<double>();
  spec.constant = j.contains("constant");
  return spec;
}
Fixture::Sum parse_sum(const Json& j) {
  Fixture::Sum s;
  s.shape = j.at("shape").get<std::vector<int64_t>>();
  s.dtype = j.at("dtype");
  if (j.contains("elements")) {
    s.elements = parse_numbers(j.at("elements"));
    return s;
  }
  s.sum = j.at("sum"), s.abs_sum = j.at("abs_sum"), s.weighted = j.at("weighted");
  s.head = j.at("head").get<std::vector<double>>();
  return s;
}
void parse_results(const Json& j, Fixture& f) {
  for (const Json& sum : j.at("outputs")) f.outputs.push_back(parse_sum(sum));
  for (const Json& sum : j.at("grads")) f.grads.push_back(sum.is_null() ? std::nullopt : std::optional(parse_sum(sum)));
}
std::vector<Fixture> load() {
  std::vector<Fixture> all;
  const Json file = read_json("ops.json");
  for (const Json& j : file.at("cases")) {
    Fixture f{.name = j.at("name"), .family = j.at("family"), .inputs = {}, .outputs = {}, .grads = {}};
    for (const Json& spec : j.at("inputs")) f.inputs.push_back(parse_spec(spec));
    parse_results(j, f);
    all.push_back(std::move(f));
  }
  return all;
}

std::vector<double> elements(const Tensor& t) {
  const NoGradGuard guard;
  const Tensor wide = t.cpu().to(kFloat64).contiguous();
  return {wide.data<double>(), wide.data<double>() + wide.numel()};
}

}  // namespace

const std::vector<Fixture>& fixtures() {
  static const std::vector<Fixture> all = load();
  return all;
}
const Fixture& fixture(const char* name) {
  static const auto by_name = [] {
    std::map<std::string, const Fixture*> map;
    for (const Fixture& f : fixtures()) map[f.name] = &f;
    return map;
  }();
  const auto found = by_name.find(name);
  TANDEM_CHECK(found != by_name.end(), "ops.json has no row named ", name);
  return *found->second;
}

const Fixture* half_fixture(const char* row, DType half) {
  static const auto by_name = [] {
    std::map<std::pair<std::string, std::string>, Fixture> map;
    for (const Json file = read_json("half.json"); const Json& j : file.at("cases")) {
      const Fixture& whole = fixture(j.at("name").get<std::string>().c_str());
      Fixture f{.name = whole.name, .family = whole.family, .inputs = whole.inputs, .outputs = {}, .grads = {}};
      parse_results(j, f);
      map.emplace(std::pair(f.name, j.at("dtype").get<std::string>()), std::move(f));
    }
    return map;
  }();
  const auto found = by_name.find({row, name(half)});
  return found == by_name.end() ? nullptr : &found->second;
}

Tensor make_input(const InputSpec& spec, size_t k, DType real) {
  const std::vector<double> v = evaluate(spec, static_cast<uint32_t>(k + 1));
  Tensor t = core::empty(spec.shape, kFloat64, kCPU);
  std::copy(v.begin(), v.end(), t.data<double>());
  const DType dtype = spec.kind == InputSpec::Kind::real      ? real
                      : spec.kind == InputSpec::Kind::boolean ? kBool
                                                              : kInt64;
  t = t.to(test_device(), dtype);
  return spec.differentiable() ? t.requires_grad_(is_floating_point(dtype)) : t;
}

Tensor scattered_copy(const Tensor& x) {
  if (x.dim() == 0) return x;
  // Reverses the order of dimensions in memory and puts an unused element (NaN, or 77) between any two elements.
  Shape reversed(static_cast<size_t>(x.dim()), 0), order = reversed;
  for (size_t d = 0; d < order.size(); ++d) {
    order[d] = x.dim() - 1 - static_cast<int64_t>(d);
    reversed[d] = x.size(order[d]);
  }
  reversed.push_back(2);
  const NoGradGuard guard;
  const Tensor room = full(reversed, x.is_floating_point() ? Scalar(std::nan("")) : Scalar(77), x.options());
  Tensor y = core::permute(core::select(room, -1, 1), order);
  copy_elements(x.detach(), y);
  return y.requires_grad_(x.requires_grad());
}

Ran run_case(const OpCase& row, const std::vector<Tensor>& inputs, bool scattered_seeds) {
  Ran ran;
  ran.outputs = row.run(inputs);
  ran.grads.resize(inputs.size());
  std::vector<Tensor> ys, seeds, wanted;
  for (size_t j = 0; j < ran.outputs.size(); ++j) {
    const Tensor& y = ran.outputs[j];
    if (!y.requires_grad()) continue;
    Tensor seed = core::empty(y.sizes(), kFloat64, kCPU);
    for (int64_t i = 0; i < seed.numel(); ++i)
      seed.data<double>()[i] = value(i, kOutputGradientSalt + static_cast<uint32_t>(j));
    seed = seed.to(y.device(), y.dtype());
    ys.push_back(y), seeds.push_back(scattered_seeds ? scattered_copy(seed) : seed);
  }
  if (ys.empty()) return ran;
  for (const Tensor& x : inputs)
    if (x.requires_grad()) wanted.push_back(x);
  const std::vector<Tensor> found = autograd::grad(ys, wanted, seeds, {}, false, /*allow_unused=*/true);
  for (size_t k = 0, next = 0; k < inputs.size(); ++k)
    if (inputs[k].requires_grad()) ran.grads[k] = found[next++];
  for (size_t k = 0; k < inputs.size(); ++k)
    TANDEM_CHECK(!ran.grads[k].defined() ||
                     (ran.grads[k].sizes() == inputs[k].sizes() && ran.grads[k].dtype() == inputs[k].dtype()),
                 "gradient ", k, " is ", ran.grads[k].dtype(), ran.grads[k].sizes(), " for an input of ",
                 inputs[k].dtype(), inputs[k].sizes());
  return ran;
}

void compare(const std::string& what, const Tensor& got, const Fixture::Sum& want, DType real, double tolerance) {
  TANDEM_CHECK(got.sizes() == IntArrayRef(want.shape), what, " has shape ", got.sizes(), ", PyTorch's ",
               IntArrayRef(want.shape));
  const std::string dtype = want.dtype == "float64" ? name(real) : want.dtype;
  TANDEM_CHECK(name(got.dtype()) == dtype, what, " is ", got.dtype(), ", PyTorch's ", dtype);
  if (!got.is_floating_point()) tolerance = 0;
  if (!want.elements.empty()) {
    const std::vector<double> all = elements(got);
    for (size_t i = 0; i < all.size(); ++i) {
      const double a = all[i], b = want.elements[i];
      const bool same = std::isfinite(b) ? std::abs(a - b) <= tolerance * std::max(std::abs(b), 1.0)
                                         : a == b || (std::isnan(a) && std::isnan(b));
      TANDEM_CHECK(same, what, "[", i, "] is ", a, ", PyTorch's ", b);
    }
    return;
  }
  const Checksum c = checksum(elements(got));
  // Sums of mixed signs cancel, so errors are measured relative to the sum of absolute values. At least 1e-3 per
  // element:
  // if all elements are nearly zero, the remaining errors are roundings of numbers near one.
  const double n = static_cast<double>(std::max<int64_t>(got.numel(), 1));
  const double scale = std::max(want.abs_sum, 1e-3 * n);
  const auto check = [&](const char* part, double a, double b, double margin) {
    TANDEM_CHECK(std::abs(a - b) <= margin, what, ": ", part, " is ", a, ", PyTorch's ", b, ", off by ",
                 std::abs(a - b), "; accepted: ", margin);
  };
  check("the sum", c.sum, want.sum, tolerance * scale);
  check("the sum of absolute values", c.abs_sum, want.abs_sum, tolerance * scale);
  // the weights multiply each element, which rounds
  check("the weighted sum", c.weighted, want.weighted, std::max(tolerance, 1e-13) * scale);
  for (size_t i = 0; i < want.head.size(); ++i)
    check("one of the first elements", c.head[i], want.head[i],
          tolerance * std::max(std::abs(want.head[i]), scale / n));
}

uint64_t digest(const Tensor& t, uint64_t start) {
  const Tensor dense = t.detach().cpu().contiguous();
  const auto* bytes = static_cast<const unsigned char*>(dense.raw_data());
  for (int64_t i = 0; i < dense.nbytes(); ++i) start = (start ^ bytes[i]) * 1099511628211u;
  return start;
}

}  // namespace tandem::test
