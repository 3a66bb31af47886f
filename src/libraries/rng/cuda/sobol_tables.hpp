#pragma once

#include "backend/cuda/context/lane.hpp"

#include <troupe/base/result.hpp>
#include <troupe/rng/generator.hpp>

#include <cstdint>

namespace troupe::cuda {

/// The rows of `rng::sobol_rows` in device memory, ready for work that is enqueued on the lane from
/// here on. The lane keeps the most recently used ones, at least until that work has run. `Integer`
/// is uint32_t or uint64_t, like the generator's bits. \errors `out_of_memory`; those of `check`
template <class Integer>
[[nodiscard]] result<const Integer*> sobol_rows_on(const rng::position& from,
                                                   std::int64_t dimensions, lane& where);
extern template result<const std::uint32_t*> sobol_rows_on(const rng::position&, std::int64_t,
                                                           lane&);
extern template result<const std::uint64_t*> sobol_rows_on(const rng::position&, std::int64_t,
                                                           lane&);

}  // namespace troupe::cuda
