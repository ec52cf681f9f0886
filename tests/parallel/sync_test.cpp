// Tests the components of gradient synchronization on plain numbers: the layout of flat buffers, and the tracking of
// arrived gradients.
#include "tandem/parallel/sync/gradient_tracker.h"
#include "tandem/parallel/sync/layout.h"
#include "tandem/parallel/sync/status_exchange.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/parallel/ranks.h"
#include "tandem/tests/parallel/side_by_side.h"

using namespace tandem;
using namespace tandem::nn::parallel::detail;
using Numbers = std::vector<int64_t>;
using Bits = std::vector<bool>;

TEST_CASE("a flat layout is cut at blocks from a tensor's start, or outside of tensors", "[parallel][layout]") {
  const FlatLayout one = plan_flat_layout({5, 0, 3, 8}, 4);
  CHECK((one.offsets == Numbers{0, 8, 8, 12} && one.shard_numel == 20));
  CHECK(plan_flat_layout({}, 4, 3).shard_numel == 0);
  for (const Numbers& elements :
       {Numbers{10, 2560, 256, 16384}, {4096 * 7}, {1}, {5000, 5000, 5000}, {1, 20000, 3, 4096, 9999, 0, 12}})
    for (const int64_t shards : {1, 2, 3, 5, 8}) {
      CAPTURE(elements, shards);
      const FlatLayout plan = plan_flat_layout(elements, 4, shards);
      Numbers seen(elements.size());
      int64_t end = 0, total = 0;
      for (const int64_t n : elements) total += (n + 3) / 4 * 4;
      for (int64_t s = 0; s < shards; ++s)
        for (const ShardRange& piece : list_shard_ranges(plan, elements, s)) {
          const size_t i = piece.tensor;
          CHECK(piece.begin == seen[i]);  // no element is listed twice or left out
          CHECK(piece.begin % 4096 == 0);
          CHECK((piece.numel % 4096 == 0 || piece.begin + piece.numel == elements[i]));
          CHECK(s * plan.shard_numel + piece.shard_offset == plan.offsets[i] + piece.begin);
          CHECK(piece.shard_offset + piece.numel <= plan.shard_numel);
          CHECK(s * plan.shard_numel + piece.shard_offset >= end);
          end = s * plan.shard_numel + piece.shard_offset + piece.numel;
          seen[i] += piece.numel;
        }
      CHECK(seen == elements);
      for (const int64_t at : plan.offsets) CHECK(at % 4 == 0);
      if (shards == 1)
        CHECK(plan.shard_numel == total);
      else
        CHECK(plan.shard_numel <= total / shards + 2 * 4096);
    }
  CHECK(list_shard_ranges(plan_flat_layout({10, 8192}, 4, 2), {10, 8192}, 1) ==
        std::vector<ShardRange>{{1, 4096, 4096, 0}});
}

namespace {
/// A tracker of three parameters; the last two are in bucket 0.
GradientTracker three(TrackerOptions rules = {}) {
  GradientTracker tracker("An owner", {"a", "b", "c"}, rules);
  tracker.set_buckets({1, 0, 0}, 2);
  return tracker;
}
void bring(GradientTracker& tracker, const std::vector<size_t>& parameters) {
  for (const size_t i : parameters) {
    tracker.mark_used(i);
    tracker.count_gradient(i);
  }
}
}  // namespace

TEST_CASE("buckets are handed out in order, each when all that is expected of it has come", "[parallel][arrivals]") {
  GradientTracker tracker = three({.record_order = true});
  const auto token = std::make_shared<const bool>(true);
  CHECK_FALSE(tracker.is_running());
  tracker.begin_backward(token);
  CHECK(tracker.is_running());
  for (const size_t i : {0, 1, 2}) CHECK(tracker.expect_gradients(i));
  bring(tracker, {0});
  CHECK_FALSE(tracker.take_next_full_bucket());  // only bucket 1 is full, but bucket 0 comes first
  bring(tracker, {2});
  CHECK_FALSE(tracker.take_next_full_bucket());
  bring(tracker, {1});
  CHECK(tracker.take_next_full_bucket() == 0u);
  CHECK(tracker.take_next_full_bucket() == 1u);
  CHECK_FALSE(tracker.take_next_bucket());
  CHECK((tracker.all_gradients_arrived() && tracker.got_expected_gradients() == Bits{true, true, true} &&
         tracker.num_unused_parameters() == 0));
  CHECK_THROWS_WITH(
      tracker.count_gradient(2),
      Catch::Contains(
          "An owner: Expected to mark a variable ready only once. c got a second gradient in one backward"));
  CHECK_THROWS_WITH(tracker.expect_gradients(1),
                    Catch::Contains("An owner: b got a gradient after its bucket was reduced"));
  tracker.finish_backward();
  CHECK((tracker.should_rebuild_buckets() && tracker.take_gradient_order() == std::vector<size_t>{0, 2, 1}));
  CHECK_FALSE(tracker.should_rebuild_buckets());
}
TEST_CASE("a backward that threw is forgotten with its weight", "[parallel][arrivals]") {
  GradientTracker tracker = three();
  auto token = std::make_shared<const bool>(true);
  const ForwardStatePtr forward = tracker.begin_forward(true, 8, {true, true, true}, 0);
  tracker.begin_backward(token);
  tracker.add_forward_weight(*forward);
  tracker.add_forward_weight(*forward);
  CHECK(tracker.weight() == 8);  // the forward's weight counts once
  token = nullptr;
  CHECK_FALSE(tracker.is_running());
  CHECK(tracker.weight() == 0);
}
TEST_CASE("what has not come is missing, and averaged only where some rank has it", "[parallel][arrivals]") {
  GradientTracker tracker = three({.find_unused_parameters = true});
  tracker.begin_backward(std::make_shared<const bool>(true));
  tracker.expect_gradients(1);
  tracker.expect_gradients(2);
  bring(tracker, {2});
  CHECK((tracker.is_missing(1) && !tracker.is_missing(0) && !tracker.is_bucket_in_use(1) &&
         !tracker.all_gradients_arrived()));
  CHECK(tracker.describe_unexpected() == ", without parameters 0");
  CHECK(tracker.got_expected_gradients() == Bits{true, false, true});
  tracker.set_averaged_locally();
  CHECK(tracker.averaged_parameters() == Bits{false, false, true});
  tracker.set_averaged_globally(Bits{true, true, true});  // another rank has a gradient for b
  CHECK(tracker.averaged_parameters() == Bits{false, true, true});
}
TEST_CASE("a static graph brings what its first backward brought", "[parallel][arrivals]") {
  GradientTracker tracker = three({.static_graph = true});
  for (int step = 0; step < 3; ++step) {
    CAPTURE(step);
    CHECK(tracker.should_delay_launch() == (step == 0));
    CHECK(tracker.allows_unused_parameters() == (step == 0));
    tracker.begin_backward(std::make_shared<const bool>(true));
    CHECK(tracker.expect_gradients(0));
    // Parameter b gets no gradient in the first step, so none is expected later.
    CHECK(tracker.expect_gradients(1) == (step == 0));
    CHECK(tracker.expect_gradients(2));
    bring(tracker, {2, 0});
    CHECK_FALSE((step > 0 && tracker.take_next_full_bucket()));
    bring(tracker, {2});
    CHECK((step == 0 || tracker.take_next_full_bucket() == 0u));
    tracker.record_static_graph();
    CHECK(tracker.got_expected_gradients() == (step == 0 ? Bits{true, false, true} : Bits{true, true, true}));
    tracker.set_averaged_locally();
    tracker.set_averaged_globally(step == 0 ? std::optional(Bits{true, false, true}) : std::nullopt);
    CHECK(tracker.averaged_parameters() == Bits{true, false, true});
    if (step == 2)
      CHECK_THROWS_WITH(
          tracker.count_gradient(0),
          Catch::Contains("Your training graph has changed in this iteration, which static_graph does not allow: "
                          "a got 2 gradients in this backward, but 1"));
    tracker.finish_backward();
  }
}
TEST_CASE("a rank without a backward expects what learns, and counts as having it all", "[parallel][arrivals]") {
  GradientTracker tracker = three();
  tracker.begin_forward(true, 0, {true, false, true}, 0);
  tracker.begin_backward({});
  tracker.shadow_backward();
  CHECK((tracker.is_expected(0) && !tracker.is_expected(1) && tracker.is_expected(2)));
  CHECK(tracker.got_expected_gradients() == Bits{true, true, true});
  CHECK(tracker.take_next_bucket() == 0u);
}

TEST_CASE("a dtype tells one rank of many from none only up to some number of ranks", "[parallel][ddp]") {
  using nn::parallel::can_detect_single_unused_rank;
  // Adds ones one by one, rounding each sum, and returns the mean.
  const auto mean = [](DType dtype, int ranks, int lacking) {
    Tensor sum = zeros({}, dtype);
    for (int r = 0; r < ranks; ++r) sum += r < lacking ? 0 : 1;
    return (sum / ranks).item<double>();
  };
  for (const DType dtype : {kBFloat16, kFloat16})
    for (const int ranks : {1, 2, 3, 5, 7, 8, 11, 31, 100, 300, 600, 3000}) {
      CAPTURE(dtype, ranks);
      if (!can_detect_single_unused_rank(dtype, ranks)) continue;
      CHECK(mean(dtype, ranks, 0) > 1 - 0.5 / ranks);
      CHECK(mean(dtype, ranks, 1) < 1 - 0.5 / ranks);
    }
  CHECK(mean(kBFloat16, 300, 0) < 1 - 0.5 / 300);  // the sum stays at 256
  CHECK((can_detect_single_unused_rank(kBFloat16, 8) && !can_detect_single_unused_rank(kBFloat16, 256) &&
         can_detect_single_unused_rank(kFloat16, 16)));
  CHECK((can_detect_single_unused_rank(kFloat32, 2048) && !can_detect_single_unused_rank(kFloat32, 1 << 20) &&
         can_detect_single_unused_rank(kFloat64, 1 << 20)));
}
TEST_CASE("the rank of twelve that lacks a gradient is named in bfloat16 too", "[parallel][ddp]") {
  CHECK_FALSE(
      nn::parallel::can_detect_single_unused_rank(kBFloat16, 12));  // so the status is not sent in the gradient bucket
  const auto failure = [](int lacking) {
    return test::find_backend_failure("local", 12, [&](const distributed::ProcessGroupPtr& group) {
      test::SideBySide net(2);
      net->to(kBFloat16);
      nn::parallel::DistributedDataParallel ddp(net,
                                                nn::parallel::DistributedDataParallelOptions().process_group(group));
      ddp(ones({1, 3}, kBFloat16), group->rank() == lacking ? "a" : "ab").sum().backward();
    });
  };
  CHECK(failure(-1) == "");
  CHECK_THAT(failure(5),
             Catch::Contains("your module has parameters that were not used in producing loss, and got no gradient: "
                             "b.weight on rank 5; b.bias on rank 5"));
}
