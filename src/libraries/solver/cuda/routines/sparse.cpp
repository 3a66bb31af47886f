#include "libraries/solver/cuda/routines/sparse.hpp"

#include "backend/cuda/context/call_frame.hpp"
#include "backend/cuda/context/failure.hpp"
#include "libraries/solver/cuda/cusolver.hpp"
#include "libraries/solver/cuda/limits.hpp"

// All of these functions are deprecated in favour of a library that is not part of the toolkit.
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
  cusparseMatDescr_t form = nullptr;  // general, zero-based

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
    TRY(check(cusolverSpCreate(&made->handle), "cusolverSpCreate", where.stream()));
    TRY(check(cusolverSpSetStream(made->handle, where.stream()), "cusolverSpSetStream",
              where.stream()));

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
  on_device(const sparse_matrix<T>& a, lane& where) noexcept
      : a_(a), where_(where), frame_(where) {}

  result<void> load(const T* b) {
    values = frame_.array<T>(a_.elements);
    offsets = frame_.array<int>(std::int64_t{a_.rows} + 1);
    places = frame_.array<int>(a_.elements);
    sides = frame_.array<T>(a_.rows);
    solutions = frame_.array<T>(a_.rows);
    TRY(frame_.begin());
    TRY(send(values, a_.values, a_.elements));
    TRY(send(offsets, a_.offsets, a_.rows + 1));
    TRY(send(places, a_.places, a_.elements));
    return send(sides, b, a_.rows);
  }
  result<void> fetch(T* x) const {
    TRY(check(cudaMemcpyAsync(x, solutions, static_cast<std::size_t>(a_.rows) * sizeof(T),
                              cudaMemcpyDeviceToHost, where_.stream()),
              "cudaMemcpyAsync"));
    return check(cudaStreamSynchronize(where_.stream()), "cudaStreamSynchronize");
  }

  frame_array<T> values;
  frame_array<int> offsets;
  frame_array<int> places;
  frame_array<T> sides;
  frame_array<T> solutions;

 private:
  template <class E>
  result<void> send(frame_array<E> to, const E* from, int count) const {
    return check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(count) * sizeof(E),
                                 cudaMemcpyHostToDevice, where_.stream()),
                 "cudaMemcpyAsync");
  }

  const sparse_matrix<T>& a_;
  lane& where_;
  call_frame frame_;
};

/// Calls a solver that works on the device.
template <class T, class Function>
result<int> solve_there(Function function, const char* name, const sparse_matrix<T>& a, const T* b,
                        T* x, T tolerance, int reorder, lane& where) {
  const auto lib = TRY(sparse_of(where));
  on_device<T> there(a, where);
  TRY(there.load(b));
  int bad = -1;
  TRY(check(function(lib->handle, a.rows, a.elements, lib->form, there.values, there.offsets,
                     there.places, there.sides, tolerance, reorder, there.solutions, &bad),
            name, where.stream()));
  TRY(there.fetch(x));
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
  const auto lib = TRY(sparse_of(where));
  int bad = -1;
  TRY(check(functions::lu(lib->handle, a.rows, a.elements, lib->form, a.values, a.offsets, a.places,
                          b, tolerance, as_cusolver(ordering), x, &bad),
            functions::lu_name, where.stream()));
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
    const auto bad = TRY(solve_there(functions::qr, functions::qr_name, a, b, x, tolerance,
                                     as_cusolver(solver::ordering::automatic), where));
    if (bad < 0) return a.columns;
  }
  const auto lib = TRY(sparse_of(where));
  int rank = 0;
  T norm = 0;
  std::vector<int> order(static_cast<std::size_t>(a.columns));
  TRY(check(
      functions::least_squares(lib->handle, a.rows, a.columns, a.elements, lib->form, a.values,
                               a.offsets, a.places, b, tolerance, &rank, x, order.data(), &norm),
      functions::least_squares_name, where.stream()));
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
