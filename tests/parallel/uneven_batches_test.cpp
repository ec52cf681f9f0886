// Tests DistributedDataParallel if ranks have batches of different sizes, or different numbers of batches: weighted
// averages and Join, compared with one device.
#include "tandem/tests/catch.h"
#include "tandem/tests/parallel/ranks.h"
#include "tandem/tests/parallel/small_net.h"

using namespace tandem;
using distributed::ProcessGroupPtr;
using nn::parallel::DistributedDataParallel;
using nn::parallel::Join;
using nn::parallel::JoinOptions;
using test::find_backend_failure;
using Options = nn::parallel::DistributedDataParallelOptions;
using State = std::vector<Tensor>;

namespace {

/// rows[step][rank]: number of examples; kNoBatch: the rank has no batch in this step
using Rows = std::vector<std::vector<int64_t>>;
constexpr int64_t kNoBatch = -1;

nn::Sequential make_norm_net(bool with_norm) {
  manual_seed(3);
  nn::Sequential net(nn::Linear(3, 5), nn::Tanh());
  if (with_norm) net->push_back(nn::BatchNorm1d(5));
  net->push_back(nn::Linear(5, 2));
  net->to(kFloat64);
  return net;
}
optim::SGD make_optimizer(nn::Sequential& net) {
  return optim::SGD(net->parameters(), optim::SGDOptions(0.1).momentum(0.9));
}
/// Returns a rank's batch: inputs (rows, 3) and targets (rows, 2), all values different.
std::pair<Tensor, Tensor> batch(size_t step, size_t rank, int64_t rows) {
  const auto values = [&](int64_t columns, uint32_t salt) {
    std::vector<double> all;
    for (int64_t i = 0; i < rows * columns; ++i)
      all.push_back(2 * test::unit(i + 1000 * static_cast<int64_t>(rank) + 7000 * static_cast<int64_t>(step), salt) -
                    1);
    return tensor(all, kFloat64).view({rows, columns});
  };
  return {values(3, 1), values(2, 2)};
}
State state_of(const nn::Module& module) {
  State out;
  for (const auto& item : module.state_dict()) out.push_back(item.value().detach().clone());
  return out;
}
double difference(const State& a, const State& b) {
  double largest = a.size() == b.size() ? 0 : INFINITY;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    largest = std::max(largest, (a[i].to(kFloat64) - b[i].to(kFloat64)).abs().max().item<double>());
  return largest;
}

enum class Average { examples, all_ranks, active_ranks };

/// Trains on one device with the batches of all ranks. In each step, averages the gradients of the ranks' mean losses
/// with the weights that `average` specifies. Batch norm sees each rank's batch separately; its running statistics are
/// those of the first rank with examples.
/// @param new_optimizer_at  step before which a new optimizer replaces the old one
State on_one_device(const Rows& rows, Average average, bool with_norm = false,
                    std::optional<size_t> new_optimizer_at = {}) {
  nn::Sequential net = make_norm_net(with_norm);
  std::optional<optim::SGD> optimizer(make_optimizer(net));
  for (size_t step = 0; step < rows.size(); ++step) {
    double total = 0;
    for (const int64_t n : rows[step])
      total += average == Average::examples ? static_cast<double>(std::max<int64_t>(n, 0))
                                            : (n != kNoBatch || average == Average::all_ranks);
    if (step == new_optimizer_at) optimizer.emplace(make_optimizer(net));
    optimizer->zero_grad();
    State before = state_of(*net), after;
    for (size_t rank = 0; rank < rows[step].size(); ++rank) {
      const int64_t n = rows[step][rank];
      if (n <= 0) continue;
      {
        const NoGradGuard guard;
        for (size_t i = 0; i < before.size(); ++i) net->state_dict()[i].value().copy_(before[i]);
      }
      const auto [x, y] = batch(step, rank, n);
      const double weight = average == Average::examples ? static_cast<double>(n) : 1;
      (mse_loss(net->forward(x), y) * (weight / total)).backward();
      if (after.empty()) after = state_of(*net);
    }
    const NoGradGuard guard;
    for (size_t i = 0; i < after.size(); ++i) net->state_dict()[i].value().copy_(after[i]);
    optimizer->step();
  }
  return state_of(*net);
}

/// Runs f(group, net) on all ranks, each with an equal net. Returns the ranks' final states.
std::vector<State> on_ranks(const std::string& backend, size_t ranks, bool with_norm,
                            const std::function<void(const ProcessGroupPtr&, nn::Sequential&)>& f) {
  std::vector<State> states(ranks);
  // Created in sequence, because ranks that are threads share the default generator.
  std::vector<nn::Sequential> nets;
  for (size_t r = 0; r < ranks; ++r) nets.push_back(make_norm_net(with_norm));
  test::run_with_backend(backend, static_cast<int>(ranks), [&](const ProcessGroupPtr& group) {
    const auto rank = static_cast<size_t>(group->rank());
    f(group, nets[rank]);
    states[rank] = state_of(*nets[rank]);
  });
  return states;
}
void check_all_equal(const std::vector<State>& states, const State& expected) {
  for (size_t rank = 0; rank < states.size(); ++rank) {
    INFO("rank " << rank);
    CHECK(difference(states[rank], expected) < 1e-12);  // float64, a few steps
  }
}

}  // namespace

TEST_CASE("weighted DDP gives the mean gradient of all ranks' examples, however uneven", "[parallel][ddp][uneven]") {
  const std::string backend = GENERATE(from_range(test::backends()));
  const Rows rows = GENERATE(Rows{{5, 1}, {2, 7}, {3, 3}, {0, 4}, {6, 0}}, Rows{{1, 12, 3}, {0, 0, 5}, {4, 2, 0}},
                             Rows{{5, 1, 2, 3}, {0, 9, 1, 0}, {2, 2, 2, 3}});
  const bool view = GENERATE(true, false), skip = GENERATE(true, false);
  // Skipped: above the transport, these cases run the same code as with the local backend.
  if (backend == "gloo" && view != skip) return;
  INFO(backend << ", " << rows[0].size() << " ranks, views " << view << ", skip_batch " << skip);
  const auto states = on_ranks(backend, rows[0].size(), false, [&](const ProcessGroupPtr& group, nn::Sequential& net) {
    DistributedDataParallel ddp(
        net, Options().process_group(group).weighted_average(true).gradient_as_bucket_view(view).bucket_cap_mb(
                 view ? 1e-4 : 25));
    optim::SGD optimizer = make_optimizer(net);
    const auto rank = static_cast<size_t>(group->rank());
    for (size_t step = 0; step < rows.size(); ++step) {
      optimizer.zero_grad();
      const auto [x, y] = batch(step, rank, rows[step][rank]);
      if (rows[step][rank] == 0 && skip)
        ddp.skip_batch();
      else
        mse_loss(ddp(x), y).backward();  // the mean over an empty batch is NaN, and so are its gradients
      optimizer.step();
    }
  });
  check_all_equal(states, on_one_device(rows, Average::examples));
  // The other average gives a different result, so the check above can tell them apart.
  if (rows[0].size() == 2) CHECK(difference(states[0], on_one_device(rows, Average::all_ranks)) > 1e-3);
}

TEST_CASE("uneven batches with convert_sync_batchnorm are one device's whole batch if the losses are weighed",
          "[parallel][ddp][uneven]") {
  const std::string backend = GENERATE(from_range(test::backends()));
  const Rows rows = {{5, 1, 4}, {2, 7, 0}, {3, 3, 1}};
  std::vector<std::string> errors(3);
  const auto states = on_ranks(backend, 3, true, [&](const ProcessGroupPtr& group, nn::Sequential& net) {
    nn::convert_sync_batchnorm(net);
    try {
      DistributedDataParallel weighted(net, Options().process_group(group).weighted_average(true));
    } catch (const Error& error) {
      errors[static_cast<size_t>(group->rank())] = error.what();
    }
    DistributedDataParallel ddp(net, Options().process_group(group));
    optim::SGD optimizer = make_optimizer(net);
    const auto rank = static_cast<size_t>(group->rank());
    for (size_t step = 0; step < rows.size(); ++step) {
      optimizer.zero_grad();
      const auto [x, y] = batch(step, rank, rows[step][rank]);
      double total = 0;
      for (const int64_t n : rows[step]) total += static_cast<double>(n);
      (mse_loss(ddp(x), y, Reduction::sum) * (3 / (2 * total))).backward();  // 3: DDP averages over 3 ranks; 2: columns
      optimizer.step();
    }
  });
  nn::Sequential net = make_norm_net(true);
  optim::SGD optimizer = make_optimizer(net);
  for (size_t step = 0; step < rows.size(); ++step) {
    std::vector<Tensor> x, y;
    for (size_t rank = 0; rank < 3; ++rank) {
      const auto [of_rank, target] = batch(step, rank, rows[step][rank]);
      x.push_back(of_rank), y.push_back(target);
    }
    optimizer.zero_grad();
    mse_loss(net->forward(cat(x)), cat(y)).backward();
    optimizer.step();
  }
  for (const std::string& error : errors)
    CHECK_THAT(error, Contains("the module has a SyncBatchNorm, whose backward sums over ranks"));
  check_all_equal(states, state_of(*net));
}

TEST_CASE("weighted DDP: forwards under no_sync add to a rank's weight, and set_weight counts in the place of rows",
          "[parallel][ddp][uneven]") {
  const Rows rows = {{5, 1, 3}, {2, 7, 1}};
  const auto states = on_ranks("local", 3, false, [&](const ProcessGroupPtr& group, nn::Sequential& net) {
    DistributedDataParallel ddp(net, Options().weighted_average(true));
    optim::SGD optimizer = make_optimizer(net);
    const auto rank = static_cast<size_t>(group->rank());
    for (size_t step = 0; step < rows.size(); ++step) {
      optimizer.zero_grad();
      const int64_t n = rows[step][rank];
      const auto [x, y] = batch(step, rank, n);
      if (rank == 1 && step == 0) {  // two backwards with the same one-row batch, each with half the weight
        const auto backward = [&, x = x, y = y] {
          ddp.set_weight(0.5);
          (mse_loss(ddp(x), y) / 2).backward();
        };
        {
          const auto guard = ddp.no_sync();
          backward();
        }
        backward();
      } else if (rank == 1) {  // each row twice, which must not change its weight
        ddp.set_weight(static_cast<double>(n));
        mse_loss(ddp(x.repeat({2, 1})), y.repeat({2, 1})).backward();
      } else {
        mse_loss(ddp(x), y).backward();
      }
      optimizer.step();
    }
  });
  check_all_equal(states, on_one_device(rows, Average::examples));
}

TEST_CASE("weighted DDP: grad() through a forward does not count it, and one forward counts once",
          "[parallel][ddp][uneven]") {
  std::vector<Tensor> gradients(2);
  test::run_with_backend("local", 2, [&](const ProcessGroupPtr& group) {
    nn::Linear net(nn::LinearOptions(1, 1).bias(false));
    DistributedDataParallel ddp(net, Options().weighted_average(true));
    const int rank = group->rank();
    if (rank == 0) {
      const auto guard = ddp.no_sync();
      autograd::grad({ddp(ones({7, 1})).sum()}, {net->weight});
    }
    // Rank 0 has three rows of 1, in two backwards. Rank 1 has one row of 5.
    const Tensor y = ddp(rank == 0 ? ones({3, 1}) : full({1, 1}, 5.f));
    y.mean().backward({}, /*retain_graph=*/true);
    net->zero_grad();
    ddp(rank == 0 ? ones({3, 1}) : full({1, 1}, 5.f)).mean().backward();
    gradients[static_cast<size_t>(rank)] = net->weight.grad().clone();
  });
  for (const Tensor& g : gradients) CHECK(g.item<float>() == Approx((3 * 1 + 1 * 5) / 4.).epsilon(1e-6));
}

namespace {
/// Returns the mean of the inputs times a scale. For no inputs, the mean and the scale's gradient are NaN.
struct ScaledMeanImpl : nn::Module {
  Tensor forward(const Tensor& x) { return x.mean() * scale; }
  Tensor scale = register_parameter("scale", ones({1}));
};
TANDEM_MODULE(ScaledMean);
}  // namespace

TEST_CASE("weighted DDP: a gradient that is NaN for want of examples adds nothing", "[parallel][ddp][uneven]") {
  CHECK(find_backend_failure("local", 3, [](const ProcessGroupPtr& group) {
          ScaledMean net;
          DistributedDataParallel ddp(net, Options().weighted_average(true));
          for (int step = 0; step < 3; ++step) {
            net->zero_grad();
            const int64_t rows = group->rank() == 1 || step == 2 ? 0 : 1 + group->rank();
            ddp(full({rows}, 2.f + static_cast<float>(group->rank()))).backward();
            // In step 2 no rank has examples, so the gradient is 0.
            const float expected = step == 2 ? 0 : (1 * 2 + 3 * 4) / 4.f;
            const float g = net->scale.grad().item<float>();
            TANDEM_CHECK(std::abs(g - expected) < 1e-5, "step ", step, ": ", g);  // a few float32 roundings
          }
        }) == "");
}

TEST_CASE("weighted DDP: large weights of half types neither overflow nor lose digits", "[parallel][ddp][uneven]") {
  const DType dtype = GENERATE(kFloat16, kBFloat16);
  const bool view = GENERATE(true, false);
  const double epsilon = dtype == kFloat16 ? 0x1p-11 : 0x1p-8;
  test::run_with_backend("local", 2, [&](const ProcessGroupPtr& group) {
    nn::Linear net(nn::LinearOptions(1, 1).bias(false));
    net->to(dtype);
    DistributedDataParallel ddp(net, Options().weighted_average(true).gradient_as_bucket_view(view));
    for (int step = 0; step < 2; ++step) {
      net->zero_grad();
      ddp.set_weight(group->rank() == 0 ? 3e5 : 1e5);  // weights as numbers of tokens
      (ddp(ones({1, 1}, dtype)) * (group->rank() == 0 ? 1.0 : 5.0)).sum().backward();
      // Expected: the mean of 1 with weight 3 and 5 with weight 1. Each gradient, their sum and the result are rounded.
      TANDEM_CHECK(std::abs(net->weight.grad().item<double>() - 2) <= 3 * 2 * epsilon, net->weight.grad());
    }
  });
}

TEST_CASE("DDP refuses weights without weighted_average, and weights that are none",
          "[parallel][ddp][uneven][errors]") {
  test::run_with_backend("local", 1, [](const ProcessGroupPtr&) {
    nn::Linear net(1, 1), other(1, 1);
    DistributedDataParallel plain(net), weighted(other, Options().weighted_average(true));
    CHECK_THROWS_WITH(plain.set_weight(1), Contains("set_weight: requires weighted_average(true)"));
    CHECK_THROWS_WITH(plain.skip_batch(), Contains("skip_batch: requires weighted_average(true)"));
    CHECK_THROWS_WITH(weighted.set_weight(-1), Contains("the weight is -1; accepted: a finite number"));
    CHECK_THROWS_WITH(weighted.set_weight(NAN), Contains("accepted: a finite number"));
    const auto guard = weighted.no_sync();
    CHECK_THROWS_WITH(weighted.skip_batch(), Contains("not allowed under no_sync()"));
  });
}

TEST_CASE("Join: ranks that run out of batches follow the others, and end with their model",
          "[parallel][ddp][uneven]") {
  const std::string backend = GENERATE(from_range(test::backends()));
  const Average average = GENERATE(Average::examples, Average::all_ranks, Average::active_ranks);
  const bool with_norm = GENERATE(true, false), view = GENERATE(true, false);
  const Rows rows = GENERATE(Rows{{4, 3}, {2, 5}, {kNoBatch, 3}, {kNoBatch, 2}},
                             Rows{{3, 2, kNoBatch, 4}, {kNoBatch, 2, kNoBatch, 5}, {kNoBatch, 3, kNoBatch, kNoBatch}},
                             Rows{{2, 2, 3}, {4, 2, 2}});
  // Skipped: above the transport, these cases run the same code as with the local backend.
  if (backend == "gloo" && (!with_norm || view)) return;
  INFO(backend << ", average " << static_cast<int>(average) << ", batch norm " << with_norm << ", views " << view);
  const auto states =
      on_ranks(backend, rows[0].size(), with_norm, [&](const ProcessGroupPtr& group, nn::Sequential& net) {
        DistributedDataParallel ddp(net, Options()
                                             .process_group(group)
                                             .weighted_average(average == Average::examples)
                                             .gradient_as_bucket_view(view)
                                             .bucket_cap_mb(1e-4));
        optim::SGD optimizer = make_optimizer(net);
        const auto rank = static_cast<size_t>(group->rank());
        Join join({&ddp}, JoinOptions().divide_by_initial_world_size(average == Average::all_ranks));
        for (size_t step = 0; step < rows.size() && rows[step][rank] != kNoBatch; ++step) {
          optimizer.zero_grad();
          const auto [x, y] = batch(step, rank, rows[step][rank]);
          mse_loss(ddp(x), y).backward();
          optimizer.step();
        }
        if (rank != 1) join.finish();  // rank 1 finishes at the end of the scope
      });
  check_all_equal(states, on_one_device(rows, average, with_norm));
}

TEST_CASE("Join: a second one, after a step outside of both, begins anew", "[parallel][ddp][uneven]") {
  const Average average = GENERATE(Average::examples, Average::all_ranks, Average::active_ranks);
  // In the first Join, rank 1 has the last batch; in the second, rank 0.
  const Rows first = {{4, 3}, {kNoBatch, 5}}, between = {{3, 3}}, second = {{2, 2}, {4, kNoBatch}};
  Rows all = first;
  all.insert(all.end(), between.begin(), between.end());
  all.insert(all.end(), second.begin(), second.end());
  INFO("average " << static_cast<int>(average));
  const auto states = on_ranks("local", 2, /*with_norm=*/true, [&](const ProcessGroupPtr& group, nn::Sequential& net) {
    DistributedDataParallel ddp(net, Options().weighted_average(average == Average::examples));
    std::optional<optim::SGD> optimizer(make_optimizer(net));
    const auto rank = static_cast<size_t>(group->rank());
    const auto steps = [&](const Rows& rows, size_t number) {
      for (size_t step = 0; step < rows.size() && rows[step][rank] != kNoBatch; ++step) {
        optimizer->zero_grad();
        const auto [x, y] = batch(number + step, rank, rows[step][rank]);
        mse_loss(ddp(x), y).backward();
        optimizer->step();
      }
    };
    const auto joined = [&](const Rows& rows, size_t number) {
      Join join({&ddp}, JoinOptions().divide_by_initial_world_size(average == Average::all_ranks));
      steps(rows, number);
      join.finish();
    };
    joined(first, 0);
    optimizer.emplace(make_optimizer(net));  // Join does not synchronize the optimizers' states
    steps(between, 2);
    joined(second, 3);
  });
  // The reference has a new optimizer after the first two steps, as above.
  check_all_equal(states, on_one_device(all, average, /*with_norm=*/true, /*new_optimizer_at=*/2));
}

TEST_CASE("Join: under no_sync and in evaluation the others follow too, of several modules in order",
          "[parallel][ddp][uneven]") {
  // Fails, because each step runs the first module twice before the second one.
  CHECK(find_backend_failure("local", 3, [](const ProcessGroupPtr& group) {
          nn::Sequential one(nn::Linear(2, 2), nn::BatchNorm1d(2)), two(nn::Linear(2, 1));
          DistributedDataParallel first(one, Options().find_unused_parameters(true)), second(two);
          Join join({&first, &second});
          for (int step = 0; step < group->rank(); ++step) {
            const Tensor x = ones({2, 2}) * (step + 1.0);
            {
              const auto guard = first.no_sync();
              first(x).sum().backward();
            }
            second(first(x).detach()).sum().backward();
            first(x).sum().backward();
          }
          join.finish();
        }).find("Detected mismatch between collectives on ranks") != std::string::npos);
  CHECK(find_backend_failure("local", 3, [](const ProcessGroupPtr& group) {
          nn::Sequential one(nn::Linear(2, 2), nn::BatchNorm1d(2)), two(nn::Linear(2, 1));
          DistributedDataParallel first(one, Options().find_unused_parameters(true)), second(two);
          Join join({&first, &second});
          for (int step = 0; step < 3 * group->rank(); ++step) {
            const Tensor x = ones({2, 2}) * (step + 1.0);
            if (step % 3 == 0) {
              const auto guard = first.no_sync();
              first(x).sum().backward();
              const NoGradGuard no_grad;
              second(x);
            } else {
              first(x).sum().backward();
              second(x).sum().backward();
            }
          }
          join.finish();
          for (const Tensor& t : state_of(*one)) {
            const Tensor of_last = t.clone();
            group->broadcast(of_last, 2)->wait();
            TANDEM_CHECK(of_last.equal(t), "rank ", group->rank(), " has another model");
          }
        }) == "");
}

TEST_CASE("Join with throw_on_early_termination throws on every rank, and names who ran out",
          "[parallel][ddp][uneven][errors]") {
  const std::string backend = GENERATE(from_range(test::backends()));
  std::vector<std::string> errors(3);
  std::vector<int> steps(3);
  test::run_with_backend(backend, 3, [&](const ProcessGroupPtr& group) {
    const auto rank = static_cast<size_t>(group->rank());
    nn::Linear net(3, 2);
    DistributedDataParallel ddp(net, Options().process_group(group));
    Join join({&ddp}, JoinOptions().throw_on_early_termination(true));
    try {
      for (int step = 0; step < (rank == 1 ? 2 : 4); ++step) {
        ddp(ones({2, 3})).sum().backward();
        ++steps[rank];
      }
      join.finish();
    } catch (const Error& error) {
      errors[rank] = error.what();
    }
  });
  CHECK(steps == std::vector<int>{2, 2, 2});
  for (const std::string& error : errors)
    CHECK_THAT(error, Contains("Detected at least one rank that exhausted inputs. Throwing across all ranks. No "
                               "batches left on rank 1;"));
}

TEST_CASE("Join: a rank that fails while others follow it ends the job with its error",
          "[parallel][ddp][uneven][errors]") {
  const std::string backend = GENERATE(from_range(test::backends()));
  std::vector<std::string> errors(3);
  const std::string first = find_backend_failure(backend, 3, [&](const ProcessGroupPtr& group) {
    const auto rank = static_cast<size_t>(group->rank());
    try {
      nn::Linear net(3, 2);
      DistributedDataParallel ddp(net, Options().process_group(group));
      Join join({&ddp});
      for (int step = 0; step < 2 * group->rank(); ++step) {
        ddp(ones({2, 3})).sum().backward();
        if (rank == 2 && step == 2) throw std::runtime_error("power cut");
      }
      join.finish();
    } catch (const std::exception& error) {
      errors[rank] = error.what();
      throw;
    }
  });
  CHECK_THAT(first, Contains("rank 2") && Contains("power cut"));
  for (int rank : {0, 1}) CHECK_THAT(errors[static_cast<size_t>(rank)], Contains("rank 2"));
}

TEST_CASE("Join refuses no modules, those of other groups, and a second one", "[parallel][ddp][uneven][errors]") {
  test::run_with_backend("local", 1, [](const ProcessGroupPtr& group) {
    nn::Linear net(1, 1), other(1, 1);
    DistributedDataParallel one(net);
    DistributedDataParallel two(other, Options().process_group(distributed::new_group({0})));
    CHECK_THROWS_WITH(Join({}), Contains("The join context manager requires at least one joinable"));
    CHECK_THROWS_WITH(Join({&one, &two}), Contains("Using join context manager with multiple process groups"));
    Join join({&one});
    CHECK_THROWS_WITH(Join({&one}), Contains("DDP 1 is already in a Join"));
    join.finish();
    Join({&one}).finish();
    Join off({&one}, JoinOptions().enable(false));
    one(ones({1, 1})).sum().backward();
    TANDEM_CHECK(group->size() == 1, "one rank");
  });
}
