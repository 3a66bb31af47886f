#include "backend/cuda/context/executor.hpp"
#include "base/try.hpp"
#include "libraries/blas/cuda/kernels/combine.hpp"
#include "libraries/blas/cuda/kernels/vectors.hpp"
#include "libraries/blas/cuda/routines.hpp"
#include "libraries/blas/requests/factors.hpp"

#include <troupe/blas/level1.hpp>

namespace troupe::cuda {
namespace {

using blas::increment;

constexpr routine axpy_ex{&cublasAxpyEx_64, "cublasAxpyEx_64"};
constexpr routine scal_ex{&cublasScalEx_64, "cublasScalEx_64"};

bool is_half(dtype type) noexcept { return type == dtype::f16 || type == dtype::bf16; }
cudaDataType_t half_type(dtype type) noexcept {
  return type == dtype::f16 ? CUDA_R_16F : CUDA_R_16BF;
}

result<void> run_axpy(const blas::axpy& r, lane& where) {
  if (r.x.empty() || blas::vanishes(r.alpha, r.x.type())) return {};  // x is not read
  const cublasHandle_t handle = TRY(cublas_of(where));
  if (is_half(r.x.type())) {
    const auto alpha = r.alpha.as<float>();
    const cudaDataType_t type = half_type(r.x.type());
    return axpy_ex(handle, r.x.extent(0), &alpha, CUDA_R_32F, r.x.address(), type, increment(r.x),
                   r.y.address(), type, increment(r.y), CUDA_R_32F);
  }
  return for_classic_type(r.x.type(), [&]<class T>(T) {
    const T alpha = r.alpha.as<T>();
    return routines<T>::axpy(handle, r.x.extent(0), &alpha, r.x.data<T>(), increment(r.x),
                             r.y.data<T>(), increment(r.y));
  });
}

// cuBLAS has none.
result<void> run_axpby(const blas::axpby& r, lane& where) {
  if (r.y.empty()) return {};
  const dtype type = r.y.type();
  const auto vector = [](const any_tensor& t) {
    return batch_place{.first = t.address(), .row = increment(t)};
  };
  const auto factor = [&](const scalar& f) { return blas::vanishes(f, type) ? scalar(0) : f; };
  return combine(where, type, {.rows = r.y.extent(0), .columns = 1}, vector(r.y),
                 {.place = vector(r.x), .factor = factor(r.alpha)},
                 {.place = vector(r.y), .factor = factor(r.beta)});
}

template <class Half>
result<void> scal_half(const blas::scal& r, lane& where, cublasHandle_t handle) {
  const auto alpha = r.alpha.as<float>();
  if (alpha == 0) return multiply_by(where, elements_of<Half>(r.x), alpha);
  return scal_ex(handle, r.x.extent(0), &alpha, CUDA_R_32F, r.x.address(), half_type(r.x.type()),
                 increment(r.x), CUDA_R_32F);
}

result<void> run_scal(const blas::scal& r, lane& where) {
  if (r.x.empty()) return {};
  const cublasHandle_t handle = TRY(cublas_of(where));
  if (r.x.type() == dtype::f16) return scal_half<f16>(r, where, handle);
  if (r.x.type() == dtype::bf16) return scal_half<bf16>(r, where, handle);
  return for_classic_type(r.x.type(), [&]<class T>(T) {
    const T alpha = r.alpha.as<T>();
    // Zero by hand: a library may store zeros then, and would lose NaNs.
    if (alpha == T{}) return multiply_by(where, elements_of<T>(r.x), alpha);
    return routines<T>::scal(handle, r.x.extent(0), &alpha, r.x.data<T>(), increment(r.x));
  });
}

result<void> run_copy(const blas::copy& r, lane& where) {
  if (r.x.empty()) return {};
  if (r.reversed) {
    return for_classic_type(r.x.type(), [&]<class T>(T) {
      return copy_reversed(where, elements_of<T>(r.x), elements_of<T>(r.y));
    });
  }
  const cublasHandle_t handle = TRY(cublas_of(where));
  return for_classic_type(r.x.type(), [&]<class T>(T) {
    return routines<T>::copy(handle, r.x.extent(0), r.x.data<T>(), increment(r.x), r.y.data<T>(),
                             increment(r.y));
  });
}

result<void> run_swap(const blas::swap& r, lane& where) {
  if (r.x.empty()) return {};
  const cublasHandle_t handle = TRY(cublas_of(where));
  return for_classic_type(r.x.type(), [&]<class T>(T) {
    return routines<T>::swap(handle, r.x.extent(0), r.x.data<T>(), increment(r.x), r.y.data<T>(),
                             increment(r.y));
  });
}

const plugin_operations level1_operations([](operation_table& table) {
  add<blas::axpy>(table, run_axpy);
  add<blas::axpby>(table, run_axpby);
  add<blas::scal>(table, run_scal);
  add<blas::copy>(table, run_copy);
  add<blas::swap>(table, run_swap);
});

}  // namespace

}  // namespace troupe::cuda
