// Tests AnyModule, AnyValue and Sequential: forward methods with any number of arguments of any types.
#include "tandem/nn/containers/any_module.h"

#include "tandem/tandem.h"
#include "tandem/tests/catch.h"

namespace tandem {

/// Modules whose forward methods take a default argument (Times), return a tuple (Divide), take a tuple (Count), or are
/// templates (Anything). Times computes a * n, or 2 * a * n.
struct TimesImpl : nn::Cloneable<TimesImpl> {
  void reset() override {}
  Tensor forward(const Tensor& a, int64_t n, bool twice = false) { return a * (twice ? 2 * n : n); }
};
TANDEM_MODULE(Times);
struct DivideImpl : nn::Module {
  std::tuple<int, int> forward(int a, int b) const { return {a / b, a % b}; }
};
TANDEM_MODULE(Divide);
struct CountImpl : nn::Module {
  size_t forward(std::tuple<int, int> pair) noexcept { return size_t(std::get<0>(pair) + std::get<1>(pair)); }
};
TANDEM_MODULE(Count);
struct AnythingImpl : nn::Module {
  template <class T> T forward(const T& x) { return x; }
};
TANDEM_MODULE(Anything);

TEST_CASE("AnyValue holds one value of one type", "[nn][any]") {
  nn::AnyValue value(3);
  CHECK(value.get<int>() == 3);
  CHECK(value.try_get<long>() == nullptr);
  *value.try_get<int>() = 4;
  CHECK(value.get<int>() == 4);
  CHECK(value.type_info() == typeid(int));
  CHECK_THROWS_WITH(value.get<float>(), Contains("Attempted to cast AnyValue to float, but its actual type is int"));
  value = nn::AnyValue(std::string("text"));
  CHECK(value.get<std::string>() == "text");
}

TEST_CASE("AnyModule calls a forward of several arguments, some of which have defaults", "[nn][any]") {
  const Tensor x = tensor({1.0, -2.0});
  const nn::AnyModule times{Times()};
  CHECK(times.forward(x, int64_t(3)).equal(x * 3));
  CHECK(times.forward<Tensor>(x, int64_t(3), true).equal(x * 6));
  CHECK(times.any_forward(nn::AnyValue(x), int64_t(2)).get<Tensor>().equal(x * 2));
  CHECK_THROWS_WITH(times.forward(x, 3),
                    Contains("Expected argument #1 to be of type long, but received value of type int"));
  CHECK_THROWS_WITH(times.forward(x), Contains("Times's forward() method expects 3 argument(s), but received 1"));
  CHECK_THROWS_WITH(times.forward(x, int64_t(3), true, 1), Contains("but received 4"));
  CHECK_THROWS_WITH(times.forward<int>(x, int64_t(3)),
                    Contains("Attempted to cast AnyValue to int, but its actual type is tandem::Tensor"));
  CHECK(times.clone().forward(x, int64_t(3)).equal(x * 3));

  const nn::AnyModule divide{Divide()};
  CHECK(divide.forward<std::tuple<int, int>>(17, 5) == std::make_tuple(3, 2));
  CHECK(nn::AnyModule(Anything()).forward(x).equal(x));  // uses the template's instance for Tensor

  const nn::AnyModule lstm{nn::LSTM(2, 3)};
  using Output = std::tuple<Tensor, std::tuple<Tensor, Tensor>>;
  CHECK(std::get<0>(lstm.forward<Output>(ones({4, 2}))).sizes() == IntArrayRef{4, 3});
}

TEST_CASE("AnyModule gives its module as what it is", "[nn][any]") {
  nn::AnyModule any;
  CHECK(any.is_empty());
  CHECK(any.clone().is_empty());
  CHECK_THROWS_WITH(any.forward(ones({2})), Contains("Cannot call forward() on an empty AnyModule"));
  CHECK_THROWS_WITH(any.type_info(), Contains("Cannot call type_info() on an empty AnyModule"));
  CHECK_THROWS_WITH(any.get<nn::LinearImpl>(), Contains("Cannot call get() on an empty AnyModule"));
  const nn::Linear linear(2, 3);
  any = linear.ptr();
  CHECK_FALSE(any.is_empty());
  CHECK(any.type_info() == typeid(nn::LinearImpl));
  CHECK(&any.get<nn::LinearImpl>() == linear.get());
  CHECK(any.get<nn::Linear>().ptr() == linear.ptr());
  CHECK(any.ptr<nn::LinearImpl>() == linear.ptr());
  CHECK_THROWS_WITH(any.get<nn::ReLU>(),
                    Contains("Attempted to cast module of type tandem::nn::LinearImpl to type tandem::nn::ReLUImpl"));
  CHECK(nn::AnyModule(nn::LinearImpl(2, 3)).forward(ones({1, 2})).sizes() == IntArrayRef{1, 3});
}

TEST_CASE("Sequential hands on whatever its modules give", "[nn][any]") {
  const Tensor x = tensor({1.0, -2.0});
  nn::Sequential net{Times(), nn::ReLU()};
  CHECK(net->forward(x, int64_t(3)).equal(tensor({3.0, 0.0})));
  CHECK(net(x, int64_t(3), true).equal(tensor({6.0, 0.0})));
  nn::Sequential numbers{{{"divide", Divide()}, {"count", Count()}}};
  CHECK(numbers->forward<size_t>(17, 5) == 5);
  CHECK(numbers->named_children().keys() == std::vector<std::string>{"divide", "count"});
  CHECK_THROWS_WITH(numbers->forward<int>(17, 5), Contains("but you asked for type int"));
  CHECK_THROWS_WITH(numbers->forward(17, 5), Contains("but you asked for type tandem::Tensor"));
  CHECK_THROWS_WITH((nn::Sequential{nn::ReLU(), Divide()}(x)),
                    Contains("Divide's forward() method expects 2 argument(s), but received 1"));
  CHECK_THROWS_WITH(nn::Sequential()->forward<size_t>(1), Contains("Cannot call forward() on an empty Sequential"));
  const nn::NamedAnyModule named("fc", nn::Linear(2, 3));
  CHECK(named.name() == "fc");
  CHECK(named.module().ptr()->name() == "Linear");
}

}  // namespace tandem
