// Tests the Trainer in a job whose ranks are processes that `tandem launch` starts.
#include <filesystem>

#include "tandem/tests/catch.h"
#include "tandem/tests/parallel/ranks.h"
#include "tandem/tests/process.h"
#include "tandem/tests/temporary.h"

using namespace tandem;

TEST_CASE("a rank of a launched job trains as a thread does, and an exception on rank 1 is named on all", "[train]") {
  if (test::without_gloo()) return;
  const auto launch = [](const std::vector<std::string>& arguments) {
    std::vector<std::string> all = {"launch", "-n", "2", "--", test::kTrainProgram};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return test::run_program(test::kCommand, all);
  };
  const test::Result launched = launch({"ddp"});
  INFO(launched.output);
  REQUIRE(launched.status == 0);
  const test::Result threads = test::run_program(test::kTrainProgram, {"ddp_local"});
  INFO(threads.output);
  REQUIRE(threads.status == 0);
  // Only rank 0 prints. `tandem launch` puts the rank's number before the line.
  const size_t second = threads.output.find("val_loss");
  REQUIRE(second != std::string::npos);
  CHECK(launched.output == "[0] " + threads.output.substr(0, second) + "[0] " + threads.output.substr(second));
  CHECK_THAT(threads.output, Contains("rank 0 of 2: "));

  const test::Result failed = launch({"ddp", "throw"});
  INFO(failed.output);
  CHECK(failed.status != 0);
  CHECK_THAT(failed.output, Contains("rank 0 ended with: ") && Contains("rank 1 ended with: "));
  const size_t of_rank_0 = failed.output.find("rank 0 ended with: ");
  const std::string line = failed.output.substr(of_rank_0, failed.output.find('\n', of_rank_0) - of_rank_0);
  CHECK_THAT(line, Contains("rank 1 failed: ") && Contains("no more"));
}

TEST_CASE("a job whose ranks are killed continues from its checkpoints, and ends as one without interruption",
          "[train]") {
  if (test::without_gloo()) return;
  const test::TemporaryFolder folder;
  const auto launch = [](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "launch");
    return test::run_program(test::kCommand, arguments);
  };
  const test::Result whole = launch({"-n", "2", "--", test::kTrainProgram, "ddp"});
  INFO(whole.output);
  REQUIRE(whole.status == 0);
  // 12 steps; an epoch ends after the sixth.
  const test::Result killed =
      launch({"-n", "2", "--max-restarts", "4", "--", test::kTrainProgram, "ddp", folder.path(), "3", "6", "7", "11"});
  INFO(killed.output);
  REQUIRE(killed.status == 0);
  for (const std::string step : {"3", "6", "7", "11"}) CHECK(std::filesystem::exists(folder / ("killed_at_" + step)));
  CHECK_THAT(killed.output, Contains(whole.output.substr(0, whole.output.find('\n'))));
}

TEST_CASE("without a terminal, rank 0 prints a line for each epoch, with the metrics and the rate", "[train]") {
  const test::Result result = test::run_program(test::kTrainProgram, {"ddp_local", "bar"});
  INFO(result.output);
  REQUIRE(result.status == 0);
  const auto count = [&result](const std::string& text) {
    size_t found = 0;
    for (size_t at = 0; (at = result.output.find(text, at)) != std::string::npos; ++at) ++found;
    return found;
  };
  CHECK(count("epoch 1/2: train_loss_epoch 1.") == 1);
  CHECK(count("epoch 2/2: train_loss_epoch 1.") == 1);
  CHECK(count("12 steps") == 1);
  CHECK(count("batches/s\n") == 2);
  CHECK(count("\r") == 0);
}
