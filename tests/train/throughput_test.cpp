// Tests of ThroughputMonitor, and of weight_decay_groups.
#include "tandem/tests/catch.h"
#include "tandem/tests/train/nets.h"
#include "tandem/train/callbacks/throughput_monitor.h"

using namespace tandem;

TEST_CASE("a ThroughputMonitor logs rate, learning rate and utilisation, and prints lines with the time left",
          "[train]") {
  std::vector<std::string> lines;
  std::map<std::string, std::vector<double>> logged;
  std::vector<int64_t> steps;
  const auto options = train::ThroughputMonitorOptions()
                           .items_per_batch(6)
                           .item("rows")
                           .flops_per_item(100)
                           .peak_flops(1000)
                           .seconds_per_line(0)
                           .print([&](const std::string& line) { lines.push_back(line); });
  const auto monitor = std::make_shared<train::ThroughputMonitor>(options);
  const auto log = [&](int64_t step, const std::vector<std::pair<std::string, double>>& values) {
    for (const auto& [name, value] : values) logged[name].push_back(value);
    if (values.at(0).first == "lr") steps.push_back(step);
  };
  train::Trainer trainer(test::quiet().max_epochs(2).log_every_n_steps(2).logger(log).callback(monitor));
  trainer.fit(train::make_training_module(test::plain_net(), nn::CrossEntropyLoss(), test::sgd()),
              train::DataSource(test::classes(24)).batch_size(6));
  CHECK(steps == std::vector<int64_t>{2, 4, 6, 8});
  CHECK(logged.at("lr") == std::vector<double>(4, 0.1));
  REQUIRE(logged.at("rows_per_second").size() == 4);
  for (size_t i = 0; i < 4; ++i) {
    CHECK(logged["rows_per_second"][i] > 0);
    CHECK(logged["model_flops_utilization"][i] == Approx(logged["rows_per_second"][i] / 10));
  }
  CHECK(monitor->items_per_second() == logged["rows_per_second"].back());
  REQUIRE(lines.size() == 4);
  CHECK_THAT(lines[0], Contains("step 2 of 8: train_loss ") && Contains("lr 0.1, ") && Contains(" rows/s, ") &&
                           Contains("% of the peak") && Contains(":") && Contains(" left"));
  CHECK_THAT(lines[3], Contains("step 8 of 8") && Contains("0:00:00 left"));
}

TEST_CASE("weight_decay_groups gives biases and the weights of norms no weight decay", "[train]") {
  nn::Sequential net(nn::Linear(3, 4), nn::LayerNorm(nn::LayerNormOptions({4})), nn::Linear(4, 2));
  net[2]->as<nn::Linear>()->weight.requires_grad_(false);
  const auto groups = train::weight_decay_groups(*net);
  REQUIRE(groups.size() == 2);
  CHECK(groups[0].params().size() == 1);  // the first weight
  CHECK(groups[1].params().size() == 4);
  optim::AdamW optimizer(groups, optim::AdamWOptions(0.1).weight_decay(0.5));
  for (Tensor& p : net->parameters())
    if (p.requires_grad()) {
      p.detach().fill_(2);
      p.mutable_grad() = zeros_like(p);
    }
  optimizer.step();
  // Without gradients only the decay changes a parameter: 2 - 0.1 * 0.5 * 2.
  CHECK(net[0]->as<nn::Linear>()->weight.detach().equal(full({4, 3}, 1.9)));
  CHECK(net[0]->as<nn::Linear>()->bias.detach().equal(full({4}, 2.0)));
  CHECK(net[1]->as<nn::LayerNorm>()->weight.detach().equal(full({4}, 2.0)));
}
