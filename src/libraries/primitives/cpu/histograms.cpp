#include "libraries/primitives/cpu/numbers.hpp"
#include "libraries/primitives/shared/bins.hpp"

#include <troupe/plugin/static_registration.hpp>
#include <troupe/primitives/histograms.hpp>

#include <string>

namespace troupe::cpu {
namespace {

/// An element as the f64 that it is compared as.
template <class T>
double real_of(T value) noexcept {
  if constexpr (std::same_as<T, truth>) {
    return value.byte != 0 ? 1 : 0;
  } else if constexpr (elementwise::is_small_float<T>) {
    return static_cast<double>(static_cast<float>(value));
  } else {
    return static_cast<double>(value);
  }
}

template <class Bins>
result<void> count_elements(const any_tensor& x, const any_tensor& counts, const Bins& bins) {
  const elements<std::int64_t> to(counts);
  for (std::int64_t i = 0; i < to.count(); ++i)
    to[i] = 0;
  with_number(x.type(), [&]<class T>(T) {
    const elements<T> from(x);
    for (std::int64_t i = 0; i < from.count(); ++i) {
      const std::int64_t bin = bins.bin_of(real_of(from[i]));
      if (bin >= 0) ++to[bin];
    }
  });
  return {};
}

result<void> run_even(const primitives::histogram_even& r, lane_context&) {
  return count_elements(r.x, r.counts, primitives::even_bins(r.lower, r.upper, r.counts.extent(0)));
}

result<void> run_range(const primitives::histogram_range& r, lane_context&) {
  const elements<const double> edges(r.edges);
  for (std::int64_t i = 0; i < edges.count(); ++i) {
    const bool ascends = i == 0 ? edges[0] == edges[0] : edges[i] >= edges[i - 1];
    if (!ascends) {
      return error{
          .code = errc::invalid_argument,
          .message = "edges[" + std::to_string(i) + "] is NaN or below the edge before it"};
    }
  }
  return count_elements(
      r.x, r.counts,
      primitives::edged_bins(r.edges.data<double>(), r.edges.stride(0), r.counts.extent(0)));
}

const plugin_operations histograms_operations([](operation_table& table) {
  table.add<primitives::histogram_even>(run_even, effort::by_size);
  table.add<primitives::histogram_range>(run_range, effort::by_size);
});

}  // namespace

}  // namespace troupe::cpu
