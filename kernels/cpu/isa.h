// Tables of loop bodies, which are compiled once per instruction set, and the function that picks the body for this
// processor.
#pragma once
#include <algorithm>
#include <initializer_list>
#include <string>

#include "tandem/core/dtype.h"
#include "tandem/core/loop/loop.h"
#include "tandem/core/threads/cpu_info.h"

// TANDEM_IF_ISA_V2, TANDEM_IF_ISA_V3, TANDEM_IF_ISA_V4 and TANDEM_IF_ISA_BASE expand to their arguments if the build
// includes that instruction set (CMake decides), otherwise to nothing. Tables list the instruction sets in this order.
#if defined(TANDEM_HAS_ISA_V2)
#define TANDEM_IF_ISA_V2(...) __VA_ARGS__
#else
#define TANDEM_IF_ISA_V2(...)
#endif
#if defined(TANDEM_HAS_ISA_V3)
#define TANDEM_IF_ISA_V3(...) __VA_ARGS__
#else
#define TANDEM_IF_ISA_V3(...)
#endif
#if defined(TANDEM_HAS_ISA_V4)
#define TANDEM_IF_ISA_V4(...) __VA_ARGS__
#else
#define TANDEM_IF_ISA_V4(...)
#endif
#if defined(TANDEM_HAS_ISA_BASE)
#define TANDEM_IF_ISA_BASE(...) __VA_ARGS__
#else
#define TANDEM_IF_ISA_BASE(...)
#endif

namespace tandem::kernels::cpu {

constexpr int kIsaCount = 0 TANDEM_IF_ISA_V2(+1) TANDEM_IF_ISA_V3(+1) TANDEM_IF_ISA_V4(+1) TANDEM_IF_ISA_BASE(+1);
struct LoopTables {
  const LoopTable* by_isa[kIsaCount];
};

/// Returns the names of the dtypes that have a body, for messages.
std::string names_of_dtypes(const LoopTable& table);
/// Returns the loop body for this processor and dtype.
/// @throws NotImplementedError that names op and dtype if no body exists
inline LoopBody select_body(const LoopTables& tables, DType dtype, const char* op) {
  static const int level = cpu_isa_level();
  const LoopBody body = tables.by_isa[level]->by_dtype[static_cast<int>(dtype)];
  TANDEM_CHECK_AS(NotImplementedError, body, op, ": not implemented for '", dtype,
                  "'; accepted: ", names_of_dtypes(*tables.by_isa[level]));
  return body;
}
/// Calls `body` in the calling thread over [0, range). Any of the operands may be null.
inline void call_loop(LoopBody body, DType dtype, std::initializer_list<const void*> operands,
                      std::initializer_list<LoopScalar> scalars, int64_t range) {
  Buffer buffers[kMaxOperands];
  Loop loop{};
  loop.dtype = dtype;
  int i = 0;
  for (const void* const p : operands) {
    buffers[i] = {static_cast<char*>(const_cast<void*>(p))};
    loop.operands[i].buffer = p ? &buffers[i] : nullptr;
    ++i;
  }
  std::copy(scalars.begin(), scalars.end(), loop.scalars);
  body(loop, 0, range);
}

}  // namespace tandem::kernels::cpu

// Declares the tables of an operation for all instruction sets, and combines them in the constant loops::op. If an
// instruction set does not define its table, the link fails.
#define TANDEM_DECLARE_LOOP(op)                                                                                \
  TANDEM_IF_ISA_V2(namespace v2 { extern const LoopTable op; })                                                \
  TANDEM_IF_ISA_V3(namespace v3 { extern const LoopTable op; })                                                \
  TANDEM_IF_ISA_V4(namespace v4 { extern const LoopTable op; })                                                \
  TANDEM_IF_ISA_BASE(namespace base { extern const LoopTable op; })                                            \
  namespace loops {                                                                                            \
  constexpr LoopTables op{{TANDEM_IF_ISA_V2(&v2::op, ) TANDEM_IF_ISA_V3(&v3::op, ) TANDEM_IF_ISA_V4(&v4::op, ) \
                               TANDEM_IF_ISA_BASE(&base::op)}};                                                \
  }
