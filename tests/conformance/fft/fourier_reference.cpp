#include "fourier_reference.hpp"

#include <cmath>
#include <numbers>

namespace troupe::conformance {
namespace {

using wide = std::complex<long double>;

// The definition is exact enough for all lengths up to this and fast enough.
constexpr std::size_t longest_by_definition = 256;

/// exp(∓2πi m / n), for m below n.
wide root(std::size_t m, std::size_t n, fft::direction direction) {
  const long double turn = 2 * std::numbers::pi_v<long double> * static_cast<long double>(m) /
                           static_cast<long double>(n);
  return std::polar(1.0L, direction == fft::direction::forward ? -turn : turn);
}

std::size_t smallest_factor(std::size_t n) {
  for (std::size_t p = 2; p * p <= n; ++p) {
    if (n % p == 0) return p;
  }
  return n;
}

std::vector<wide> by_definition(const std::vector<wide>& x, fft::direction direction) {
  const std::size_t n = x.size();
  std::vector<wide> roots(n);
  for (std::size_t m = 0; m < n; ++m)
    roots[m] = root(m, n, direction);
  std::vector<wide> sums(n);
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t j = 0; j < n; ++j)
      sums[k] += x[j] * roots[j * k % n];
  }
  return sums;
}

std::vector<wide> by_factors(const std::vector<wide>& x, fft::direction direction) {
  const std::size_t n = x.size();
  const std::size_t p = smallest_factor(n);
  if (p == n) return by_definition(x, direction);
  const std::size_t m = n / p;
  std::vector<std::vector<wide>> parts;
  for (std::size_t r = 0; r < p; ++r) {
    std::vector<wide> part(m);
    for (std::size_t j = 0; j < m; ++j)
      part[j] = x[j * p + r];
    parts.push_back(by_factors(part, direction));
  }
  std::vector<wide> sums(n);
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t r = 0; r < p; ++r)
      sums[k] += parts[r][k % m] * root(r * k % n, n, direction);
  }
  return sums;
}

template <class Transform>
std::vector<number> in_long_double(const std::vector<number>& x, Transform transform) {
  const std::vector<wide> sums = transform(std::vector<wide>(x.begin(), x.end()));
  return {sums.begin(), sums.end()};
}

/// The place of the conjugate partner of number `flat` of a block of `extents`.
std::size_t partner(std::size_t flat, std::span<const std::int64_t> extents) {
  std::size_t at = 0;
  std::size_t step = 1;
  for (std::size_t d = extents.size(); d-- > 0;) {
    const auto n = static_cast<std::size_t>(extents[d]);
    const std::size_t k = flat % n;
    flat /= n;
    at += (n - k) % n * step;
    step *= n;
  }
  return at;
}

std::size_t product(std::span<const std::int64_t> extents) {
  std::size_t count = 1;
  for (const std::int64_t n : extents)
    count *= static_cast<std::size_t>(n);
  return count;
}

}  // namespace

std::vector<number> transformed_by_definition(const std::vector<number>& x,
                                              fft::direction direction) {
  return in_long_double(x, [&](const auto& wide_x) { return by_definition(wide_x, direction); });
}

std::vector<number> transformed_by_factors(const std::vector<number>& x, fft::direction direction) {
  return in_long_double(x, [&](const auto& wide_x) { return by_factors(wide_x, direction); });
}

std::vector<number> transformed(std::vector<number> x, std::span<const std::int64_t> extents,
                                int rank, fft::direction direction) {
  if (x.empty()) return x;
  std::size_t step = 1;  // between neighbours in the dimension at hand
  for (std::size_t d = extents.size(); d-- > extents.size() - static_cast<std::size_t>(rank);) {
    const auto n = static_cast<std::size_t>(extents[d]);
    std::vector<number> line(n);
    for (std::size_t first = 0; first < x.size(); ++first) {
      if (first / step % n != 0) continue;
      for (std::size_t j = 0; j < n; ++j)
        line[j] = x[first + j * step];
      const std::vector<number> sums = n <= longest_by_definition
                                           ? transformed_by_definition(line, direction)
                                           : transformed_by_factors(line, direction);
      for (std::size_t k = 0; k < n; ++k)
        x[first + k * step] = sums[k];
    }
    step *= n;
  }
  return x;
}

std::vector<number> hermitian(const std::vector<number>& x, std::span<const std::int64_t> extents,
                              int rank) {
  const auto axes = extents.last(static_cast<std::size_t>(rank));
  const std::size_t block = product(axes);
  std::vector<number> made(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t within = i % block;
    made[i] = (x[i] + std::conj(x[i - within + partner(within, axes)])) / 2.0;
  }
  return made;
}

std::vector<number> halved(const std::vector<number>& x, std::span<const std::int64_t> extents) {
  const auto n = static_cast<std::size_t>(extents.back());
  std::vector<number> kept;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (i % n <= n / 2) kept.push_back(x[i]);
  }
  return kept;
}

std::vector<number> completed(const std::vector<number>& half,
                              std::span<const std::int64_t> extents, int rank) {
  const auto axes = extents.last(static_cast<std::size_t>(rank));
  const auto n = static_cast<std::size_t>(extents.back());
  const std::size_t block = product(axes);
  std::vector<number> all(product(extents));
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::size_t within = i % block;
    const bool stored = within % n <= n / 2;
    const std::size_t from = stored ? i : i - within + partner(within, axes);
    const number value = half[from / n * (n / 2 + 1) + from % n];
    all[i] = stored ? value : std::conj(value);
  }
  return all;
}

}  // namespace troupe::conformance
