// Tests LibTorch names: aliases of operations, overloads with output arguments, and other spellings that LibTorch
// programs use.
#include <array>
#include <cmath>
#include <numbers>
#include <sstream>

#include "tandem/tandem.h"
#include "tandem/tests/catch.h"

using namespace tandem;

namespace {

const Tensor& sample() {
  static const Tensor x = (arange(24, kFloat64).view({2, 3, 4}) * 0.37).sin();
  return x;
}
bool same(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.sizes() == b.sizes() && a.allclose(b, 0, 0, /*equal_nan=*/true);
}

/// Two expressions of the sample tensor x that must give the same result: an alias and the original spelling.
struct Spelling {
  const char* name;
  Tensor (*other)(const Tensor& x);
  Tensor (*original)(const Tensor& x);
};
#define SPELLING(other, original)                                                                               \
  {                                                                                                             \
#other, [](const Tensor& x) -> Tensor { return other; }, [](const Tensor& x) -> Tensor { return original; } \
  }
const Spelling kSpellings[] = {
    SPELLING(conj(x), x),
    SPELLING(conj_physical(x), x),
    SPELLING(resolve_conj(x), x),
    SPELLING(resolve_neg(x), x),
    SPELLING(real(x), x),
    SPELLING(x.conj(), x),
    SPELLING(x.tensor_data(), x.detach()),
    SPELLING(x.variable_data(), x.detach()),
    SPELLING(x.to(arange(2)), x.to(kLong)),
    SPELLING(max(x, 0.5 * x), maximum(x, 0.5 * x)),
    SPELLING(min(x, 0.5 * x), minimum(x, 0.5 * x)),
    SPELLING(x.max(-x), maximum(x, -x)),
    SPELLING(x.min(-x), minimum(x, -x)),
    SPELLING(sum(x, kFloat32), sum(x.to(kFloat32))),
    SPELLING(sum(x, 1, true, kFloat32), sum(x.to(kFloat32), 1, true)),
    SPELLING(mean(x.to(kLong), kFloat64), mean(x.to(kLong).to(kFloat64))),
    SPELLING(nansum(x, 1, false, kFloat32), nansum(x.to(kFloat32), 1)),
    SPELLING(prod(x, kFloat32), prod(x.to(kFloat32))),
    SPELLING(prod(x, 1, false, kFloat32), prod(x.to(kFloat32), 1)),
    SPELLING(cumsum(x, 1, kFloat32), cumsum(x.to(kFloat32), 1)),
    SPELLING(cumprod(x, 1, kFloat32), cumprod(x.to(kFloat32), 1)),
    SPELLING(softmax(x, 1, kFloat32), softmax(x.to(kFloat32), 1)),
    SPELLING(x.softmax(1, kFloat32), softmax(x.to(kFloat32), 1)),
    SPELLING(x.softmax(1, std::nullopt), softmax(x, 1)),
    SPELLING(x.log_softmax(1, kFloat32), log_softmax(x.to(kFloat32), 1)),
    SPELLING(x.sum(1, true, kFloat32), sum(x.to(kFloat32), 1, true)),
    SPELLING(x.mean(1, false, kFloat32), mean(x.to(kFloat32), 1)),
    SPELLING(x.prod(1, false, kFloat32), prod(x.to(kFloat32), 1)),
    SPELLING(x.cumsum(1, kFloat32), cumsum(x.to(kFloat32), 1)),
    SPELLING(x.cumprod(1, kFloat32), cumprod(x.to(kFloat32), 1)),
    SPELLING(x.nansum(1, false, kFloat32), nansum(x.to(kFloat32), 1)),
    SPELLING(x.nanmean(1, true, kFloat32), nanmean(x.to(kFloat32), 1, true)),
    SPELLING(norm(x.to(kFloat32), 2, 1, false, kFloat64), norm(x.to(kFloat32).to(kFloat64), 2, 1)),
    SPELLING(std::get<1>(sort(x, true, 1, true)), std::get<1>(sort(x, 1, true))),
    SPELLING(std::get<0>(x.sort(std::optional<bool>(true), 1)), std::get<0>(sort(x, 1))),
    SPELLING(argsort(x, 1, true), x.argsort(1, true)),
    SPELLING(msort(x), std::get<0>(sort(x, 0))),
    SPELLING(std::get<0>(var_mean(x, 1, Scalar(0), true)), var(x, 1, false, true)),
    SPELLING(std::get<0>(std_mean(x, 1, std::nullopt)), x.std(1)),
    SPELLING(alias_copy(x), x),
    SPELLING(detach_copy(x), x),
    SPELLING(lift_fresh_copy(x), x),
    SPELLING(diagonal_copy(x, 1), diagonal(x, 1)),
    SPELLING(select_copy(x, 1, 2), select(x, 1, 2)),
    SPELLING(slice_copy(x, 2, 1, 3), slice(x, 2, 1, 3)),
    SPELLING(squeeze_copy(x.unsqueeze(1)), x),
    SPELLING(squeeze_copy(x.unsqueeze(1), {1}), x),
    SPELLING(unsqueeze_copy(x, 0), x.unsqueeze(0)),
    SPELLING(t_copy(x[0]), x[0].t()),
    SPELLING(transpose_copy(x, 0, 2), transpose(x, 0, 2)),
    SPELLING(unfold_copy(x, 2, 2, 1), x.unfold(2, 2, 1)),
    SPELLING(expand_copy(x.unsqueeze(0), {5, 2, 3, 4}), x.unsqueeze(0).expand({5, 2, 3, 4})),
    SPELLING(permute_copy(x, {2, 0, 1}), permute(x, {2, 0, 1})),
    SPELLING(view_copy(x, {6, 4}), x.view({6, 4})),
    SPELLING(view_copy(x, kLong), x.view(kLong)),
    SPELLING(as_strided_copy(x, {2, 2}, {1, 3}), as_strided(x, {2, 2}, {1, 3})),
    SPELLING(split_copy(x, 2, 1)[1], split(x, 2, 1)[1]),
    SPELLING(split_with_sizes_copy(x, {1, 3}, 2)[1], split_with_sizes(x, {1, 3}, 2)[1]),
    SPELLING(unbind_copy(x, 1)[2], unbind(x, 1)[2]),
    SPELLING(copy(x, 2 * x), 2 * x),
    SPELLING(resize(x, {3, 2}), x.view({-1}).slice(0, 0, 6).view({3, 2})),
    SPELLING(resize_as(x, x.view({6, 4})), x.view({6, 4})),
    SPELLING(x.tensor_split(tensor({1, 2}), 2)[1], x.tensor_split({1, 2}, 2)[1]),
    SPELLING(x.tensor_split(tensor(2), 2)[1], x.tensor_split(2, 2)[1]),
    SPELLING(bilinear(x[0], x[1], x.view({1, 4, 6}).slice(2, 0, 4)),
             nn::functional::bilinear(x[0], x[1], x.view({1, 4, 6}).slice(2, 0, 4))),
    SPELLING(pad_sequence({x[0], x[1][0].unsqueeze(0)}), nn::utils::rnn::pad_sequence({x[0], x[1][0].unsqueeze(0)})),
    SPELLING(flatten_dense_tensors({x[0], x[1]}), x.flatten()),
    SPELLING(unflatten_dense_tensors(x.flatten(), {x[0], x[1]})[1], x[1]),
    SPELLING(convolution(x, x, {}, 1, 1, 1, false, 0, 1), conv1d(x, x, {}, 1, 1)),
    SPELLING(convolution(x, x.unsqueeze(1), {}, 2, 1, {1, 1}, true, 0, 1),
             conv_transpose2d(x, x.unsqueeze(1), {}, 2, 1)),
    SPELLING(norm_except_dim(x, 2, 1), x.square().sum({0, 2}, true).sqrt()),
    SPELLING(norm_except_dim(x, 2, -1), x.norm()),
    SPELLING(special::modified_bessel_i0(x), i0(x)),
    SPELLING(special::legendre_polynomial_p(x, 3.0), special_legendre_polynomial_p(x, tensor(3))),
    SPELLING(native_channel_shuffle(x, 3), channel_shuffle(x, 3)),
    SPELLING(batch_norm(x, {}, {}, {}, {}, true, 0.1, 1e-3, true), batch_norm(x, {}, {}, {}, {}, true, 0.1, 1e-3)),
    SPELLING(layer_norm(x, {4}, {}, {}, 1e-3, true), layer_norm(x, {4}, {}, {}, 1e-3)),
    SPELLING(group_norm(x, 3, {}, {}, 1e-3, true), group_norm(x, 3, {}, {}, 1e-3)),
    SPELLING(instance_norm(x, {}, {}, {}, {}, true, 0.1, 1e-3, true),
             instance_norm(x, {}, {}, {}, {}, true, 0.1, 1e-3)),
    SPELLING(linear(x, x[0], std::nullopt), linear(x, x[0])),
    SPELLING(linear(x, x[0], std::optional<Tensor>(x[0].select(1, 0))), linear(x, x[0], x[0].select(1, 0))),
    SPELLING(std::get<1>(histogram(x, 3, std::nullopt, std::nullopt, true)),
             std::get<1>(histogram(x, 3, {}, {}, true))),
    SPELLING(nn::functional::gelu(x, nn::functional::GELUFuncOptions().approximate("tanh")), gelu(x, "tanh")),
    SPELLING(nn::GELU(nn::GELUOptions().approximate("tanh"))(x), gelu(x, "tanh")),
    SPELLING(gelu(x, "none"), gelu(x)),
};

}  // namespace

TEST_CASE("another spelling of an operation gives what the operation gives", "[names]") {
  for (const Spelling& row : kSpellings) {
    CAPTURE(row.name);
    CHECK(same(row.other(sample()), row.original(sample())));
  }
}
TEST_CASE("a copy of a view shares nothing with its tensor", "[names]") {
  const Tensor x = sample().clone();
  for (const Tensor& y : {alias_copy(x), select_copy(x, 0, 1), view_copy(x, {24}), unbind_copy(x)[0],
                          split_copy(x, 1)[1], copy(x, x), resize(x, {2})})
    CHECK_FALSE(y.is_alias_of(x));
}
TEST_CASE("a form with an output gives what the operation gives", "[names][out]") {
  const Tensor& x = sample();
  Tensor out = empty({0}, kFloat64), index = empty({0}, kLong), third = empty({0}, kFloat64);
  CHECK(same(matmul_out(out, x[0], x[1].t()), matmul(x[0], x[1].t())));
  const auto fresh = [&]() -> Tensor& { return out = empty({0}, kFloat64); };
  CHECK(same(mm_out(fresh(), x[0], x[1].t()), mm(x[0], x[1].t())));
  CHECK(same(addmm_out(fresh(), zeros({3, 3}, kFloat64), x[0], x[1].t(), 0.5, 2), 2 * mm(x[0], x[1].t())));
  CHECK(same(cat_out(fresh(), {x, x}, 1), cat({x, x}, 1)));
  CHECK(same(stack_out(fresh(), {x, x}), stack({x, x})));
  CHECK(same(index_select_out(fresh(), x, 2, tensor({3, 0})), index_select(x, 2, tensor({3, 0}))));
  CHECK(same(gather_out(fresh(), x, 0, zeros({1, 3, 4}, kLong)), x.slice(0, 0, 1)));
  CHECK(same(where_out(fresh(), x > 0, x, -x), x.abs()));
  CHECK(same(var_out(fresh(), x, {0, 1}, false), var(x, {0, 1}, false)));
  CHECK(same(std_out(fresh(), x, {1}, Scalar(0)), x.std(1, false)));
  CHECK(same(cumsum_out(fresh(), x, 1), cumsum(x, 1)));
  CHECK(same(prod_out(fresh(), x, 1, true), prod(x, 1, true)));
  CHECK(same(norm_out(fresh(), x, 1, {1}), norm(x, 1, {1})));
  CHECK(same(max_out(fresh(), x, -x), x.abs()));
  CHECK(same(max_out(fresh(), x), max(x)));
  CHECK(same(flip_out(fresh(), x, {0, 2}), flip(x, {0, 2})));
  CHECK(same(upsample_nearest1d_out(fresh(), x, {8}), upsample_nearest1d(x, {8})));
  CHECK(same(softmax_out(fresh(), x, 1), softmax(x, 1)));
  CHECK(same(linalg_inv_out(fresh(), eye(3, kFloat64) * 2), eye(3, kFloat64) / 2));
  Tensor integers = empty({0}, kLong);
  CHECK(same(arange_out(integers, 2, 11, 3), tensor({2, 5, 8})));
  CHECK(same(zeros_out(integers = empty({0}, kLong), {2, 2}), zeros({2, 2}, kLong)));
  CHECK(same(full_out(fresh(), {2}, 7), full({2}, 7, kFloat64)));
  CHECK(same(linspace_out(fresh(), 0, 1, 5), linspace(0, 1, 5, kFloat64)));
  CHECK(same(eye_out(fresh(), 2, 3), eye(2, 3, kFloat64)));
  CHECK(same(argmax_out(index, x, 1), argmax(x, 1)));

  sort_out(fresh(), index = empty({0}, kLong), x, 1, true);
  CHECK(same(out, std::get<0>(sort(x, 1, true))));
  CHECK(same(index, std::get<1>(sort(x, 1, true))));
  max_out(fresh(), index = empty({0}, kLong), x, 1);
  CHECK(same(index, std::get<1>(max(x, 1))));
  linalg_svd_out(fresh(), third, index = empty({0}, kFloat64), x[0], false);
  CHECK(same(third, std::get<1>(linalg_svd(x[0], false))));

  const void* memory = (out = empty({3, 3}, kFloat64)).data_ptr();
  matmul_out(out, x[0], x[1].t());
  CHECK(out.data_ptr() == memory);
  CHECK(same(matmul_out(out, x[0].t(), x[1]), matmul(x[0].t(), x[1])));  // warns, because it resizes a non-empty output
  CHECK_THROWS_WITH(matmul_out(integers, x[0], x[1].t()), Contains("matmul_out") && Contains("int64"));
  const Tensor leaf = x[0].clone().requires_grad_();
  CHECK_THROWS_WITH(matmul_out(out, leaf, x[1].t()), Contains("NoGradGuard"));
  const std::vector<Tensor> parts{empty({0}, kFloat64), empty({0}, kFloat64)};
  unbind_copy_out(parts, x);
  CHECK(same(parts[1], x[1]));
  split_with_sizes_copy_out(parts, x, {1, 3}, 2);
  CHECK(same(parts[1], x.narrow(2, 1, 3)));
  CHECK_THROWS_WITH(unbind_copy_out(parts, x, 1), Contains("unbind_copy_out"));
  CHECK(same(special::chebyshev_polynomial_t_out(fresh(), x, 2), 2 * x * x - 1));
}
TEST_CASE("what is done in place may be done to a const tensor, a gradient among them", "[names]") {
  const Tensor x = full({3}, 2.0).requires_grad_();
  (x * x * 2).sum().backward();
  x.grad().clamp_(-1, 1);
  CHECK(same(x.grad(), ones({3})));
  x.grad().zero_();
  CHECK(same(x.grad(), zeros({3})));
  const auto& rows = std::array{zeros({2})};
  rows[0].add_(1).round_(1);
  CHECK(same(rows[0], ones({2})));
}
TEST_CASE("a tensor tells of its place in a graph, and takes other data", "[names]") {
  const Tensor x = ones({2, 2}).requires_grad_(), y = x * 2, v = y[0];
  CHECK_FALSE(y.retains_grad());
  y.retain_grad();
  CHECK(y.retains_grad());
  CHECK(v.is_view());
  CHECK_FALSE(y.is_view());
  CHECK(std::get<1>(max(x, 1)).output_nr() == 0);
  CHECK(x.unbind()[1].output_nr() == 1);
  x.set_data(zeros({3}));
  CHECK(x.sizes() == IntArrayRef{3});
  CHECK(x.requires_grad());
  CHECK_THROWS_WITH(x.set_data(zeros({3}, kLong)), Contains("set_data"));
  CHECK_FALSE(is_complex(x));
  CHECK_FALSE(x.is_sparse());
  CHECK(is_floating_point(x));
}
TEST_CASE("the bytes of a tensor are seen as another dtype", "[names]") {
  const Tensor x = tensor({1.0f, -2.0f, 0.5f, 4.0f}).view({2, 2});
  CHECK(
      same(x.view(kInt),
           tensor({0x3f800000, int64_t(0xc0000000) - (int64_t(1) << 32), 0x3f000000, 0x40800000}, kInt).view({2, 2})));
  CHECK(x.view(kShort).sizes() == IntArrayRef{2, 4});
  CHECK(same(x.view(kByte).view(kFloat), x));
  CHECK(same(x[1].view(kByte).view(kFloat), x[1]));
  CHECK(x.view(kLong).sizes() == IntArrayRef{2, 1});
  CHECK_THROWS_WITH(x.t().view(kByte), Contains("view"));
  CHECK_THROWS_WITH(zeros({3}).view(kDouble), Contains("self.size(-1) must be divisible by 2"));
}
TEST_CASE("Bessel's and Airy's functions are their integrals and series", "[names][special]") {
  // J_n(x) is the mean over t in [0, pi] of cos(n t - x sin t). The midpoint rule gives it to the last digit.
  const auto integral = [](int n, double x) {
    double sum = 0;
    for (int k = 0; k < 400; ++k) {
      const double t = std::numbers::pi * (k + 0.5) / 400;
      sum += std::cos(n * t - x * std::sin(t));
    }
    return sum / 400;
  };
  const auto airy = [](double x) {
    double a = 1, b = x, f = a, g = b;
    for (int k = 1; k < 60; ++k) {
      f += a *= x * x * x / ((3 * k - 1) * (3 * k));
      g += b *= x * x * x / ((3 * k) * (3 * k + 1));
    }
    return 0.35502805388781723926 * f - 0.25881940379280679841 * g;
  };
  for (const double x : {0.5, 3.0, 7.0, 12.0}) {
    const Tensor at = tensor(x, kFloat64);
    CHECK(special::bessel_j0(at).item<double>() == Approx(integral(0, x)).margin(1e-14));
    CHECK(special::bessel_j1(at).item<double>() == Approx(integral(1, x)).margin(1e-14));
    // Wronskian: J_1 Y_0 - J_0 Y_1 = 2 / (pi x)
    const double wronskian =
        (special::bessel_j1(at) * special::bessel_y0(at) - special::bessel_j0(at) * special::bessel_y1(at))
            .item<double>();
    CHECK(wronskian == Approx(2 / (std::numbers::pi * x)).epsilon(1e-13));
  }
  for (const double x : {-4.0, -2.5, -0.3, 0.0, 0.3, 2.0})
    CHECK(special::airy_ai(tensor(x, kFloat64)).item<double>() == Approx(airy(x)).margin(1e-12));
  const Tensor leaf = ones({2}, kFloat64).requires_grad_();
  special::bessel_j0(leaf).sum().backward();
  CHECK(leaf.grad().allclose(-special::bessel_j1(leaf.detach()), 1e-12, 0));  // derivative: J_0' = -J_1
  CHECK_THROWS_AS(special::airy_ai(leaf).sum().backward(), Error);
}
TEST_CASE("steps of recurrent networks are those of the cells", "[names]") {
  const Tensor x = randn({2, 3}), h = randn({2, 4}), c = randn({2, 4});
  const nn::LSTMCell lstm(3, 4);
  const auto [h1, c1] = lstm_cell(x, {h, c}, lstm->weight_ih, lstm->weight_hh, lstm->bias_ih, lstm->bias_hh);
  const auto [h2, c2] = nn::LSTMCell(lstm)(x, std::make_tuple(h, c));
  CHECK(h1.allclose(h2, 1e-5, 1e-6));
  CHECK(c1.allclose(c2, 1e-5, 1e-6));
  nn::GRUCell gru(3, 4);
  CHECK(gru_cell(x, h, gru->weight_ih, gru->weight_hh, gru->bias_ih, gru->bias_hh).allclose(gru(x, h), 1e-5, 1e-6));
  nn::RNNCell rnn(3, 4);
  CHECK(
      rnn_tanh_cell(x, h, rnn->weight_ih, rnn->weight_hh, rnn->bias_ih, rnn->bias_hh).allclose(rnn(x, h), 1e-5, 1e-6));
  CHECK(rnn_relu_cell(x, h, rnn->weight_ih, rnn->weight_hh)
            .equal((linear(x, rnn->weight_ih) + linear(h, rnn->weight_hh)).relu()));
}
TEST_CASE("rows of an embedding become as short as was asked", "[names]") {
  Tensor weight = tensor({{3.0, 4.0}, {0.3, 0.4}, {6.0, 8.0}});
  const Tensor limited = embedding_renorm(weight, tensor({0, 1}), 1, 2);
  CHECK(limited.allclose(tensor({{0.6, 0.8}, {0.3, 0.4}, {6.0, 8.0}})));
  CHECK(embedding_renorm_(weight, tensor({0, 1}), 1, 2).equal(limited));
}
TEST_CASE("a permuted tensor lies as its layout says", "[names]") {
  CHECK(empty_permuted({2, 3, 4}, {0, 2, 1}).strides() == IntArrayRef{12, 1, 3});
  CHECK_THROWS_WITH(empty_permuted({2, 3}, {0, 0}), Contains("empty_permuted"));
  CHECK_THROWS_WITH(empty_permuted({2, 3}, {0}), Contains("empty_permuted"));
}
TEST_CASE("errors are of LibTorch's kinds", "[names][errors]") {
  const Tensor whole = arange(6), none = zeros({0}), x = sample();
  CHECK_THROWS_AS(softmax(whole, 0), NotImplementedError);
  CHECK_THROWS_AS(log_softmax(whole, 0), NotImplementedError);
  CHECK_THROWS_AS(whole.mean(), NotImplementedError);
  CHECK_THROWS_AS(whole.var(), NotImplementedError);
  CHECK_THROWS_AS(whole.norm(), NotImplementedError);
  CHECK_THROWS_AS(gelu(whole), NotImplementedError);
  CHECK_THROWS_AS((x > 0) - (x > 0), NotImplementedError);
  CHECK_THROWS_AS(none.argmax(), IndexError);
  CHECK_THROWS_AS(none.max(0), IndexError);
  CHECK_THROWS_AS(none.amax(0), IndexError);
  CHECK_THROWS_AS(none.median(0), IndexError);
  CHECK_THROWS_AS(x.narrow(0, 7, 1), IndexError);
}
TEST_CASE("a blob may lie with strides", "[names]") {
  std::array<double, 6> blob{0, 1, 2, 3, 4, 5};
  const Tensor x = from_blob(blob.data(), {3, 2}, {1, 3}, kFloat64);
  CHECK(same(x, tensor({{0.0, 3.0}, {1.0, 4.0}, {2.0, 5.0}}, kFloat64)));
  int gone = 0;
  {
    const Tensor y = from_blob(
        blob.data(), {2}, {2}, [&](void*) { ++gone; }, kFloat64);
  }
  CHECK(gone == 1);
  CHECK_THROWS_WITH(from_blob(blob.data(), {2}, {1, 1}, kFloat64), Contains("from_blob"));
  CHECK_THROWS_WITH(from_blob(blob.data(), {2}, {-1}, kFloat64), Contains("Negative strides are not supported"));
}
TEST_CASE("a Scalar has LibTorch's conversions, and prints as LibTorch's", "[names]") {
  CHECK(Scalar(2.5).toDouble() == 2.5);
  CHECK(Scalar(2.5).toFloat() == 2.5f);
  CHECK(Scalar(7).toInt() == 7);
  CHECK(Scalar(7).toLong() == 7);
  CHECK(Scalar(1).toBool());
  CHECK(float(Scalar(1.5).toHalf()) == 1.5f);
  CHECK(Scalar(7).isIntegral(false));
  CHECK_FALSE(Scalar(true).isIntegral(false));
  CHECK(Scalar(true).isIntegral(true));
  CHECK(Scalar(true).isBoolean());
  CHECK(Scalar(1.0).isFloatingPoint());
  std::ostringstream text;
  text << Scalar(true) << " " << Scalar(2) << " " << Scalar(2.5);  // expected text: the output of LibTorch 2.15
  CHECK(text.str() == "true 2 2.5");
  const Half h = 1.5f;
  const BFloat16 b = 2.5f;
  CHECK(float(h) + float(b) == 4);
}
TEST_CASE("products of half types keep their sums in float32", "[names]") {
  // 2049 is neither a float16 nor a bfloat16: a rounded result would be 2048
  for (const DType type : {kFloat16, kBFloat16}) {
    const Tensor a = full({1, 3}, 1, type), b = tensor({2048.0, 1.0, 0.0}, type).view({3, 1}), c = zeros({1, 1}, type);
    CHECK(same(mm(a, b, kFloat32), full({1, 1}, 2049.0, kFloat32)));
    CHECK(same(bmm(a.unsqueeze(0), b.unsqueeze(0), kFloat32), full({1, 1, 1}, 2049.0, kFloat32)));
    CHECK(same(addmm(c + 3, a, b, kFloat32, 1, 0.5), full({1, 1}, 1027.5, kFloat32)));
    CHECK(
        same(baddbmm(c.unsqueeze(0) + 3, a.unsqueeze(0), b.unsqueeze(0), kFloat32), full({1, 1, 1}, 2052.0, kFloat32)));
  }
  const Tensor x = sample()[0];
  CHECK(same(mm(x, x.t(), kFloat64), x.mm(x.t())));
}
