// Tests edge cases against values and errors of PyTorch 2.15: NaN, infinities, empty inputs, integer dtypes and inputs
// with a single slice.
#include <limits>

#include "tandem/tandem.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/mistakes.h"

namespace tandem {
namespace F = nn::functional;
namespace {
constexpr DType kIntegers[] = {kUInt8, kInt8, kInt16, kInt32, kInt64};
Tensor counted(IntArrayRef sizes, DType dtype = kFloat32) {
  return arange(numel_of(sizes), kInt64).view(sizes).to(dtype);
}
/// Returns 2 * sin(0), 2 * sin(1), ... in the given shape, as a leaf.
Tensor sines(IntArrayRef sizes) { return (counted(sizes).sin() * 2).detach().requires_grad_(); }
bool close(const Tensor& x, const Tensor& expected) {
  return x.sizes() == expected.sizes() &&
         x.to(kFloat64).allclose(expected.to(kFloat64), 1e-4, 1e-5);  // PyTorch's numbers were printed with five digits
}
}  // namespace

TEST_CASE("rms_norm's default eps is that of the type it computes in", "[edges]") {
  const Tensor x = (counted({2, 4}).sin() * 2e-3);
  for (const DType type : {kFloat16, kBFloat16}) {
    CAPTURE(type);
    const Tensor given = x.to(type), wide = given.to(kFloat32);
    const Tensor y = wide * (wide.square().mean(IntArrayRef{-1}, true) + 1.1920929e-7).rsqrt();
    CHECK(rms_norm(given, {4}).equal(y.to(type)));
  }
}

TEST_CASE("embedding takes a negative padding_idx for none, and F::embedding counts it from the end", "[edges]") {
  const Tensor index = tensor({0, 2, 1, 2});
  const auto gradient = [&](const auto& rows_of) {
    const Tensor w = sines({3, 2});
    rows_of(w).sum().backward();
    return w.grad().select(1, 0).contiguous();
  };
  const Tensor all = tensor({1.f, 1.f, 2.f}), without_last = tensor({1.f, 1.f, 0.f});
  CHECK(gradient([&](const Tensor& w) { return embedding(w, index); }).equal(all));
  for (const int64_t none : {-1, -2, 7})
    CHECK(gradient([&](const Tensor& w) { return embedding(w, index, none); }).equal(all));
  CHECK(gradient([&](const Tensor& w) { return embedding(w, index, 2); }).equal(without_last));
  const auto options = F::EmbeddingFuncOptions().padding_idx(-1);
  CHECK(gradient([&](const Tensor& w) { return F::embedding(index, w, options); }).equal(without_last));
  CHECK_THROWS_WITH(F::embedding(index, ones({3, 2}), F::EmbeddingFuncOptions().padding_idx(-4)),
                    Contains("Padding_idx must be within num_embeddings, -3 through 2, but got -4"));
}

TEST_CASE("a query that may look at no key is NaN in attention modules, as in LibTorch", "[edges]") {
  const Tensor x = sines({3, 2, 4}).detach(), hidden = zeros({3, 3}, kBool), padded = zeros({2, 3}, kBool);
  hidden[1].fill_(true), padded[1].fill_(true);
  const Tensor added = zeros({3, 3}).masked_fill(hidden, -INFINITY);
  nn::MultiheadAttention m(4, 2);
  nn::TransformerEncoderLayer encoder(nn::TransformerEncoderLayerOptions(4, 2).dropout(0));
  nn::TransformerDecoderLayer decoder(nn::TransformerDecoderLayerOptions(4, 2).dropout(0));
  // y is (L, N, E): NaN at index 1 of `dim`, finite everywhere else
  const auto check = [](const Tensor& y, int64_t dim) {
    CHECK(y.select(dim, 1).isnan().all().item<bool>());
    CHECK(y.isfinite().sum().item<int64_t>() == y.numel() - y.select(dim, 1).numel());
  };
  for (const Tensor& mask : {hidden, added}) {
    for (const bool weights : {true, false}) check(std::get<0>(m(x, x, x, Tensor(), weights, mask)), 0);
    check(encoder(x, mask), 0);
    check(decoder(x, x, mask), 0);
  }
  for (const bool weights : {true, false}) check(std::get<0>(m(x, x, x, padded, weights)), 1);
  check(encoder(x, Tensor(), padded), 1);
}

TEST_CASE("statistics of half types come in the types that PyTorch gives", "[edges]") {
  const Tensor x = counted({2, 4, 3}).sin().to(kFloat16), w = ones({3});
  CHECK(std::get<1>(native_layer_norm(x, {3}, {}, {}, 1e-5)).dtype() == kFloat16);
  CHECK(std::get<2>(native_layer_norm(x, {3}, w, {}, 1e-5)).dtype() == kFloat32);
  CHECK(std::get<1>(native_group_norm(x, {}, {}, 2, 4, 3, 2, 1e-5)).dtype() == kFloat16);
  CHECK(std::get<2>(native_batch_norm(x, {}, {}, {}, {}, true, 0.1, 1e-5)).dtype() == kFloat16);
}

TEST_CASE("transposed convolutions have gradients where output_padding is a stride or more", "[edges]") {
  const auto gradients = [](const Tensor& y, const Tensor& x, const Tensor& w) {
    const auto both = autograd::grad({(y * y).sum()}, {x, w});
    return std::pair(both[0].flatten(), both[1].flatten());
  };
  {
    const Tensor x = sines({1, 2, 3}), w = sines({2, 1, 2}), y = conv_transpose1d(x, w, {}, 1, 0, 2, 1, 3);
    CHECK(close(y.flatten(), tensor({0.51328, -2.7526, -3.4878, 0.079659, 2.4051, 2.5193, 0., 0.})));
    const auto both = autograd::grad({y.sum()}, {x, w});
    CHECK(close(both[0].flatten(), tensor({1.6829, 1.6829, 1.6829, 2.1008, 2.1008, 2.1008})));
    CHECK(close(both[1].flatten(), tensor({3.5015, 3.5015, -3.1492, -3.1492})));
  }
  {
    const Tensor x = sines({1, 2, 3, 3}), w = sines({2, 1, 2, 2});
    const auto [dx, dw] = gradients(conv_transpose2d(x, w, {}, 2, 1, {2, 3}, 1, 4), x, w);
    CHECK(close(dx.narrow(0, 0, 6), tensor({2.8131, 17.846, 20.894, -4.9121, -25.336, -44.041})));
    CHECK(close(dw, tensor({37.29, 59.32, 97.647, -3.2816, -28.376, -42.447, -85.766, 29.694})));
  }
  {
    const Tensor x = sines({1, 2, 2, 2, 2}), w = sines({2, 1, 2, 2, 2});
    const auto [dx, dw] = gradients(conv_transpose3d(x, w, {}, 1, 0, {2, 1, 2}, 1, 3), x, w);
    CHECK(close(dx.narrow(0, 0, 6), tensor({-2.1433, 46.994, 52.926, 10.197, -41.906, -55.481})));
    CHECK(close(dw.narrow(0, 0, 6), tensor({-2.1433, 46.994, 52.926, 10.197, -41.906, -55.481})));
  }
}

TEST_CASE("unique of one slice, of slices of one element, and of none", "[edges]") {
  const Tensor one = tensor({{0.f, 2.f, 1.f}}), place = zeros({1}, kInt64), count = ones({1}, kInt64);
  const auto check = [&](const std::tuple<Tensor, Tensor, Tensor>& all) {
    CHECK(std::get<0>(all).equal(one));
    CHECK(std::get<1>(all).equal(place));
    CHECK(std::get<2>(all).equal(count));
  };
  check(unique_dim(one, 0, true, true, true));
  check(unique_dim_consecutive(one, 0, true, true));
  check(unique_consecutive(one, true, true, 0));
  CHECK(std::get<0>(unique_dim(one.t(), 1, true, true, true)).equal(one.t()));
  CHECK(std::get<0>(unique_dim(one.t(), 0, true, true, true)).equal(tensor({{0.f}, {1.f}, {2.f}})));
  CHECK(std::get<0>(unique_dim(zeros({0, 3}), 0, true, true, true)).sizes() == IntArrayRef({0, 3}));
  CHECK(std::get<0>(unique_consecutive(zeros({1, 1}), true, true, 1)).sizes() == IntArrayRef({1, 1}));
}

TEST_CASE("products and pools of integers are integers", "[edges]") {
  for (const DType type : kIntegers) {
    CAPTURE(type);
    const Tensor a = counted({3, 2, 2}, kInt64).remainder(2).add(1).to(type), b = a[0];
    CHECK(addbmm(b, a, a).equal(tensor({{10, 20}, {10, 20}}).to(type)));
    CHECK(conv1d(counted({1, 1, 4}, type), b.view({1, 1, 4}).narrow(2, 0, 2)).equal(tensor({{{2, 5, 8}}}).to(type)));
    const Tensor image = counted({1, 1, 4, 4}, type);
    const Tensor kernel = counted({2, 1, 2, 2}, kInt64).remainder(3).to(type), bias = ones({2}, type);
    CHECK(conv2d(image, kernel, bias, 2, 1, 2)
              .equal(conv2d(image.to(kFloat64), kernel.to(kFloat64), bias.to(kFloat64), 2, 1, 2).to(kInt64).to(type)));
    const Tensor pair = cat({image, image}, 1);
    CHECK(conv2d(pair, kernel, {}, 1, 0, 1, 2)
              .equal(conv2d(pair.to(kFloat64), kernel.to(kFloat64), {}, 1, 0, 1, 2).to(kInt64).to(type)));
    CHECK(
        conv3d(pair.unsqueeze(1), kernel.view({1, 1, 2, 2, 2}))
            .equal(
                conv3d(pair.unsqueeze(1).to(kFloat64), kernel.view({1, 1, 2, 2, 2}).to(kFloat64)).to(kInt64).to(type)));
    CHECK(max_pool2d(image, 2).flatten().equal(tensor({5, 7, 13, 15}).to(type)));
    CHECK(std::get<1>(max_pool2d_with_indices(image, 2)).flatten().equal(tensor({5, 7, 13, 15})));
    CHECK(max_pool3d(counted({1, 1, 2, 2, 2}, type), 2).item<int64_t>() == 7);
    CHECK(close(cosine_embedding_loss(counted({2, 3}, type), counted({2, 3}).flip({1}).to(type), tensor({1, -1})),
                tensor(0.86)));
  }
  const Tensor image = counted({1, 1, 4, 4}, kInt64);
  CHECK(avg_pool2d(image, 2).flatten().equal(tensor({2, 4, 10, 12})));
  CHECK(avg_pool2d(image.neg(), 2).flatten().equal(tensor({-2, -4, -10, -12})));  // integer averages round towards zero
  CHECK(avg_pool2d(image, 2, 2, 1).flatten().equal(tensor({0, 0, 0, 3, 7, 4, 3, 6, 3})));
  CHECK(avg_pool2d(image, 2, 2, 1, false, false).flatten().equal(tensor({0, 1, 3, 6, 7, 9, 12, 13, 15})));
  CHECK(avg_pool2d(image, 2, 2, 0, false, true, 3).flatten().equal(tensor({3, 6, 14, 16})));
  CHECK(avg_pool2d(image, 3, 2, 0, true)
            .flatten()
            .equal(avg_pool2d(image.to(kFloat64), 3, 2, 0, true).trunc().flatten().to(kInt64)));
  CHECK(avg_pool1d(counted({1, 1, 4}, kInt64), 2).flatten().equal(tensor({0, 2})));
  CHECK(avg_pool3d(counted({1, 1, 2, 2, 2}, kInt64), 2).item<int64_t>() == 3);
  CHECK(max_pool2d(full({1, 1, 2, 2}, int64_t{1} << 60), 2).item<int64_t>() == int64_t{1} << 60);
  CHECK_THROWS_WITH(avg_pool2d(image.to(kInt32), 2), Contains("not implemented for 'int32'; accepted: floating point"));
}

TEST_CASE("a mean keeps nothing, so that a second backward may go through it", "[edges]") {
  for (const DType type : {kFloat32, kFloat16}) {
    const Tensor x = counted({4, 2}, type).requires_grad_(), all = x.mean(), rows = x.mean(0);
    for (int i = 0; i < 2; ++i) all.backward(), rows.sum().backward();
    CHECK(x.grad().equal(full({4, 2}, 0.75, type)));  // summed over two backwards: 2 * (1 / 8 + 1 / 4)
  }
}

TEST_CASE("as_strided of a tensor that holds elements more than once has PyTorch's gradient", "[edges]") {
  const auto gradient = [](const Tensor& leaf, const Tensor& x, IntArrayRef sizes, IntArrayRef strides) {
    return autograd::grad({(x.as_strided(sizes, strides) * counted(sizes)).sum()}, {leaf})[0].contiguous();
  };
  const Tensor a = sines({3}), leaf = sines({3}).expand({2, 3}).detach().requires_grad_();
  CHECK(gradient(a, a.expand({2, 3}), {2, 2}, {0, 1}).equal(tensor({2.f, 4.f, 0.f})));
  CHECK(gradient(leaf, leaf, {2, 2}, {0, 1}).equal(tensor({{1.f, 2.f, 0.f}, {1.f, 2.f, 0.f}})));
  CHECK(gradient(leaf, leaf, {2, 2}, {1, 1}).equal(tensor({{0.f, 1.5f, 1.5f}, {0.f, 1.5f, 1.5f}})));
  const Tensor overlapping = sines({4}).as_strided({2, 2}, {1, 1}).detach().requires_grad_();
  CHECK(gradient(overlapping, overlapping, {3}, {1}).equal(tensor({{0.f, .5f}, {.5f, 2.f}})));
}

TEST_CASE("pow of bools by a bool", "[edges]") {
  const Tensor b = tensor({true, false});
  CHECK(b.pow(true).equal(b));
  CHECK(pow(b, false).equal(tensor({true, true})));
  CHECK(b.pow(2).equal(tensor({1, 0})));
  CHECK(b.clone().pow_(true).equal(b));
  CHECK_THROWS(pow(b, b));
}

TEST_CASE("Bessel functions have the derivatives that PyTorch has", "[edges]") {
  using Function = Tensor (*)(const Tensor&);
  const auto check = [](Function f, const Tensor& x, const Tensor& expected) {
    const Tensor at = x.detach().requires_grad_();
    CHECK(close(autograd::grad({f(at).sum()}, {at})[0], expected));
  };
  const Tensor x = tensor({0.5, 1.7, 3.0});
  check(special_bessel_j0, x, tensor({-0.242268457675, -0.577765231529, -0.339058958528}));
  check(special_bessel_j1, x, tensor({0.453932891892, 0.0581229585467, -0.37307160775}));
  check(special_bessel_y0, x, tensor({1.47147239267, 0.284726245064, -0.324674424796}));
  check(special_bessel_y1, x, tensor({2.49842605183, 0.61951302669, 0.268625201753}));
  check(special_modified_bessel_k0, x, tensor({-1.656441120003, -0.209362488204, -0.0401564311282}));
  check(special_modified_bessel_k1, x, tensor({-4.237301311234, -0.288650722883, -0.0481249814294}));
  check(special_bessel_j1, tensor({0.0, -1.2}), tensor({0.5, 0.255891862958}));
  CHECK(autograd::gradgradcheck(
      [](const autograd::variable_list& in) -> autograd::variable_list {
        return {special_bessel_j1(in[0]), special_bessel_y0(in[0]), special_modified_bessel_k1(in[0])};
      },
      {x.to(kFloat64).requires_grad_()}));
}

TEST_CASE("grid_sample of no images and of no channels", "[edges]") {
  const auto sample = [](IntArrayRef sizes, IntArrayRef grid) {
    const Tensor x = zeros(sizes).requires_grad_(), g = zeros(grid).requires_grad_();
    const Tensor y = F::grid_sample(x, g, F::GridSampleFuncOptions().align_corners(false));
    y.sum().backward();
    CHECK(x.grad().sizes() == sizes);
    CHECK(g.grad().equal(zeros(grid)));
    return y.sizes().vec();
  };
  CHECK(sample({0, 2, 3, 3}, {0, 2, 4, 2}) == std::vector<int64_t>{0, 2, 2, 4});
  CHECK(sample({1, 0, 3, 3}, {1, 2, 4, 2}) == std::vector<int64_t>{1, 0, 2, 4});
  CHECK(sample({0, 2, 3, 3, 3}, {0, 2, 4, 5, 3}) == std::vector<int64_t>{0, 2, 2, 4, 5});
  CHECK_THROWS_WITH(sample({1, 2, 0, 3}, {1, 2, 4, 2}),
                    Contains("expected input to have non-empty spatial dimensions"));
}

TEST_CASE("any integer of no dimension indexes, and uint8 is a mask", "[edges]") {
  const Tensor x = counted({3, 2});
  for (const DType type : {kInt8, kInt16, kInt32, kInt64}) CHECK(x.index({tensor(1, type)}).equal(x[1]));
  CHECK(x.index({tensor(1, kUInt8)}).equal(x.unsqueeze(0)));
  CHECK(x.index({tensor(0, kUInt8)}).sizes() == IntArrayRef({0, 3, 2}));
  CHECK(x.index({indexing::Slice(), tensor(1, kUInt8)}).equal(x.unsqueeze(1)));
  CHECK(x.index({tensor({1, 0, 1}, kUInt8)}).equal(x.index({tensor({0, 2})})));
  CHECK(x.index({tensor({{1, 0}, {0, 1}, {0, 0}}, kUInt8)}).equal(tensor({0.f, 3.f})));
  Tensor y = zeros({3});
  y.index_put_({tensor({1, 0, 1}, kUInt8)}, 4);
  CHECK(y.equal(tensor({4.f, 0.f, 4.f})));
  CHECK_THROWS_WITH(x.index({tensor({1, 0}, kInt16)}),
                    Contains("tensors used as indices must be long, int, byte or bool tensors, got int16"));
}

TEST_CASE("index_put_ drops leading dimensions of 1 that a value has too many", "[edges]") {
  using indexing::Slice;
  const auto put = [](indexing::TensorIndex at, IntArrayRef sizes) {
    Tensor x = zeros({3, 2});
    x.index_put_({at}, ones(sizes));
    return x.sum().item<int64_t>();
  };
  CHECK(put(Slice(0, 2), {1, 1, 2}) == 4);
  CHECK(put(0, {1, 1, 2}) == 2);
  CHECK(put(tensor({0, 2}), {1, 1, 2, 2}) == 4);
  CHECK(put(tensor({true, false, true}), {1, 1, 2}) == 4);
  CHECK_THROWS(put(Slice(0, 2), {2, 1, 2}));
  const Tensor v = ones({1, 1, 2}).requires_grad_();
  Tensor x = zeros({3, 2});
  x.index_put_({tensor({0, 2})}, v);
  (x * counted({3, 2})).sum().backward();
  CHECK(v.grad().flatten().equal(tensor({4.f, 6.f})));
}

TEST_CASE("dropout of channels asks for channels only where it draws", "[edges]") {
  const Tensor x = ones({4});
  for (const auto op : {feature_alpha_dropout, feature_dropout}) {
    CHECK(op(x, 0.5, false).equal(x));
    CHECK(op(x, 0, true).equal(x));
    CHECK(op(x, 1, true).equal(zeros({4})));
    CHECK(op(ones({}), 1, true).equal(zeros({})));
    CHECK_THROWS_WITH(op(x, 0.5, true), Contains("Feature dropout requires at least 2 dimensions in the input"));
  }
}

TEST_CASE("any and all over an empty list of dimensions are the elements' own", "[edges]") {
  const Tensor b = tensor({{true, false}});
  CHECK(b.any(IntArrayRef{}).equal(b));
  CHECK(b.all(IntArrayRef{}, true).equal(b));
  CHECK(tensor({2., 0.}).all(IntArrayRef{}).equal(tensor({true, false})));
  CHECK(tensor({2, 0}, kUInt8).any(IntArrayRef{}).equal(tensor({1, 0}, kUInt8)));
  // unlike any and all, the other reductions reduce all dimensions
  CHECK(tensor({2., 0.}).sum(IntArrayRef{}).item<double>() == 2);
}

TEST_CASE("what PyTorch refuses is refused, with a sentence", "[edges]") {
  const Tensor x = ones({2}), image = zeros({1, 2, 4, 4});
  test::check({
      {"to", [&] { x.to(TensorOptions(kFloat64).requires_grad(true)); }, {"to: the options have requires_grad(true)"}},
      {"Hardtanh",
       [] { nn::Hardtanh(nn::HardtanhOptions().min_val(1).max_val(1)); },
       {"Hardtanh: max_val must be greater than min_val, but got max_val 1 and min_val 1"}},
      {"Dropout", [] { nn::Dropout(1.5); }, {"Dropout: dropout probability has to be between 0 and 1, but got 1.5"}},
      {"Dropout2d",
       [] { nn::Dropout2d(-.5); },
       {"Dropout2d: dropout probability has to be between 0 and 1, but got -0.5"}},
      {"Dropout3d", [] { nn::Dropout3d(1.5); }, {"Dropout3d: ", "but got 1.5"}},
      {"AlphaDropout", [] { nn::AlphaDropout(1.5); }, {"AlphaDropout: ", "but got 1.5"}},
      {"FeatureAlphaDropout", [] { nn::FeatureAlphaDropout(1.5); }, {"FeatureAlphaDropout: ", "but got 1.5"}},
      {"lists",
       [] {
         tensor({{1, 2}, {3., 4.}});
       },
       {"tensor: Expected all elements of the tensor to have the same scalar type: int64, but got", "float32"}},
      {"a list of numbers of 16 and of 64 bits",
       [] {
         tensor({int16_t{1}, int16_t{2}}), tensor({{int16_t{1}}, {2}});
       },
       {"same scalar type: int16, but got element of scalar type: int64"}},
      {"index", [&] { x.index(ArrayRef<indexing::TensorIndex>()); }, {"index: the list of indices is empty"}},
      {"index_put_", [&] { x.index_put_(ArrayRef<indexing::TensorIndex>(), x); }, {"index_put_: the list of indices"}},
      {"ParameterDict",
       [] {
         nn::ParameterDict a, b;
         a->insert("x", ones({1})), b->insert("y", ones({1}));
         a->update(*b);
       },
       {"y"}},
      {"Conv2d",
       [] { nn::Conv2d(nn::Conv2dOptions(2, 0, 3)); },
       {"Conv2d: in_channels, groups and out_channels must be a positive integer"}},
      {"ConvTranspose3d",
       [&] { nn::ConvTranspose3d(nn::ConvTranspose3dOptions(1, 1, 2).padding_mode(kCircular))(image); },
       // constructing the module succeeds, as in LibTorch
       {"Only `zeros` padding mode is supported for ConvTranspose3d, got circular"}},
      {"unique_dim",
       [] {
         unique_dim(zeros({0, 0}), 0);
       },
       {"There are 0 sized dimensions"}},
      {"conv1d",
       [&] {
         conv1d(image[0], ones({0, 4, 2}));
       },
       {"Given groups=1, expected weight to be at least 1 at dimension 0"}},
      {"conv2d",
       [&] {
         conv2d(image, ones({0, 2, 2, 2}));
       },
       {"Given groups=1, expected weight to be at least 1 at dimension 0"}},
      {"conv3d",
       [&] {
         conv3d(image.unsqueeze(0), ones({0, 1, 1, 2, 2}));
       },
       {"Given groups=1, expected weight to be at least 1 at dimension 0"}},
      {"conv_transpose2d",
       [&] {
         conv_transpose2d(image, ones({2, 0, 2, 2}));
       },
       {"at least one output channel"}},
      {"conv_transpose3d",
       [&] {
         conv_transpose3d(image.unsqueeze(0), ones({1, 0, 1, 2, 2}));
       },
       {"at least one output channel"}},
  });
  // only forward() rejects the padding mode
  nn::ConvTranspose1d(nn::ConvTranspose1dOptions(1, 1, 2).padding_mode(kReflect));
  // without weights and running statistics, the module accepts any number of channels
  CHECK(nn::InstanceNorm2d(2)(zeros({2, 3, 2, 2})).sizes() == IntArrayRef({2, 3, 2, 2}));
  // only the Hardtanh module rejects min_val above max_val
  CHECK(hardtanh(counted({3}), 1, -1).equal(full({3}, -1.f)));
}

TEST_CASE("what has no elements is accepted where PyTorch accepts it, and keeps its history", "[edges]") {
  const Tensor bytes = zeros({0}, kUInt8), x = arange(3, kFloat32).requires_grad_(), none = zeros({0}).requires_grad_();
  CHECK(x.gather(0, bytes).sizes() == IntArrayRef{0});
  CHECK(x.scatter(0, bytes, none).equal(x));
  CHECK(x.scatter_add(0, zeros({0}), none).equal(x));
  CHECK(x.scatter_reduce(0, zeros({0}, kInt8), none, "prod").equal(x));
  CHECK_THROWS_WITH(x.index_select(0, zeros({0})), Contains("Expected dtype int32/int64 for index"));

  const Tensor taken = ones({2}).requires_grad_();
  ones({2, 1}).masked_scatter(zeros({2, 0}, kBool), taken).sum().backward();
  CHECK(taken.grad().equal(zeros({2})));
  const Tensor product = zeros({0, 2}).requires_grad_().prod(0);
  CHECK(product.requires_grad());
  CHECK(product.detach().equal(ones({2})));

  const Tensor none_of_x = ones({2, 3}).requires_grad_(), left = zeros({2, 0}).requires_grad_();
  const Tensor empty_gradient =
      autograd::grad({none_of_x.repeat({0, 1})}, {none_of_x}, {zeros({0, 3}).requires_grad_()}, true, true)[0];
  CHECK(empty_gradient.equal(zeros({2, 3})));
  CHECK_FALSE(empty_gradient.requires_grad());
  const Tensor seed = zeros({0, 3}).requires_grad_();
  CHECK(autograd::grad({none_of_x.repeat_interleave(0, 0)}, {none_of_x}, {seed}, true, true)[0].requires_grad());
  for (const double p : {0.0, 2.0, std::numeric_limits<double>::infinity()}) {
    const Tensor distances = cdist(left, zeros({3, 0}), p);
    CHECK(distances.equal(zeros({2, 3})));
    CHECK(autograd::grad({distances.sum()}, {left}, {}, true, true)[0].requires_grad());
  }
}

TEST_CASE("normalisations and pads refuse no channels and no pixels where PyTorch does", "[edges]") {
  for (const detail::Shape& sizes : {detail::Shape{2, 0, 2}, detail::Shape{2, 3, 0}})
    CHECK_THROWS_WITH(group_norm(zeros(sizes), 3), Contains("only the batch size may be 0"));
  CHECK(group_norm(zeros({0, 3, 2}), 3).sizes() == IntArrayRef{0, 3, 2});
  const Tensor none = zeros({0}), x = zeros({2, 0, 3});
  CHECK_THROWS_WITH(batch_norm(x, none, {}, {}, {}, true, 0.1, 1e-5), Contains("one channel or more"));
  CHECK_THROWS_WITH(batch_norm(x, {}, none, {}, {}, true, 0.1, 1e-5), Contains("one channel or more"));
  CHECK(batch_norm(x, {}, {}, none, none, true, 0.1, 1e-5).sizes() == x.sizes());
  CHECK_THROWS_WITH(instance_norm(x, {}, none, {}, {}, true, 0.1, 1e-5), Contains("samples and channels"));
  CHECK_THROWS_WITH(instance_norm(zeros({0, 3, 3}), ones({3}), {}, {}, {}, true, 0.1, 1e-5),
                    Contains("samples and channels"));
  CHECK(instance_norm(x, {}, {}, {}, {}, true, 0.1, 1e-5).sizes() == x.sizes());
  for (const char* const mode : {"reflect", "replicate"}) {
    for (const detail::Shape& sizes : {detail::Shape{1, 0, 3}, detail::Shape{0, 3}})
      CHECK_THROWS_WITH(tandem::pad(zeros(sizes), {1, 1}, mode),
                        Contains("tensor with possibly 0 batch size and other non-zero dimensions"));
    CHECK_THROWS_WITH(tandem::pad(zeros({2, 3, 0, 3}), {1, 1, 0, 0}, mode),
                      Contains("tensor with possibly 0 batch size and other non-zero dimensions"));
    CHECK(tandem::pad(zeros({0, 2, 3}), {1, 1}, mode).sizes() == IntArrayRef{0, 2, 5});
  }
  CHECK(tandem::pad(zeros({1, 0, 3}), {1, 1}, "circular").sizes() == IntArrayRef{1, 0, 5});
}

TEST_CASE("distances and cross products are those of one dtype", "[edges]") {
  CHECK_THROWS_WITH(cdist(ones({2, 3}), ones({2, 3}, kFloat64)), Contains("float32") && Contains("float64"));
  CHECK_THROWS_WITH(ones({3}).cross(ones({3}, kBFloat16)), Contains("float32") && Contains("bfloat16"));
  CHECK_THROWS_WITH(linalg_cross(ones({3}), ones({3}, kInt64)),
                    Contains("to have the same dtype, but got: float32 != int64"));
}

TEST_CASE("addr gives the dtype that its three operands promote to", "[edges]") {
  const Tensor v = ones({2});
  CHECK(zeros({2, 2}, kBFloat16).addr(v, v).dtype() == kFloat32);
  CHECK(zeros({}, kFloat64).addr(v, v).dtype() == kFloat64);
  CHECK(zeros({2, 2}, kInt64).addr(v.to(kInt64), v).dtype() == kFloat32);
  const Tensor x = zeros({2, 2}).requires_grad_(), a = ones({2}, kFloat64).requires_grad_();
  const Tensor y = x.addr(a, a);
  CHECK(y.dtype() == kFloat64);
  y.sum().backward();
  CHECK(x.grad().equal(ones({2, 2})));
  CHECK(a.grad().equal(full({2}, 4.0, kFloat64)));
}

}  // namespace tandem
