// What Tandem uses of NCCL's C API, and the library, which is looked for when the first group asks for it. Internal.
// The declarations are our own, so that no build needs NCCL's header; where there is one, a test compares the two.
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
/// ncclConfig_t as it was when it came, in 2.14: what a newer library adds, it then takes as not said.
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

/// The library's functions, by NCCL's names.
struct Library {
#define TANDEM_NCCL_MEMBER(name, parameters) Result(*name) parameters = nullptr;
  TANDEM_NCCL_FUNCTIONS(TANDEM_NCCL_MEMBER)
#undef TANDEM_NCCL_MEMBER
  const char* (*ncclGetErrorString)(Result) = nullptr;
  const char* (*ncclGetLastError)(Comm) = nullptr;
  std::string path;
  int version = 0;  // 22809 is 2.28.9
};

/// Whether this build never loads it: TANDEM_WITH_NCCL=OFF.
bool is_left_out() noexcept;
/// Loads it when it is first asked for: the file that TANDEM_NCCL_LIBRARY names, or else libnccl.so.2 where the loader,
/// a CUDA toolkit or a Python environment has it; for emulated GPUs only what TANDEM_NCCL_LIBRARY names.
/// @throws NotImplementedError that says why there is none, and where was looked
const Library& library();
/// Null where there is none.
const Library* find_library() noexcept;

}  // namespace tandem::distributed::nccl
