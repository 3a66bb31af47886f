#include "libraries/blas/cpu/half_vectors.hpp"
#include "libraries/blas/cpu/routines.hpp"

#include <troupe/blas/level1_reductions.hpp>
#include <troupe/plugin/static_registration.hpp>

#include <cmath>

namespace troupe::cpu {
namespace {

using blas::increment;

/// Puts the answer where the request wants it: in the reply, or in a tensor.
template <class T>
scalar answer(T value, const any_tensor& result) {
  if (result.null()) return value;
  *result.data<T>() = value;
  return {};
}

template <class Half>
scalar dot_half(const blas::dot& r) {
  half_block x;
  half_block y;
  float sum = 0;
  for (std::int64_t from = 0; from < r.x.extent(0); from += half_block::capacity) {
    const std::int64_t n = x.read<Half>(r.x, from);
    y.read<Half>(r.y, from);
    sum += cblas_sdot(n, x.values, 1, y.values, 1);
  }
  if (r.result.null()) return sum;
  return answer(Half(sum), r.result);
}

result<scalar> run_dot(const blas::dot& r, lane_context&) {
  if (r.x.type() == dtype::f16) return dot_half<f16>(r);
  if (r.x.type() == dtype::bf16) return dot_half<bf16>(r);
  scalar reply;
  for_real_type(r.x.type(), [&]<class T>(T) {
    reply = answer(routines<T>::dot(r.x.extent(0), r.x.data<T>(), increment(r.x), r.y.data<T>(),
                                    increment(r.y)),
                   r.result);
  });
  return reply;
}

/// Σ xᵢ · yᵢ in f64, by hand: OpenBLAS's kernels sum parts of it in f32.
double wide_dot(const any_tensor& x, const any_tensor& y) {
  const float* const first_x = x.data<float>();
  const float* const first_y = y.data<float>();
  const std::int64_t step_x = increment(x);
  const std::int64_t step_y = increment(y);
  double sum = 0;
  for (std::int64_t i = 0; i < x.extent(0); ++i)
    sum += static_cast<double>(first_x[i * step_x]) * static_cast<double>(first_y[i * step_y]);
  return sum;
}

result<scalar> run_dsdot(const blas::dsdot& r, lane_context&) {
  return answer(wide_dot(r.x, r.y), r.result);
}

result<scalar> run_sdsdot(const blas::sdsdot& r, lane_context&) {
  const auto alpha = static_cast<double>(r.alpha.as<float>());
  return answer(static_cast<float>(alpha + wide_dot(r.x, r.y)), r.result);
}

result<scalar> run_dotc(const blas::dotc& r, lane_context&) {
  scalar reply;
  for_complex_type(r.x.type(), [&]<class T>(T sum) {
    routines<T>::dotc_sub(r.x.extent(0), r.x.data<T>(), increment(r.x), r.y.data<T>(),
                          increment(r.y), &sum);
    reply = answer(sum, r.result);
  });
  return reply;
}

result<scalar> run_dotu(const blas::dotu& r, lane_context&) {
  scalar reply;
  for_complex_type(r.x.type(), [&]<class T>(T sum) {
    routines<T>::dotu_sub(r.x.extent(0), r.x.data<T>(), increment(r.x), r.y.data<T>(),
                          increment(r.y), &sum);
    reply = answer(sum, r.result);
  });
  return reply;
}

template <class Half>
scalar nrm2_half(const blas::nrm2& r) {
  // In f64, which the square of no f16 or bf16 leaves: the norm of a few of the largest bf16 is
  // beyond f32, but not beyond a reply.
  double squares = 0;
  half_block x;
  for (std::int64_t from = 0; from < r.x.extent(0); from += half_block::capacity) {
    const std::int64_t n = x.read<Half>(r.x, from);
    for (std::int64_t i = 0; i < n; ++i)
      squares += static_cast<double>(x.values[i]) * static_cast<double>(x.values[i]);
  }
  const double norm = std::sqrt(squares);
  if (r.result.null()) return norm;
  return answer(Half(static_cast<float>(norm)), r.result);
}

result<scalar> run_nrm2(const blas::nrm2& r, lane_context&) {
  if (r.x.type() == dtype::f16) return nrm2_half<f16>(r);
  if (r.x.type() == dtype::bf16) return nrm2_half<bf16>(r);
  scalar reply;
  for_classic_type(r.x.type(), [&]<class T>(T) {
    reply = answer(routines<T>::nrm2(r.x.extent(0), r.x.data<T>(), increment(r.x)), r.result);
  });
  return reply;
}

result<scalar> run_asum(const blas::asum& r, lane_context&) {
  scalar reply;
  for_classic_type(r.x.type(), [&]<class T>(T) {
    reply = answer(routines<T>::asum(r.x.extent(0), r.x.data<T>(), increment(r.x)), r.result);
  });
  return reply;
}

std::int64_t answer_index(std::int64_t index, const any_tensor& result) {
  if (result.null()) return index;
  *result.data<std::int64_t>() = index;
  return 0;
}

result<std::int64_t> run_iamax(const blas::iamax& r, lane_context&) {
  std::int64_t index = -1;
  if (!r.x.empty()) {
    for_classic_type(r.x.type(), [&]<class T>(T) {
      index = static_cast<std::int64_t>(
          routines<T>::iamax(r.x.extent(0), r.x.data<T>(), increment(r.x)));
    });
  }
  return answer_index(index, r.result);
}

result<std::int64_t> run_iamin(const blas::iamin& r, lane_context&) {
  // By hand: iamin is an extension of OpenBLAS, and nothing says which of equal elements it
  // answers.
  std::int64_t index = -1;
  for_classic_type(r.x.type(), [&]<class T>(T) {
    const T* const x = r.x.data<T>();
    const std::int64_t step = increment(r.x);
    const auto size = [](T v) {
      if constexpr (complex_v<T>) {
        return std::abs(v.real()) + std::abs(v.imag());
      } else {
        return std::abs(v);
      }
    };
    real_t<T> least{};
    for (std::int64_t i = 0; i < r.x.extent(0); ++i) {
      if (index >= 0 && !(size(x[i * step]) < least)) continue;
      index = i;
      least = size(x[i * step]);
    }
  });
  return answer_index(index, r.result);
}

const plugin_operations level1_reductions_operations([](operation_table& table) {
  table.add<blas::dot>(run_dot, effort::by_size);
  table.add<blas::dsdot>(run_dsdot, effort::by_size);
  table.add<blas::sdsdot>(run_sdsdot, effort::by_size);
  table.add<blas::dotc>(run_dotc, effort::by_size);
  table.add<blas::dotu>(run_dotu, effort::by_size);
  table.add<blas::nrm2>(run_nrm2, effort::by_size);
  table.add<blas::asum>(run_asum, effort::by_size);
  table.add<blas::iamax>(run_iamax, effort::by_size);
  table.add<blas::iamin>(run_iamin, effort::by_size);
});

}  // namespace

}  // namespace troupe::cpu
