// Tests how the demo compares the parameters of two modes: they are equal, and the smallest possible change is
// detected.
#include <cmath>

#include "tandem/tandem.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/data/idx_files.h"
#include "tandem/tests/parallel/devices.h"
#include "tandem/tests/temporary.h"
#include "tandem/tools/demo/agreement.h"

using namespace tandem;
using namespace tandem::test;
using tools::FashionMNIST;
using tools::largest_difference;

namespace {

/// Increases one weight by one unit in the last place.
void nudge(nn::Module& module) {
  const NoGradGuard guard;
  Tensor first = module.parameters()[0].detach();
  const Tensor here = first.to(kCPU).clone();
  here.data_ptr<float>()[3] = std::nextafter(here.data_ptr<float>()[3], INFINITY);
  first.copy_(here);
}
double difference(const std::string& mode, const tools::DemoSettings& s, const FashionMNIST& data,
                  const std::function<void(nn::Module&)>& modify) {
  if (mode == "dp") return largest_difference(s, mode, data, 2, modify);
  double found = -1;
  distributed::run_ranks(s.ranks, [&](int rank) {
    distributed::init_process_group("local");
    const double own = largest_difference(s, mode, data, 2, rank == 0 ? modify : nullptr);
    if (rank == 0) found = own;
  });
  return found;
}

}  // namespace

TEST_CASE("agreement is exact, and one unit in the last place of one weight is reported", "[demo]") {
  const TemporaryFolder folder;
  write_digits(folder.path(), 30, 30);
  const tools::DemoData data(folder.path());
  set_cpu_device_count(4);
  tools::DemoSettings s;
  s.model = GENERATE("mlp", "lenet", "fashion_cnn");
  s.batch_size = 7;
  s.devices = s.ranks = GENERATE(2, 3, 4);
  s.device = GENERATE("cpu", "cuda");
  // Each model is tested with one number of devices, and the smallest model with all.
  if (s.device == "cpu" && s.devices != (s.model == "lenet" ? 4 : 3) && s.model != "mlp") return;
  if (s.device == "cuda" && (test::kSlowGpus || cuda::device_count() < 2 || s.devices != 2)) return;
  for (const char* mode : {"dp", "ddp_local"}) {
    INFO(s.model << " by " << mode << " over " << s.devices << " of " << s.device);
    CHECK(difference(mode, s, data.train, nullptr) == 0);
    const double nudged = difference(mode, s, data.train, nudge);
    CHECK(nudged > 0);
    CHECK(nudged < 1e-6);  // all weights are below 1
  }
}
