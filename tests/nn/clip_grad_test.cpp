// Tests norms of gradients that are sharded over several ranks.
#include <cmath>
#include <random>

#include "tandem/tandem.h"
#include "tandem/tests/catch.h"

using namespace tandem;
using namespace tandem::nn;

namespace {

using Parts = std::vector<std::vector<Tensor>>;

/// Concatenates the tensors and splits them into `ranks` lists of shards. Splits are at random multiples of kNormBlock
/// within a tensor, or between tensors. A rank may get no shard.
Parts cut(const std::vector<Tensor>& tensors, size_t ranks, std::mt19937& random) {
  Parts parts(ranks);
  size_t rank = 0;
  for (const Tensor& t : tensors) {
    const Tensor flat = t.view({-1});
    int64_t begin = 0;
    for (int64_t at = 0; at < flat.numel(); at += utils::kNormBlock) {
      if (rank + 1 == ranks || random() % 3 > 0) continue;
      if (at > begin) parts[rank].push_back(flat.narrow(0, begin, at - begin));
      begin = at;
      ++rank;
    }
    parts[rank].push_back(flat.narrow(0, begin, flat.numel() - begin));
  }
  return parts;
}
/// Returns, for each call of `gather` in get_total_norm, the contributions of all ranks in order of rank.
std::vector<Tensor> gathered(const Parts& parts, double p) {
  std::vector<Tensor> calls;
  for (;;) {
    std::vector<Tensor> next;
    for (const std::vector<Tensor>& part : parts) {
      size_t call = 0;
      utils::get_total_norm(part, p, false, [&](const Tensor& mine) {
        if (call < calls.size()) return calls[call++].to(mine.device());
        if (call++ == calls.size()) next.push_back(mine.cpu());
        return mine;
      });
    }
    if (next.empty()) return calls;
    calls.push_back(cat(next));
  }
}
std::vector<Tensor> with_gradients(const std::vector<Tensor>& gradients) {
  std::vector<Tensor> parameters;
  for (const Tensor& g : gradients) {
    parameters.push_back(zeros(g.sizes(), g.options()).requires_grad_());
    parameters.back().set_grad(g.clone());
  }
  return parameters;
}

}  // namespace

TEST_CASE("a norm taken by parts has the bits of the whole, for 200 cuts at blocks", "[nn][clip]") {
  std::mt19937 random(7);
  std::vector<Device> devices = {kCPU};
  if (cuda::is_available()) devices.push_back(kCUDA);
  for (const Device device : devices) {
    manual_seed(5);
    std::vector<Tensor> tensors;
    for (const int64_t n : {4096 + 17, 5, 4096, 9000, 1, 2 * 4096})
      tensors.push_back(randn({n}, TensorOptions(n == 5 ? kFloat64 : kFloat32).device(device)));
    for (int i = 0; i < (device == kCPU ? 170 : 30); ++i) {
      const double p = std::vector<double>{1, 2, 3, HUGE_VAL, 0.5, -HUGE_VAL}[static_cast<size_t>(i) % 6];
      CAPTURE(device, i, p);
      const Parts parts = cut(tensors, 2 + random() % 4, random);
      const std::vector<Tensor> calls = gathered(parts, p);
      const Tensor whole = utils::get_total_norm(tensors, p);
      std::vector<Tensor> exact;
      for (const Tensor& t : tensors) exact.push_back(t.cpu().to(kFloat64));
      // tolerance: float32 sums
      CHECK(whole.item<double>() == Approx(cat(exact).norm(p).item<double>()).epsilon(1e-5));
      size_t call = 0;
      const auto gather = [&](const Tensor& mine) { return calls[call++ % calls.size()].to(mine.device()); };
      const std::vector<Tensor> clipped = with_gradients(tensors);
      const double norm = utils::clip_grad_norm_(clipped, 0.5, p);
      for (const std::vector<Tensor>& part : parts) {
        const std::vector<Tensor> mine = with_gradients(part);
        CHECK(utils::clip_grad_norm_(mine, 0.5, p, false, gather) == norm);
        if (!part.empty() && part[0].dtype() == whole.dtype())
          CHECK(equal(utils::get_total_norm(part, p, false, gather), whole));
      }
    }
  }
  const std::vector<Tensor> three = {zeros({2}), ones({3}), ones({2, 2})};
  // the zero norm counts tensors that are not all zero, as in PyTorch
  CHECK(utils::get_total_norm(three, 0).item<double>() == 2);
  CHECK_THROWS_WITH(utils::get_total_norm(three, 0, false, [](const Tensor& mine) { return mine; }),
                    Catch::Contains("norm_type 0 is not supported for sharded gradients"));
}

TEST_CASE("the norms 1, 2 and infinity take as many kernel calls for many tensors as for one", "[nn][clip]") {
  const auto calls = [](size_t tensors, double p) {
    start_trace();
    utils::get_total_norm(std::vector<Tensor>(tensors, ones({5000})), p);
    return take_trace().size();
  };
  for (const double p : {1.0, 2.0, HUGE_VAL, -HUGE_VAL}) {
    CAPTURE(p);
    CHECK(calls(30, p) == calls(1, p));
  }
}
TEST_CASE("a NaN anywhere in a block makes every norm NaN, and integers have none", "[nn][clip]") {
  for (const DType dtype : {kFloat32, kFloat64, kBFloat16})
    for (const double p : {1.0, 2.0, HUGE_VAL, -HUGE_VAL})
      for (const int64_t place : {0, 1, 31, 4095, 4096, 5000}) {
        CAPTURE(dtype, p, place);
        const Tensor x = full({5001}, -2.0, dtype);
        x[place] = std::nan("");
        CHECK(std::isnan(utils::get_total_norm({ones({3}, dtype), x}, p).item<double>()));
      }
  const std::vector<Tensor> sizes = {full({5000}, -3.0), full({70}, 2.0)};
  CHECK(utils::get_total_norm(sizes, 1).item<double>() == 15140);
  CHECK(utils::get_total_norm(sizes, HUGE_VAL).item<double>() == 3);
  CHECK(utils::get_total_norm(sizes, -HUGE_VAL).item<double>() == 2);
  for (const double p : {1.0, 2.0, HUGE_VAL})
    CHECK_THROWS_WITH(utils::get_total_norm({ones({3}), ones({3}, kInt64)}, p),
                      Catch::Contains("norm: Expected a floating point or complex tensor as input. Got int64"));
}
