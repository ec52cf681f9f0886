// `tandem doctor`: prints this machine's hardware, this build's libraries, and a fix for each problem.
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "tandem/core/cuda/cuda.h"
#include "tandem/core/threads/cpu_info.h"
#include "tandem/core/threads/thread_pool.h"
#include "tandem/parallel/collectives/job_environment.h"
#include "tandem/parallel/collectives/nccl/api.h"
#include "tandem/tools/commands.h"
#include "tandem/tools/demo/data_folder.h"

namespace tandem::tools {

namespace {

/// Returns whether the machine has an NVIDIA GPU, usable or not.
bool has_nvidia_gpu() {
  std::error_code none;
  if (std::filesystem::exists("/dev/nvidiactl", none) || std::filesystem::exists("/dev/dxg", none)) return true;
  for (const auto& each : std::filesystem::directory_iterator("/sys/bus/pci/devices", none)) {
    std::string vendor, kind;
    std::ifstream(each.path() / "vendor") >> vendor;
    std::ifstream(each.path() / "class") >> kind;
    if (vendor == "0x10de" && kind.starts_with("0x03")) return true;
  }
  return false;
}

double to_gib(int64_t bytes) { return static_cast<double>(bytes) / (1 << 30); }

void print_gpus() {
  const auto version = [](int v) { return std::to_string(v / 1000) + "." + std::to_string(v % 1000 / 10); };
  const bool emulated = gpu::implementation() == std::string("emulated");
  if (emulated)
    std::printf("GPUs             %d, emulated on the CPU\n", cuda::device_count());
  else
    std::printf("GPUs             %d (driver for CUDA %s, runtime %s)\n", cuda::device_count(),
                version(gpu::driver_version()).c_str(), version(gpu::runtime_version()).c_str());
  for (int i = 0; i < cuda::device_count(); ++i) {
    const Device device(kCUDA, i);
    const gpu::DeviceProperties& properties = cuda::get_device_properties(device);
    const auto [free, total] = cuda::mem_get_info(device);
    std::printf("  %-14s %s, %.1f GiB of memory (%.1f free), compute capability %d.%d, %d multiprocessors\n",
                device.str().c_str(), properties.name.c_str(), to_gib(total), to_gib(free), properties.major,
                properties.minor, properties.multi_processor_count);
  }
  if (cuda::device_count() == 0 || emulated) return;
  if (const auto* const lib = distributed::nccl::find_library())
    std::printf("NCCL             %d.%d.%d, %s\n", lib->version / 10000, lib->version / 100 % 100, lib->version % 100,
                lib->path.c_str());
  else
    std::printf("NCCL             %s; ranks on several GPUs use gloo or local\n",
                distributed::nccl::is_disabled_in_build() ? "not in this build (TANDEM_WITH_NCCL=OFF)"
                                                          : "not found (TANDEM_NCCL_LIBRARY can name its path)");
}

}  // namespace

int doctor() {
  int problems = 0;
  const auto problem = [&](const std::string& what, const char* fix) {
    std::printf("  problem: %s\n  fix:     %s\n", what.c_str(), fix);
    ++problems;
  };
  std::printf("processor        %s\n", cpu_model().c_str());
  std::printf("usable cores     %d", num_usable_cores());
  if (cpu_quota() > 0) std::printf(" (the cgroup's quota is %.2f)", cpu_quota());
  std::printf("\nthreads in use   %d\n", get_num_threads());
  std::printf("instruction set  %s\n", cpu_isa_name().c_str());
  std::printf("memory           %.1f GiB\n", to_gib(memory_limit()));
  std::printf("OpenBLAS         %s\n",
              TANDEM_HAS_OPENBLAS ? "used" : "not in this build: Tandem uses its own matrix multiplication");
  if (!TANDEM_HAS_OPENBLAS)
    problem("large matrix products are slower", "apt install libopenblas-dev, then build again");
  std::printf("oneDNN           %s\n",
              TANDEM_HAS_ONEDNN ? "used" : "not in this build: Tandem uses its own convolutions");
  if (!TANDEM_HAS_ONEDNN) problem("convolutions are slower", "apt install libdnnl-dev, then build again");
  std::printf("Gloo             %s\n", !TANDEM_HAS_GLOO ? "not in this build: ranks can only be threads of one process"
                                       : distributed::is_shared_memory_enabled()
                                           ? "used; all_reduce of one machine's ranks goes through shared memory"
                                           : "used; shared memory is off (TANDEM_SHARED_MEMORY=0)");
  if (!TANDEM_HAS_GLOO) problem("ranks cannot be processes", "apt install libgloo-dev, then build again");
  std::printf("libjpeg          %s\n", TANDEM_HAS_JPEG ? "used" : "not in this build: JPEG files cannot be read");
  if (!TANDEM_HAS_JPEG) problem("JPEG files cannot be read", "apt install libjpeg-dev, then build again");
  std::printf("libpng           %s\n", TANDEM_HAS_PNG ? "used" : "not in this build: PNG files cannot be read");
  if (!TANDEM_HAS_PNG) problem("PNG files cannot be read", "apt install libpng-dev, then build again");
  std::printf("utf8proc         %s\n", TANDEM_HAS_UTF8PROC ? "used" : "not in this build: text cannot be tokenized");
  if (!TANDEM_HAS_UTF8PROC) problem("text cannot be tokenized", "apt install libutf8proc-dev, then build again");
  if (TANDEM_HAS_CUDA) {
    std::printf("cuBLAS           %s\n",
                TANDEM_HAS_CUBLAS ? "used" : "not in this build: Tandem uses its own matrix multiplication");
    std::printf("cuDNN            %s\n",
                TANDEM_HAS_CUDNN ? "used" : "not in this build: Tandem uses its own convolutions");
  }
  std::printf("virtual devices  %d CPU devices\n", cpu_device_count());
  if (cuda::is_available()) {
    print_gpus();
  } else {
    std::printf("GPUs             none: %s\n", gpu::unavailable_reason().c_str());
    if (has_nvidia_gpu() && !TANDEM_HAS_CUDA)
      problem("this machine has a GPU, but this build does not use it", "./run setup --cuda, then build again");
    else if (has_nvidia_gpu())
      problem("this machine has a GPU that cannot be used: " + gpu::unavailable_reason(),
              "install NVIDIA's driver so that nvidia-smi lists the GPU; start a container with --gpus all");
  }
  const std::string data = find_fashion_mnist("");
  std::printf("FashionMNIST     %s\n", data.empty() ? "not found" : data.c_str());
  if (data.empty()) problem("the demo has no data", kDataRemedy);
  if (memory_limit() < (int64_t(1) << 30))
    problem("less than 1 GiB of memory", "give the machine or its cgroup more memory");
  std::printf(problems ? "%d problem(s)\n" : "no problems\n", problems);
  return problems;
}

}  // namespace tandem::tools
