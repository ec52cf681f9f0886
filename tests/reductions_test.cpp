// Tests every operation that reduces or scans along dimensions, over each dimension, against loops over indices. All
// sizes differ, so that swapped dimensions show, and elements lie in memory in three layouts.
#include <cmath>
#include <numeric>
#include <set>

#include "tandem/tandem.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/device.h"
#include "tandem/tests/formula.h"

using namespace tandem;
using tandem::test::test_device;

namespace {

using Numbers = std::vector<double>;
using Dims = std::vector<int64_t>;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();

/// Elements along some dimensions, one slice for each index into the other dimensions.
struct Slices {
  std::vector<Numbers> all;
  Dims kept, dropped;  // result sizes with keepdim (reduced dimensions are 1) and without
};
Slices slices_of(const Tensor& x, const Dims& dims) {
  const Tensor rows = x.to(kCPU, kFloat64).contiguous();
  Slices s;
  s.kept = x.sizes().vec();
  const std::set<int64_t> reduced = [&] {
    std::set<int64_t> set;
    for (int64_t d = 0; d < x.dim(); ++d)
      if (dims.empty()) set.insert(d);
    for (const int64_t d : dims) set.insert(d < 0 ? d + x.dim() : d);
    return set;
  }();
  for (int64_t d = 0; d < x.dim(); ++d)
    if (reduced.count(d))
      s.kept[size_t(d)] = 1;
    else
      s.dropped.push_back(x.size(d));
  s.all.resize(size_t(std::accumulate(s.kept.begin(), s.kept.end(), int64_t{1}, std::multiplies<>())));
  for (int64_t i = 0; i < x.numel(); ++i) {
    int64_t rest = i, place = 0, step = 1;
    for (int64_t d = x.dim() - 1; d >= 0; --d) {
      const int64_t at = rest % x.size(d);
      rest /= x.size(d);
      if (!reduced.count(d)) place += at * step, step *= x.size(d);
    }
    s.all[size_t(place)].push_back(rows.data<double>()[i]);
  }
  return s;
}
/// Tolerance 1e-12: doubles, at most 120 elements.
bool near(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || a == b ||
         std::abs(a - b) <= 1e-12 * std::max({std::abs(a), std::abs(b), 1.0});
}
/// Checks that `got` has the expected sizes and that each element is f(slice) for its slice of x over `dims`.
template <class F> void check(const Tensor& got, const Tensor& x, const Dims& dims, bool keepdim, F f) {
  const Slices s = slices_of(x, dims);
  REQUIRE(got.sizes() == IntArrayRef(keepdim ? s.kept : s.dropped));
  const Tensor flat = got.to(kCPU, kFloat64).contiguous();
  for (size_t i = 0; i < s.all.size(); ++i) {
    INFO("place " << i << ": got " << flat.data<double>()[i] << ", wanted " << double(f(s.all[i])));
    REQUIRE(near(flat.data<double>()[i], double(f(s.all[i]))));
  }
}
/// Checks that each slice of `got` along dimension d is f(slice) for the slice of x.
template <class F> void check_along(const Tensor& got, const Tensor& x, int64_t d, F f) {
  const Slices from = slices_of(x, {d}), to = slices_of(got, {d});
  REQUIRE(from.kept == to.kept);
  for (size_t i = 0; i < from.all.size(); ++i) {
    const Numbers wanted = f(from.all[i]);
    REQUIRE(wanted.size() == to.all[i].size());
    for (size_t k = 0; k < wanted.size(); ++k) {
      INFO("slice " << i << ", element " << k << ": got " << to.all[i][k] << ", wanted " << wanted[k]);
      REQUIRE(near(to.all[i][k], wanted[k]));
    }
  }
}

Numbers sorted(Numbers v) {
  std::sort(v.begin(), v.end());
  return v;
}
Numbers without_nans(Numbers v) {
  v.erase(std::remove_if(v.begin(), v.end(), [](double e) { return std::isnan(e); }), v.end());
  return v;
}
double sum_of(const Numbers& v) { return std::accumulate(v.begin(), v.end(), 0.0); }
double mean_of(const Numbers& v) { return sum_of(v) / double(v.size()); }
double variance_of(const Numbers& v, double correction) {
  double squares = 0;
  for (const double e : v) squares += (e - mean_of(v)) * (e - mean_of(v));
  return squares / std::max(double(v.size()) - correction, 0.0);
}
double largest(const Numbers& v) { return *std::max_element(v.begin(), v.end()); }
double smallest(const Numbers& v) { return *std::min_element(v.begin(), v.end()); }
double power_norm(const Numbers& v, double p) {
  double total = 0;
  for (const double e : v) total += p == 0 ? double(e != 0) : std::pow(std::abs(e), p);
  return p == 0 ? total : std::pow(total, 1 / p);
}
double quantile_of(const Numbers& unordered, double q) {
  const Numbers v = sorted(unordered);
  const double place = q * double(v.size() - 1), low = std::floor(place);
  return v[size_t(low)] + (place - low) * (v[size_t(std::ceil(place))] - v[size_t(low)]);
}
double place_of(const Numbers& v, double e) { return double(std::find(v.begin(), v.end(), e) - v.begin()); }
double most_frequent(const Numbers& v) {
  double best = v[0];
  const auto count = [&](double e) { return std::count(v.begin(), v.end(), e); };
  for (const double e : sorted(v))
    if (count(e) > count(best) || (count(e) == count(best) && e < best)) best = e;
  return best;
}
template <class Join> Numbers running(const Numbers& v, Join join) {
  Numbers made;
  for (const double e : v) made.push_back(made.empty() ? e : join(made.back(), e));
  return made;
}

/// Returns distinct numbers in shuffled order, with sizes 2, 3, 4, 5.
Tensor distinct() {
  std::vector<double> numbers(120);
  for (size_t i = 0; i < 120; ++i) numbers[i] = double((i * 77) % 120) / 16.0 - 3.5;
  return tensor(numbers, kFloat64).view({2, 3, 4, 5}).to(test_device());
}
/// Returns x in three memory layouts; all tensors are equal.
std::vector<Tensor> layouts(const Tensor& x) {
  return {x, x.to(kChannelsLast), x.permute({3, 1, 0, 2}).contiguous().permute({2, 1, 3, 0})};
}
/// Returns all lists of dimensions, including the empty list, which means all dimensions. Some are reversed or use
/// negative dimensions.
std::vector<Dims> lists() {
  std::vector<Dims> all;
  for (unsigned mask = 0; mask < 16; ++mask) {
    Dims dims;
    for (int64_t d = 0; d < 4; ++d)
      if (mask >> d & 1) dims.push_back(mask % 3 == 0 ? d - 4 : d);
    if (mask % 2 == 1) std::reverse(dims.begin(), dims.end());
    all.push_back(dims);
  }
  return all;
}

}  // namespace

TEST_CASE("reductions over every list of dimensions", "[reduce][dims]") {
  const Tensor x = distinct(), nans = where(x > 1.5, Scalar(kNan), x), few = (x * 2).floor().clamp(0, 1);
  const auto over_lists = [](const char* name, const Tensor& input, auto call, auto f) {
    for (const Tensor& laid : layouts(input))
      for (const Dims& dims : lists())
        for (const bool keepdim : {false, true}) {
          if (dims.empty() && (name == std::string("all") || name == std::string("any"))) continue;  // tested below
          INFO(name << " over " << IntArrayRef(dims) << (keepdim ? ", keepdim" : "") << ", strides " << laid.strides());
          check(call(laid, IntArrayRef(dims), keepdim), input, dims, keepdim, f);
        }
  };
#define TANDEM_OVER(input, name, f) \
  over_lists(                       \
      #name, input, [](const Tensor& t, IntArrayRef d, bool keep) { return t.name(d, keep); }, f)
  TANDEM_OVER(x, sum, sum_of);
  TANDEM_OVER(x, mean, mean_of);
  TANDEM_OVER(x, amax, largest);
  TANDEM_OVER(x, amin, smallest);
  TANDEM_OVER(few, all, [](const Numbers& v) { return smallest(v) != 0; });
  TANDEM_OVER(few, any, [](const Numbers& v) { return largest(v) != 0; });
  TANDEM_OVER(nans, nansum, [](const Numbers& v) { return sum_of(without_nans(v)); });
  TANDEM_OVER(nans, nanmean, [](const Numbers& v) { return mean_of(without_nans(v)); });
  TANDEM_OVER(x, logsumexp, [](const Numbers& v) {
    double total = 0;
    for (const double e : v) total += std::exp(e);
    return std::log(total);
  });
#undef TANDEM_OVER
  // Over an empty list of dimensions, each element gives its own truth value, as in PyTorch: torch.ones(2,
  // 3).all(dim=())
  // has shape (2, 3).
  CHECK(few.all(IntArrayRef()).equal(few != 0));
  CHECK(few.any(IntArrayRef(), true).equal(few != 0));
  for (const bool unbiased : {false, true}) {
    const auto wanted = [unbiased](const Numbers& v) { return variance_of(v, unbiased ? 1 : 0); };
    const auto root = [=](const Numbers& v) { return std::sqrt(wanted(v)); };
    over_lists(
        "var", x, [&](const Tensor& t, IntArrayRef d, bool keep) { return t.var(d, unbiased, keep); }, wanted);
    over_lists(
        "std", x, [&](const Tensor& t, IntArrayRef d, bool keep) { return t.std(d, unbiased, keep); }, root);
    const auto both = [&](const Tensor& t, IntArrayRef d, bool keep) { return var_mean(t, d, unbiased, keep); };
    over_lists(
        "var_mean", x, [&](auto&&... in) { return std::get<0>(both(in...)); }, wanted);
    over_lists(
        "var_mean", x, [&](auto&&... in) { return std::get<1>(both(in...)); }, mean_of);
  }
  for (const double p : {0.0, 0.5, 1.0, 2.0, 3.0, -1.0}) {
    const auto wanted = [p](const Numbers& v) { return power_norm(v, p); };
    over_lists(
        "norm", x, [p](const Tensor& t, IntArrayRef d, bool keep) { return t.norm(p, d, keep); }, wanted);
    over_lists(
        "linalg_vector_norm", x,
        [p](const Tensor& t, IntArrayRef d, bool keep) { return linalg_vector_norm(t, p, d, keep); }, wanted);
  }
  over_lists(
      "norm", x, [](const Tensor& t, IntArrayRef d, bool keep) { return t.norm(kInf, d, keep); },
      [](const Numbers& v) { return std::max(largest(v), -smallest(v)); });
  for (const Tensor& laid : layouts(few))
    for (const Dims& dims : lists()) check(laid.count_nonzero(dims), few, dims, false, sum_of);
}

TEST_CASE("reductions along every dimension", "[reduce][dims]") {
  const Tensor x = distinct(), nans = where(x > 1.5, Scalar(kNan), x), repeated = (x * 0.5).floor();
  const Tensor q = tensor({0.25, 0.9}, kFloat64).to(test_device());
  for (size_t layout = 0; layout < 3; ++layout)
    for (int64_t dim = -4; dim < 4; ++dim)
      for (const bool keepdim : {false, true}) {
        INFO("dim " << dim << (keepdim ? ", keepdim" : "") << ", layout " << layout);
        const Tensor t = layouts(x)[layout], with_nans = layouts(nans)[layout], ties = layouts(repeated)[layout];
        const Dims dims{dim};
        const auto both = [&](const char* name, const std::tuple<Tensor, Tensor>& got, const Tensor& from, auto f) {
          INFO(name);
          check(std::get<0>(got), from, dims, keepdim, f);
          check(std::get<1>(got), from, dims, keepdim, [&](const Numbers& v) { return place_of(v, f(v)); });
        };
        const auto middle = [](const Numbers& v) { return sorted(v)[(v.size() - 1) / 2]; };
        both("max", t.max(dim, keepdim), x, largest);
        both("min", t.min(dim, keepdim), x, smallest);
        both("median", t.median(dim, keepdim), x, middle);
        both("nanmedian", t.nanmedian(dim, keepdim), x, middle);
        both("kthvalue", t.kthvalue(2, dim, keepdim), x, [](const Numbers& v) { return sorted(v)[1]; });
        check(t.argmax(dim, keepdim), x, dims, keepdim, [](const Numbers& v) { return place_of(v, largest(v)); });
        check(t.argmin(dim, keepdim), x, dims, keepdim, [](const Numbers& v) { return place_of(v, smallest(v)); });
        check(std::get<0>(t.aminmax(dim, keepdim)), x, dims, keepdim, smallest);
        check(std::get<1>(t.aminmax(dim, keepdim)), x, dims, keepdim, largest);
        check(std::get<0>(ties.mode(dim, keepdim)), repeated, dims, keepdim, most_frequent);
        check(t.prod(dim, keepdim), x, dims, keepdim,
              [](const Numbers& v) { return running(v, std::multiplies<>()).back(); });
        check(t.all(dim, keepdim), x, dims, keepdim,
              [](const Numbers& v) { return place_of(v, 0) == double(v.size()); });
        for (const double fraction : {0.0, 0.3, 0.5, 1.0}) {
          const auto wanted = [fraction](const Numbers& v) { return quantile_of(v, fraction); };
          check(t.quantile(fraction, dim, keepdim), x, dims, keepdim, wanted);
          const Tensor of_nans = with_nans.nanquantile(fraction, dim, keepdim);
          check(of_nans, nans, dims, keepdim, [&](const Numbers& v) {
            const Numbers left = without_nans(v);
            return left.empty() ? kNan : quantile_of(left, fraction);
          });
        }
        for (int64_t k = 0; k < 2; ++k) {  // for a tensor of fractions: the result's first dimension is the fraction
          const double fraction = k == 0 ? 0.25 : 0.9;
          const auto wanted = [fraction](const Numbers& v) { return quantile_of(v, fraction); };
          check(t.quantile(q, dim, keepdim).select(0, k), x, dims, keepdim, wanted);
          check(t.nanquantile(q, dim, keepdim).select(0, k), x, dims, keepdim, wanted);
        }
      }
}

TEST_CASE("scans and orders along every dimension", "[reduce][dims]") {
  const Tensor x = distinct();
  for (const Tensor& t : layouts(x))
    for (int64_t dim = -4; dim < 4; ++dim) {
      INFO("dim " << dim << ", strides " << t.strides());
      const auto logs = [](double a, double b) { return std::log(std::exp(a) + std::exp(b)); };
      check_along(t.cumsum(dim), x, dim, [](const Numbers& v) { return running(v, std::plus<>()); });
      check_along(t.cumprod(dim), x, dim, [](const Numbers& v) { return running(v, std::multiplies<>()); });
      check_along(t.logcumsumexp(dim), x, dim, [&](const Numbers& v) { return running(v, logs); });
      const auto up = [](const Numbers& v) { return running(v, [](double a, double b) { return std::max(a, b); }); };
      const auto down = [](const Numbers& v) { return running(v, [](double a, double b) { return std::min(a, b); }); };
      const auto places = [](const Numbers& v, const Numbers& values) {
        Numbers at;
        for (const double e : values) at.push_back(place_of(v, e));
        return at;
      };
      check_along(std::get<0>(t.cummax(dim)), x, dim, up);
      check_along(std::get<1>(t.cummax(dim)), x, dim, [&](const Numbers& v) { return places(v, up(v)); });
      check_along(std::get<0>(t.cummin(dim)), x, dim, down);
      check_along(std::get<1>(t.cummin(dim)), x, dim, [&](const Numbers& v) { return places(v, down(v)); });
      for (const bool descending : {false, true}) {
        const auto order = [&](const Numbers& v) {
          Numbers ordered = sorted(v);
          if (descending) std::reverse(ordered.begin(), ordered.end());
          return ordered;
        };
        const auto [values, index] = t.sort(dim, descending);
        check_along(values, x, dim, order);
        check_along(index, x, dim, [&](const Numbers& v) { return places(v, order(v)); });
        const auto [chosen, at] = t.topk(2, dim, descending);
        const auto first = [&](const Numbers& v) { return Numbers{order(v)[0], order(v)[1]}; };
        check_along(chosen, x, dim, first);
        check_along(at, x, dim, [&](const Numbers& v) { return places(v, first(v)); });
      }
      check_along(t.diff(1, dim), x, dim, [](const Numbers& v) {
        Numbers made;
        for (size_t i = 1; i < v.size(); ++i) made.push_back(v[i] - v[i - 1]);
        return made;
      });
      check_along(t.softmax(dim), x, dim, [](const Numbers& v) {
        double total = 0;
        for (const double e : v) total += std::exp(e);
        Numbers made;
        for (const double e : v) made.push_back(std::exp(e) / total);
        return made;
      });
      check(trapezoid(t, 1, dim), x, {dim}, false,
            [](const Numbers& v) { return sum_of(v) - (v.front() + v.back()) / 2; });
    }
}

TEST_CASE("matrix norms in every pair of dimensions", "[reduce][dims]") {
  const Tensor x = distinct();
  for (const Tensor& t : layouts(x))
    for (int64_t rows = 0; rows < 4; ++rows)
      for (int64_t columns = -4; columns < 0; ++columns)
        for (const bool keepdim : {false, true}) {
          if (columns + 4 == rows) continue;
          INFO("dims " << rows << ", " << columns << (keepdim ? ", keepdim" : "") << ", strides " << t.strides());
          const Dims dims{rows, columns};
          check(linalg_matrix_norm(t, "fro", dims, keepdim), x, dims, keepdim,
                [](const Numbers& v) { return power_norm(v, 2); });
          // The slice is row-major in the order of the dimensions of x.
          const size_t n = size_t(x.size(rows)), m = size_t(x.size(columns));
          check(linalg_matrix_norm(t, 1, dims, keepdim), x, dims, keepdim, [&](const Numbers& v) {
            double most = 0;
            for (size_t c = 0; c < m; ++c) {
              double total = 0;
              for (size_t r = 0; r < n; ++r) total += std::abs(rows < columns + 4 ? v[r * m + c] : v[c * n + r]);
              most = std::max(most, total);
            }
            return most;
          });
        }
}

TEST_CASE("mode takes the most frequent number, and a NaN only where there is nothing else", "[reduce][mode]") {
  const double n = kNan;
  struct Row {
    Numbers x;
    double value;
    int64_t index;
  };
  // Expected values: torch.tensor(x).mode(). A NaN is unequal to every other NaN, so each counts once.
  std::vector<Row> rows = {{{1, 1, n, n, n}, 1, 1},
                           {{n, n, n}, n, 0},
                           {{n}, n, 0},
                           {{1, n}, 1, 0},
                           {{2, 2, 1, 1}, 1, 3},
                           {{n, n, n, n, 5, 5}, 5, 5},
                           {{1, 2, 3, n, n}, 1, 0},
                           {{-0.0, 0, 1, 1}, 0, 1},
                           {{3, n, 3, n, 2, 2, 2}, 2, 6},
                           {{kInf, kInf, n, n, n, 1}, kInf, 1}};
  // PyTorch's mode misses these values, because its sort of NaNs stops early.
  rows.insert(rows.end(), {{{n, 1}, 1, 1}, {{2, n, 1, n, 1}, 1, 4}, {{0, 1, n, 0, 1}, 0, 3}});
  for (const Row& row : rows) {
    CAPTURE(row.x);
    for (const DType dtype : {kFloat32, kFloat64}) {
      const auto [value, index] = tensor(row.x, kFloat64).to(test_device(), dtype).mode();
      CHECK(near(value.item<double>(), row.value));
      CHECK(index.item<int64_t>() == row.index);
    }
  }
}

TEST_CASE("gradients of scatter_reduce and index_reduce are PyTorch's, ties and zeros among them", "[scatter]") {
  struct Row {
    Numbers x, source;
    std::vector<int64_t> index;
    const char* reduce;
    bool include_self;
    Numbers dx, dsource;
  };
  // Expected gradients: (y = x.scatter_reduce(0, index, source, reduce, include_self=...)).backward(torch.arange(1.,
  // 4)),
  // and the same for index_reduce. An element of x that ties gets its share of the gradient even if include_self is
  // false.
  const double third = 1.0 / 3;
  const std::vector<Row> rows = {
      {{1, 2, 3},
       {1, 1, 2, 2},
       {0, 0, 1, 1},
       "amax",
       true,
       {third, 2 * third, 3},
       {third, third, 2 * third, 2 * third}},
      {{1, 2, 3}, {1, 1, 2, 2}, {0, 0, 1, 1}, "amax", false, {0, 0, 3}, {third, third, 2 * third, 2 * third}},
      {{1, 2, 3}, {1, 1, 2, 2}, {0, 0, 1, 1}, "amin", false, {0, 0, 3}, {third, third, 2 * third, 2 * third}},
      {{1, 2, 3}, {5, 5, 1, 1}, {0, 0, 1, 1}, "amax", true, {0, 2, 3}, {0.5, 0.5, 0, 0}},
      {{1, 2, 3}, {5, 5, 1, 1}, {0, 0, 1, 1}, "amax", false, {0, 0, 3}, {0.5, 0.5, 1, 1}},
      {{1, 2, 3}, {5, 5, 1, 1}, {0, 0, 1, 1}, "amin", false, {0, 0, 3}, {0.5, 0.5, 1, 1}},
      {{1, 2, 3}, {1, 4, 2, 0}, {0, 1, 1, 0}, "amin", false, {0, 0, 3}, {0, 0, 1, 1}},
      {{1, 2, 3}, {kNan, kNan, 2, 2}, {0, 0, 1, 1}, "amax", false, {0, 0, 3}, {kNan, kNan, 2 * third, 2 * third}},
      {{1, 2, 3},
       {kNan, kNan, 2, 2},
       {0, 0, 1, 1},
       "amin",
       true,
       {kNan, 2 * third, 3},
       {kNan, kNan, 2 * third, 2 * third}},
      {{0, 2, 3}, {2, 3, 0, 5}, {0, 0, 1, 1}, "prod", true, {6, 0, 3}, {0, 0, 20, 0}},
      {{0, 2, 3}, {2, 3, 0, 5}, {0, 0, 1, 1}, "prod", false, {0, 0, 3}, {3, 2, 10, 0}},
      {{0, 2, 0}, {0, 3, 0, 0}, {0, 0, 1, 1}, "prod", true, {0, 0, 3}, {0, 0, 0, 0}},
      {{1, 2, 3},
       {1, 1, 2, 2},
       {0, 0, 1, 1},
       "mean",
       true,
       {third, 2 * third, 3},
       {third, third, 2 * third, 2 * third}},
      {{1, 2, 3}, {1, 1, 2, 2}, {0, 0, 1, 1}, "mean", false, {0, 0, 3}, {0.5, 0.5, 1, 1}},
      {{1, 2, 3}, {1, 1, 2, 2}, {0, 0, 1, 1}, "sum", true, {1, 2, 3}, {1, 1, 2, 2}},
      {{1, 2, 3}, {1, 1, 2, 2}, {0, 0, 1, 1}, "sum", false, {0, 0, 3}, {1, 1, 2, 2}},
  };
  for (const Row& row : rows)
    for (const bool by_index : {false, true}) {
      if (by_index && row.reduce == std::string("sum")) continue;  // index_reduce has no "sum"
      CAPTURE(row.x, row.source, row.index, row.reduce, row.include_self, by_index);
      const Tensor x = tensor(row.x, kFloat64).to(test_device()).requires_grad_();
      const Tensor source = tensor(row.source, kFloat64).to(test_device()).requires_grad_();
      const Tensor index = tensor(row.index, kInt64).to(test_device());
      const Tensor y = by_index ? x.index_reduce(0, index, source, row.reduce, row.include_self)
                                : x.scatter_reduce(0, index, source, row.reduce, row.include_self);
      y.backward(arange(1, 4, y.options()));
      for (size_t i = 0; i < row.dx.size(); ++i) CHECK(near(x.grad()[int64_t(i)].item<double>(), row.dx[i]));
      for (size_t i = 0; i < row.dsource.size(); ++i)
        CHECK(near(source.grad()[int64_t(i)].item<double>(), row.dsource[i]));
    }
}

TEST_CASE("quantile refuses fractions outside of 0 to 1, in a tensor too", "[reduce]") {
  const Tensor x = ones({3});
  for (const double q : {-0.1, 1.5, kNan}) {
    REQUIRE_THROWS_WITH(x.quantile(tensor({0.5f, static_cast<float>(q)})), Contains("must be in the range [0, 1]"));
    REQUIRE_THROWS_WITH(x.nanquantile(tensor(q, kFloat32)), Contains("must be in the range [0, 1]"));
    REQUIRE_THROWS_WITH(x.quantile(q), Contains("must be in the range [0, 1]"));
  }
}
