// Kernels of blas that products need, on the host.

#include "conformance/element.hpp"
#include "libraries/blas/cuda/kernels/addresses.hpp"
#include "libraries/blas/cuda/kernels/combine.hpp"

#include <algorithm>
#include <complex>

namespace troupe::cuda {

result<void> combine(lane&, dtype type, const batch_extents& extents, const batch_place& c,
                     const batch_term& a, const batch_term& b) {
  const auto at = [&](const batch_place& p, std::int64_t of, std::int64_t i, std::int64_t j) {
    return p.first + (of * p.batch + i * p.row + j * p.column) * size_of(type);
  };
  const auto value = [&](const batch_term& t, std::int64_t of, std::int64_t i, std::int64_t j) {
    const auto factor = t.factor.as<std::complex<double>>();
    const bool outside = t.valid.rows >= 0 && (i >= t.valid.rows || j >= t.valid.columns);
    if (factor == 0.0 || outside) return conformance::number(0);
    const conformance::number held = conformance::load(type, at(t.place, of, i, j));
    return factor * (t.conjugated ? std::conj(held) : held);
  };
  for (std::int64_t of = 0; of < extents.count; ++of) {
    for (std::int64_t i = 0; i < extents.rows; ++i) {
      for (std::int64_t j = 0; j < extents.columns; ++j)
        conformance::store(type, at(c, of, i, j), value(a, of, i, j) + value(b, of, i, j));
    }
  }
  return {};
}

// No product of a test needs it.
result<void> scale(lane&, const any_tensor&, const scalar&) {
  return error{.code = errc::unsupported};
}

result<void> write_addresses(const lane&, void** to, std::span<const void* const> addresses) {
  std::ranges::transform(addresses, to, [](const void* one) { return const_cast<void*>(one); });
  return {};
}

}  // namespace troupe::cuda
