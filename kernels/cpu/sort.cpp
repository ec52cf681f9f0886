// Sorting and selection (sort, topk). Elements are mapped to unsigned integer keys of the same order, and paired with
// their positions; keys compare fast and can be sorted by radix. NaN counts as the largest element, and -0 as equal to
// 0. Equal elements keep their order.
#include <algorithm>
#include <bit>

#include "tandem/kernels/cpu/planner.h"
#include "tandem/kernels/reduce.h"

namespace tandem::kernels::cpu {
namespace {

/// A key and the position of its element, in integers of the same width.
template <class K> struct Entry {
  K key, at;
  bool operator<(const Entry& other) const { return key != other.key ? key < other.key : at < other.at; }
};

template <int kBytes> struct UnsignedOf;
template <> struct UnsignedOf<1> { using type = uint8_t; };
template <> struct UnsignedOf<2> { using type = uint16_t; };
template <> struct UnsignedOf<4> { using type = uint32_t; };
template <> struct UnsignedOf<8> { using type = uint64_t; };

/// Returns an unsigned key with the same order as x or, if `descending_mask` is all ones, with the reverse order.
template <class T> auto to_sort_key(T x, uint64_t descending_mask) {
  using U = typename UnsignedOf<sizeof(T)>::type;
  constexpr U sign = static_cast<U>(U(1) << (8 * sizeof(T) - 1));
  U u = std::bit_cast<U>(x);
  if constexpr (is_floating_point(dtype_of<T>())) {
    const bool nan = !(static_cast<double>(x) == static_cast<double>(x));
    if (u == sign) u = 0;
    u = nan ? static_cast<U>(~U(0)) : static_cast<U>(u & sign ? ~u : u | sign);
  } else if constexpr (std::is_signed_v<T>) {
    u = static_cast<U>(u ^ sign);
  }
  return static_cast<U>(u ^ static_cast<U>(descending_mask));
}

/// Sorts `entries` by key, stably. `entries` and `spare` have n entries each.
/// @return `entries` or `spare`, whichever holds the result
template <class K> Entry<K>* sort_entries(Entry<K>* entries, Entry<K>* spare, int64_t n, int key_bytes) {
  if (n < 48) {  // ties are broken by position, so that the result is stable
    std::sort(entries, entries + n);
    return entries;
  }
  // Radix sort, starting with the lowest byte. One pass counts the values of all bytes.
  K count[sizeof(K)][256] = {};
  for (int64_t i = 0; i < n; ++i)
    for (int d = 0; d < key_bytes; ++d) ++count[d][entries[i].key >> (8 * d) & 255];
  for (int d = 0; d < key_bytes; ++d) {
    if (count[d][entries[0].key >> (8 * d) & 255] == static_cast<K>(n)) continue;  // all bytes are equal
    K start = 0;
    for (K& each : count[d]) {
      const K here = each;
      each = start;
      start += here;
    }
    for (int64_t i = 0; i < n; ++i) spare[count[d][entries[i].key >> (8 * d) & 255]++] = entries[i];
    std::swap(entries, spare);
  }
  return entries;
}

/// Selects the k entries that come first in the sorted row, and writes them, sorted, to the front of `kept`, which has
/// room for 2 k entries.
template <class T, class K>
void select_entries(const T* x, int64_t n, int64_t k, uint64_t descending_mask, Entry<K>* kept) {
  const int64_t capacity = 2 * k;
  int64_t count = 0;
  K limit = static_cast<K>(~K(0));
  // Whether `limit` is the key of the k-th smallest entry so far. A later entry with an equal key is not among the
  // first k.
  bool limited = false;
  for (int64_t i = 0; i < n; ++i) {
    const K key = to_sort_key(x[i], descending_mask);
    if (limited && key >= limit) continue;
    kept[count++] = {key, static_cast<K>(i)};
    if (count < capacity) continue;
    std::nth_element(kept, kept + (k - 1), kept + count);
    limit = kept[k - 1].key;
    limited = true;
    count = k;
  }
  if (count > k) std::nth_element(kept, kept + (k - 1), kept + count);
  std::sort(kept, kept + k);
}

/// Calls f with template arguments T, the dtype's C++ type, and K: uint32 if it can hold the keys of T and the
/// positions along n, otherwise uint64.
template <class F> void visit_key(DType dtype, int64_t n, F f) {
  visit_dtype(dtype, [&]<class T>() {
    if constexpr (sizeof(T) <= 4) {
      if (n < int64_t(1) << 32) return f.template operator()<T, uint32_t>();
    }
    f.template operator()<T, uint64_t>();
  });
}

/// Sizes of rows: n elements; topk keeps k of them. `descending_mask`: see to_sort_key().
struct SortedRows {
  int64_t n, k;
  uint64_t descending_mask;
};

}  // namespace

void sort(const Tensor& x, bool descending, Tensor& y, Tensor& index) {
  const SortedRows rows{x.size(1), 0, descending ? ~uint64_t(0) : 0};
  visit_key(x.dtype(), rows.n, [&]<class T, class K>() {
    const auto body = [](const SortedRows& s, const Loop& loop, int64_t begin, int64_t end) {
      auto* const entries = reinterpret_cast<Entry<K>*>(loop_scratch());
      for (int64_t r = begin; r < end; ++r) {
        const T* const from = data<T>(loop, 2) + r * s.n;
        for (int64_t i = 0; i < s.n; ++i)
          entries[i] = {static_cast<K>(to_sort_key(from[i], s.descending_mask)), static_cast<K>(i)};
        const Entry<K>* const sorted = sort_entries(entries, entries + s.n, s.n, static_cast<int>(sizeof(T)));
        T* const to = data<T>(loop, 0) + r * s.n;
        int64_t* const at = data<int64_t>(loop, 1) + r * s.n;
        for (int64_t i = 0; i < s.n; ++i) {
          at[i] = static_cast<int64_t>(sorted[i].at);
          to[i] = from[at[i]];
        }
      }
    };
    run(plan_call("sort", x.dtype(), {y, index}, {x}, rows, body, x.size(0),
                  std::max<int64_t>(4096 / std::max<int64_t>(rows.n, 1), 1),
                  2 * rows.n * static_cast<int64_t>(sizeof(Entry<K>))));
  });
}

void topk(const Tensor& x, bool largest, Tensor& y, Tensor& index) {
  const SortedRows rows{x.size(1), y.size(1), largest ? ~uint64_t(0) : 0};
  if (rows.k == 0) return;
  visit_key(x.dtype(), rows.n, [&]<class T, class K>() {
    const auto body = [](const SortedRows& s, const Loop& loop, int64_t begin, int64_t end) {
      auto* const kept = reinterpret_cast<Entry<K>*>(loop_scratch());
      for (int64_t r = begin; r < end; ++r) {
        const T* const from = data<T>(loop, 2) + r * s.n;
        select_entries(from, s.n, s.k, s.descending_mask, kept);
        for (int64_t i = 0; i < s.k; ++i) {
          const auto at = static_cast<int64_t>(kept[i].at);
          data<int64_t>(loop, 1)[r * s.k + i] = at;
          data<T>(loop, 0)[r * s.k + i] = from[at];
        }
      }
    };
    run(plan_call("topk", x.dtype(), {y, index}, {x}, rows, body, x.size(0), std::max<int64_t>(16384 / rows.n, 1),
                  2 * rows.k * static_cast<int64_t>(sizeof(Entry<K>))));
  });
}

}  // namespace tandem::kernels::cpu
