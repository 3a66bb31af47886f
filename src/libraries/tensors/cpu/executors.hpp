#pragma once

#include "libraries/blas/cpu/product.hpp"
#include "libraries/blas/cpu/routines.hpp"
#include "libraries/blas/cpu/scaling.hpp"
#include "libraries/elementwise/cpu/elementwise.hpp"
#include "libraries/memory/cpu/copy.hpp"
#include "libraries/tensors/cpu/known_programs.hpp"
#include "libraries/tensors/shared/programs.hpp"

#include <troupe/plugin/executor.hpp>

#include <algorithm>
#include <utility>

/// Executors of all requests of the library: their programs, step by step.
namespace troupe::cpu {

/// Two cores of a server. OpenBLAS has no products of f16 and bf16.
inline constexpr tensors::machine tensor_machine{.bytes_per_ns = 6,
                                                 .flops_per_ns = 100,
                                                 .half_flops_per_ns = 100,
                                                 .call_ns = 200,
                                                 .tile = 48,
                                                 .widens = true,
                                                 .dots = true};

/// d = alpha · Σ a · b + beta · d of one row and one column.
template <class T>
void multiply_vectors(const any_tensor& a, const any_tensor& b, const any_tensor& d,
                      const scalar& alpha, const scalar& beta) {
  T sum{};
  if constexpr (complex_v<T>) {
    routines<T>::dotu_sub(a.extent(2), a.data<T>(), a.stride(2), b.data<T>(), b.stride(1), &sum);
  } else {
    sum = routines<T>::dot(a.extent(2), a.data<T>(), a.stride(2), b.data<T>(), b.stride(1));
  }
  T& place = *d.data<T>();
  place = product_of(alpha.as<T>(), sum) + scaled(beta.as<T>(), place);
}

/// The steps of a program on this backend.
class tensor_steps {
 public:
  explicit tensor_steps(lane_context& lane) noexcept : lane_(lane) {}

  [[nodiscard]] result<void> copy(const any_tensor& from, const any_tensor& to) {
    copy_elements(from, to);
    return {};
  }
  template <class R>
  [[nodiscard]] result<void> run(const R& r) {
    return run_elementwise(r, lane_);
  }
  [[nodiscard]] result<void> multiply(const any_tensor& a, const any_tensor& b, const any_tensor& d,
                                      const scalar& alpha, const scalar& beta) {
    if (d.count() == 1) {
      for_classic_type(d.type(), [&]<class T>(T) { multiply_vectors<T>(a, b, d, alpha, beta); });
      return {};
    }
    const product p{a, b, d, alpha, beta, blas::op::none, blas::op::none};
    const auto member = [](const any_tensor& t, std::int64_t i) {
      return t.address() + i * t.stride(0) * size_of(t.type());
    };
    for (std::int64_t i = 0; i < d.extent(0); ++i) {
      auto done = cpu::multiply(p, member(a, i), member(b, i), member(d, i), lane_);
      if (!done) return done;
    }
    return {};
  }

 private:
  lane_context& lane_;
};

template <class R>
[[nodiscard]] result<void> run_tensors(const R& r, lane_context& lane) {
  if (r.d.empty()) return {};
  const auto planned = programs_of_worker().of(
      tensors::key_of(r), [&] { return tensors::program_of(r, tensor_machine); });
  const tensors::program& what = *planned;
  std::byte* workspace = nullptr;
  if (what.workspace_bytes > 0) {
    auto memory = lane.workspace(what.workspace_bytes);
    if (!memory) return std::move(memory).error();
    workspace = memory->data();
  }
  const auto operands = tensors::tensors_of(r);
  tensor_steps steps(lane);
  return tensors::program_run(what, operands, workspace, steps)();
}

}  // namespace troupe::cpu
