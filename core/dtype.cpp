// Implements the default dtype, and converts a Scalar to the form that kernels read.
#include "tandem/core/dtype.h"

#include "tandem/core/loop/loop.h"
#include "tandem/core/scalar.h"
#include "tandem/core/thread_context.h"

namespace tandem {

LoopScalar Scalar::loop_scalar(DType dtype) const {
  LoopScalar s;
  if (tandem::is_floating_point(dtype))
    s.real = to_double();
  else
    s.integer = visit_dtype(dtype, [&]<class T>() { return static_cast<int64_t>(to<T>()); });
  return s;
}
void Scalar::throw_out_of_range(DType dtype) const {
  TANDEM_FAIL("the number ", *this, " does not fit ", dtype, ": value cannot be converted to type ", dtype,
              " without overflow");
}

DType get_default_dtype() { return ThreadContext::current().default_dtype; }
void set_default_dtype(DType dtype) {
  TANDEM_CHECK(is_floating_point(dtype),
               "set_default_dtype: only floating-point types are supported as the default type, got ", dtype);
  ThreadContext::current().default_dtype = dtype;
}

}  // namespace tandem
