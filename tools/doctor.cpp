// `tandem doctor`: what this machine and this build have, and the fix for each problem.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tandem/core/cpu_info.h"
#include "tandem/core/cuda/cuda.h"
#include "tandem/core/thread_pool.h"
#include "tandem/parallel/collectives/nccl_api.h"
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

namespace {

/// Whether the machine has a GPU of NVIDIA's, usable or not.
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

double gib(int64_t bytes) { return static_cast<double>(bytes) / (1 << 30); }

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
    const gpu::DeviceProperties& its = cuda::get_device_properties(device);
    const auto [free, total] = cuda::mem_get_info(device);
    std::printf("  %-14s %s, %.1f GiB of memory (%.1f free), compute capability %d.%d, %d multiprocessors\n",
                device.str().c_str(), its.name.c_str(), gib(total), gib(free), its.major, its.minor,
                its.multiprocessors);
  }
  if (cuda::device_count() == 0 || emulated) return;
  if (const auto* const lib = distributed::nccl::find_library())
    std::printf("NCCL             %d.%d.%d, %s\n", lib->version / 10000, lib->version / 100 % 100, lib->version % 100,
                lib->path.c_str());
  else
    std::printf("NCCL             %s; ranks on several GPUs take gloo or local\n",
                distributed::nccl::is_left_out() ? "out of this build (TANDEM_WITH_NCCL=OFF)"
                                                 : "none (TANDEM_NCCL_LIBRARY may name one)");
}

}  // namespace

int doctor() {
  int problems = 0;
  const auto problem = [&](const std::string& what, const char* fix) {
    std::printf("  problem: %s\n  fix:     %s\n", what.c_str(), fix);
    ++problems;
  };
  std::printf("processor        %s\n", cpu_model().c_str());
  std::printf("usable cores     %d", usable_cores());
  if (cpu_quota() > 0) std::printf(" (the cgroup's quota is %.2f)", cpu_quota());
  std::printf("\nthreads in use   %d\n", get_num_threads());
  std::printf("instruction set  %s\n", cpu_isa_name().c_str());
  std::printf("memory           %.1f GiB\n", gib(memory_limit()));
  std::printf("OpenBLAS         %s\n", TANDEM_HAS_OPENBLAS ? "in" : "out: our own matrix product instead");
  if (!TANDEM_HAS_OPENBLAS) problem("large matrix products are slower", "apt install libopenblas-dev, and build anew");
  std::printf("oneDNN           %s\n", TANDEM_HAS_ONEDNN ? "in" : "out: our own convolution instead");
  if (!TANDEM_HAS_ONEDNN) problem("convolutions are slower", "apt install libdnnl-dev, and build anew");
  std::printf("Gloo             %s\n", TANDEM_HAS_GLOO ? "in" : "out: ranks are threads of one process");
  if (!TANDEM_HAS_GLOO) problem("ranks cannot be processes", "apt install libgloo-dev, and build anew");
  std::printf("libjpeg          %s\n", TANDEM_HAS_JPEG ? "in" : "out: JPEG files are refused");
  if (!TANDEM_HAS_JPEG) problem("JPEG files cannot be read", "apt install libjpeg-dev, and build anew");
  std::printf("libpng           %s\n", TANDEM_HAS_PNG ? "in" : "out: PNG files are refused");
  if (!TANDEM_HAS_PNG) problem("PNG files cannot be read", "apt install libpng-dev, and build anew");
  std::printf("utf8proc         %s\n", TANDEM_HAS_UTF8PROC ? "in" : "out: BertTokenizer throws");
  if (!TANDEM_HAS_UTF8PROC) problem("text cannot be tokenized", "apt install libutf8proc-dev, and build anew");
  if (TANDEM_HAS_CUDA) {
    std::printf("cuBLAS           %s\n", TANDEM_HAS_CUBLAS ? "in" : "out: our own matrix product on GPUs instead");
    std::printf("cuDNN            %s\n", TANDEM_HAS_CUDNN ? "in" : "out: our own convolution on GPUs instead");
  }
  std::printf("virtual devices  %d of the CPU\n", cpu_device_count());
  if (cuda::is_available()) {
    print_gpus();
  } else {
    std::printf("GPUs             none: %s\n", gpu::unavailable_reason().c_str());
    if (has_nvidia_gpu() && !TANDEM_HAS_CUDA)
      problem("this machine has a GPU, and this build does not use it", "./run setup --cuda, and build anew");
    else if (has_nvidia_gpu())
      problem("this machine has a GPU that cannot be used: " + gpu::unavailable_reason(),
              "install NVIDIA's driver until nvidia-smi lists the GPU; in a container, start it with --gpus all");
  }
  const std::string data = find_fashion_mnist("");
  std::printf("FashionMNIST     %s\n", data.empty() ? "not found" : data.c_str());
  if (data.empty()) problem("the demo has no data", "apt install dataset-fashion-mnist, or tandem demo --data DIR");
  if (memory_limit() < (int64_t(1) << 30)) problem("less than 1 GiB of memory", "give the machine or its cgroup more");
  std::printf(problems ? "%d problem(s)\n" : "no problems\n", problems);
  return problems;
}

}  // namespace tandem::tools
