#include "libraries/solver/cuda/routines/sparse.hpp"

#include "backend/cuda/context/failure.hpp"
#include "libraries/solver/cuda/cusolver.hpp"
#include "libraries/solver/cuda/limits.hpp"
#include "libraries/solver/cuda/workroom.hpp"

// All of it is marked deprecated, for a library that is not part of the toolkit.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#include <cusolverSp.h>

#include <cmath>
#include <cstddef>
#include <memory>
#include <vector>

namespace troupe::cuda {
namespace {

constexpr char attachment_key = 0;

struct attached {
  cusolverSpHandle_t handle = nullptr;
  cusparseMatDescr_t form = nullptr;  // general, from 0

  attached() = default;
  attached(const attached&) = delete;
  attached& operator=(const attached&) = delete;
  ~attached() {
    if (form != nullptr) (void)cusparseDestroyMatDescr(form);
    if (handle != nullptr) (void)cusolverSpDestroy(handle);
  }
};

result<const attached*> sparse_of(lane& where) {
  std::shared_ptr<void>& place = where.attachment(&attachment_key);
  if (!place) {
    auto made = std::make_shared<attached>();
    auto done = check(cusolverSpCreate(&made->handle), "cusolverSpCreate", where.stream());
    if (done) {
      done = check(cusolverSpSetStream(made->handle, where.stream()), "cusolverSpSetStream",
                   where.stream());
    }
    if (!done) return std::move(done).error();
    if (cusparseCreateMatDescr(&made->form) != CUSPARSE_STATUS_SUCCESS) {
      return error{.code = errc::out_of_memory,
                   .message = "no memory for a descriptor",
                   .library = "cusparse",
                   .call = "cusparseCreateMatDescr"};
    }
    place = std::move(made);
  }
  return static_cast<const attached*>(place.get());
}

template <class T>
struct sparse_functions;
#define TROUPE_CUSOLVER_SPARSE(member, function)        \
  static constexpr auto member = &cusolverSp##function; \
  static constexpr const char* member##_name = "cusolverSp" #function
template <>
struct sparse_functions<float> {
  TROUPE_CUSOLVER_SPARSE(cholesky, Scsrlsvchol);
  TROUPE_CUSOLVER_SPARSE(qr, Scsrlsvqr);
  TROUPE_CUSOLVER_SPARSE(lu, ScsrlsvluHost);
  TROUPE_CUSOLVER_SPARSE(least_squares, ScsrlsqvqrHost);
};
template <>
struct sparse_functions<double> {
  TROUPE_CUSOLVER_SPARSE(cholesky, Dcsrlsvchol);
  TROUPE_CUSOLVER_SPARSE(qr, Dcsrlsvqr);
  TROUPE_CUSOLVER_SPARSE(lu, DcsrlsvluHost);
  TROUPE_CUSOLVER_SPARSE(least_squares, DcsrlsqvqrHost);
};
#undef TROUPE_CUSOLVER_SPARSE

// Minimum degree. Source: cuSOLVER documentation, csrlsvchol.
int as_cusolver(solver::ordering ordering) noexcept {
  return ordering == solver::ordering::automatic ? 2 : 0;
}

/// A matrix and vectors in the lane's workspace.
template <class T>
class on_device {
 public:
  on_device(const sparse_matrix<T>& a, lane& where) noexcept : a_(a), where_(where) {}

  result<void> load(const T* b) {
    const auto rows = static_cast<std::int64_t>(a_.rows);
    const auto elements = static_cast<std::int64_t>(a_.elements);
    const std::size_t values_at = room_.add(elements * static_cast<std::int64_t>(sizeof(T)));
    const std::size_t offsets_at = room_.add((rows + 1) * static_cast<std::int64_t>(sizeof(int)));
    const std::size_t places_at = room_.add(elements * static_cast<std::int64_t>(sizeof(int)));
    const std::size_t b_at = room_.add(rows * static_cast<std::int64_t>(sizeof(T)));
    const std::size_t x_at = room_.add(rows * static_cast<std::int64_t>(sizeof(T)));
    if (auto taken = room_.take(where_); !taken) return taken;
    values = room_.at<T>(values_at);
    offsets = room_.at<int>(offsets_at);
    places = room_.at<int>(places_at);
    sides = room_.at<T>(b_at);
    solutions = room_.at<T>(x_at);
    if (auto done = send(values, a_.values, a_.elements); !done) return done;
    if (auto done = send(offsets, a_.offsets, a_.rows + 1); !done) return done;
    if (auto done = send(places, a_.places, a_.elements); !done) return done;
    return send(sides, b, a_.rows);
  }
  result<void> fetch(T* x) const {
    auto done = check(cudaMemcpyAsync(x, solutions, static_cast<std::size_t>(a_.rows) * sizeof(T),
                                      cudaMemcpyDeviceToHost, where_.stream()),
                      "cudaMemcpyAsync");
    if (!done) return done;
    return check(cudaStreamSynchronize(where_.stream()), "cudaStreamSynchronize");
  }

  T* values = nullptr;
  int* offsets = nullptr;
  int* places = nullptr;
  T* sides = nullptr;
  T* solutions = nullptr;

 private:
  template <class E>
  result<void> send(E* to, const E* from, int count) const {
    return check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(count) * sizeof(E),
                                 cudaMemcpyHostToDevice, where_.stream()),
                 "cudaMemcpyAsync");
  }

  const sparse_matrix<T>& a_;
  lane& where_;
  workroom room_;
};

/// Calls a solver that works on the device.
template <class T, class Function>
result<int> solve_there(Function function, const char* name, const sparse_matrix<T>& a, const T* b,
                        T* x, T tolerance, int reorder, lane& where) {
  auto lib = sparse_of(where);
  if (!lib) return std::move(lib).error();
  on_device<T> there(a, where);
  if (auto done = there.load(b); !done) return std::move(done).error();
  int bad = -1;
  auto done =
      check(function((*lib)->handle, a.rows, a.elements, (*lib)->form, there.values, there.offsets,
                     there.places, there.sides, tolerance, reorder, there.solutions, &bad),
            name, where.stream());
  if (done) done = there.fetch(x);
  if (!done) return std::move(done).error();
  return bad;
}

}  // namespace

template <class T>
result<int> sparse_cholesky(const sparse_matrix<T>& a, const T* b, T* x, T tolerance,
                            solver::ordering ordering, lane& where) {
  using functions = sparse_functions<T>;
  return solve_there(functions::cholesky, functions::cholesky_name, a, b, x, tolerance,
                     as_cusolver(ordering), where);
}

template <class T>
result<int> sparse_lu(const sparse_matrix<T>& a, const T* b, T* x, T tolerance,
                      solver::ordering ordering, lane& where) {
  using functions = sparse_functions<T>;
  auto lib = sparse_of(where);
  if (!lib) return std::move(lib).error();
  int bad = -1;
  auto done =
      check(functions::lu((*lib)->handle, a.rows, a.elements, (*lib)->form, a.values, a.offsets,
                          a.places, b, tolerance, as_cusolver(ordering), x, &bad),
            functions::lu_name, where.stream());
  if (!done) return std::move(done).error();
  return bad;
}

namespace {

/// Solves for a single column: see limits::cusolver::single_column.
template <class T>
int project(const sparse_matrix<T>& a, const T* b, T* x, T tolerance) {
  double squares = 0;
  double product = 0;
  for (int i = 0; i < a.rows; ++i) {
    for (int k = a.offsets[i]; k < a.offsets[i + 1]; ++k) {
      const auto v = static_cast<double>(a.values[k]);
      squares += v * v;
      product += v * static_cast<double>(b[i]);
    }
  }
  if (std::sqrt(squares) <= static_cast<double>(tolerance)) return 0;
  *x = static_cast<T>(product / squares);
  return 1;
}

}  // namespace

template <class T>
result<int> sparse_least_squares(const sparse_matrix<T>& a, const T* b, T* x, T tolerance,
                                 lane& where) {
  using functions = sparse_functions<T>;
  if (!limits::cusolver::accepts_columns(a.columns)) return project(a, b, x, tolerance);
  if (a.rows == a.columns) {
    auto bad = solve_there(functions::qr, functions::qr_name, a, b, x, tolerance,
                           as_cusolver(solver::ordering::automatic), where);
    if (!bad) return std::move(bad).error();
    if (*bad < 0) return a.columns;
  }
  auto lib = sparse_of(where);
  if (!lib) return std::move(lib).error();
  int rank = 0;
  T norm = 0;
  std::vector<int> order(static_cast<std::size_t>(a.columns));
  auto done = check(functions::least_squares((*lib)->handle, a.rows, a.columns, a.elements,
                                             (*lib)->form, a.values, a.offsets, a.places, b,
                                             tolerance, &rank, x, order.data(), &norm),
                    functions::least_squares_name, where.stream());
  if (!done) return std::move(done).error();
  return rank;
}

template result<int> sparse_cholesky(const sparse_matrix<float>&, const float*, float*, float,
                                     solver::ordering, lane&);
template result<int> sparse_cholesky(const sparse_matrix<double>&, const double*, double*, double,
                                     solver::ordering, lane&);
template result<int> sparse_lu(const sparse_matrix<float>&, const float*, float*, float,
                               solver::ordering, lane&);
template result<int> sparse_lu(const sparse_matrix<double>&, const double*, double*, double,
                               solver::ordering, lane&);
template result<int> sparse_least_squares(const sparse_matrix<float>&, const float*, float*, float,
                                          lane&);
template result<int> sparse_least_squares(const sparse_matrix<double>&, const double*, double*,
                                          double, lane&);

}  // namespace troupe::cuda
#pragma GCC diagnostic pop
