#include "libraries/primitives/cpu/extremes.hpp"
#include "libraries/primitives/cpu/reduction.hpp"
#include "libraries/primitives/cpu/segments.hpp"
#include "libraries/primitives/requests/accumulators.hpp"

#include <troupe/plugin/static_registration.hpp>
#include <troupe/primitives/reductions.hpp>

#include <bit>
#include <optional>

namespace troupe::cpu {
namespace {

using primitives::combination;

/// The number that an element's bits stand for.
scalar number_of(dtype type, std::uint64_t bits) {
  return with_number(type, [&]<class T>(T) -> scalar {
    if constexpr (std::same_as<T, truth>) {
      return bits != 0;
    } else {
      const auto value = std::bit_cast<T>(static_cast<key_for<T>>(bits));
      if constexpr (std::signed_integral<T>) {
        // NOLINTNEXTLINE(bugprone-signed-char-misuse): i8 is a number here, no character.
        return static_cast<std::int64_t>(value);
      } else {
        return value;
      }
    }
  });
}

scalar number_of_sum(dtype type, std::uint64_t sum) {
  if (primitives::accumulator_of(type) == dtype::i64) return static_cast<std::int64_t>(sum);
  return sum;
}
template <std::floating_point Sum>
scalar number_of_sum(dtype, Sum sum) {
  return sum;
}

/// Stores a sum as an element of one of the types that may hold it.
template <class T>
void store_sum(accumulator_for<T> sum, dtype type, std::byte* to) {
  if (type == primitives::accumulator_of(dtype_of<T>) || std::same_as<T, accumulator_for<T>>) {
    std::memcpy(to, &sum, sizeof sum);
  } else {
    const T element = narrowed<T>(sum);
    std::memcpy(to, &element, sizeof element);
  }
}
template <>
void store_sum<truth>(std::uint64_t sum, dtype, std::byte* to) {
  std::memcpy(to, &sum, sizeof sum);
}

result<scalar> run_reduce(const primitives::reduce& r, lane_context&) {
  const dtype type = r.x.type();
  if (primitives::is_selection(r.op)) {
    return with_number(type, [&]<class T>(T) -> scalar {
      const order_for<T> order(type, r.op == combination::minimum);
      const key_for<T> bits = order.bits_of(highest_rank(elements<T>(r.x), order));
      if (r.result.null()) return number_of(type, bits);
      std::memcpy(r.result.address(), &bits, sizeof bits);
      return {};
    });
  }
  return with_number(type, [&]<class T>(T) -> scalar {
    const auto sum = combined(elements<T>(r.x), r.op);
    if (r.result.null()) return number_of_sum(type, sum);
    store_sum<T>(sum, r.result.type(), r.result.address());
    return {};
  });
}

/// The index of the first element with the highest rank: the first stretch that has one is
/// searched once more.
template <class T>
std::int64_t first_extreme(const elements<T>& x, const order_for<T>& order) {
  std::optional<key_for<T>> best;
  std::int64_t begin = 0;
  std::int64_t of_best = -1;
  x.template for_each_stretch<stretch>([&](const T* first, std::int64_t n) {
    const key_for<T> rank = highest_rank(first, n, order);
    if (!best || rank > *best) {
      best = rank;
      of_best = begin;
    }
    begin += n;
  });
  while (best && order.rank_of(std::bit_cast<key_for<T>>(x[of_best])) != *best)
    ++of_best;
  return of_best;
}

template <class R>
result<std::int64_t> find(const R& r, bool smallest) {
  const std::int64_t index = with_number(r.x.type(), [&]<class T>(T) {
    return first_extreme(elements<T>(r.x), order_for<T>(r.x.type(), smallest));
  });
  if (r.result.null()) return index;
  *r.result.template data<std::int64_t>() = index;
  return 0;
}

result<std::int64_t> run_argmin(const primitives::argmin& r, lane_context&) {
  return find(r, true);
}

result<std::int64_t> run_argmax(const primitives::argmax& r, lane_context&) {
  return find(r, false);
}

result<void> run_segmented_reduce(const primitives::segmented_reduce& r, lane_context&) {
  const dtype type = r.x.type();
  std::byte* to = r.y.address();
  const std::int64_t step = r.y.stride(0) * size_of(r.y.type());
  if (primitives::is_selection(r.op)) {
    return with_number(type, [&]<class T>(T) {
      const order_for<T> order(type, r.op == combination::minimum);
      return for_each_segment(r.offsets, r.x.extent(0), [&](std::int64_t begin, std::int64_t end) {
        const key_for<T> bits =
            order.bits_of(highest_rank(elements<T>(r.x).part(begin, end), order));
        std::memcpy(to, &bits, sizeof bits);
        to += step;
      });
    });
  }
  return with_number(type, [&]<class T>(T) {
    return for_each_segment(r.offsets, r.x.extent(0), [&](std::int64_t begin, std::int64_t end) {
      store_sum<T>(combined(elements<T>(r.x).part(begin, end), r.op), r.y.type(), to);
      to += step;
    });
  });
}

const plugin_operations reductions_operations([](operation_table& table) {
  table.add<primitives::reduce>(run_reduce, effort::by_size);
  table.add<primitives::argmin>(run_argmin, effort::by_size);
  table.add<primitives::argmax>(run_argmax, effort::by_size);
  table.add<primitives::segmented_reduce>(run_segmented_reduce, effort::by_size);
});

}  // namespace

}  // namespace troupe::cpu
