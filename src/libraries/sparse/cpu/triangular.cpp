#include "libraries/sparse/cpu/elements.hpp"
#include "libraries/sparse/cpu/pattern_check.hpp"
#include "libraries/sparse/cpu/stored_rows.hpp"
#include "libraries/sparse/shared/triangles.hpp"

#include <troupe/plugin/static_registration.hpp>
#include <troupe/sparse/triangular.hpp>

#include <algorithm>
#include <span>
#include <string>

namespace troupe::cpu {
namespace {

/// Unknowns that are found side by side.
constexpr std::int64_t chunk = 32;

template <class T>
struct system {
  sparse::triangle shape;
  const T* values;
  dense_elements<const T> b;
  dense_elements<T> x;
  T alpha;

  [[nodiscard]] T value(std::int64_t k) const noexcept {
    return shape.conjugated ? conjugated(values[k]) : values[k];
  }
};

/// The sums of the diagonal's elements. \errors `invalid_argument`, `numerical`
template <class T, class Rows>
result<void> read_diagonal(const system<T>& s, const Rows& rows, const sparse_matrix& a,
                           std::span<T> diagonal) {
  std::int64_t zero = -1;
  for (std::int64_t i = 0; i < rows.rows; ++i) {
    T sum{};
    const bool good = rows.for_each(i, [&](std::int64_t k, std::int64_t j) {
      if (j == i) sum += s.value(k);
    });
    if (!good) return check_pattern(a, sparse::pattern_claim::places);
    if (s.shape.unit) sum = T{1};
    if (sum == T{} && zero < 0) zero = i;
    diagonal[static_cast<std::size_t>(i)] = sum;
  }
  if (zero < 0) return {};
  return error{.code = errc::numerical,
               .message = std::string(sparse::zero_diagonal_before) + std::to_string(zero) +
                          std::string(sparse::zero_diagonal_after)};
}

/// Each unknown from those that its row has. The pattern has been looked at.
template <class T, class Rows>
void solve_by_rows(const system<T>& s, const Rows& rows, std::span<const T> diagonal) {
  for (std::int64_t step = 0; step < rows.rows; ++step) {
    const std::int64_t i = s.shape.major_of(step, rows.rows);
    for (std::int64_t first = 0; first < s.x.columns; first += chunk) {
      const std::int64_t n = std::min(chunk, s.x.columns - first);
      T sums[chunk];
      for (std::int64_t c = 0; c < n; ++c)
        sums[c] = times(s.alpha, s.b(i, first + c));
      (void)rows.for_each(i, [&](std::int64_t k, std::int64_t j) {
        if (!s.shape.has(i, j)) return;
        const T v = s.value(k);
        for (std::int64_t c = 0; c < n; ++c)
          sums[c] -= times(v, s.x(j, first + c));
      });
      for (std::int64_t c = 0; c < n; ++c)
        s.x(i, first + c) = sums[c] / diagonal[static_cast<std::size_t>(i)];
    }
  }
}

/// Each unknown, once found, is taken out of those that its column has.
template <class T, class Rows>
void solve_by_columns(const system<T>& s, const Rows& rows, std::span<const T> diagonal) {
  for (std::int64_t i = 0; i < s.x.rows; ++i) {
    for (std::int64_t c = 0; c < s.x.columns; ++c)
      s.x(i, c) = times(s.alpha, s.b(i, c));
  }
  for (std::int64_t step = 0; step < rows.rows; ++step) {
    const std::int64_t i = s.shape.major_of(step, rows.rows);
    for (std::int64_t c = 0; c < s.x.columns; ++c)
      s.x(i, c) /= diagonal[static_cast<std::size_t>(i)];
    (void)rows.for_each(i, [&](std::int64_t k, std::int64_t j) {
      if (!s.shape.has(i, j)) return;
      const T v = s.value(k);
      for (std::int64_t c = 0; c < s.x.columns; ++c)
        s.x(j, c) -= times(v, s.x(i, c));
    });
  }
}

template <class T, class R>
result<void> solve(const R& r, lane_context& lane) {
  const system<T> s{.shape = sparse::triangle(r),
                    .values = r.a.values.template data<T>(),
                    .b = dense_elements<const T>(r.b),
                    .x = dense_elements<T>(r.x),
                    .alpha = r.alpha.template as<T>()};
  const auto n = static_cast<std::size_t>(r.a.rows);
  auto workspace = lane.workspace(n * sizeof(T));
  if (!workspace) return std::move(workspace).error();
  const std::span diagonal(reinterpret_cast<T*>(workspace->data()), n);
  return with_index(r.a.index_type(), [&]<class I>(I) {
    return with_rows<I>(r.a, [&](const auto& rows) -> result<void> {
      if (auto good = read_diagonal(s, rows, r.a, diagonal); !good) return good;
      if (s.shape.by_rows) {
        solve_by_rows<T>(s, rows, diagonal);
      } else {
        solve_by_columns<T>(s, rows, diagonal);
      }
      return {};
    });
  });
}

template <class R>
result<void> run_solve(const R& r, lane_context& lane) {
  switch (r.x.type()) {
    case dtype::f64:
      return solve<double>(r, lane);
    case dtype::c64:
      return solve<std::complex<float>>(r, lane);
    case dtype::c128:
      return solve<std::complex<double>>(r, lane);
    default:
      return solve<float>(r, lane);
  }
}

const plugin_operations triangular_operations([](operation_table& table) {
  table.add<sparse::spsv>(run_solve<sparse::spsv>, effort::by_size);
  table.add<sparse::spsm>(run_solve<sparse::spsm>, effort::by_size);
});

}  // namespace
}  // namespace troupe::cpu
