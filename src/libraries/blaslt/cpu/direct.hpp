#pragma once

#include "libraries/blas/cpu/product.hpp"
#include "libraries/blaslt/cpu/elements.hpp"
#include "libraries/blaslt/cpu/epilogues.hpp"
#include "libraries/blaslt/requests/geometry.hpp"
#include "libraries/memory/shared/share_out.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

// Products of f32 and of f64 into a d that is row-major. OpenBLAS forms the sums in d, where c and
// the bias are already: these cost no more than the zeros that it would begin with.
namespace troupe::cpu {

template <class Real>
class direct_product {
 public:
  /// Whether the request is one.
  [[nodiscard]] static bool takes(const blaslt::matmul& r) noexcept {
    using enum blaslt::epilogue;
    const bool sums = r.epilogue == none || r.epilogue == bias || r.epilogue == relu ||
                      r.epilogue == relu_bias || r.epilogue == gelu || r.epilogue == gelu_bias;
    const auto fits = [](const any_tensor& t) { return t.null() || t.type() == dtype_of<Real>; };
    const auto none_of = [](const auto&... t) { return (t.null() && ...); };
    return sums && fits(r.a) && fits(r.b) && fits(r.c) && fits(r.d) && fits(r.bias) &&
           none_of(r.scale_a, r.scale_b, r.scale_c, r.scale_d, r.amax_d) &&
           r.d.stride(r.d.rank() - 1) == 1;
  }

  direct_product(const blaslt::matmul& r, lane_context& lane)
      : r_(r), lane_(lane), m_(r.d.extent(r.d.rank() - 2)), n_(r.d.extent(r.d.rank() - 1)) {}

  result<void> run() const {
    const std::int64_t batch = r_.d.rank() == 3 ? r_.d.extent(0) : 1;
    for (std::int64_t product = 0; product < batch; ++product) {
      const matrix_place d(r_.d, product);
      const bool adds = begin(d, product);
      const scalar beta = static_cast<Real>(adds ? 1 : 0);
      auto done = cpu::multiply({r_.a, r_.b, r_.d, r_.alpha, beta, r_.op_a, r_.op_b},
                                matrix_place(r_.a, product).first,
                                matrix_place(r_.b, product).first, d.first, lane_);
      if (!done) return done;
      apply(d);
    }
    return {};
  }

 private:
  // Fewer elements for each thread are done sooner by one.
  static constexpr std::int64_t elements_per_thread = std::int64_t{1} << 18;
  static constexpr std::int64_t rows_of_task = 64;

  template <class Row>
  void each_row(const matrix_place& d, Row row) const {
    const std::int64_t tasks = (m_ + rows_of_task - 1) / rows_of_task;
    share_out(threads_for(tasks, m_ * n_, elements_per_thread), tasks,
              [&](std::int64_t, std::int64_t task) {
                const std::int64_t last = std::min(m_, (task + 1) * rows_of_task);
                for (std::int64_t i = task * rows_of_task; i < last; ++i)
                  row(i, reinterpret_cast<Real*>(d.first) + i * d.row_stride);
              });
  }

  /// d = beta · c + bias; false if there is neither.
  bool begin(const matrix_place& d, std::int64_t product) const {
    const Real beta = r_.c.null() ? Real{0} : r_.beta.as<Real>();
    const bool has_bias = !r_.bias.null();
    if (beta == 0 && !has_bias) return false;
    const matrix_place c = beta == 0 ? matrix_place() : matrix_place(r_.c, product);
    const bool in_place =
        c.first == d.first && c.row_stride == d.row_stride && c.column_stride == d.column_stride;
    if (in_place && beta == 1 && !has_bias) return true;
    const Real* const bias =
        has_bias ? reinterpret_cast<const Real*>(vector_place(r_.bias, product).first) : nullptr;
    each_row(d, [&](std::int64_t i, Real* to) {
      if (c.first == nullptr) {
        std::copy_n(bias, n_, to);
        return;
      }
      const Real* const from = reinterpret_cast<const Real*>(c.first) + i * c.row_stride;
      const std::int64_t step = c.column_stride;
      for (std::int64_t j = 0; j < n_; ++j)
        to[j] = beta * from[j * step] + (has_bias ? bias[j] : Real{0});
    });
    return true;
  }

  void apply(const matrix_place& d) const {
    using enum blaslt::epilogue;
    if (r_.epilogue == none || r_.epilogue == bias) return;
    const bool is_relu = blaslt::is_relu(r_.epilogue);
    each_row(d, [&](std::int64_t, Real* to) {
      for (std::int64_t j = 0; j < n_; ++j)
        to[j] = is_relu ? std::max(to[j], Real{0}) : cpu::gelu(to[j]);
    });
  }

  const blaslt::matmul& r_;
  lane_context& lane_;
  std::int64_t m_;
  std::int64_t n_;
};

}  // namespace troupe::cpu
