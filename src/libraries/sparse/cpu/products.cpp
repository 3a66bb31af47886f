#include "libraries/memory/shared/share_out.hpp"
#include "libraries/sparse/cpu/elements.hpp"
#include "libraries/sparse/cpu/pattern_check.hpp"
#include "libraries/sparse/cpu/stored_rows.hpp"

#include <troupe/plugin/static_registration.hpp>
#include <troupe/sparse/products.hpp>

#include <algorithm>
#include <atomic>
#include <type_traits>
#include <vector>

namespace troupe::cpu {
namespace {

/// The least work for a thread: its start takes some microseconds.
constexpr std::int64_t least_products = 1 << 16;

/// A product in the working type, whichever request it is of.
template <class T>
struct product {
  const sparse_matrix& a;
  const T* values;
  dense_elements<const T> in;
  dense_elements<T> out;
  update<T> finish;
  lane_context& lane;
  bool conjugates;

  /// Element k of the matrix, conjugated if the request says so. The decision is made at run time,
  /// because a second instantiation of all loops would double the time to compile them.
  [[nodiscard]] working_type<T> element(std::int64_t k) const noexcept {
    const working_type<T> value = widened(values[k]);
    return conjugates ? conjugated(value) : value;
  }
};

[[nodiscard]] constexpr bool transposes(blas::storage_op op) noexcept {
  return op == blas::storage_op::transpose || op == blas::storage_op::conjugate_transpose;
}
[[nodiscard]] constexpr bool conjugates(blas::storage_op op) noexcept {
  return op == blas::storage_op::conjugate || op == blas::storage_op::conjugate_transpose;
}

template <class Rows>
constexpr bool is_compressed = requires(const Rows& rows) { rows.is_compressed(); };

/// The beginning of each of `tasks` stretches of rows with about the same number of elements.
template <class Rows>
std::vector<std::int64_t> stretches(const Rows& rows, std::int64_t tasks) {
  std::vector<std::int64_t> begins(static_cast<std::size_t>(tasks) + 1, rows.rows);
  begins[0] = 0;
  for (std::int64_t t = 1; t < tasks; ++t) {
    auto& begin = begins[static_cast<std::size_t>(t)];
    if constexpr (is_compressed<Rows>) {
      const auto* const found =
          std::lower_bound(rows.offsets, rows.offsets + rows.rows, rows.slots / tasks * t);
      begin = found - rows.offsets;
    } else {
      begin = rows.rows / tasks * t;
    }
    // Offsets that descend may say anything.
    begin = std::max(begin, begins[static_cast<std::size_t>(t) - 1]);
  }
  return begins;
}

/// `N` columns of row i of the result, which lie side by side in the factor if there are several.
/// Rows of the factor are `stride` elements apart.
template <std::size_t N, class T, class Rows, class Stride>
bool gather_columns(const product<T>& p, const Rows& rows, std::int64_t i, std::int64_t column,
                    Stride stride) {
  using work = working_type<T>;
  work sums[N] = {};
  const T* const first = p.in.first + column * p.in.column_stride;
  const bool good = rows.for_each(i, [&](std::int64_t k, std::int64_t j) {
    if constexpr (requires { rows.column_ahead(k); }) {
      // An address, which may be none.
      const std::uint64_t bytes =
          rows.column_ahead(k) * static_cast<std::uint64_t>(stride) * sizeof(T);
      __builtin_prefetch(
          reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(first) + bytes));
    }
    const work v = p.element(k);
    const T* const from = first + j * stride;
    for (std::size_t c = 0; c < N; ++c)
      sums[c] += times(v, widened(from[c]));
  });
  if (!good) return false;
  for (std::size_t c = 0; c < N; ++c)
    p.finish(p.out(i, column + static_cast<std::int64_t>(c)), sums[c]);
  return true;
}

/// Row i of the result, from row i of the matrix: as many columns at once as registers hold, or
/// fewer for the rarer formats, whose code would take as long to compile as all others together.
template <class T, class Rows>
bool gather_row(const product<T>& p, const Rows& rows, std::int64_t i) {
  const std::int64_t n = p.out.columns;
  const std::int64_t stride = p.in.row_stride;
  std::int64_t column = 0;
  bool good = true;
  if (p.in.column_stride == 1) {
    if constexpr (is_compressed<Rows>) {
      for (; good && n - column >= 16; column += 16)
        good = gather_columns<16>(p, rows, i, column, stride);
    }
    for (; good && n - column >= 4; column += 4)
      good = gather_columns<4>(p, rows, i, column, stride);
  }
  for (; good && column < n; ++column)
    good = gather_columns<1>(p, rows, i, column, stride);
  return good;
}

/// Rows of the result from rows of the matrix. \returns false where an element has no place
template <class T, class Rows>
bool gather(const product<T>& p, const Rows& rows, std::int64_t threads) {
  std::atomic<bool> good{true};
  const std::int64_t tasks = threads == 1 ? 1 : 4 * threads;
  const std::vector<std::int64_t> begins = stretches(rows, tasks);
  const auto all = [&](auto row) {
    share_out(threads, tasks, [&](std::int64_t, std::int64_t t) {
      const auto task = static_cast<std::size_t>(t);
      for (std::int64_t i = begins[task]; i < begins[task + 1]; ++i) {
        if (row(i)) continue;
        good.store(false, std::memory_order_relaxed);
        return;
      }
    });
  };
  if constexpr (is_compressed<Rows>) {
    // Rows are short, so every decision for a row matters.
    if (p.out.columns == 1 && p.in.row_stride == 1) {
      constexpr std::integral_constant<std::int64_t, 1> stride;
      all([&](std::int64_t i) { return gather_columns<1>(p, rows, i, 0, stride); });
      return good.load(std::memory_order_relaxed);
    }
  }
  all([&](std::int64_t i) { return gather_row(p, rows, i); });
  return good.load(std::memory_order_relaxed);
}

/// Adds each element's products to sums of its own place: `for_part(t, add)` calls
/// `add(k, to, from)` for element k in row `from` of the factor and row `to` of the result.
template <class T, class ForPart>
result<bool> scatter(const product<T>& p, std::int64_t threads, ForPart for_part) {
  using work = working_type<T>;
  const std::int64_t count = p.out.rows * p.out.columns;
  auto workspace = p.lane.workspace(static_cast<std::size_t>(threads * count) * sizeof(work));
  if (!workspace) return std::move(workspace).error();
  auto* const sums = reinterpret_cast<work*>(workspace->data());
  std::atomic<bool> good{true};
  share_out(threads, threads, [&](std::int64_t, std::int64_t t) {
    work* const own = sums + t * count;
    std::fill_n(own, count, work{});
    const bool all = for_part(t, [&](std::int64_t k, std::int64_t to, std::int64_t from) {
      const work v = p.element(k);
      for (std::int64_t c = 0; c < p.out.columns; ++c)
        own[to * p.out.columns + c] += times(v, widened(p.in(from, c)));
    });
    if (!all) good.store(false, std::memory_order_relaxed);
  });
  if (!good.load(std::memory_order_relaxed)) return false;
  share_out(threads, threads, [&](std::int64_t, std::int64_t t) {
    for (std::int64_t i = p.out.rows * t / threads; i < p.out.rows * (t + 1) / threads; ++i) {
      for (std::int64_t c = 0; c < p.out.columns; ++c) {
        work sum = sums[i * p.out.columns + c];
        for (std::int64_t other = 1; other < threads; ++other)
          sum += sums[other * count + i * p.out.columns + c];
        p.finish(p.out(i, c), sum);
      }
    }
  });
  return true;
}

template <class T, class I>
result<bool> multiply(const product<T>& p, bool transposed, std::int64_t threads) {
  // Threads that add to places of their own need memory and time for them.
  const std::int64_t results = std::max<std::int64_t>(1, p.out.rows * p.out.columns);
  const std::int64_t worth = p.a.stored() * p.out.columns / results;
  const std::int64_t scattering = std::clamp<std::int64_t>(worth, 1, threads);
  if (p.a.format == sparse_format::coo) {
    const I* const rows = p.a.row_indices.template data<I>();
    const I* const columns = p.a.indices.template data<I>();
    return scatter(p, scattering, [&](std::int64_t t, auto add) {
      const std::int64_t n = p.a.stored();
      for (std::int64_t k = n / scattering * t;
           k < (t + 1 == scattering ? n : n / scattering * (t + 1)); ++k) {
        const std::int64_t i = rows[k];
        const std::int64_t j = columns[k];
        if (static_cast<std::uint64_t>(i) >= static_cast<std::uint64_t>(p.a.rows) ||
            static_cast<std::uint64_t>(j) >= static_cast<std::uint64_t>(p.a.columns))
          return false;
        add(k, transposed ? j : i, transposed ? i : j);
      }
      return true;
    });
  }
  return with_rows<I>(p.a, [&](const auto& rows) -> result<bool> {
    // Columns of csc are rows of its transposed matrix.
    if ((p.a.format == sparse_format::csc) == transposed) return gather(p, rows, threads);
    return scatter(p, scattering, [&](std::int64_t t, auto add) {
      const std::vector<std::int64_t> begins = stretches(rows, scattering);
      const auto part = static_cast<std::size_t>(t);
      for (std::int64_t i = begins[part]; i < begins[part + 1]; ++i) {
        const bool good = rows.for_each(i, [&](std::int64_t k, std::int64_t j) { add(k, j, i); });
        if (!good) return false;
      }
      return true;
    });
  });
}

/// out = alpha · op_a(a) · in + beta · out.
template <class R>
result<void> run_product(const R& r, const any_tensor& in, const any_tensor& out,
                         lane_context& lane) {
  if (out.empty()) return {};
  return with_value(r.a.values.type(), [&]<class T>(T) -> result<void> {
    const product<T> p{.a = r.a,
                       .values = r.a.values.template data<T>(),
                       .in = dense_elements<const T>(in),
                       .out = dense_elements<T>(out),
                       .finish = update<T>(r.alpha, r.beta),
                       .lane = lane,
                       .conjugates = conjugates(r.op_a)};
    if (r.alpha.is_zero()) {
      for (std::int64_t i = 0; i < p.out.rows; ++i) {
        for (std::int64_t j = 0; j < p.out.columns; ++j)
          p.finish(p.out(i, j));
      }
      return {};
    }
    const std::int64_t threads =
        threads_for(p.out.rows, r.a.stored() * p.out.columns, least_products);
    auto good = with_index(r.a.index_type(), [&]<class I>(I) {
      return multiply<T, I>(p, transposes(r.op_a), threads);
    });
    if (!good) return std::move(good).error();
    return *good ? result<void>() : check_pattern(r.a, sparse::pattern_claim::places);
  });
}

result<void> run_spmv(const sparse::spmv& r, lane_context& lane) {
  return run_product(r, r.x, r.y, lane);
}
result<void> run_spmm(const sparse::spmm& r, lane_context& lane) {
  return run_product(r, r.b, r.c, lane);
}

/// The product of a row and a column.
template <class T>
working_type<T> inner(const dense_elements<const T>& a, const dense_elements<const T>& b,
                      std::int64_t i, std::int64_t j) {
  working_type<T> sum{};
  for (std::int64_t k = 0; k < a.columns; ++k)
    sum += times(widened(a(i, k)), widened(b(k, j)));
  return sum;
}

result<void> run_sddmm(const sparse::sddmm& r, lane_context&) {
  if (auto good = check_pattern(r.c, sparse::pattern_claim::places); !good) return good;
  return with_value(r.a.type(), [&]<class T>(T) -> result<void> {
    const dense_elements<const T> a(r.a);
    const dense_elements<const T> b(r.b);
    const sparse::pattern p = sparse::pattern_of(r.c);
    T* const values = r.c.values.template data<T>();
    const update<T> finish(r.alpha, r.beta);
    const bool multiplies = !r.alpha.is_zero();
    const std::int64_t stored = r.c.stored();
    const std::int64_t threads = threads_for(stored, stored * (a.columns + 1), least_products);
    const std::int64_t tasks = threads == 1 ? 1 : 4 * threads;
    share_out(threads, tasks, [&](std::int64_t, std::int64_t t) {
      const std::int64_t end = t + 1 == tasks ? stored : stored / tasks * (t + 1);
      for (std::int64_t e = stored / tasks * t; e < end; ++e) {
        const sparse::element_place at = p.place_of(e);
        if (at.what != sparse::element_place::kind::element) continue;
        if (multiplies) {
          finish(values[e], inner(a, b, at.row, at.column));
        } else {
          finish(values[e]);
        }
      }
    });
    return {};
  });
}

const plugin_operations products_operations([](operation_table& table) {
  table.add<sparse::spmv>(run_spmv, effort::by_size);
  table.add<sparse::spmm>(run_spmm, effort::by_size);
  table.add<sparse::sddmm>(run_sddmm, effort::by_size);
});

}  // namespace
}  // namespace troupe::cpu
