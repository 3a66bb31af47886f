#pragma once

#include "backend/cuda/context/call_frame.hpp"
#include "libraries/rng/requests/budget.hpp"

#include <troupe/base/result.hpp>
#include <troupe/request/request.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace troupe::cuda {

/// The most words that cuRAND generates before they are converted to values.
inline constexpr std::int64_t words_at_a_time = std::int64_t{1} << 22;

/// The scratch memory of `enqueue_draws`; 0 if kernels generate the words themselves.
[[nodiscard]] inline std::size_t draw_scratch_bytes(const rng::position& from, const any_tensor& to,
                                                    std::size_t words) noexcept {
  if (rng::is_quasi(from.type) || from.type == rng::generator_type::philox4x32_10) return 0;
  return static_cast<std::size_t>(std::min(rng::consumed(from, to, words), words_at_a_time)) *
         sizeof(std::uint32_t);
}

/// Enqueues kernels that fill `to` with the values that `sampler` makes of the words from `from`
/// on, in row-major order for any strides. `scratch` has `draw_scratch_bytes`. \errors those of
/// `check`, `enqueue_words`, `sobol_rows_on`, `normal_table_on`
template <class Sampler>
[[nodiscard]] result<void> enqueue_draws(const rng::position& from, const any_tensor& to,
                                         Sampler sampler, std::byte* scratch, lane& where);

/// The executor of a request whose sampler depends on the request only.
template <request R>
result<void> draw_request(const R& r, lane& where) {
  return with_sampler(r, [&]<class Sampler>(const Sampler& sampler) -> result<void> {
    call_frame c(where);
    c.share(draw_scratch_bytes(r.from, r.to, Sampler::count));
    TRY(c.begin());
    return enqueue_draws(r.from, r.to, sampler, c.shared(), where);
  });
}

}  // namespace troupe::cuda
