#pragma once

#include "backend/cuda/driver.hpp"

#include <troupe/jit/tile.hpp>

namespace troupe::cuda {

/// The tensor map of a view, for a kernel of the current context. Precondition: `how` fits it.
/// \errors `library_error` of cuTensorMapEncodeTiled; `layout_unsupported` for an address that a
/// tensor map cannot have
[[nodiscard]] result<CUtensorMap> encode_tile(const driver& d, const any_tensor& t,
                                              const jit::tile& how);

}  // namespace troupe::cuda
