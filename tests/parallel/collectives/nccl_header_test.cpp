// Compares Tandem's declarations of NCCL's C API with the installed nccl.h.
#include <nccl.h>

#include <cstddef>
#include <type_traits>

#include "tandem/parallel/collectives/nccl/api.h"
#include "tandem/tests/catch.h"

namespace ours = tandem::distributed::nccl;

namespace {

/// True if values of the two types are passed in the same way: both pointers, or structs, integers or enumerations of
/// equal size.
template <class A, class B>
constexpr bool kAlike =
    sizeof(A) == sizeof(B) && std::is_pointer_v<A> == std::is_pointer_v<B>&& std::is_class_v<A> == std::is_class_v<B>;
template <class A, class B> struct SameCall : std::false_type {};
template <class R, class S, class... A, class... B>
requires(sizeof...(A) == sizeof...(B)) struct SameCall<R (*)(A...), S (*)(B...)>
    : std::bool_constant<kAlike<R, S> && (kAlike<A, B> && ...)> {
};

#define CHECK_FUNCTION(name, parameters) \
  static_assert(SameCall<decltype(&::name), decltype(ours::Library::name)>::value, #name);
TANDEM_NCCL_FUNCTIONS(CHECK_FUNCTION)
static_assert(SameCall<decltype(&ncclGetErrorString), decltype(ours::Library::ncclGetErrorString)>::value);
static_assert(SameCall<decltype(&ncclGetLastError), decltype(ours::Library::ncclGetLastError)>::value);

static_assert(sizeof(ncclUniqueId) == sizeof(ours::UniqueId));
static_assert(offsetof(ncclConfig_t, size) == offsetof(ours::Config, size));
static_assert(offsetof(ncclConfig_t, magic) == offsetof(ours::Config, magic));
static_assert(offsetof(ncclConfig_t, version) == offsetof(ours::Config, version));
static_assert(offsetof(ncclConfig_t, blocking) == offsetof(ours::Config, blocking));
static_assert(sizeof(ncclConfig_t) >= sizeof(ours::Config) && NCCL_VERSION(2, 14, 0) == 21400);

#define CHECK_VALUE(theirs, own) static_assert(static_cast<int>(theirs) == static_cast<int>(ours::own), #theirs)
CHECK_VALUE(ncclSuccess, Result::success);
CHECK_VALUE(ncclUnhandledCudaError, Result::unhandled_cuda_error);
CHECK_VALUE(ncclSystemError, Result::system_error);
CHECK_VALUE(ncclInternalError, Result::internal_error);
CHECK_VALUE(ncclInvalidArgument, Result::invalid_argument);
CHECK_VALUE(ncclInvalidUsage, Result::invalid_usage);
CHECK_VALUE(ncclRemoteError, Result::remote_error);
CHECK_VALUE(ncclInProgress, Result::in_progress);
CHECK_VALUE(ncclInt8, Type::int8);
CHECK_VALUE(ncclUint8, Type::uint8);
CHECK_VALUE(ncclInt32, Type::int32);
CHECK_VALUE(ncclInt64, Type::int64);
CHECK_VALUE(ncclFloat16, Type::float16);
CHECK_VALUE(ncclFloat32, Type::float32);
CHECK_VALUE(ncclFloat64, Type::float64);
CHECK_VALUE(ncclBfloat16, Type::bfloat16);
CHECK_VALUE(ncclSum, Op::sum);
CHECK_VALUE(ncclProd, Op::prod);
CHECK_VALUE(ncclMax, Op::max);
CHECK_VALUE(ncclMin, Op::min);

}  // namespace

TEST_CASE("nccl: our declarations are those of its header", "[parallel][nccl]") {
  const ncclConfig_t theirs = NCCL_CONFIG_INITIALIZER;
  CHECK(theirs.magic == ours::Config().magic);
}
