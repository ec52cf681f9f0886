// Implements ZeRO stages 1 and 2, in which each rank keeps the optimizer state of one shard, from the components of
// DistributedDataParallel, and compares the results with DistributedDataParallel bit for bit.
#include "tandem/autograd/engine.h"
#include "tandem/core/trace/trace.h"
#include "tandem/parallel/sync/gradient_tracker.h"
#include "tandem/parallel/sync/gradients.h"
#include "tandem/parallel/sync/status_exchange.h"
#include "tandem/parallel/sync/transport.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/parallel/ranks.h"

using namespace tandem;
using distributed::ProcessGroupPtr;
using nn::utils::kNormBlock;
using Options = nn::parallel::DistributedDataParallelOptions;

namespace {

int64_t blocks(int64_t elements) { return (elements + kNormBlock - 1) / kNormBlock; }

/// All gradients are in one flat tensor, divided into one shard per rank. Stage 1 averages the whole tensor, stage 2
/// only the rank's own shard. The optimizer has the parts of parameters that are in the rank's shard.
class Zero {
 public:
  Zero(const nn::Sequential& net, ProcessGroupPtr group, int stage)
      : group_(std::move(group)),
        status_exchange_("ZeRO", "ZeRO 1", group_, /*weighted=*/false, /*static_graph=*/false),
        gradients_("ZeRO", net->named_parameters(), /*gradient_as_bucket_view=*/true),
        tracker_("ZeRO", gradients_.names(), {}) {
    const Buckets& buckets = gradients_.buckets();
    if (stage == 1)
      transport_ = std::make_unique<nn::parallel::AllReduceTransport>(group_, buckets);
    else
      transport_ = std::make_unique<nn::parallel::ReduceScatterTransport>(group_, buckets);
    std::vector<size_t> all(gradients_.size());
    for (size_t i = 0; i < all.size(); ++i) all[i] = all.size() - 1 - i;
    gradients_.allocate({all}, /*status_elements=*/0, /*is_single_rank=*/false, /*shards=*/group_->size());
    status_exchange_.allocate_status({}, /*any_float64=*/false, buckets.flat_tensor(0).device());
    tracker_.set_buckets(buckets.bucket_of_parameter(), 1);
    gradients_.add_post_hooks([this](size_t i) { on_gradient(i); });
    for (const Piece& piece : buckets.shard_ranges(0, group_->rank())) {
      parts.push_back(part_of(piece).requires_grad_());
      parts.back().set_grad(buckets.shard(0, group_->rank()).narrow(0, piece.shard_offset, piece.numel));
    }
  }
  /// Gathers all parameters on all ranks, after the optimizer has stepped `parts`.
  void gather_parameters() {
    const NoGradGuard guard;
    const Tensor mine = zeros_like(gradients_.buckets().shard(0, 0)),
                 all = zeros_like(gradients_.buckets().flat_tensor(0));
    each_part(group_->rank(), [&](const Piece& piece, Tensor part) { of(mine, piece, 0).copy_(part); });
    group_->all_gather_into_tensor(all, mine)->wait();
    for (int r = 0; r < group_->size(); ++r)
      each_part(r, [&](const Piece& piece, Tensor part) { part.copy_(of(all, piece, r * mine.numel())); });
    for (const Tensor& p : gradients_.parameters()) p.set_grad(Tensor());
  }
  /// Returns the blocks of all ranks in parameter order, for clip_grad_norm_ of `parts`.
  Tensor gather_blocks(const Tensor& mine) const {
    std::vector<int64_t> first = {0};
    for (const Tensor& p : gradients_.parameters()) first.push_back(first.back() + blocks(p.numel()));
    const Tensor all = zeros({first.back()}, mine.options());
    int64_t at = 0;
    for (const Piece& piece : gradients_.buckets().shard_ranges(0, group_->rank())) {
      const int64_t n = blocks(piece.numel);
      all.narrow(0, first[piece.tensor] + piece.begin / kNormBlock, n).copy_(mine.narrow(0, at, n));
      at += n;
    }
    group_->all_reduce(all)->wait();
    return all;
  }
  std::vector<Tensor> parts;

 private:
  using Buckets = nn::parallel::detail::Buckets;
  using Piece = nn::parallel::detail::ShardRange;

  void on_gradient(size_t i) {
    const NoGradGuard guard;
    if (!tracker_.is_running()) {
      const auto token = std::make_shared<const bool>(true);
      tracker_.begin_backward(token);
      transport_->begin_step();
      for (size_t k = 0; k < gradients_.size(); ++k) tracker_.expect_gradients(k);
      autograd::queue_callback([this, token] { finish(); });
    }
    tracker_.mark_used(i);
    tracker_.count_gradient(i);
    gradients_.copy_to_slot(i);
    if (tracker_.take_next_full_bucket()) send(/*all_used=*/true);
  }
  void send(bool all_used) {
    status_exchange_.set_status(all_used, 0);
    transport_->send_bucket(0, "ZeRO: gradients");
    transport_->send_after_buckets(status_exchange_.start_all_reduce());
  }
  void finish() {
    const NoGradGuard guard;
    for (size_t i = 0; i < gradients_.size(); ++i)
      if (tracker_.is_missing(i)) gradients_.fill_slot(i, /*keep=*/false);
    if (tracker_.take_next_bucket()) send(/*all_used=*/false);
    transport_->finish_step(nullptr);
    status_exchange_.globally_used(tracker_.got_expected_gradients(), /*allows_unused_parameters=*/false,
                                   gradients_.names());
    tracker_.finish_backward();
  }
  Tensor part_of(const Piece& piece) const {
    return gradients_.parameters()[piece.tensor].detach().view({-1}).narrow(0, piece.begin, piece.numel);
  }
  static Tensor of(const Tensor& flat_tensor, const Piece& piece, int64_t shard_begin) {
    return flat_tensor.narrow(0, shard_begin + piece.shard_offset, piece.numel);
  }
  template <class F> void each_part(int rank, const F& f) const {
    for (const Piece& piece : gradients_.buckets().shard_ranges(0, rank)) f(piece, part_of(piece));
  }

  ProcessGroupPtr group_;
  nn::parallel::StatusExchange status_exchange_;
  nn::parallel::Gradients gradients_;
  nn::parallel::GradientTracker tracker_;
  std::unique_ptr<nn::parallel::Transport> transport_;
};

nn::Sequential make_zero_net() {
  manual_seed(3);
  return nn::Sequential(nn::Linear(64, 256), nn::ReLU(), nn::Linear(256, 10));
}
std::unique_ptr<optim::Optimizer> make_optimizer(const std::string& name, const std::vector<Tensor>& parameters) {
  if (name == "Adam") return std::make_unique<optim::Adam>(parameters, optim::AdamOptions(0.01).weight_decay(0.1));
  return std::make_unique<optim::SGD>(parameters, optim::SGDOptions(0.1).momentum(0.9));
}
/// Runs one backward of a rank's step.
template <class Net> void backward(Net& net, int rank, int step, Device device = kCPU) {
  manual_seed(static_cast<uint64_t>(100 * step + rank));
  const Tensor x = randn({6, 64}), y = randint(10, {6}, kInt64);
  cross_entropy(net.forward(x.to(device)), y.to(device)).backward();
}
/// Trains with ZeRO and with DDP. Returns the first difference, or "".
std::string difference_from_ddp(const std::string& backend, int ranks, int stage, const std::string& optimizer,
                                DeviceType type = kCPU, int steps = 4) {
  return test::find_backend_failure(backend, ranks, [&](const ProcessGroupPtr& group) {
    const int rank = group->rank();
    const Device device = type == kCUDA ? test::device_for_rank(rank) : Device(kCPU);
    nn::Sequential whole = make_zero_net(), cut = make_zero_net();
    whole->to(device);
    cut->to(device);
    nn::parallel::DistributedDataParallel ddp(whole, Options().process_group(group));
    Zero zero(cut, group, stage);
    const auto of_whole = make_optimizer(optimizer, ddp.parameters()), of_cut = make_optimizer(optimizer, zero.parts);
    for (int step = 0; step < steps; ++step) {
      of_whole->zero_grad();
      backward(ddp, rank, step, device);
      start_trace(/*kernels=*/false);
      backward(*cut, rank, step, device);
      int reductions = 0;
      for (const TraceEvent& event : take_trace())
        reductions += event.kind == TraceEvent::Kind::communication && event.bytes > 64;
      TANDEM_CHECK(reductions == 1, reductions, " reductions in step ", step);
      const auto gather = [&](const Tensor& mine) { return zero.gather_blocks(mine); };
      const double a = nn::utils::clip_grad_norm_(ddp.parameters(), 0.5);
      const double b = nn::utils::clip_grad_norm_(zero.parts, 0.5, 2, false, gather);
      TANDEM_CHECK(a == b && a > 0.5, "the norms are ", a, " and ", b, " in step ", step);
      of_whole->step();
      of_cut->step();
      zero.gather_parameters();
      for (size_t i = 0; i < whole->parameters().size(); ++i)
        TANDEM_CHECK(whole->parameters()[i].equal(cut->parameters()[i]), "parameter ", i, " differs after ", step + 1,
                     " steps");
    }
  });
}

}  // namespace

TEST_CASE("ZeRO 1 and 2 of the parts that DDP is made of do what DDP does, to the last bit", "[parallel][zero]") {
  for (const std::string name : {"Adam", "SGD with momentum"})
    for (const int stage : {1, 2})
      for (const int ranks : {1, 2, 3, 5}) {
        CAPTURE(name, stage, ranks);
        CHECK(difference_from_ddp("local", ranks, stage, name) == "");
      }
}
TEST_CASE("a reduce-scatter over every backend gives ZeRO 2 the bits that an all-reduce gives DDP",
          "[parallel][zero]") {
  for (const std::string& backend : test::backends()) {
    CAPTURE(backend);
    CHECK(difference_from_ddp(backend, 3, 2, "Adam", kCPU, 2) == "");
  }
  if (!cuda::is_available()) return;
  // Only two ranks: with more, NCCL may add in another order.
  for (const std::string& backend : test::backends(kCUDA)) {
    CAPTURE(backend);
    if (test::can_run(backend, 2)) CHECK(difference_from_ddp(backend, 2, 2, "Adam", kCUDA, 2) == "");
  }
}

TEST_CASE("a gradient that one rank has not is named where each rank gets only a part", "[parallel][zero]") {
  const std::string error = test::find_backend_failure("local", 2, [&](const ProcessGroupPtr& group) {
    nn::Sequential net = make_zero_net();
    Zero zero(net, group, 2);
    if (group->rank() == 0)
      backward(*net, 0, 0);
    else
      net->parameters()[3].sum().backward();
  });
  CHECK_THAT(error, Catch::Contains(
                        "ZeRO: your module has parameters that were not used in producing loss, and got no gradient: "
                        "0.weight on rank 1; 0.bias on rank 1; "
                        "2.weight on rank 1"));
}

TEST_CASE("errors of the shared parts begin with the strategy that owns them", "[parallel][zero]") {
  CHECK(test::find_backend_failure("local", 1, [&](const ProcessGroupPtr& group) {
          nn::Sequential net = make_zero_net();
          const Zero zero(net, group, 2);
          CHECK_THROWS_WITH(nn::parallel::DistributedDataParallel(net, Options().process_group(group)),
                            Catch::Contains("DistributedDataParallel: 0.weight is in another ZeRO already"));
          CHECK_THROWS_WITH(Zero(net, group, 1), Catch::Contains("ZeRO: 0.weight is in another ZeRO already"));
        }) == "");
}
