// Table of the ops that programs call. The C++ text of each entry is both compiled and printed.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tandem/core/internal.h"
#include "tandem/tandem.h"
#include "tandem/tests/differential/value.h"

namespace tandem::differential {

/// Finds the tensor with the reference "$3.1". @throws Missing if the step that makes it failed
using Lookup = std::function<Tensor(const std::string&)>;
struct Missing : std::runtime_error {
  using std::runtime_error::runtime_error;
};

enum class Returns { nothing, one, tuple, list };
struct Op {
  std::function<std::vector<Tensor>(const Values&, const Lookup&)> run;
  const char* parameters;  // for example "(Tensor x, Ints dims)"
  const char* expression;  // for example "x.sum(dims)"
  Returns returns;
};
using OpTable = std::map<std::string, Op>;
const OpTable& op_table();

// ---- parameters: their types, and how each reads a Value
using Ints = std::vector<int64_t>;
using Tensors = std::vector<Tensor>;
using Indices = std::vector<indexing::TensorIndex>;
using MaybeInt = std::optional<int64_t>;
using MaybeScalar = std::optional<Scalar>;
using MaybeBool = std::optional<bool>;

DType dtype_named(const std::string& name);
Scalar to_scalar(const Value& v);
indexing::TensorIndex to_index(const Value& v, const Lookup& find);

template <class T> T read(const Value& v, const Lookup& find) {
  if constexpr (std::is_same_v<T, Tensor>)
    return v.is_none() ? Tensor() : find(v.text);
  else if constexpr (std::is_same_v<T, Scalar>)
    return to_scalar(v);
  else if constexpr (std::is_same_v<T, double>)
    return v.kind == Value::Kind::real ? v.real : double(v.integer);
  else if constexpr (std::is_same_v<T, bool>)
    return v.integer != 0;
  else if constexpr (std::is_same_v<T, int64_t>)
    return v.integer;
  else if constexpr (std::is_same_v<T, DType>)
    return dtype_named(v.text);
  else if constexpr (std::is_same_v<T, std::string>)
    return v.text;
  else if constexpr (std::is_same_v<T, Reduction>)
    return v.text == "mean" ? Reduction::mean : v.text == "sum" ? Reduction::sum : Reduction::none;
  else if constexpr (std::is_same_v<T, Pair>)
    return Pair(IntArrayRef(read<Ints>(v, find)));
  else if constexpr (std::is_same_v<T, MaybeInt> || std::is_same_v<T, MaybeScalar> || std::is_same_v<T, MaybeBool>) {
    if (v.is_none()) return std::nullopt;
    return read<typename T::value_type>(v, find);
  } else {  // T is a list
    T list;
    for (const Value& each : v.list) {
      if constexpr (std::is_same_v<T, Indices>)
        list.push_back(to_index(each, find));
      else
        list.push_back(read<typename T::value_type>(each, find));
    }
    return list;
  }
}

// ---- results
inline std::vector<Tensor> outputs(Tensor t) { return {std::move(t)}; }
inline std::vector<Tensor> outputs(std::vector<Tensor> list) { return list; }
inline std::vector<Tensor> outputs(const std::tuple<Tensor, Tensor>& pair) {
  return {std::get<0>(pair), std::get<1>(pair)};
}
inline std::vector<Tensor> outputs(const std::tuple<Tensor, Tensor, Tensor>& three) {
  return {std::get<0>(three), std::get<1>(three), std::get<2>(three)};
}
inline std::vector<Tensor> outputs(const Scalar& s) { return {full({}, s, TensorOptions(s.dtype()))}; }
inline std::vector<Tensor> outputs(bool b) { return outputs(Scalar(b)); }
inline std::vector<Tensor> outputs(DType dtype) { return {empty({0}, dtype)}; }

template <class R> constexpr Returns kReturns = Returns::one;
template <> inline constexpr Returns kReturns<void> = Returns::nothing;
template <> inline constexpr Returns kReturns<std::vector<Tensor>> = Returns::list;
template <class... T> constexpr Returns kReturns<std::tuple<T...>> = Returns::tuple;

template <class R, class... P>
void define(OpTable& table, const char* name, R (*function)(P...), const char* parameters, const char* expression) {
  auto run = [function, name](const Values& arguments, const Lookup& find) -> std::vector<Tensor> {
    if (arguments.size() != sizeof...(P)) throw Missing(std::string(name) + ": wrong number of arguments");
    const auto call = [&]<size_t... I>(std::index_sequence<I...>) { return function(read<P>(arguments[I], find)...); };
    if constexpr (std::is_void_v<R>) {
      call(std::index_sequence_for<P...>());
      return {};
    } else {
      return outputs(call(std::index_sequence_for<P...>()));
    }
  };
  if (!table.emplace(name, Op{std::move(run), parameters, expression, kReturns<R>}).second)
    throw Missing(std::string(name) + " is in the table twice");
}
// Adds an op to the table. Example: OP("sum", (Tensor x), x.sum()).
#define OP(name, parameters, ...) \
  define(                         \
      table, name, +[] parameters { return __VA_ARGS__; }, #parameters, #__VA_ARGS__);

}  // namespace tandem::differential
