// `tandem doctor`: what this machine and this build have, and the fix for each problem.
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "tandem/core/cpu_info.h"
#include "tandem/core/device.h"
#include "tandem/core/thread_pool.h"
#include "tandem/tools/commands.h"

namespace tandem::tools {

std::string find_fashion_mnist(const std::string& asked) {
  if (!asked.empty()) return asked;
  const char* root = std::getenv("TANDEM_DATA_ROOT");
  for (const std::string& folder : {std::string(root ? root : "") + "/usr/share/datasets/fashion-mnist",
                                    std::string("/usr/share/datasets/fashion-mnist")})
    for (const char* ending : {"", ".gz"})
      if (std::filesystem::exists(folder + "/train-images-idx3-ubyte" + ending)) return folder;
  return "";
}

int doctor() {
  int problems = 0;
  const auto problem = [&](const char* what, const char* fix) {
    std::printf("  problem: %s\n  fix:     %s\n", what, fix);
    ++problems;
  };
  std::printf("processor        %s\n", cpu_model().c_str());
  std::printf("usable cores     %d", usable_cores());
  if (cpu_quota() > 0) std::printf(" (the cgroup's quota is %.2f)", cpu_quota());
  std::printf("\nthreads in use   %d\n", get_num_threads());
  std::printf("instruction set  %s\n", cpu_isa_name().c_str());
  std::printf("memory           %.1f GiB\n", static_cast<double>(memory_limit()) / (1 << 30));
  std::printf("OpenBLAS         %s\n", TANDEM_HAS_OPENBLAS ? "in" : "out: our own matrix product instead");
  if (!TANDEM_HAS_OPENBLAS) problem("large matrix products are slower", "apt install libopenblas-dev, and build anew");
  std::printf("oneDNN           %s\n", TANDEM_HAS_ONEDNN ? "in" : "out: our own convolution instead");
  if (!TANDEM_HAS_ONEDNN) problem("convolutions are slower", "apt install libdnnl-dev, and build anew");
  std::printf("Gloo             %s\n", TANDEM_HAS_GLOO ? "in" : "out: ranks are threads of one process");
  if (!TANDEM_HAS_GLOO) problem("ranks cannot be processes", "apt install libgloo-dev, and build anew");
  std::printf("devices          %d virtual CPU device%s, %d CUDA\n", cpu_device_count(),
              cpu_device_count() == 1 ? "" : "s", cuda::device_count());
  const std::string data = find_fashion_mnist("");
  std::printf("FashionMNIST     %s\n", data.empty() ? "not found" : data.c_str());
  if (data.empty()) problem("the demo has no data", "apt install dataset-fashion-mnist, or tandem demo --data DIR");
  if (memory_limit() < (int64_t(1) << 30)) problem("less than 1 GiB of memory", "give the machine or its cgroup more");
  std::printf(problems ? "%d problem(s)\n" : "no problems\n", problems);
  return problems;
}

}  // namespace tandem::tools
