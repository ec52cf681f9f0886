// Op table of the differential tests: operations that depend on the order of elements, such as scans, quantiles,
// indices and unique values.
#include "tandem/tests/differential/op_table.h"

namespace tandem::differential {
namespace {

using std::string;

}  // namespace

// clang-format off
void add_order(OpTable& table) {
  OP("quantile", (Tensor x, Tensor q, MaybeInt dim, bool keepdim, string interpolation), x.quantile(q, dim, keepdim, interpolation))
  OP("quantile/one", (Tensor x, double q, MaybeInt dim, bool keepdim), x.quantile(q, dim, keepdim))
  OP("nanquantile", (Tensor x, double q, MaybeInt dim, bool keepdim), x.nanquantile(q, dim, keepdim))
  OP("median/dim", (Tensor x, int64_t dim, bool keepdim), x.median(dim, keepdim))
  OP("nanmedian", (Tensor x, int64_t dim, bool keepdim), x.nanmedian(dim, keepdim))
  OP("mode", (Tensor x, int64_t dim, bool keepdim), std::get<0>(x.mode(dim, keepdim)))
  OP("kthvalue", (Tensor x, int64_t k, int64_t dim, bool keepdim), std::get<0>(x.kthvalue(k, dim, keepdim)))
  OP("msort", (Tensor x), x.msort())
  OP("cummax", (Tensor x, int64_t dim), x.cummax(dim))
  OP("cummin", (Tensor x, int64_t dim), x.cummin(dim))
  OP("cumulative_trapezoid", (Tensor x, int64_t dim), tandem::cumulative_trapezoid(x, 1, dim))
  OP("nanmean", (Tensor x, Ints dims, bool keepdim), x.nanmean(dims, keepdim))
  OP("var_mean", (Tensor x, Ints dims, bool unbiased, bool keepdim), tandem::var_mean(x, dims, unbiased, keepdim))
  OP("prod/dim", (Tensor x, int64_t dim, bool keepdim), x.prod(dim, keepdim))
  OP("cov", (Tensor x), x.cov())
  OP("renorm", (Tensor x, double p, int64_t dim, double maxnorm), x.renorm(p, dim, maxnorm))
  OP("unique", (Tensor x), tandem::_unique2(x, true, true, true))
  OP("unique_dim", (Tensor x, int64_t dim), tandem::unique_dim(x, dim, true, true, true))
  OP("unique_consecutive", (Tensor x, MaybeInt dim), tandem::unique_consecutive(x, true, true, dim))
  OP("searchsorted", (Tensor sorted, Tensor x, bool right), tandem::searchsorted(sorted, x, false, right))
  OP("isin", (Tensor x, Tensor y, bool invert), tandem::isin(x, y, false, invert))
  OP("bincount", (Tensor x, int64_t minlength), x.bincount({}, minlength))
  OP("histc", (Tensor x, int64_t bins, double low, double high), x.histc(bins, low, high))
  OP("scatter_reduce", (Tensor x, int64_t dim, Tensor index, Tensor source, string reduce, bool include_self),
     x.scatter_reduce(dim, index, source, reduce, include_self))
  OP("index_reduce", (Tensor x, int64_t dim, Tensor index, Tensor source, string reduce, bool include_self),
     x.index_reduce(dim, index, source, reduce, include_self))
  OP("index_copy", (Tensor x, int64_t dim, Tensor index, Tensor source), x.index_copy(dim, index, source))
  OP("index_fill", (Tensor x, int64_t dim, Tensor index, Scalar value), x.index_fill(dim, index, value))
  OP("masked_scatter", (Tensor x, Tensor mask, Tensor source), x.masked_scatter(mask, source))
  OP("take_along_dim", (Tensor x, Tensor index, int64_t dim), x.take_along_dim(index, dim))
  OP("unfold", (Tensor x, int64_t dim, int64_t size, int64_t step), x.unfold(dim, size, step))
}
// clang-format on

}  // namespace tandem::differential
