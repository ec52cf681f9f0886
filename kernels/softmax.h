// Softmax and log-softmax along dimension 1 of (rows, n) or (outer, n, inner), for contiguous tensors of floating
// dtypes.
#pragma once
#include "tandem/kernels/declare.h"

TANDEM_DECLARE_KERNEL(void softmax(const Tensor& x, Tensor& y))
TANDEM_DECLARE_KERNEL(void log_softmax(const Tensor& x, Tensor& y))
TANDEM_DECLARE_KERNEL(void softmax_backward(const Tensor& dy, const Tensor& y, Tensor& dx))
TANDEM_DECLARE_KERNEL(void log_softmax_backward(const Tensor& dy, const Tensor& y, Tensor& dx))
