#include "backend/cuda/context/executor.hpp"
#include "base/try.hpp"
#include "libraries/blas/cuda/kernels/rotations.hpp"
#include "libraries/blas/cuda/kernels/vectors.hpp"
#include "libraries/blas/cuda/routines.hpp"

#include <troupe/blas/level1_rotations.hpp>

namespace troupe::cuda {
namespace {

using blas::increment;

result<void> run_rot(const blas::rot& r, lane& where) {
  if (r.x.empty()) return {};
  // A kernel of our own: cuBLAS documents its complex routine without the conjugate of s. Either is
  // bound by memory.
  return for_classic_type(r.x.type(), [&]<class T>(T) {
    using R = real_t<T>;
    const bool from_device = !r.c_at.null();
    return rotate(where, elements_of<T>(r.x), elements_of<T>(r.y),
                  rotation<R, T>{.c = r.c.as<R>(),
                                 .s = r.s.as<T>(),
                                 .c_at = from_device ? r.c_at.data<R>() : nullptr,
                                 .s_at = from_device ? r.s_at.data<T>() : nullptr});
  });
}

result<void> run_rotg(const blas::rotg& r, lane& where) {
  return for_classic_type(r.a.type(), [&]<class T>(T) {
    return generate_rotation(where, r.a.data<T>(), r.b.data<T>(), r.c.data<real_t<T>>(),
                             r.s.data<T>());
  });
}

result<void> run_rotm(const blas::rotm& r, lane& where) {
  if (r.x.empty()) return {};
  const cublasHandle_t handle = TRY(cublas_of(where));
  return with_device_scalars(handle, [&] {
    return for_real_type(r.x.type(), [&]<class T>(T) {
      return routines<T>::rotm(handle, r.x.extent(0), r.x.data<T>(), increment(r.x), r.y.data<T>(),
                               increment(r.y), r.param.data<T>());
    });
  });
}

result<void> run_rotmg(const blas::rotmg& r, lane& where) {
  return for_real_type(r.x1.type(), [&]<class T>(T) {
    const T* const y1 = r.y1.data<T>();
    return generate_modified_rotation(where, r.d1.data<T>(), r.d2.data<T>(), r.x1.data<T>(), y1,
                                      r.param.data<T>());
  });
}

const plugin_operations level1_rotations_operations([](operation_table& table) {
  add<blas::rot>(table, run_rot);
  add<blas::rotg>(table, run_rotg);
  add<blas::rotm>(table, run_rotm);
  add<blas::rotmg>(table, run_rotmg);
});

}  // namespace

}  // namespace troupe::cuda
