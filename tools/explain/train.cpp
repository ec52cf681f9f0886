// Trains the scripts on one device, in parallel, in groups, and in the parallel order of sums. Also implements
// compare_outcomes, which finds the first difference between two runs.
#include "tandem/tools/explain/train.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tandem/tandem.h"
#include "tandem/tools/demo/net.h"
#include "tandem/tools/explain/groups.h"
#include "tandem/train/strategy.h"

namespace tandem::tools::explain {
namespace {

/// Creates the job's network on a device. @param seed_offset  number to add to the job's seed
Net make_net(const Job& job, Device device, uint64_t seed_offset = 0) {
  manual_seed(job.seed + seed_offset);
  Net net(job.model);
  net->to(device);
  for (const auto& module : net->modules()) {
    if (!job.dropout && is_dropout(*module)) module->eval();
    if (!job.batch_statistics && is_batch_norm(*module)) module->eval();
  }
  return net;
}
std::unique_ptr<optim::Optimizer> make_optimizer(const Job& job, const Net& net, double lr) {
  if (job.adam) return std::make_unique<optim::Adam>(net->parameters(), optim::AdamOptions(lr));
  return std::make_unique<optim::SGD>(net->parameters(), optim::SGDOptions(lr));
}
data::Example<> get_examples(const Job& job, const std::vector<int64_t>& rows, Device device) {
  const Tensor index = tensor(rows);
  return {job.images.index_select(0, index).to(device), job.labels.index_select(0, index).to(device)};
}
Tensor scale_loss(const Tensor& loss, double loss_factor) { return loss_factor == 1 ? loss : loss * loss_factor; }

std::vector<Tensor> copy_to_cpu(const std::vector<Tensor>& tensors) {
  const NoGradGuard guard;
  std::vector<Tensor> out;
  out.reserve(tensors.size());
  for (const Tensor& t : tensors) out.push_back(t.detach().to(kCPU).clone());
  return out;
}
void restore_values(const std::vector<Tensor>& to, const std::vector<Tensor>& from) {
  const NoGradGuard guard;
  for (size_t i = 0; i < to.size(); ++i) Tensor(to[i]).copy_(from[i]);
}

/// Trains the steps of a script and records the outcome. @param backward  computes the gradients of a step
Outcome train(const Job& job, const Script& script, const Net& net, const std::function<void(const Step&)>& backward) {
  Outcome out;
  out.names = net->network().named_parameters().keys();
  const std::vector<Tensor> parameters = net->parameters();
  const auto optimizer = make_optimizer(job, net, script.lr);
  const std::vector<Step> steps = plan_steps(script);
  const auto fingerprints = std::make_shared<compare::FingerprintObserver>(parameters[0].device());
  {
    const ObserverGuard observer(fingerprints);
    int number = 0;
    for (const Step& step : steps) {
      fingerprints->begin_step(number++);
      optimizer->zero_grad();
      backward(step);
      optimizer->step();
      std::vector<uint64_t>& hashes = out.hashes.emplace_back();
      for (const Tensor& p : parameters) hashes.push_back(compare::hash_tensor(p));
    }
  }
  out.fingerprints = fingerprints->take();
  out.parameters = copy_to_cpu(parameters);
  out.buffers = copy_to_cpu(net->buffers());
  const NoGradGuard guard;
  net->eval();
  const Device device = parameters[0].device();
  out.loss = net->loss(net(job.images.to(device)), job.labels.to(device)).item<double>();
  return out;
}

/// Trains the steps of one rank with a strategy of the Trainer. The Trainer's own loop cannot run scripts with
/// mistakes, because it weights all losses as the mean of the step requires. A strategy takes any weights.
Outcome train_with(train::StrategyKind kind, const std::vector<Device>& devices, const Job& job, const Script& script,
                   size_t rank = 0) {
  const Net net = make_net(job, devices[0], script.rank_seeds ? rank : 0);
  net->reduction = script.loss;
  net->adds_shards = script.mean_in_replicas;
  const auto make = [&](train::StrategyKind of) {
    return train::make_strategy(of, train::detail::make_trainable(net), devices, false);
  };
  const auto strategy = make(kind), with_loss = script.mean_in_replicas ? make(train::StrategyKind::dp_loss) : nullptr;
  return train(job, script, net, [&](const Step& step) {
    for (const MicroBatch& part : step[rank]) {
      train::MicroBatch micro_batch{train::detail::AnyTree(get_examples(job, part.rows, devices[0])), part.loss_factor};
      train::StepSettings settings{.total_weight = static_cast<double>(strategy->world_size()),
                                   .is_last = &part == &step[rank].back()};
      // If all shards have the same number of rows, the mean of their mean losses is the mean loss of the batch.
      if (with_loss && part.rows.size() % devices.size() != 0 && script.loss == Reduction::mean) {
        settings.total_weight = static_cast<double>(devices.size()) / part.loss_factor;
        with_loss->train_batch(micro_batch, settings);
      } else {
        strategy->train_batch(micro_batch, settings);
      }
    }
  });
}

/// Returns the groups of a step, in the order in which the parallel mode sums their gradients: first the groups in each
/// inner list are summed, then the sums.
std::vector<std::vector<RowGroup>> make_groups(const Job& job, const Step& step) {
  // Each inner list holds groups whose gradients are added to each other first; the sums of the inner lists are added
  // then.
  std::vector<std::vector<RowGroup>> sums;
  if (job.ddp) {
    for (size_t r = 0; r < step.size(); ++r) {
      sums.emplace_back();
      for (const MicroBatch& micro_batch : step[r])
        sums.back().push_back({r, micro_batch.rows, micro_batch.loss_factor});
    }
    return sums;
  }
  for (const MicroBatch& micro_batch : step[0]) {
    sums.emplace_back();
    auto first = micro_batch.rows.begin();
    const auto all = static_cast<int64_t>(micro_batch.rows.size());
    for (const int64_t size : nn::parallel::shard_sizes(all, static_cast<size_t>(job.ranks))) {
      // The mean loss of the batch is the sum over shards of (sum of the shard's losses) / `all`.
      sums.back().push_back({sums.back().size(), {first, first + size}, micro_batch.loss_factor, all});
      first += size;
    }
  }
  return sums;
}

/// Returns the largest absolute difference between two tensors; infinity if a difference is NaN. Returns 0 if the
/// tensors are equal bit by bit, even if they contain NaN.
double largest_difference(const Tensor& a, const Tensor& b) {
  if (compare::hash_tensor(a) == compare::hash_tensor(b)) return 0;
  const double largest = (a.to(kFloat64) - b.to(kFloat64)).abs().max().item<double>();
  return std::isnan(largest) ? std::numeric_limits<double>::infinity() : largest;
}

template <class IsKind> bool has_layer(const Job& job, const IsKind& is_kind) {
  Generator scratch;
  const GeneratorGuard guard(scratch);
  for (const auto& module : Net(job.model)->modules())
    if (is_kind(*module)) return true;
  return false;
}

}  // namespace

Outcome run_one_device(const Job& job, const Script& script) {
  return train_with(train::StrategyKind::single, {kCPU}, job, script);
}

Outcome run_parallel(const Job& job, const Script& script) {
  if (cpu_device_count() < job.ranks) set_cpu_device_count(job.ranks);
  std::vector<Device> devices;
  devices.reserve(static_cast<size_t>(job.ranks));
  for (int i = 0; i < job.ranks; ++i) devices.emplace_back(kCPU, i);
  if (!job.ddp) return train_with(train::StrategyKind::dp, devices, job, script);
  Outcome out;
  distributed::run_ranks(job.ranks, [&](int rank) {
    distributed::init_process_group(job.backend);
    const auto r = static_cast<size_t>(rank);
    Outcome own = train_with(train::StrategyKind::ddp, {job.backend == "local" ? devices[r] : kCPU}, job, script, r);
    if (rank == 0) out = std::move(own);
  });
  return out;
}

Outcome run_in_groups(const Job& job, const Script& script, bool group_norm, bool group_random) {
  const Net net = make_net(job, kCPU);
  const auto groups = std::make_shared<std::vector<RowGroup>>();
  for (const auto& module : net->modules())
    if ((group_norm && is_batch_norm(*module)) || (group_random && is_dropout(*module)))
      apply_in_groups(*module, groups);
  return train(job, script, net, [&](const Step& step) {
    groups->clear();
    std::vector<int64_t> rows;
    for (const std::vector<RowGroup>& sum : make_groups(job, step))
      for (const RowGroup& group : sum) {
        groups->push_back(group);
        rows.insert(rows.end(), group.rows.begin(), group.rows.end());
      }
    const data::Example<> batch = get_examples(job, rows, kCPU);
    net->loss(net(batch.data), batch.target).backward();
  });
}

Outcome run_replicas_in_order(const Job& job, const Script& script) {
  const Net net = make_net(job, kCPU);
  const std::vector<Tensor> parameters = net->parameters(), buffers = net->buffers();
  return train(job, script, net, [&](const Step& step) {
    std::vector<Tensor> total;
    for (const std::vector<RowGroup>& sum : make_groups(job, step)) {
      net->zero_grad();
      for (const RowGroup& group : sum) {
        const std::vector<Tensor> before = copy_to_cpu(buffers);
        const GeneratorGuard guard(default_generator(kCPU, group.replica));
        const data::Example<> part = get_examples(job, group.rows, kCPU);
        const Tensor output = net(part.data);
        const Tensor loss = group.loss_divisor == 0 ? net->loss(output, part.target)
                                                    : net->loss(output, part.target, Reduction::sum) /
                                                          static_cast<double>(group.loss_divisor);
        scale_loss(loss, group.loss_factor).backward();
        // Keep the running statistics of the first replica, as the parallel modes do.
        if (group.replica > 0) restore_values(buffers, before);
      }
      const NoGradGuard guard;
      for (size_t i = 0; i < parameters.size(); ++i) {
        if (total.size() == i)
          total.push_back(parameters[i].grad().clone());
        else
          total[i].add_(parameters[i].grad());
      }
    }
    const NoGradGuard guard;
    for (size_t i = 0; i < parameters.size(); ++i) {
      if (job.ddp) total[i].mul_(1.0 / job.ranks);
      parameters[i].set_grad(total[i]);
    }
  });
}

bool has_batch_norm(const Job& job) { return job.batch_statistics && has_layer(job, is_batch_norm); }
bool has_dropout(const Job& job) { return job.dropout && has_layer(job, is_dropout); }

Comparison compare_outcomes(const Outcome& one, const Outcome& other) {
  Comparison c;
  for (size_t i = 0; i < one.parameters.size(); ++i) {
    const double difference = largest_difference(one.parameters[i], other.parameters[i]);
    if (difference > c.parameters) {
      c.parameters = difference;
      c.largest_difference_parameter = one.names[i];
    }
  }
  c.loss = std::abs(one.loss - other.loss);
  const size_t common = std::min(one.hashes.size(), other.hashes.size());
  for (size_t step = 0; step < common && c.step == 0; ++step)
    for (size_t i = 0; i < one.names.size() && c.step == 0; ++i)
      if (one.hashes[step][i] != other.hashes[step][i]) {
        c.step = static_cast<int64_t>(step) + 1;
        c.parameter = one.names[i];
      }
  // All common steps are equal, but one run has more steps.
  if (c.step == 0 && one.hashes.size() != other.hashes.size()) {
    c.step = static_cast<int64_t>(common) + 1;
    if (!one.names.empty()) c.parameter = one.names[0];
  }
  c.op = compare::first_difference(one.fingerprints, other.fingerprints);
  return c;
}

bool is_bitwise_equal(const Outcome& one, const Outcome& other) {
  if (one.hashes != other.hashes || one.buffers.size() != other.buffers.size()) return false;
  for (size_t i = 0; i < one.buffers.size(); ++i)
    if (compare::hash_tensor(one.buffers[i]) != compare::hash_tensor(other.buffers[i])) return false;
  for (size_t i = 0; i < one.parameters.size(); ++i)
    if (compare::hash_tensor(one.parameters[i]) != compare::hash_tensor(other.parameters[i])) return false;
  return true;
}

}  // namespace tandem::tools::explain
