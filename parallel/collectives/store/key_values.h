// KeyValues: a map of keys to values with the operations of a store, used by all kinds of stores. Internal.
#pragma once
#include <algorithm>
#include <charconv>
#include <map>

#include "tandem/parallel/collectives/process_group.h"

namespace tandem::distributed {

class KeyValues {
 public:
  std::optional<std::string> find(const std::string& key) const {
    const auto at = values_.find(key);
    return at == values_.end() ? std::nullopt : std::optional(at->second);
  }
  void set(const std::string& key, const std::string& value) { values_[key] = value; }
  /// Sets the key to `value` unless it has a value already. Returns the value of the key after the call.
  const std::string& set_once(const std::string& key, const std::string& value) {
    return values_.try_emplace(key, value).first->second;
  }
  /// Adds `amount` to the value of the key, which is a number as text, and returns the sum. A missing key counts as 0.
  /// @throws DistributedError if the value is not a number
  int64_t add(const std::string& key, int64_t amount) {
    const std::string text = find(key).value_or("0");
    int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    TANDEM_CHECK_AS(
        DistributedError,
        error == std::errc() && end == text.data() + text.size() && !__builtin_add_overflow(number, amount, &number),
        "store: cannot add ", amount, " to the value '", text.substr(0, 40),
        "' of a key; accepted: whole numbers whose sum fits into int64");
    values_[key] = std::to_string(number);
    return number;
  }
  std::string compare_set(const std::string& key, const std::string& expected, const std::string& desired) {
    const auto now = find(key);
    if (now ? *now != expected : !expected.empty()) return now.value_or(expected);
    return values_[key] = desired;
  }
  bool erase(const std::string& key) { return values_.erase(key) > 0; }
  /// Returns the number of keys that begin with `prefix`.
  int64_t count(const std::string& prefix) const {
    return std::count_if(values_.lower_bound(prefix), values_.end(),
                         [&](const auto& each) { return each.first.compare(0, prefix.size(), prefix) == 0; });
  }

 private:
  std::map<std::string, std::string> values_;
};

}  // namespace tandem::distributed
