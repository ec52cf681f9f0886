// Tests memory formats: the user-facing calls, errors, and the strides of results, which equal PyTorch's
// (strides.json).
#include "tandem/tandem.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/device.h"
#include "tandem/tests/json.h"

#include <functional>
#include <map>

using namespace tandem;
using namespace tandem::test;
using Catch::Matchers::Contains;

namespace {

using In = std::vector<Tensor>;
using Call = std::function<Tensor(const In&)>;

Tensor places(const std::vector<int64_t>& numbers) {
  return tensor(numbers, TensorOptions(kInt64).device(test_device()));
}
/// Calls write(out) with an empty output, which the op resizes, and returns the output.
template <class Write> Tensor resized(const Write& write) {
  Tensor out = empty({0}, test_device());
  write(out);
  return out;
}

const std::map<std::string, Call>& calls() {
  static const auto all = [] {
    std::map<std::string, Call> map = {
        {"relu", [](const In& in) { return relu(in[0]); }},
        {"exp", [](const In& in) { return exp(in[0]); }},
        {"isnan", [](const In& in) { return isnan(in[0]); }},
        {"gelu", [](const In& in) { return gelu(in[0]); }},
        {"leaky_relu", [](const In& in) { return leaky_relu(in[0]); }},
        {"clamp", [](const In& in) { return in[0].clamp(-1, 1); }},
        {"add_number", [](const In& in) { return in[0] + 1; }},
        {"less_than_number", [](const In& in) { return in[0] < 0; }},
        {"where_number", [](const In& in) { return where(in[0] > 0, in[0], 0.0); }},
        {"to_float64", [](const In& in) { return in[0].to(kFloat64); }},
        {"clone", [](const In& in) { return in[0].clone(); }},
        {"clone_contiguous", [](const In& in) { return in[0].clone(MemoryFormat::Contiguous); }},
        {"clone_channels_last", [](const In& in) { return in[0].clone(MemoryFormat::ChannelsLast); }},
        {"to_channels_last", [](const In& in) { return in[0].to(MemoryFormat::ChannelsLast); }},
        {"to_contiguous", [](const In& in) { return in[0].to(MemoryFormat::Contiguous); }},
        {"contiguous", [](const In& in) { return in[0].contiguous(); }},
        {"contiguous_channels_last", [](const In& in) { return in[0].contiguous(MemoryFormat::ChannelsLast); }},
        {"empty_like", [](const In& in) { return empty_like(in[0]); }},
        {"zeros_like", [](const In& in) { return zeros_like(in[0]); }},
        {"ones_like_channels_last", [](const In& in) { return ones_like(in[0], {}, MemoryFormat::ChannelsLast); }},
        {"dropout", [](const In& in) { return dropout(in[0], 0.5, true); }},
        {"log_sigmoid", [](const In& in) { return log_sigmoid(in[0]); }},
        {"hardshrink", [](const In& in) { return hardshrink(in[0]); }},
        {"cumprod", [](const In& in) { return cumprod(in[0], 1); }},
        {"median", [](const In& in) { return median(in[0]); }},
        {"copysign", [](const In& in) { return copysign(in[0], in[1]); }},
        {"add", [](const In& in) { return in[0] + in[1]; }},
        {"mul", [](const In& in) { return in[0] * in[1]; }},
        {"eq", [](const In& in) { return in[0] == in[1]; }},
        {"where", [](const In& in) { return where(in[0] > 0, in[0], in[1]); }},
        {"max_pool2d", [](const In& in) { return max_pool2d(in[0], 2); }},
        {"max_pool2d/overlapping", [](const In& in) { return max_pool2d(in[0], 3, 1, 1); }},
        {"avg_pool2d", [](const In& in) { return avg_pool2d(in[0], 2, 1, 1); }},
        {"adaptive_avg_pool2d",
         [](const In& in) {
           return adaptive_avg_pool2d(in[0], {2, 3});
         }},
        {"adaptive_avg_pool2d/1", [](const In& in) { return adaptive_avg_pool2d(in[0], 1); }},
        {"batch_norm", [](const In& in) { return batch_norm(in[0], {}, {}, {}, {}, true); }},
        {"batch_norm/evaluation",
         [](const In& in) {
           const int64_t c = in[0].size(1);
           return batch_norm(in[0], {}, {}, zeros({c}, in[0].device()), ones({c}, in[0].device()), false);
         }},
        {"conv2d", [](const In& in) { return conv2d(in[0], in[1]); }},
        {"flip",
         [](const In& in) {
           return in[0].flip({1, 3});
         }},
        {"rot90",
         [](const In& in) {
           return in[0].rot90(1, {2, 3});
         }},
        {"nan_to_num", [](const In& in) { return in[0].nan_to_num(1); }},
        {"nansum", [](const In& in) { return in[0].nansum(1); }},
        {"index_fill",
         [](const In& in) {
           return in[0].index_fill(1, places({0, 2}), 5);
         }},
        {"index_fill/tensor",
         [](const In& in) { return in[0].index_fill(3, places({1}), full({}, 5, test_device())); }},
        {"renorm", [](const In& in) { return in[0].renorm(2, 1, 1); }},
        {"rms_norm",
         [](const In& in) {
           return rms_norm(in[0], {6, 2});
         }},
        {"rms_norm/weight", [](const In& in) { return rms_norm(in[0], {2}, ones({2}, test_device())); }},
        {"median/integers", [](const In& in) { return std::get<0>(in[0].to(kInt64).median(1, true)); }},
        {"nanmedian/integers", [](const In& in) { return std::get<1>(in[0].to(kInt64).nanmedian(2)); }},
        {"masked_scatter",
         [](const In& in) {
           return ones({2, 4, 6, 2}, test_device()).masked_scatter(in[0] > 0, in[0]);
         }},
        {"scatter_reduce/empty",
         [](const In& in) {
           const Shape none{0, 4, 6, 2};
           return in[0].scatter_reduce(1, places({}).view(none), empty(none, test_device()), "prod");
         }},
        {"index_reduce/empty",
         [](const In& in) {
           return in[0].index_reduce(0, places({}), empty({0, 4, 6, 2}, test_device()), "amax");
         }},
        {"pixel_shuffle", [](const In& in) { return pixel_shuffle(in[0], 2); }},
        {"pixel_unshuffle", [](const In& in) { return pixel_unshuffle(in[0], 2); }},
        {"pixel_shuffle/1", [](const In& in) { return pixel_shuffle(in[0], 1); }},
        {"im2col", [](const In& in) { return im2col(in[0], 1, 1, 0, 1); }},
        {"pad/replicate",
         [](const In& in) {
           return pad(in[0], {0, 0, 0, 0}, PaddingMode::replicate);
         }},
        {"cat/empty",
         [](const In& in) {
           return cat({in[0], empty({0}, test_device())});
         }},
        {"std", [](const In& in) { return in[0].std(1); }},
        {"quantile", [](const In& in) { return in[0].quantile(0.3, 1); }},
        {"nanquantile", [](const In& in) { return in[0].nanquantile(0.3, 2, true); }},
        {"exp/out", [](const In& in) { return resized([&](Tensor& out) { exp_out(out, in[0].detach()); }); }},
        {"add/out",
         [](const In& in) {
           return resized([&](Tensor& out) { add_out(out, in[0].detach(), ones({}, test_device())); });
         }},
        {"hypot/out",
         [](const In& in) {
           return resized([&](Tensor& out) { hypot_out(out, ones({6, 2}, test_device()), in[0].detach()); });
         }},
        {"linalg_lstsq", [](const In& in) { return std::get<0>(linalg_lstsq(in[0], in[0], {}, {})); }},
        {"max", [](const In& in) { return in[0].max(); }},
        {"batch_norm/create_graph",
         [](const In& in) {
           const Tensor w = ones({2, 4, 6, 2}, test_device()).requires_grad_();
           const Tensor mean = zeros({4}, test_device()), var = ones({4}, test_device());
           return autograd::grad({batch_norm(w, {}, {}, mean, var, false)}, {w}, {in[0]}, true, true)[0];
         }},
        {"grid_sampler",
         [](const In& in) {
           return grid_sampler(rand({2, 4, 3, 2}, test_device()), in[0], 0, 0, false);
         }},
        {"soft_margin_loss", [](const In& in) { return soft_margin_loss(in[0], in[1], Reduction::none); }},
        {"conv2d/groups", [](const In& in) { return conv2d(in[0], in[1], {}, 1, 0, 1, 3); }},
    };
    using Reduction = Tensor (*)(const Tensor&, IntArrayRef, bool);
    const std::map<std::string, Reduction> reductions = {
        {"sum", [](const Tensor& x, IntArrayRef dims, bool keepdim) { return x.sum(dims, keepdim); }},
        {"mean", [](const Tensor& x, IntArrayRef dims, bool keepdim) { return x.mean(dims, keepdim); }},
        {"amax", [](const Tensor& x, IntArrayRef dims, bool keepdim) { return x.amax(dims, keepdim); }}};
    for (const auto& [name, reduce] : reductions)
      for (const Shape& dims : {Shape{0}, Shape{1}, Shape{2, 3}, Shape{0, 2, 3}, Shape{1, 2}})
        for (const bool keepdim : {false, true}) {
          std::string text = name + "/";
          for (const int64_t d : dims) text += (text.back() == '/' ? "" : "_") + std::to_string(d);
          map[text + (keepdim ? "/keepdim" : "")] = [reduce = reduce, dims, keepdim](const In& in) {
            return reduce(in[0], dims, keepdim);
          };
        }
    return map;
  }();
  return all;
}

}  // namespace

TEST_CASE("results and gradients lie as PyTorch's do, whatever the layouts and sizes of the inputs",
          "[memory_format]") {
  const nlohmann::json file = read_json("strides.json");
  for (const nlohmann::json& row : file.at("cases")) {
    std::vector<Tensor> inputs;
    for (const nlohmann::json& spec : row.at("inputs")) {
      const auto sizes = spec[0].get<std::vector<int64_t>>(), strides = spec[1].get<std::vector<int64_t>>();
      Tensor x = core::empty_strided(sizes, strides, kFloat32, test_device());
      x.fill_(1);
      inputs.push_back(x.requires_grad_());
    }
    const auto call = calls().find(row.at("op"));
    REQUIRE(call != calls().end());
    INFO(row.dump());
    const Tensor y = call->second(inputs);
    CHECK(y.strides().vec() == row.at("strides").get<std::vector<int64_t>>());
    if (!row.contains("gradients")) continue;
    y.backward(ones_like(y));
    for (size_t k = 0; k < inputs.size(); ++k) {
      if (row.at("gradients")[k].is_null()) continue;
      // The backward formulas differ from PyTorch's, so strides of dimensions of size 1 may differ. They carry no
      // meaning.
      auto want = row.at("gradients")[k].get<std::vector<int64_t>>(), got = inputs[k].grad().strides().vec();
      for (size_t d = 0; d < got.size(); ++d)
        if (inputs[k].sizes()[d] == 1) want[d] = got[d] = 0;
      CHECK(got == want);
    }
  }
}

TEST_CASE("sizes of 1 leave the format open, and strides decide", "[memory_format]") {
  const Tensor x = rand({2, 1, 4, 5}, test_device());  // contiguous and channels-last at the same time
  CHECK(x.is_contiguous());
  CHECK(x.is_contiguous(MemoryFormat::ChannelsLast));
  CHECK(x.suggest_memory_format() == MemoryFormat::Contiguous);
  CHECK(x.contiguous(kChannelsLast).is_same(x));
  const Tensor y = x.to(kChannelsLast);
  CHECK_FALSE(y.is_same(x));
  CHECK(y.strides() == IntArrayRef({20, 1, 5, 1}));
  CHECK(y.suggest_memory_format() == MemoryFormat::ChannelsLast);
  CHECK(y.to(kChannelsLast).is_same(y));
  CHECK(y.equal(x));
}

TEST_CASE("a tensor is made in the format that its options or its last argument name", "[memory_format]") {
  const Shape sizes{2, 3, 4, 5}, strides{60, 1, 15, 3};
  const TensorOptions options = TensorOptions(test_device()).memory_format(MemoryFormat::ChannelsLast);
  for (const Tensor& x : {empty(sizes, options), zeros(sizes, options), ones(sizes, options), full(sizes, 2, options),
                          rand(sizes, options), empty(sizes, test_device(), MemoryFormat::ChannelsLast)})
    CHECK(x.strides() == strides);
  const Tensor x = rand(sizes, options);
  for (const Tensor& y : {empty_like(x), zeros_like(x), ones_like(x), full_like(x, 1), rand_like(x), randn_like(x)})
    CHECK(y.strides() == strides);
  CHECK(zeros_like(x, {}, MemoryFormat::Contiguous).is_contiguous());
  CHECK(x.to(kFloat64, false, true, MemoryFormat::Contiguous).is_contiguous());
  CHECK(x.to(Device(test_device()), kFloat64).strides() == strides);
  const Tensor back = x.to(kFloat64).to(kFloat32);
  CHECK(back.strides() == strides);
  CHECK(back.equal(x));
}

TEST_CASE("random numbers follow the logical order, so that the format does not change them", "[memory_format]") {
  const Shape sizes{2, 3, 4, 5};
  manual_seed(7);
  const Tensor x = rand(sizes, test_device());
  manual_seed(7);
  CHECK(rand(sizes, TensorOptions(test_device()).memory_format(kChannelsLast)).equal(x));
  manual_seed(8);
  const Tensor y = dropout(x, 0.5, true);
  manual_seed(8);
  CHECK(dropout(x.to(kChannelsLast), 0.5, true).equal(y));
}

TEST_CASE("formats that a tensor cannot have are refused", "[memory_format][errors]") {
  const Tensor x = rand({2, 3, 4});
  const std::string rank = "required rank 4 tensor to use channels_last format";
  CHECK_THROWS_WITH(x.contiguous(MemoryFormat::ChannelsLast), Contains(rank) && Contains("(2, 3, 4)"));
  CHECK_THROWS_WITH(x.to(MemoryFormat::ChannelsLast), Contains(rank));
  CHECK_THROWS_WITH(x.clone(MemoryFormat::ChannelsLast), Contains(rank));
  CHECK_THROWS_WITH(empty({2, 3, 4}, {}, MemoryFormat::ChannelsLast), Contains("empty") && Contains(rank));
  CHECK_THROWS_WITH(zeros_like(x, {}, MemoryFormat::ChannelsLast), Contains(rank));
  CHECK_THROWS_WITH(x.contiguous(MemoryFormat::Preserve), Contains("Preserve") && Contains("accepted"));
  CHECK_THROWS_WITH(x.is_contiguous(MemoryFormat::Preserve), Contains("Preserve") && Contains("accepted"));
  CHECK_THROWS_WITH(x.to(MemoryFormat::ChannelsLast3d), Contains("ChannelsLast3d") && Contains("accepted"));
  CHECK_THROWS_WITH(nn::Linear(2, 3)->to(MemoryFormat::Preserve), Contains("Module::to") && Contains("accepted"));
  CHECK_FALSE(x.is_contiguous(MemoryFormat::ChannelsLast));
}
