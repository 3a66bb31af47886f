#pragma once

#include "backend/cuda/context/lane.hpp"
#include "libraries/tensors/shared/programs.hpp"

#include <span>
#include <string>

namespace troupe::cuda {

/// Loads everything that a lane will need, including cuTENSOR.
[[nodiscard]] result<void> prepare_tensors(lane& where);

/// Makes the program of a request; called if the lane has none with the request's key.
using make_program = tensors::program (*)(const void* request, const tensors::machine& m);
/// Enqueues the program of a request.
[[nodiscard]] result<void> run_program(const void* request, std::string key, make_program make,
                                       std::span<const any_tensor* const> operands,
                                       blas::math_mode math, lane& where);

/// The executor of every request of the library.
template <class R>
[[nodiscard]] result<void> run_tensors(const R& r, lane& where) {
  if (r.d.empty()) return {};
  const auto make = [](const void* request, const tensors::machine& m) {
    return tensors::program_of(*static_cast<const R*>(request), m);
  };
  return run_program(&r, tensors::key_of(r), make, tensors::tensors_of(r), tensors::math_of(r),
                     where);
}

}  // namespace troupe::cuda
