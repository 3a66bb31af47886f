#include "libraries/primitives/cpu/reduction.hpp"
#include "libraries/primitives/requests/accumulators.hpp"

#include <troupe/plugin/static_registration.hpp>
#include <troupe/primitives/scans.hpp>

namespace troupe::cpu {
namespace {

using primitives::combination;

/// y[i] = narrow(everything up to x[i]). Each x[i] is read before y[i] is written, so they may be
/// the same.
template <class Accumulator, class T, class To, class Widen, class Combine, class Narrow>
void scan_all(const elements<T>& x, const elements<To>& y, bool exclusive, Accumulator sum,
              Widen widen, Combine combine, Narrow narrow) {
  for (std::int64_t i = 0; i < x.count(); ++i) {
    const Accumulator next = combine(sum, widen(x[i]));
    y[i] = narrow(exclusive ? sum : next);
    sum = next;
  }
}

template <class T, class To>
void scan_numbers(const primitives::scan& r) {
  using accumulator = accumulator_for<T>;
  with_combiner<accumulator>(r.op, [&](auto combine) {
    scan_all(
        elements<T>(r.x), elements<To>(r.y), r.exclusive,
        primitives::combiner<accumulator>{r.op}.identity(), [](T value) { return widened(value); },
        combine, [](accumulator sum) { return narrowed<To>(sum); });
  });
}

void scan_vector(const primitives::scan& r) {
  const dtype type = r.x.type();
  if (primitives::is_selection(r.op)) {
    with_key(type, [&]<class Key>(Key) {
      const primitives::extreme_order<Key> order(type, r.op == combination::minimum);
      scan_all(
          elements<Key>(r.x), elements<Key>(r.y), r.exclusive, Key{0},
          [&](Key bits) { return order.rank_of(bits); }, [](Key a, Key b) { return a > b ? a : b; },
          [&](Key rank) { return order.bits_of(rank); });
    });
    return;
  }
  with_number(type, [&]<class T>(T) {
    if constexpr (!std::same_as<T, truth>) {
      if (r.y.type() == type) return scan_numbers<T, T>(r);
    }
    scan_numbers<T, accumulator_for<T>>(r);
  });
}

result<void> run_scan(const primitives::scan& r, lane_context&) {
  const primitives::tensor_rows x(r.x, r.axis);
  const primitives::tensor_rows y(r.y, r.axis);
  primitives::scan one = r;
  for (std::int64_t row = 0; row < x.count(); ++row) {
    one.x = x.view(row);
    one.y = y.view(row);
    scan_vector(one);
  }
  return {};
}

const plugin_operations scans_operations([](operation_table& table) {
  table.add<primitives::scan>(run_scan, effort::by_size);
});

}  // namespace

}  // namespace troupe::cpu
