#include "backend/cuda/context/call_frame.hpp"
#include "backend/cuda/context/executor.hpp"
#include "backend/cuda/context/failure.hpp"
#include "libraries/blas/cuda/kernels/reductions.hpp"
#include "libraries/blas/cuda/routines.hpp"

#include <troupe/blas/level1_reductions.hpp>

namespace troupe::cuda {
namespace {

using blas::increment;

/// The answer for vectors of length 0, of type T: nothing is enqueued for a reply.
template <class T>
result<void> answer_zero(lane& where, const any_tensor& into, scalar* reply) {
  if (into.null()) {
    *reply = T{};
    return {};
  }
  return check(cudaMemsetAsync(into.address(), 0, sizeof(T), where.stream()), "cudaMemsetAsync");
}

/// Lets `call`, given a handle and a device address, put the answer of type T where the request
/// wants it. A reply is written by a kernel that makes a `scalar` of it.
template <class T, class Call>
result<void> answer(lane& where, const any_tensor& into, scalar* reply, Call call) {
  const cublasHandle_t handle = TRY(cublas_of(where));
  if (!into.null()) {
    return with_device_scalars(handle, [&] { return call(handle, into.data<T>()); });
  }
  call_frame c(where);
  const auto number = c.array<T>(1);
  TRY(c.begin());
  TRY(with_device_scalars(handle, [&] { return call(handle, number.get()); }));
  return store_number(where, number.get(), reply);
}

template <class Half>
result<void> dot_half(const blas::dot& r, lane& where, scalar* reply) {
  if (r.x.empty()) return answer_zero<Half>(where, r.result, reply);
  return dot_of_halves<Half>(where, elements_of<const Half>(r.x), elements_of<const Half>(r.y),
                             r.result.null() ? nullptr : r.result.data<Half>(), reply);
}

result<void> run_dot(const blas::dot& r, lane& where, scalar* reply) {
  *reply = {};
  if (r.x.type() == dtype::f16) return dot_half<f16>(r, where, reply);
  if (r.x.type() == dtype::bf16) return dot_half<bf16>(r, where, reply);
  return for_real_type(r.x.type(), [&]<class T>(T) {
    if (r.x.empty()) return answer_zero<T>(where, r.result, reply);
    return answer<T>(where, r.result, reply, [&](cublasHandle_t handle, T* to) {
      return routines<T>::dot(handle, r.x.extent(0), r.x.data<T>(), increment(r.x), r.y.data<T>(),
                              increment(r.y), to);
    });
  });
}

template <class R, class Request>
result<void> wide_dot(const Request& r, lane& where, double first, scalar* reply) {
  return dot_in_f64(where, elements_of<const float>(r.x), elements_of<const float>(r.y), first,
                    r.result.null() ? nullptr : r.result.template data<R>(), reply);
}

result<void> run_dsdot(const blas::dsdot& r, lane& where, scalar* reply) {
  *reply = {};
  if (r.x.empty()) return answer_zero<double>(where, r.result, reply);
  return wide_dot<double>(r, where, 0, reply);
}

result<void> run_sdsdot(const blas::sdsdot& r, lane& where, scalar* reply) {
  *reply = {};
  return wide_dot<float>(r, where, static_cast<double>(r.alpha.as<float>()), reply);
}

template <bool Conjugated, class Request>
result<void> complex_dot(const Request& r, lane& where, scalar* reply) {
  *reply = {};
  return for_complex_type(r.x.type(), [&]<class T>(T) {
    if (r.x.empty()) return answer_zero<T>(where, r.result, reply);
    return answer<T>(where, r.result, reply, [&](cublasHandle_t handle, T* to) {
      constexpr auto call = Conjugated ? routines<T>::dotc : routines<T>::dotu;
      return call(handle, r.x.extent(0), r.x.template data<T>(), increment(r.x),
                  r.y.template data<T>(), increment(r.y), to);
    });
  });
}

result<void> run_dotc(const blas::dotc& r, lane& where, scalar* reply) {
  return complex_dot<true>(r, where, reply);
}

result<void> run_dotu(const blas::dotu& r, lane& where, scalar* reply) {
  return complex_dot<false>(r, where, reply);
}

template <class T, class R>
result<void> narrow_nrm2(const blas::nrm2& r, lane& where, scalar* reply) {
  if (r.x.empty()) return answer_zero<R>(where, r.result, reply);
  return nrm2_in_f64(where, elements_of<const T>(r.x),
                     r.result.null() ? nullptr : r.result.data<R>(), reply);
}

template <class T>
result<void> wide_nrm2(const blas::nrm2& r, lane& where, scalar* reply) {
  if (r.x.empty()) return answer_zero<double>(where, r.result, reply);
  return nrm2_scaled(where, elements_of<const T>(r.x),
                     r.result.null() ? nullptr : r.result.data<double>(), reply);
}

result<void> run_nrm2(const blas::nrm2& r, lane& where, scalar* reply) {
  *reply = {};
  switch (r.x.type()) {
    case dtype::f16:
      return narrow_nrm2<f16, f16>(r, where, reply);
    case dtype::bf16:
      return narrow_nrm2<bf16, bf16>(r, where, reply);
    case dtype::f32:
      return narrow_nrm2<float, float>(r, where, reply);
    case dtype::c64:
      return narrow_nrm2<c64, float>(r, where, reply);
    case dtype::f64:
      return wide_nrm2<double>(r, where, reply);
    default:
      return wide_nrm2<c128>(r, where, reply);
  }
}

result<void> run_asum(const blas::asum& r, lane& where, scalar* reply) {
  *reply = {};
  return for_classic_type(r.x.type(), [&]<class T>(T) {
    using R = real_t<T>;
    if (r.x.empty()) return answer_zero<R>(where, r.result, reply);
    return answer<R>(where, r.result, reply, [&](cublasHandle_t handle, R* to) {
      return routines<T>::asum(handle, r.x.extent(0), r.x.data<T>(), increment(r.x), to);
    });
  });
}

template <bool Largest, class Request>
result<void> find_index(const Request& r, lane& where, std::int64_t* reply) {
  *reply = 0;
  if (r.x.empty()) {
    if (r.result.null()) {
      *reply = -1;
      return {};
    }
    return check(cudaMemsetAsync(r.result.address(), 0xFF, sizeof(std::int64_t), where.stream()),
                 "cudaMemsetAsync");
  }
  const cublasHandle_t handle = TRY(cublas_of(where));
  call_frame c(where);
  const auto from_one = c.array<std::int64_t>(1);
  TRY(c.begin());
  TRY(with_device_scalars(handle, [&] {
    return for_classic_type(r.x.type(), [&]<class T>(T) {
      constexpr auto call = Largest ? routines<T>::iamax : routines<T>::iamin;
      return call(handle, r.x.extent(0), r.x.template data<T>(), increment(r.x), from_one.get());
    });
  }));
  return store_index(where, from_one,
                     r.result.null() ? reply : r.result.template data<std::int64_t>());
}

result<void> run_iamax(const blas::iamax& r, lane& where, std::int64_t* reply) {
  return find_index<true>(r, where, reply);
}

result<void> run_iamin(const blas::iamin& r, lane& where, std::int64_t* reply) {
  return find_index<false>(r, where, reply);
}

const plugin_operations level1_reductions_operations([](operation_table& table) {
  add<blas::dot>(table, run_dot);
  add<blas::dsdot>(table, run_dsdot);
  add<blas::sdsdot>(table, run_sdsdot);
  add<blas::dotc>(table, run_dotc);
  add<blas::dotu>(table, run_dotu);
  add<blas::nrm2>(table, run_nrm2);
  add<blas::asum>(table, run_asum);
  add<blas::iamax>(table, run_iamax);
  add<blas::iamin>(table, run_iamin);
});

}  // namespace

}  // namespace troupe::cuda
