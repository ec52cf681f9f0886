// Pooling. Namespace and names as torch:: has them; nn/functional.h adds the option structs.
#pragma once
#include "tandem/ops/pair.h"

namespace tandem {

/// x (N, C, H, W) or (C, H, W). stride: the kernel's size unless given. Padding counts as -infinity; a window of
/// padding alone has index -1 and passes no gradient on. With ceil_mode the last window may hang over the end. Of
/// channels-last images all pools give channels-last ones.
Tensor max_pool2d(const Tensor& x, detail::Pair kernel_size, IntArrayRef stride = {}, detail::Pair padding = 0,
                  detail::Pair dilation = 1, detail::Flag ceil_mode = false);
std::tuple<Tensor, Tensor> max_pool2d_with_indices(const Tensor& x, detail::Pair kernel_size, IntArrayRef stride = {},
                                                   detail::Pair padding = 0, detail::Pair dilation = 1,
                                                   detail::Flag ceil_mode = false);
Tensor avg_pool2d(const Tensor& x, detail::Pair kernel_size, IntArrayRef stride = {}, detail::Pair padding = 0,
                  detail::Flag ceil_mode = false, detail::Flag count_include_pad = true);
Tensor adaptive_avg_pool2d(const Tensor& x, detail::Pair output_size);

}  // namespace tandem
