// Declares the part of NCCL's C API that Tandem uses. The library is loaded when the first group needs it. The
// declarations are Tandem's own, so no build needs NCCL's header; if the header is installed, a test compares the two.
// Internal.
#pragma once
#include <climits>
#include <cstddef>

#include "tandem/core/cuda/gpu_runtime.h"
#include "tandem/core/dtype.h"

namespace tandem::distributed::nccl {

using Comm = struct CommTag*;  // ncclComm_t

enum class Result : int {
  success = 0,
  unhandled_cuda_error = 1,
  system_error = 2,
  internal_error = 3,
  invalid_argument = 4,
  invalid_usage = 5,
  remote_error = 6,
  in_progress = 7,
};
enum class Type : int {
  int8 = 0,
  uint8 = 1,
  int32 = 2,
  int64 = 4,
  float16 = 6,
  float32 = 7,
  float64 = 8,
  bfloat16 = 9,
};
enum class Op : int { sum = 0, prod = 1, max = 2, min = 3 };

struct UniqueId {
  char internal[128];
};
/// Has the layout of ncclConfig_t in NCCL 2.14. A newer library treats fields that it has added since then as not set.
struct Config {
  size_t size = sizeof(Config);
  unsigned magic = 0xcafebeef;
  unsigned version = 21400;
  int blocking = 0;
};

#define TANDEM_NCCL_FUNCTIONS(X)                                                                                     \
  X(ncclGetVersion, (int* version))                                                                                  \
  X(ncclGetUniqueId, (UniqueId * id))                                                                                \
  X(ncclCommInitRankConfig, (Comm * comm, int size, UniqueId id, int rank, Config* config))                          \
  X(ncclCommFinalize, (Comm comm))                                                                                   \
  X(ncclCommDestroy, (Comm comm))                                                                                    \
  X(ncclCommAbort, (Comm comm))                                                                                      \
  X(ncclCommGetAsyncError, (Comm comm, Result * error))                                                              \
  X(ncclGroupStart, ())                                                                                              \
  X(ncclGroupEnd, ())                                                                                                \
  X(ncclAllReduce, (const void* send, void* recv, size_t count, Type type, Op op, Comm comm, gpu::StreamHandle))     \
  X(ncclReduce,                                                                                                      \
    (const void* send, void* recv, size_t count, Type type, Op op, int root, Comm comm, gpu::StreamHandle))          \
  X(ncclBroadcast, (const void* send, void* recv, size_t count, Type type, int root, Comm comm, gpu::StreamHandle))  \
  X(ncclAllGather, (const void* send, void* recv, size_t count, Type type, Comm comm, gpu::StreamHandle))            \
  X(ncclReduceScatter, (const void* send, void* recv, size_t count, Type type, Op op, Comm comm, gpu::StreamHandle)) \
  X(ncclSend, (const void* send, size_t count, Type type, int peer, Comm comm, gpu::StreamHandle))                   \
  X(ncclRecv, (void* recv, size_t count, Type type, int peer, Comm comm, gpu::StreamHandle))

/// Pointers to the library's functions, under NCCL's names.
struct Library {
#define TANDEM_NCCL_FUNCTION_POINTER(name, parameters) Result(*name) parameters = nullptr;
  TANDEM_NCCL_FUNCTIONS(TANDEM_NCCL_FUNCTION_POINTER)
#undef TANDEM_NCCL_FUNCTION_POINTER
  const char* (*ncclGetErrorString)(Result) = nullptr;
  const char* (*ncclGetLastError)(Comm) = nullptr;
  std::string path;
  int version = 0;  // version of the library: 22809 is 2.28.9
};

/// Returns whether this build was configured with TANDEM_WITH_NCCL=OFF, so that it never loads NCCL.
bool is_disabled_in_build() noexcept;
/// Loads the library at the first call: the file that TANDEM_NCCL_LIBRARY names, or else the first libnccl.so.2 found
/// by the loader, in a CUDA toolkit or in a Python environment. For emulated GPUs, only TANDEM_NCCL_LIBRARY is tried.
/// @throws NotImplementedError with the reason and the places searched, if there is no library
const Library& library();
/// Returns the library, or null if it cannot be loaded.
const Library* find_library() noexcept;

}  // namespace tandem::distributed::nccl
