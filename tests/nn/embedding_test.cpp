// Tests Embedding, EmbeddingBag and Bilinear against PyTorch (fixtures/modules.json), and parameters as one vector.
#include "tandem/nn/embedding.h"

#include "tandem/nn/utils/convert_parameters.h"
#include "tandem/tests/nn/module_rows.h"

namespace tandem {
namespace F = nn::functional;
using test::check_module;
using test::Tensors;

TEST_CASE("tables and bags give PyTorch's rows and gradients", "[nn][embedding]") {
  using nn::Embedding, nn::EmbeddingBag, nn::EmbeddingBagOptions, nn::EmbeddingOptions;
  const Embedding scaled(EmbeddingOptions(5, 3).padding_idx(-2).scale_grad_by_freq(true));
  check_module("embedding/scaled", *scaled, [&](const Tensors& in) { return Tensors{scaled(in[0])}; });
  const Embedding limited(EmbeddingOptions(5, 3).max_norm(0.5).norm_type(1.5));
  check_module("embedding/norm", *limited, [&](const Tensors& in) {
    return Tensors{limited(in[0]), limited->weight.detach()};
  });

  const auto check_bag = [](const char* name, const EmbeddingBagOptions& options) {
    const EmbeddingBag m(options);
    check_module(name, *m,
                 [&](const Tensors& in) { return Tensors{in.size() > 1 ? m(in[0], in[1].to(kInt64)) : m(in[0])}; });
  };
  check_bag("bag/mean", EmbeddingBagOptions(5, 3));
  check_bag("bag/mean/offsets", EmbeddingBagOptions(5, 3).padding_idx(2));
  check_bag("bag/sum", EmbeddingBagOptions(5, 3).mode(kSum).scale_grad_by_freq(true).include_last_offset(true));
  check_bag("bag/max", EmbeddingBagOptions(5, 3).mode(kMax).padding_idx(0).max_norm(0.75));
  check_bag("bag/max/offsets", EmbeddingBagOptions(5, 3).mode(kMax));
  const EmbeddingBag weighed(EmbeddingBagOptions(5, 3).mode(kSum).padding_idx(1));
  check_module("bag/sum/weights", *weighed,
               [&](const Tensors& in) { return Tensors{weighed(in[0], Tensor(), in[1])}; });
}

TEST_CASE("tables that exist are taken over", "[nn][embedding]") {
  const Tensor table = arange(6, kFloat32).reshape({3, 2});
  const auto fixed = nn::Embedding::from_pretrained(table);
  CHECK(fixed->weight.is_same(table));
  CHECK_FALSE(fixed->weight.requires_grad());
  CHECK(fixed(tensor({2, 0})).equal(tensor({{4.0, 5.0}, {0.0, 1.0}})));
  const auto copy = std::dynamic_pointer_cast<nn::EmbeddingImpl>(fixed->clone());
  REQUIRE(copy);
  CHECK(copy->weight.equal(table));
  CHECK_FALSE(copy->weight.is_same(table));
  CHECK_FALSE(copy->weight.requires_grad());
  const auto trained =
      nn::Embedding::from_pretrained(table.clone(), nn::EmbeddingFromPretrainedOptions().freeze(false).padding_idx(-1));
  CHECK(trained->weight.requires_grad());
  CHECK(trained->weight[2].equal(table[2]));  // from_pretrained does not zero the row of padding_idx
  CHECK(trained->options.padding_idx() == 2);
  const auto bag = nn::EmbeddingBag::from_pretrained(table, nn::EmbeddingBagFromPretrainedOptions().mode(kSum));
  CHECK(bag(tensor({{0, 1}, {2, 2}})).equal(tensor({{2.0, 4.0}, {8.0, 10.0}})));
  CHECK_THROWS_WITH(nn::Embedding::from_pretrained(ones({3})),
                    Contains("Embeddings parameter is expected to be 2-dimensional, got (3,)"));
  CHECK_THROWS_WITH(nn::Embedding(nn::EmbeddingOptions(3, 2)._weight(ones({2, 3}))),
                    Contains("Shape of _weight does not match num_embeddings and embedding_dim; _weight is (2, 3)"));
}

TEST_CASE("a bag may be empty, and what makes no bags is refused", "[nn][embedding]") {
  const Tensor table = arange(6, kFloat32).reshape({3, 2}).add(1), index = tensor({1, 2, 0});
  const auto with = [&](const std::vector<int64_t>& at, nn::EmbeddingBagMode mode) {
    Tensor offsets = empty({static_cast<int64_t>(at.size())}, kInt64);
    std::copy(at.begin(), at.end(), offsets.data_ptr<int64_t>());
    return F::EmbeddingBagFuncOptions().offsets(offsets).mode(mode);
  };
  CHECK(F::embedding_bag(index, table, with({0, 0, 2}, kMax)).equal(tensor({{0.0, 0.0}, {5.0, 6.0}, {1.0, 2.0}})));
  CHECK(F::embedding_bag(index, table, with({0, 2, 3}, kMean)).equal(tensor({{4.0, 5.0}, {1.0, 2.0}, {0.0, 0.0}})));
  CHECK(F::embedding_bag(index, table, with({0, 3}, kSum).include_last_offset(true)).equal(tensor({{9.0, 12.0}})));
  CHECK(F::embedding_bag(zeros({2, 0}, kInt64), table).equal(zeros({2, 2})));
  const auto refused = [&](const Tensor& index, const F::EmbeddingBagFuncOptions& o, const char* text) {
    CHECK_THROWS_WITH(F::embedding_bag(index, table, o), Contains(text));
  };
  refused(index, {}, "offsets has to be a 1D Tensor but got null");
  refused(index, with({1, 2}, kSum),
          "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. However, "
          "got 1");
  refused(index, with({0, 4}, kSum), "offsets[-1] can not be greater than input's length 3 but got offsets[-1] of 4");
  refused(index, with({0, 2, 1}, kSum), "offsets must not decrease, but 2 is followed by 1");
  refused(index, with({0, 2}, kSum).include_last_offset(true),
          "with include_last_offset, offsets[-1] must be input's length 3, but got 2");
  refused(index, with({0}, kNone), "mode has to be one of sum, mean or max");
  refused(index, with({0}, kMax).scale_grad_by_freq(true),
          "max mode does not support scaling the gradient by the frequency");
  refused(index, with({0}, kMean).per_sample_weights(ones({3})),
          "per_sample_weights is only supported for mode='kSum' (got mode='kMean')");
  refused(index, with({0}, kSum).per_sample_weights(ones({2})),
          "If per_sample_weights (2,) is not null, then it must have the same shape as the input");
  refused(index.unsqueeze(0), with({0}, kSum), "If input is 2D, then offsets has to be null");
  refused(tensor({{3}}), {}, "embedding");
}

TEST_CASE("Bilinear gives PyTorch's outputs and gradients", "[nn][layers]") {
  const nn::Bilinear m(3, 4, 2);
  check_module("bilinear", *m, [&](const Tensors& in) { return Tensors{m(in[0], in[1])}; });
  const nn::Bilinear plain(nn::BilinearOptions(3, 1, 2).bias(false));
  check_module("bilinear/plain", *plain, [&](const Tensors& in) { return Tensors{plain(in[0], in[1])}; });
  const nn::Bilinear wide(16, 2, 50);
  CHECK(wide->weight.abs().max().item<double>() == Approx(0.25).margin(0.005));  // bound: 1 / sqrt(16)
  CHECK(wide->bias.abs().max().item<double>() <= 0.25);
  CHECK_THROWS_WITH(m(ones({5, 3}).to(kFloat64), ones({4, 4}).to(kFloat64)), Contains("(5, 3)") && Contains("(4, 4)"));
  CHECK_THROWS_WITH(m(ones({5, 2}).to(kFloat64), ones({5, 4}).to(kFloat64)),
                    Contains("input1 size does not match weight size: got 2 but expected 3"));
  CHECK_THROWS_WITH(nn::Bilinear(0, 4, 2), Contains("in1_features is 0"));
}

TEST_CASE("parameters become one vector, and come back", "[nn][utils]") {
  const nn::Linear m(2, 3);
  const Tensor all = nn::utils::parameters_to_vector(m->parameters());
  CHECK(all.sizes() == IntArrayRef{9});
  CHECK(all.narrow(0, 0, 6).equal(m->weight.reshape({-1})));
  all.sum().backward();
  CHECK(m->bias.grad().equal(ones({3})));
  nn::utils::vector_to_parameters(arange(9, kFloat32), m->parameters());
  CHECK(m->weight.equal(arange(6, kFloat32).reshape({3, 2})));
  CHECK(m->bias.equal(tensor({6.0, 7.0, 8.0})));
  CHECK(m->weight.requires_grad());
  CHECK_THROWS_WITH(nn::utils::vector_to_parameters(arange(8, kFloat32), m->parameters()), Contains("accepted: (9,)"));
  CHECK_THROWS_WITH(nn::utils::parameters_to_vector({}), Contains("expected a non-empty list of Tensors"));
}

}  // namespace tandem
