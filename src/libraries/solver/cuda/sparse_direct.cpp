#include "backend/cuda/context/executor.hpp"
#include "backend/cuda/context/failure.hpp"
#include "base/try.hpp"
#include "libraries/solver/cuda/matrices.hpp"
#include "libraries/solver/cuda/routines/sparse.hpp"
#include "libraries/solver/shared/outcomes.hpp"
#include "libraries/solver/shared/sparse_pattern.hpp"

#include <troupe/solver/sparse_direct.hpp>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

namespace troupe::cuda {
namespace {

error numerical(std::string message) {
  return {.code = errc::numerical, .message = std::move(message)};
}

/// Waits until all work of the lane has ended.
result<void> finish(lane& where) {
  return check(cudaStreamSynchronize(where.stream()), "cudaStreamSynchronize");
}

/// Copies the elements of a packed vector to host memory. Precondition: the lane is idle.
result<std::vector<std::byte>> on_host(const any_tensor& t, lane& where) {
  const auto bytes = static_cast<std::size_t>(t.count() * size_of(t.type()));
  std::vector<std::byte> all(bytes);
  if (bytes == 0) return all;
  if (t.space() == memory_space::host) {
    std::memcpy(all.data(), t.address(), bytes);
    return all;
  }
  TRY(check(cudaMemcpyAsync(all.data(), t.address(), bytes, cudaMemcpyDeviceToHost, where.stream()),
            "cudaMemcpyAsync"));
  TRY(finish(where));
  return all;
}
any_tensor viewed(std::vector<std::byte>& bytes, const any_tensor& like) noexcept {
  return any_tensor::unowned(bytes.data(), like.type(), {like.count()}, {}, memory_space::host);
}

/// A matrix in host memory, as the routines take it.
template <class T>
struct host_matrix {
  solver::sparse_pattern pattern;
  std::vector<int> offsets;
  std::vector<int> columns;
  std::vector<T> values;
};

/// \errors `invalid_argument` for an invalid pattern; `numerical` for infinities and NaNs;
/// `unsupported` if the number of elements needs more than 32 bits
template <class T, class R>
result<host_matrix<T>> read_matrix(const R& r, std::int64_t m, std::int64_t n, lane& where) {
  TRY(finish(where));
  auto offsets = TRY(on_host(r.offsets, where));
  auto columns = TRY(on_host(r.columns, where));
  auto values = TRY(on_host(r.values, where));
  auto pattern =
      TRY(solver::read_pattern(viewed(offsets, r.offsets), viewed(columns, r.columns), m, n));
  host_matrix<T> a{.pattern = std::move(pattern), .offsets = {}, .columns = {}, .values = {}};
  a.values.resize(values.size() / sizeof(T));
  if (!values.empty()) std::memcpy(a.values.data(), values.data(), values.size());
  for (const T v : a.values) {
    if (!std::isfinite(v)) return numerical(std::string(solver::not_finite));
  }
  if (a.pattern.offsets.back() > std::numeric_limits<int>::max()) {
    return error{
        .code = errc::unsupported,
        .message = "cuSOLVER counts the elements of a sparse matrix in 32 bits; there are " +
                   std::to_string(a.pattern.offsets.back())};
  }
  a.offsets.assign(a.pattern.offsets.begin(), a.pattern.offsets.end());
  a.columns.assign(a.pattern.places.begin(), a.pattern.places.end());
  return a;
}

/// Right sides and solutions, column by column.
template <class T>
struct sides {
  std::vector<T> b;
  std::vector<T> x;
  std::int64_t count = 0;
};

template <class T, class R>
result<sides<T>> read_sides(const R& r, lane& where) {
  const std::int64_t m = r.b.extent(0);
  const std::int64_t nrhs = r.b.extent(1);
  sides<T> all{.b = std::vector<T>(static_cast<std::size_t>(m * nrhs)),
               .x = std::vector<T>(static_cast<std::size_t>(r.x.extent(0) * nrhs)),
               .count = nrhs};
  if (all.b.empty()) return all;
  call_frame c(where);
  frame_matrices moved(c, r.b.type(), m, nrhs, 1);
  TRY(c.begin());
  TRY(copy(r.b, as_tensor(*moved, r.b), where));
  TRY(check(cudaMemcpyAsync(all.b.data(), moved->first, all.b.size() * sizeof(T),
                            cudaMemcpyDeviceToHost, where.stream()),
            "cudaMemcpyAsync"));
  TRY(finish(where));
  return all;
}

template <class T, class R>
result<void> write_sides(const R& r, const sides<T>& all, lane& where) {
  if (all.x.empty()) return {};
  call_frame c(where);
  frame_matrices moved(c, r.x.type(), r.x.extent(0), all.count, 1);
  TRY(c.begin());
  TRY(check(cudaMemcpyAsync(moved->first, all.x.data(), all.x.size() * sizeof(T),
                            cudaMemcpyHostToDevice, where.stream()),
            "cudaMemcpyAsync"));
  TRY(copy(as_tensor(*moved, r.x), r.x, where));
  return finish(where);  // the source lives no longer than this call
}

/// Solves for all right sides. `solve(matrix, b, x)` solves for one, and returns an empty text or
/// the reason why there is no solution.
template <class T, class R, class Solve>
result<void> solve_all(const R& r, lane& where, std::string_view without_elements, Solve solve) {
  const std::int64_t m = r.b.extent(0);
  const std::int64_t n = r.x.extent(0);
  const host_matrix<T> a = TRY(read_matrix<T>(r, m, n, where));
  if (n == 0) return {};
  if (a.values.empty()) return numerical(std::string(without_elements));
  auto each = TRY(read_sides<T>(r, where));
  const sparse_matrix<T> csr{.rows = static_cast<int>(m),
                             .columns = static_cast<int>(n),
                             .elements = static_cast<int>(a.values.size()),
                             .values = a.values.data(),
                             .offsets = a.offsets.data(),
                             .places = a.columns.data()};
  // Without right sides, solve once for zeros, so that a singular matrix is still reported.
  std::vector<T> none(static_cast<std::size_t>(m + n));
  for (std::int64_t i = 0; i < (each.count == 0 ? 1 : each.count); ++i) {
    const T* const b = each.count == 0 ? none.data() : each.b.data() + i * m;
    T* const x = each.count == 0 ? none.data() + m : each.x.data() + i * n;
    std::string why = TRY(solve(csr, b, x));
    if (!why.empty()) return numerical(std::move(why));
  }
  return write_sides(r, each, where);
}

/// Pivots below this are zero: the routines compare with less-than.
template <class T>
constexpr T no_pivot = std::numeric_limits<T>::min();

/// Elements of R's diagonal up to this count as zero. Source: Eigen, SparseQR::factorize.
template <class T>
T rank_tolerance(const sparse_matrix<T>& a) {
  std::vector<double> squares(static_cast<std::size_t>(a.columns));
  for (int k = 0; k < a.elements; ++k) {
    const auto v = static_cast<double>(a.values[k]);
    squares[static_cast<std::size_t>(a.places[k])] += v * v;
  }
  double largest = 0;
  for (const double s : squares)
    largest = std::max(largest, std::sqrt(s));
  return static_cast<T>(20.0 * static_cast<double>(a.rows + a.columns) * largest *
                        static_cast<double>(std::numeric_limits<T>::epsilon()));
}

template <class R, class F>
result<void> for_value_type(const R& r, F f) {
  return r.values.type() == dtype::f32 ? f(float{}) : f(double{});
}

result<void> run_cholesky(const solver::sparse_cholesky& r, lane& where) {
  constexpr std::string_view failed = "not positive definite";
  return for_value_type(r, [&]<class T>(T) {
    return solve_all<T>(
        r, where, failed, [&](const sparse_matrix<T>& a, const T* b, T* x) -> result<std::string> {
          const auto bad = TRY(sparse_cholesky(a, b, x, no_pivot<T>, r.ordering, where));
          return std::string(bad < 0 ? "" : failed);
        });
  });
}

result<void> run_lu(const solver::sparse_lu& r, lane& where) {
  constexpr std::string_view failed = "singular";
  return for_value_type(r, [&]<class T>(T) {
    return solve_all<T>(r, where, failed,
                        [&](const sparse_matrix<T>& a, const T* b, T* x) -> result<std::string> {
                          const auto bad = TRY(sparse_lu(a, b, x, no_pivot<T>, r.ordering, where));
                          return std::string(bad < 0 ? "" : failed);
                        });
  });
}

result<void> run_qr(const solver::sparse_qr& r, lane& where) {
  return for_value_type(r, [&]<class T>(T) {
    const auto text = [&](std::int64_t rank) {
      return "rank deficient: rank " + std::to_string(rank) + " of " +
             std::to_string(r.x.extent(0));
    };
    return solve_all<T>(
        r, where, text(0), [&](const sparse_matrix<T>& a, const T* b, T* x) -> result<std::string> {
          const auto rank = TRY(sparse_least_squares(a, b, x, rank_tolerance(a), where));
          return rank == a.columns ? std::string() : text(rank);
        });
  });
}

const plugin_operations sparse_direct_operations([](operation_table& table) {
  add<solver::sparse_cholesky>(table, run_cholesky, effort::blocks_host);
  add<solver::sparse_lu>(table, run_lu, effort::blocks_host);
  add<solver::sparse_qr>(table, run_qr, effort::blocks_host);
});

}  // namespace
}  // namespace troupe::cuda
