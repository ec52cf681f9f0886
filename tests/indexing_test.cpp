// Tests operations that change a tensor's shape or storage in place, tensor properties, variants of unique, and errors
// of indexing.
#include "tandem/tandem.h"
#include "tandem/tests/catch.h"

namespace tandem {

TEST_CASE("resize_ keeps the elements in the order of memory", "[shapes]") {
  Tensor x = arange(6, kFloat32);
  const void* const place = x.data_ptr();
  x.resize_({2, 2});
  CHECK(x.equal(tensor({{0.f, 1.f}, {2.f, 3.f}})));
  CHECK(x.resize_({6}).equal(arange(6, kFloat32)));
  CHECK(x.data_ptr() == place);
  x.resize_({3, 4});
  CHECK(x.reshape({-1}).narrow(0, 0, 6).equal(arange(6, kFloat32)));
  const Tensor part = x.narrow(0, 1, 2);
  part.resize_({2});
  CHECK(part.data_ptr() == x.select(0, 1).data_ptr());
  CHECK_THROWS_WITH(part.resize_({100}), Contains("resize_: Trying to resize storage that is not resizable") &&
                                             Contains("(100,) needs 100 elements"));
  Tensor like = zeros({1, 2, 3, 4}).to(kChannelsLast);
  CHECK(zeros({1}).resize_as_(like, MemoryFormat::Preserve).strides() == like.strides());
  CHECK(zeros({1}).resize_as_(like).is_contiguous());
  CHECK(zeros({1}).resize_({1, 2, 3, 4}, MemoryFormat::ChannelsLast).strides() == like.strides());
  Tensor wanted = ones({3}).requires_grad_();
  CHECK_THROWS_WITH(wanted.resize_({2}), Contains("resize_: cannot resize variables that require grad"));
  CHECK_THROWS_WITH(wanted.set_(ones({2})), Contains("set_: cannot resize variables that require grad"));
  Tensor alike = zeros({2});
  CHECK(alike.set_(x).is_set_to(x));
  CHECK(alike.is_alias_of(x));
  x.fill_(3);
  CHECK(alike.equal(x));
  CHECK(alike.set_().sizes() == IntArrayRef({0}));
  CHECK(!alike.is_alias_of(x));
  CHECK_THROWS_WITH(alike.set_(ones({2}, kInt64)), Contains("set_: Could not set tensor of type int64"));
}

TEST_CASE("views in place change the tensor that they are called on, and its history", "[shapes]") {
  Tensor x = arange(6, kFloat32).view({2, 3});
  Tensor other = x;  // shares the TensorImpl of x
  x.t_();
  CHECK(other.sizes() == IntArrayRef({3, 2}));
  CHECK(other.equal(arange(6, kFloat32).view({2, 3}).t()));
  CHECK(x.unsqueeze_(0).squeeze_(0).transpose_(0, 1).equal(arange(6, kFloat32).view({2, 3})));
  Tensor leaf = ones({2, 3}).requires_grad_();
  CHECK_THROWS_WITH(leaf.t_(),
                    Contains("t_: a leaf Variable that requires grad is being used in an in-place operation"));
  {
    const NoGradGuard guard;
    leaf.t_();
  }
  CHECK(leaf.sizes() == IntArrayRef({3, 2}));
  // A view of a non-leaf tensor: operations before and after unsqueeze_ also change the base tensor `h`.
  const Tensor w = rand({3, 2}, kFloat64).requires_grad_();
  Tensor h = w * 2, part = h.narrow(0, 1, 2);
  part.unsqueeze_(0);
  part.mul_(3);
  CHECK(part.sizes() == IntArrayRef({1, 2, 2}));
  (h.sum() + part.sum()).backward();
  CHECK(w.grad().equal(tensor({{2.0, 2.0}, {12.0, 12.0}, {12.0, 12.0}})));
  Tensor saved = w.detach().requires_grad_().exp();
  const Tensor y = saved * saved;
  saved.t_();
  // t_ raised the version of the saved tensor, as in PyTorch
  CHECK_THROWS_WITH(y.sum().backward(), Contains("version 1"));
}

TEST_CASE("a tensor says what it is", "[shapes]") {
  const Tensor x = zeros({2, 3}, kBFloat16);
  CHECK(x.toString() == "CPUBFloat16Type");
  CHECK(zeros({1}, kInt64).toString() == "CPULongType");
  CHECK(x.layout() == kStrided);
  CHECK(zeros({1}, TensorOptions(kFloat64).layout(kStrided)).element_size() == 8);
  CHECK(x.get_device() == -1);
  CHECK(x.is_signed());
  CHECK(!is_signed(zeros({1}, kUInt8)));
  CHECK(!zeros({1}, kBool).is_signed());
  CHECK(is_same_size(x, ones({2, 3})));
  CHECK(!x.is_same_size(ones({3, 2})));
  CHECK(is_nonzero(tensor({0.5})));
  CHECK(!is_nonzero(tensor(false)));
  CHECK_THROWS_WITH(x.is_nonzero(),
                    Contains("is_nonzero: Boolean value of Tensor with more than one value is ambiguous"));
  CHECK(can_cast(kFloat16, kBFloat16));
  CHECK(can_cast(kInt64, kUInt8));
  CHECK(!can_cast(kFloat32, kInt64));
  CHECK(!can_cast(kInt8, kBool));
  CHECK(can_cast(kBool, kBool));
  const Tensor strided = empty_strided({2, 3}, {1, 4}, kInt32);
  CHECK(strided.strides() == IntArrayRef({1, 4}));
  CHECK(x.new_empty_strided({2}, {3}).dtype() == kBFloat16);
  CHECK(x.new_empty({4}, kInt8).dtype() == kInt8);
  CHECK(lift(x).is_same(x));
  CHECK(range(0, 3).equal(tensor({0.f, 1.f, 2.f, 3.f})));
  CHECK(block_diag({}).sizes() == IntArrayRef({1, 0}));
  CHECK(combinations(arange(2), 3).sizes() == IntArrayRef({0, 3}));
  CHECK(combinations(arange(3), 0).sizes() == IntArrayRef({0}));
  CHECK(argwhere(tensor(3)).sizes() == IntArrayRef({1, 0}));
}

TEST_CASE("parts of unsafe_split may be changed in place", "[shapes]") {
  const Tensor x = ones({2, 4}, kFloat64).requires_grad_();
  std::vector<Tensor> parts = unsafe_split(x * 2, 2, 1);
  parts[0].mul_(5);
  (parts[0].sum() + parts[1].sum()).backward();
  CHECK(x.grad().equal(tensor({10.0, 10.0, 2.0, 2.0}).expand({2, 4})));
}

TEST_CASE("unique gives what was asked for", "[indexing]") {
  const Tensor x = tensor({3, 1, 1, 3, 2});
  const auto [values, inverse, counts] = _unique2(x);
  CHECK(values.equal(tensor({1, 2, 3})));
  CHECK(inverse.numel() + counts.numel() == 0);
  CHECK(std::get<0>(unique_consecutive(x)).equal(tensor({3, 1, 3, 2})));
  const Tensor rows = tensor({{2, 1}, {1, 5}, {2, 1}, {1, 2}});
  CHECK(std::get<0>(unique_dim(rows, 0)).equal(tensor({{1, 2}, {1, 5}, {2, 1}})));
  CHECK(std::get<2>(unique_dim_consecutive(rows, 0, false, true)).equal(ones({4}, kInt64)));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(std::get<0>(_unique2(tensor({nan, 1.0, nan}))).numel() == 3);
}

TEST_CASE("integers that meet are joined as integers", "[indexing]") {
  const Tensor index = tensor({0, 0, 1}), source = tensor({1, -8, 3});
  CHECK(zeros({3}, kInt64).scatter_reduce(0, index, source, "mean").equal(tensor({-3, 1, 0})));
  CHECK(zeros({3}, kInt64).scatter_reduce(0, index, source, "mean", false).equal(tensor({-4, 3, 0})));
  CHECK(ones({3}, kBool)
            .scatter_reduce(0, index, tensor({true, false, true}), "prod")
            .equal(tensor({false, true, true})));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Tensor held = zeros({3}).scatter_reduce(0, index, tensor({1.0, nan, 3.0}), "amax");
  CHECK(held.isnan().equal(tensor({true, false, false})));
}

TEST_CASE("positions in a flattened tensor may lie in any shape", "[indexing]") {
  const Tensor x = (arange(6, kFloat32) * 10).reshape({2, 3}).t(), at = tensor({{5, 0}, {2, 2}});
  const Tensor chosen = tensor({{50.f, 0.f}, {10.f, 10.f}});
  CHECK(x.take(at).equal(chosen));
  CHECK(take_along_dim(x, at).equal(chosen.reshape({4})));  // without dim the result has one dimension, as in PyTorch
  CHECK(take_along_dim(x, tensor(3)).equal(tensor({40.f})));
  CHECK(x.contiguous().put_(at, -chosen, /*accumulate=*/true).take(at).equal(tensor({{0.f, 0.f}, {-10.f, -10.f}})));
}

TEST_CASE("indexing names what clashes", "[indexing][errors]") {
  Tensor x = ones({2, 3});
  const Tensor i = tensor({0, 1});
  CHECK_THROWS_WITH(x.index_fill(0, i.to(kFloat32), 1),
                    Contains("index_fill: Expected dtype int32/int64 for index but got: float32"));
  CHECK_THROWS_WITH(x.index_fill(0, tensor({2}), 1), Contains("2"));
  CHECK_THROWS_WITH(x.index_copy(0, i, ones({3, 3})),
                    Contains("index_copy: Number of indices (2) should be equal to source.size(dim) (3)"));
  CHECK_THROWS_WITH(x.index_reduce(0, i, x, "sum"),
                    Contains("index_reduce: Expected reduce to be one of prod, mean, amax or amin but got sum"));
  CHECK_THROWS_WITH(x.scatter_reduce(0, i, x, "prod"),
                    Contains("scatter_reduce: Expected index (2,) to be no larger than self (2, 3)"));
  CHECK_THROWS_WITH(x.scatter(0, i.view({1, 2}), x, "divide"),
                    Contains("scatter: reduce argument must be either add or multiply, got divide"));
  CHECK_THROWS_WITH(x.put_(i, ones({3})),
                    Contains("put: Expected source and index to have the same number of elements"));
  CHECK_THROWS_WITH(x.put_(i, i),
                    Contains("put: expected x and source to have the same dtype, but got: float32 != int64"));
  CHECK_THROWS_WITH(x.take(tensor({6})), Contains("take"));
  CHECK_THROWS_WITH(take_along_dim(x, i, 0),
                    Contains("take_along_dim(): input and indices should have the same number of dimensions"));
  CHECK_THROWS_WITH(select_scatter(x, ones({3}), 1, 0),
                    Contains("select_scatter: expected src to have a size equal to the slice of self. src size = (3,), "
                             "slice size = (2,)"));
  CHECK_THROWS_WITH(masked_scatter(x, x > 0, ones({4})), Contains("masked_scatter"));
  CHECK_THROWS_WITH(x.masked_scatter_(ones({4, 2, 3}, kBool), x),
                    Contains("masked_scatter_: output with shape (2, 3) doesn't match the broadcast shape (4, 2, 3)"));
  CHECK_THROWS_WITH(searchsorted(x, ones({3, 1})),
                    Contains("searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions"));
  CHECK_THROWS_WITH(searchsorted(x, x, false, true, "left"), Contains("side and right can't be set to opposites"));
  CHECK_THROWS_WITH(isin(tensor(true), i), Contains("Unsupported input type encountered for isin(): bool"));
  CHECK_THROWS_WITH(bincount(tensor({1, -2})),
                    Contains("bincount only supports 1-d non-negative integral inputs, got an element -2"));
  CHECK_THROWS_WITH(histc(i), Contains("histc: not implemented for 'int64'"));
  CHECK_THROWS_WITH(histc(x / 0.0), Contains("histc: range of [inf"));
  CHECK_THROWS_WITH(x.unfold(0, 3, 1), Contains("unfold: maximum size for tensor at dimension 0 is 2 but size is 3"));
  CHECK_THROWS_WITH(x.sum_to_size({3, 3}), Contains("sum_to_size: size {(3, 3)} is not expandable to size {(2, 3)}"));
  CHECK_THROWS_WITH(x.squeeze({0, -2}), Contains("dim 0 appears multiple times in the list of dims"));
  CHECK_THROWS_WITH(renorm(ones({3}), 2, 0, 1),
                    Contains("renorm: input needs at least 2 dimensions, got 1 dimensions"));
  CHECK_THROWS_WITH(gradient(x, IntArrayRef(0), 2),
                    Contains("gradient expected each dimension size to be at least edge_order+1, got (2, 3)"));
  CHECK_THROWS_WITH(zeros({2, 3, 2}).fill_diagonal_(1),
                    Contains("fill_diagonal_: all dimensions of input must be of equal length, got (2, 3, 2)"));
  CHECK_THROWS_WITH(hann_window(3, kInt64), Contains("hann_window expects floating point dtypes, got: int64"));
  CHECK_THROWS_WITH(range(0, 3, -1), Contains("range: upper bound and lower bound inconsistent with step sign"));
}

TEST_CASE("index_put_ by its own elements reads them before it writes, and positions count from the end",
          "[indexing]") {
  const auto whole = [](const std::vector<int64_t>& v) { return tensor(v, kInt64); };
  Tensor x = whole({2, 0, 1});
  x.index_put_({x}, whole({10, 20, 30}));  // PyTorch rejects an index that overlaps the tensor it writes to
  CHECK(x.equal(whole({20, 30, 10})));
  const Tensor y = zeros({3}, kInt64), at = whole({-1, 0});
  y.index_put_({at}, whole({5, 7}));
  CHECK(y.equal(whole({7, 0, 5})));
  CHECK(at.equal(whole({-1, 0})));
  CHECK(y.index({at}).equal(whole({5, 7})));
  CHECK(y.index({zeros({0}, kInt64)}).numel() == 0);
  CHECK_THROWS_WITH(y.index_put_({whole({1, 3})}, whole({5, 7})),
                    Contains("index_put_: index 3 is out of bounds for dimension 0 with size 3"));
  CHECK_THROWS_WITH(y.index({whole({1, -4})}),
                    Contains("index: index -4 is out of bounds for dimension 0 with size 3"));
  CHECK_THROWS_WITH(y.index_put_({at}, whole({5, 7, 9})),
                    Contains("value tensor of shape (3,) cannot be broadcast to indexing result of shape (2,)"));
}

TEST_CASE("index_put_ and its like take positions that do not lie side by side", "[indexing]") {
  const Tensor at = tensor({1, 0, 2, 0}, kInt64).slice(0, 0, 4, 2);  // a strided view with the elements 1 and 2
  const Tensor expected = tensor({{0, 0}, {4, 4}, {4, 4}}, kInt64);
  CHECK(zeros({3, 2}, kInt64).index_put_({at}, tensor(4, kInt64)).equal(expected));
  CHECK(zeros({3, 2}, kInt64).index_put_({at}, tensor(4, kInt64), /*accumulate=*/true).equal(expected));
  CHECK(zeros({3, 2}, kInt64).index_copy(0, at, full({2, 2}, 4, kInt64)).equal(expected));
  CHECK(zeros({3, 2}, kInt64).index_add(0, at, full({2, 2}, 4, kInt64)).equal(expected));
  CHECK(zeros({3, 2}, kInt64).index_fill(0, at, 4).equal(expected));
  CHECK(expected.index({at}).equal(full({2, 2}, 4, kInt64)));
}

}  // namespace tandem
