// LibTorch's global context: switches of libraries and algorithms. A switch acts where Tandem has one; a comment says
// which switches only keep their value.
#pragma once
#include <string_view>

#include "tandem/core/algorithms.h"
#include "tandem/core/device.h"
#include "tandem/core/generator.h"
#include "tandem/core/threads/thread_pool.h"

namespace tandem {

/// The type of globalContext().
class Context {
 public:
  // ---- algorithms that give the same result each time
  /// Calls use_deterministic_algorithms(). Tandem has no operation without a deterministic algorithm, so `warn_only`
  /// changes nothing.
  void setDeterministicAlgorithms(bool wanted, bool warn_only = false) {
    use_deterministic_algorithms(wanted);
    warn_only_ = warn_only;
  }
  bool deterministicAlgorithms() const { return are_deterministic_algorithms_enabled(); }
  bool deterministicAlgorithmsWarnOnly() const { return warn_only_; }
  /// True by default, as deterministicAlgorithms() is.
  void setDeterministicCuDNN(bool wanted) { use_deterministic_algorithms(wanted); }
  bool deterministicCuDNN() const { return are_deterministic_algorithms_enabled(); }
  /// Whether the first call with a shape times several algorithms on the GPU and keeps the fastest: the contrary of
  /// deterministicAlgorithms().
  void setBenchmarkCuDNN(bool wanted) { use_deterministic_algorithms(!wanted); }
  bool benchmarkCuDNN() const { return !are_deterministic_algorithms_enabled(); }

  // ---- TF32 in products and convolutions of float32 on GPUs. Tandem has one switch for both.
  void setAllowTF32CuBLAS(bool allowed) { set_float32_matmul_precision(allowed ? "high" : "highest"); }
  bool allowTF32CuBLAS() const { return get_float32_matmul_precision() != "highest"; }
  void setAllowTF32CuDNN(bool allowed) { setAllowTF32CuBLAS(allowed); }
  bool allowTF32CuDNN() const { return allowTF32CuBLAS(); }
  void setFloat32MatmulPrecision(const std::string& precision) { set_float32_matmul_precision(precision); }

  // ---- switches without an effect: they only keep their value
  void setUserEnabledCuDNN(bool enabled) { cudnn_ = enabled; }
  bool userEnabledCuDNN() const { return cudnn_; }
  void setUserEnabledMkldnn(bool enabled) { mkldnn_ = enabled; }
  bool userEnabledMkldnn() const { return mkldnn_; }
  void setBenchmarkLimitCuDNN(int limit) { benchmark_limit_ = limit; }
  int benchmarkLimitCuDNN() const { return benchmark_limit_; }
  /// Returns false: CPUs that flush denormals would give other results than those that do not.
  bool setFlushDenormal(bool) { return false; }

// A switch with LibTorch's names of the function that sets it and of the one that returns it.
#define TANDEM_SWITCH_WITHOUT_EFFECT(set, get, initially) \
  void set(bool wanted) { get##_ = wanted; }              \
  bool get() const { return get##_; }                     \
                                                          \
 private:                                                 \
  bool get##_ = initially;                                \
                                                          \
 public:
  // Choices of algorithms for attention. Tandem chooses by the sizes.
  TANDEM_SWITCH_WITHOUT_EFFECT(setSDPUseFlash, userEnabledFlashSDP, true)
  TANDEM_SWITCH_WITHOUT_EFFECT(setSDPUseFA3, userEnabledFA3SDP, false)
  TANDEM_SWITCH_WITHOUT_EFFECT(setSDPUseFA4, userEnabledFA4SDP, false)
  TANDEM_SWITCH_WITHOUT_EFFECT(setSDPUseMemEfficient, userEnabledMemEfficientSDP, true)
  TANDEM_SWITCH_WITHOUT_EFFECT(setSDPUseMath, userEnabledMathSDP, true)
  TANDEM_SWITCH_WITHOUT_EFFECT(setSDPUseCuDNN, userEnabledCuDNNSDP, true)
  TANDEM_SWITCH_WITHOUT_EFFECT(setSDPUseOverrideable, userEnabledOverrideableSDP, true)
  TANDEM_SWITCH_WITHOUT_EFFECT(setAllowFP16BF16ReductionMathSDP, allowFP16BF16ReductionMathSDP, false)
  // Sums of half types. Tandem adds them in float32.
  TANDEM_SWITCH_WITHOUT_EFFECT(setAllowFP16AccumulationCuBLAS, allowFP16AccumulationCuBLAS, false)
  TANDEM_SWITCH_WITHOUT_EFFECT(setAllowFP16ReductionCPU, allowFP16ReductionCPU, false)
  /// @throws Error if reduction in half precision is allowed without splits, as in LibTorch
  void setAllowFP16ReductionCuBLAS(bool allowed, bool allow_splitk = true) {
    check_reduction(allowed, allow_splitk);
    fp16_reduction_ = allowed;
  }
  bool allowFP16ReductionCuBLAS() const { return fp16_reduction_; }
  void setAllowBF16ReductionCuBLAS(bool allowed, bool allow_splitk = true) {
    check_reduction(allowed, allow_splitk);
    bf16_reduction_ = allowed;
  }
  bool allowBF16ReductionCuBLAS() const { return bf16_reduction_; }
  // Libraries that Tandem does not use, or uses in one way only.
  TANDEM_SWITCH_WITHOUT_EFFECT(setAllowTF32OneDNN, allowTF32OneDNN, false)
  TANDEM_SWITCH_WITHOUT_EFFECT(setDeterministicMkldnn, deterministicMkldnn, true)
  TANDEM_SWITCH_WITHOUT_EFFECT(setUserEnabledNNPACK, userEnabledNNPACK, true)
  TANDEM_SWITCH_WITHOUT_EFFECT(setImmediateMiopen, immediateMiopen, false)
  TANDEM_SWITCH_WITHOUT_EFFECT(setDeterministicFillUninitializedMemory, deterministicFillUninitializedMemory, true)
  TANDEM_SWITCH_WITHOUT_EFFECT(setReleaseWeightsWhenPrepacking, releaseWeightsWhenPrepacking, true)
  TANDEM_SWITCH_WITHOUT_EFFECT(setDisplayVmapFallbackWarnings, areVmapFallbackWarningsEnabled, false)
#undef TANDEM_SWITCH_WITHOUT_EFFECT
  /// Does nothing, because all operations are deterministic.
  static void alertNotDeterministic(std::string_view /*caller*/) {}

  // ---- what this build and this machine have
  static bool hasCUDA() { return cuda::is_available(); }
  static bool hasMPS() { return false; }
  static bool hasXPU() { return false; }
  static bool hasHIP() { return false; }
  static bool hasMKL() { return false; }
  static bool hasOpenMP() { return false; }
  static bool hasLAPACK() { return true; }
  static bool hasCUDART() { return hasCUDA(); }
  static bool hasROCM() { return false; }
  static bool hasMAGMA() { return false; }
  static bool hasMTIA() { return false; }
  static bool hasIPU() { return false; }
  static bool hasXLA() { return false; }
  static bool hasHPU() { return false; }
  static bool hasMAIA() { return false; }
  static bool hasLazy() { return false; }

  /// Returns the default generator of a device.
  Generator& defaultGenerator(Device device) const { return default_generator(device); }
  /// Does nothing: GPUs are initialised when they are first used.
  void lazyInitCUDA() const {}
  void lazyInitDevice(DeviceType) const {}

 private:
  static void check_reduction(bool allowed, bool allow_splitk) {
    TANDEM_CHECK(allow_splitk || !allowed,
                 "allow_splitk=False is not supported when reduced precision reductions are enabled");
  }
  bool warn_only_ = false, cudnn_ = true, mkldnn_ = true, fp16_reduction_ = true, bf16_reduction_ = true;
  int benchmark_limit_ = 10;
};
inline Context& globalContext() {
  static Context context;
  return context;
}
inline bool hasCUDA() { return Context::hasCUDA(); }
inline bool hasMPS() { return Context::hasMPS(); }
inline bool hasMKL() { return Context::hasMKL(); }
inline bool hasOpenMP() { return Context::hasOpenMP(); }
inline bool hasLAPACK() { return Context::hasLAPACK(); }
inline int64_t getNumGPUs() { return cuda::device_count(); }

namespace detail {
inline int& num_interop_threads() {
  static int threads = get_num_threads();
  return threads;
}
}  // namespace detail
/// Returns the number that set_num_interop_threads() has set. It has no effect: operations of different threads always
/// run at the same time in Tandem.
inline int get_num_interop_threads() { return detail::num_interop_threads(); }
/// @throws Error unless n is positive
inline void set_num_interop_threads(int n) {
  TANDEM_CHECK(n > 0, "set_num_interop_threads: expected a positive number of threads, got ", n);
  detail::num_interop_threads() = n;
}

namespace detail {
inline Generator& getDefaultCPUGenerator() { return default_generator(kCPU); }
}  // namespace detail
namespace mps {
/// Returns false, because Tandem has no backend for Apple's GPUs.
inline bool is_available() { return false; }
}  // namespace mps
namespace xpu {
/// Returns false, because Tandem has no backend for Intel's GPUs.
inline bool is_available() { return false; }
}  // namespace xpu
namespace cuda {
/// Whether there is a GPU. Convolutions on it are computed by cuDNN where it is installed, and by Tandem's own kernels
/// otherwise, so programs need not distinguish the two.
inline bool cudnn_is_available() { return is_available(); }
}  // namespace cuda

}  // namespace tandem
