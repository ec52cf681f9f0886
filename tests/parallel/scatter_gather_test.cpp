// Tests scatter, gather, broadcast and reduce-add: results, derivatives, and the bytes they move.
#include "tandem/parallel/scatter_gather.h"
#include "tandem/ops/gradcheck.h"
#include "tandem/parallel/broadcast.h"
#include "tandem/tandem.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/parallel/devices.h"

using namespace tandem;
using namespace tandem::nn::parallel;
using autograd::variable_list;
using test::kFirst;
using test::kSecond;
using test::kThird;

namespace {
Tensor flat(const std::vector<std::vector<Tensor>>& lists) {
  std::vector<Tensor> parts;
  for (const auto& list : lists)
    for (const Tensor& t : list) parts.push_back(t.to(kFirst).reshape({-1}));
  return cat(parts);
}
}  // namespace

TEST_CASE("rows are spread evenly, and no device is left with none", "[parallel][scatter]") {
  CHECK(shard_sizes(9, 4) == std::vector<int64_t>{3, 2, 2, 2});
  CHECK(shard_sizes(2, 4) == std::vector<int64_t>{1, 1});
  CHECK(shard_sizes(0, 4) == std::vector<int64_t>{0});
  CHECK_THROWS_WITH(shard_sizes(3, 0), Contains("3 rows on 0 devices"));
}

TEST_CASE("rows are shared in proportion to chunk sizes, and no device is left with none", "[parallel][scatter]") {
  using Sizes = std::vector<int64_t>;
  for (const Sizes& chunks : {Sizes{3, 1}, Sizes{1, 5, 2}, Sizes{4, 4, 4, 1}, Sizes{1, 100}}) {
    int64_t total = 0;
    for (const int64_t size : chunks) total += size;
    CHECK(shard_sizes(total, chunks) == chunks);
    for (int64_t rows = 0; rows <= 2 * total; ++rows) {
      CAPTURE(chunks, rows);
      const Sizes sizes = shard_sizes(rows, chunks);
      REQUIRE(sizes.size() == static_cast<size_t>(std::max<int64_t>(1, std::min<int64_t>(rows, chunks.size()))));
      int64_t sum = 0;
      for (size_t r = 0; r < sizes.size(); ++r) {
        sum += sizes[r];
        REQUIRE((rows == 0 || sizes[r] > 0));
        // Rounding, and the minimum of one row per device, each move a boundary by less than one row per device.
        const double share = static_cast<double>(rows * chunks[r]) / static_cast<double>(total);
        REQUIRE(std::abs(static_cast<double>(sizes[r]) - share) < 1 + static_cast<double>(chunks.size()));
      }
      REQUIRE(sum == rows);
    }
  }
  const test::Devices devices(2);
  const Tensor x = arange(10).reshape({2, 5});
  const std::vector<Tensor> shards = scatter(x, devices.list, {4, 1}, 1);
  CHECK(shards[0].equal(x.narrow(1, 0, 4)));
  CHECK(shards[1].device() == kSecond);
  CHECK_THROWS_WITH(scatter(x, devices.list, {4, 2}, 1), Contains("chunk_sizes are (4, 2)") && Contains("add up to 5"));
  CHECK_THROWS_WITH(scatter(x, devices.list, std::vector<int64_t>{2}),
                    Contains("Expected devices and chunk_sizes to be of same length, but got len(devices) = 2 and "
                             "len(chunk_sizes) = 1"));
  CHECK_THROWS_WITH(scatter(x, devices.list, {2, 0}), Contains("sizes of 1 or more"));
}

TEST_CASE("every split of up to 127 rows over up to 8 devices comes back whole", "[parallel][scatter]") {
  const test::Devices devices(8);
  for (int64_t n = 0; n <= 127; ++n) {
    const Tensor x = arange(2 * n).reshape({n, 2});
    for (int k = 1; k <= 8; ++k) {
      CAPTURE(n, k);
      const std::vector<Device> list = devices.first(k);
      for (const int64_t dim : {0, 1}) {
        const Tensor whole = dim == 0 ? x : x.t();
        const std::vector<Tensor> shards = scatter(whole, list, dim);
        int64_t rows = 0;
        for (size_t r = 0; r < shards.size(); ++r) {
          REQUIRE(shards[r].device() == list[r]);
          // Computed differently from the implementation: shard r is the r-th of k nearly equal parts, the longer ones
          // first.
          const int64_t size = shards[r].size(dim);
          REQUIRE(size == (n + k - 1 - static_cast<int64_t>(r)) / k);
          REQUIRE(shards[r].to(kFirst).equal(whole.narrow(dim, rows, size)));
          rows += size;
        }
        REQUIRE(rows == n);
        REQUIRE(static_cast<int64_t>(shards.size()) == std::max<int64_t>(1, std::min<int64_t>(n, k)));
        REQUIRE(gather(shards, kFirst, dim).equal(whole));
      }
    }
  }
}

TEST_CASE("scatter is one node whose backward is one gather, and the other way round", "[parallel][scatter]") {
  const test::Devices devices(3);
  const Tensor x = randn({5, 2}, kFloat64).requires_grad_();
  const std::vector<Tensor> shards = scatter(x, devices.list);
  CHECK(shards[0].grad_fn() == shards[2].grad_fn());
  CHECK(shards[0].grad_fn_name() == "scatter");
  const Tensor back = gather(shards, kSecond);
  CHECK(back.grad_fn_name() == "gather");
  CHECK(back.device() == kSecond);
  const Tensor dx = autograd::grad({(back * back).sum()}, {x}, {}, {}, /*create_graph=*/true)[0];
  CHECK(dx.grad_fn_name() == "gather");
  CHECK(dx.equal(2 * x.detach()));
}

TEST_CASE("the steps between devices have their derivatives", "[parallel][scatter][broadcast]") {
  const test::Devices devices(3);
  manual_seed(1);
  const auto input = [](std::vector<int64_t> sizes, Device device) {
    return randn(sizes, kFloat64).to(device).requires_grad_();
  };
  const auto check = [](const autograd::GradcheckFunction& f, const variable_list& inputs) {
    CHECK(autograd::gradcheck(f, inputs));
    CHECK(autograd::gradgradcheck(f, inputs));
  };
  for (const int64_t dim : {0, 1}) {
    check([&](const variable_list& in) { return scatter(in[0], devices.list, dim); }, {input({5, 4}, kSecond)});
    const std::vector<int64_t> other = dim == 0 ? std::vector<int64_t>{1, 4} : std::vector<int64_t>{3, 2};
    check([&](const variable_list& in) { return variable_list{gather(in, kSecond, dim)}; },
          {input({3, 4}, kFirst), input(other, kThird)});
  }
  check([&](const variable_list& in) { return variable_list{gather(in, kThird)}; },
        {input({}, kFirst), input({}, kSecond)});
  check(
      [&](const variable_list& in) {
        const auto copies = broadcast_coalesced(in, {kFirst, kSecond, kThird, kFirst});
        return variable_list{flat(copies)};
      },
      {input({2, 3}, kFirst), input({}, kFirst), input({0, 2}, kFirst)});
  check(
      [&](const variable_list& in) {
        return reduce_add_coalesced({{in[0], in[1]}, {Tensor(), in[2]}, {in[3], in[4]}}, kFirst);
      },
      {input({2, 3}, kFirst), input({2}, kFirst), input({2}, kSecond), input({2, 3}, kThird), input({2}, kThird)});
}

TEST_CASE("a shard that nobody uses has a gradient of zeros", "[parallel][scatter]") {
  const test::Devices devices(2);
  const Tensor x = ones({3, 2}).requires_grad_();
  scatter(x, devices.list)[1].sum().backward();
  CHECK(x.grad().sum().item<float>() == 2);
  CHECK(x.grad()[0].sum().item<float>() == 0);
}

TEST_CASE("a shard that stays on its device is a view, and follows the rules for views", "[parallel][scatter]") {
  const test::Devices devices(2);
  const Tensor x = ones({4}).requires_grad_();
  std::vector<Tensor> shards = scatter(x, devices.list);
  CHECK(shards[0].storage() == x.storage());
  CHECK_THROWS_WITH(shards[0].add_(1),
                    Contains("a view of a leaf Variable that requires grad is being used in an in-place operation"));
}

TEST_CASE("broadcast aliases at home and packs for the other devices", "[parallel][broadcast]") {
  const test::Devices devices(3);
  const Tensor a = randn({3, 2}), b = arange(4), c = randn({5});
  const auto copies = broadcast_coalesced({a, b, c}, devices.list);
  CHECK(copies[0][0].storage() == a.storage());
  for (const size_t r : {1, 2}) {
    CHECK(copies[r][0].storage() == copies[r][2].storage());  // tensors of one dtype share a buffer
    CHECK(copies[r][1].dtype() == kInt64);
    for (const Tensor& t : copies[r]) {
      CHECK(t.device() == devices.list[r]);
      CHECK(reinterpret_cast<uintptr_t>(t.raw_data()) % 64 == 0);  // aligned like a separate tensor
    }
    CHECK(copies[r][0].to(kFirst).equal(a));
    CHECK(copies[r][1].to(kFirst).equal(b));
    CHECK(copies[r][2].to(kFirst).equal(c));
  }
  CHECK(broadcast_coalesced({}, devices.list).size() == 3);
  const auto twice = broadcast_coalesced({a}, {kFirst, kFirst});
  CHECK(twice[1][0].storage() != a.storage());
  CHECK(twice[1][0].equal(a));
}

TEST_CASE("only those that want a gradient have a history", "[parallel][broadcast]") {
  const test::Devices devices(2);
  const Tensor learning = ones({2}).requires_grad_(), frozen = ones({2});
  const auto copies = broadcast_coalesced({frozen, learning}, devices.list);
  CHECK_FALSE(copies[1][0].requires_grad());
  CHECK(copies[1][1].grad_fn_name() == "broadcast_coalesced");
  const NoGradGuard guard;
  CHECK_FALSE(broadcast_coalesced({learning}, devices.list)[1][0].requires_grad());
}

TEST_CASE("sums run through the devices in order, straight", "[parallel][broadcast]") {
  const test::Devices devices(4);
  // In float32, 1e8 + 1 equals 1e8, so the sum depends on the order of these values.
  const std::vector<float> values = {1e8f, 1.0f, -1e8f, 1.0f};
  std::vector<std::vector<Tensor>> lists;
  for (size_t r = 0; r < 4; ++r) lists.push_back({full({3}, values[r], devices.list[r]), Tensor()});
  for (int repeat = 0; repeat < 20; ++repeat) {
    const std::vector<Tensor> sums = reduce_add_coalesced(lists, kFirst);
    REQUIRE(sums[0].equal(full({3}, 1.0f)));  // ((1e8 + 1) - 1e8) + 1
    REQUIRE_FALSE(sums[1].defined());
  }
  std::swap(lists[0], lists[1]);  // ((1 + 1e8) - 1e8) + 1
  std::swap(lists[1], lists[2]);  // ((1 - 1e8) + 1e8) + 1
  CHECK(reduce_add_coalesced(lists, kThird)[0].to(kFirst).equal(full({3}, 1.0f)));
  std::swap(lists[2], lists[3]);  // ((1 - 1e8) + 1) + 1e8
  CHECK(reduce_add_coalesced(lists, kFirst)[0].equal(zeros({3})));
}

TEST_CASE("what crosses over to another device is counted", "[parallel][scatter][broadcast]") {
  const test::Devices devices(4);
  const auto count = [](const auto& f) {
    const int64_t before = bytes_moved();
    f();
    return bytes_moved() - before;
  };
  const Tensor x = ones({9, 10});
  const std::vector<Tensor> shards = scatter(x, devices.list);
  CHECK(count([&] { scatter(x, devices.list); }) == (2 + 2 + 2) * 40);
  CHECK(count([&] { scatter(x.to(kSecond), devices.list); }) == (3 + 2 + 2) * 40);
  CHECK(count([&] { gather(shards, kFirst); }) == (2 + 2 + 2) * 40);
  // Each tensor is padded to a multiple of 64 elements.
  CHECK(count([&] { broadcast_coalesced({x, arange(3)}, devices.list); }) == 3 * (128 * 4 + 64 * 8));
  CHECK(count([&] { reduce_add_coalesced({{ones({2})}, {ones({2}, kSecond)}}, kFirst); }) == 64 * 4);
  CHECK(count([&] { broadcast_coalesced({x}, {kFirst, kFirst}); }) == 0);
}

TEST_CASE("what does not fit is refused by name and value", "[parallel][scatter][broadcast]") {
  const test::Devices devices(2);
  CHECK_THROWS_WITH(scatter(ones({3}), {}), Contains("Expected at least one device to scatter to"));
  CHECK_THROWS_WITH(scatter(ones({}), devices.list), Contains("a scalar"));
  CHECK_THROWS_WITH(scatter(ones({3}), {"cpu:0", "cpu:5"}), Contains("cpu:5"));
  CHECK_THROWS_WITH(gather({}, kFirst), Contains("Expected at least one tensor to gather from"));
  CHECK_THROWS_WITH(gather({ones({2, 3}), ones({2, 4})}, kFirst),
                    Contains("(2, 3)") && Contains("shard 1 is") && Contains("(2, 4)"));
  CHECK_THROWS_WITH(gather({ones({2}), ones({2}, kFloat64)}, kFirst), Contains("float64"));
  CHECK_THROWS_WITH(broadcast_coalesced({ones({2})}, {}), Contains("is empty"));
  CHECK_THROWS_WITH(broadcast_coalesced({ones({2}), ones({2}, kSecond)}, devices.list), Contains("cpu:1"));
  CHECK_THROWS_WITH(reduce_add_coalesced({}, kFirst), Contains("there are no lists of tensors"));
  CHECK_THROWS_WITH(reduce_add_coalesced({{ones({2})}, {}}, kFirst), Contains("list 1 holds 0"));
  CHECK_THROWS_WITH(reduce_add_coalesced({{ones({2})}, {ones({1})}}, kFirst), Contains("tensor 0 of list 1"));
}
