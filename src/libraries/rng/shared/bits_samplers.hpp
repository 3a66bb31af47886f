#pragma once

#include "libraries/rng/requests/budget.hpp"
#include "libraries/rng/shared/philox.hpp"

#include <troupe/rng/bits.hpp>

/// A sampler makes the values of one request: `words` random words become one `value`.
namespace troupe::rng {

template <class T>
struct bits_sampler {
  using value = T;
  static constexpr std::size_t count = rng::budget::real(dtype_of<T>);

  constexpr T operator()(const words<count>& drawn) const noexcept {
    if constexpr (count == 1) {
      return drawn.word[0];
    } else {
      return drawn.top64();
    }
  }
};

}  // namespace troupe::rng

// In the namespace of the requests, so that they find them.
namespace troupe::rng {

/// Calls `f` with the sampler of a request.
template <class F>
auto with_sampler(const bits& r, F f) {
  return r.to.type() == dtype::u32 ? f(rng::bits_sampler<std::uint32_t>{})
                                   : f(rng::bits_sampler<std::uint64_t>{});
}

}  // namespace troupe::rng
