#pragma once

#include <troupe/request/request.hpp>

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace troupe {

/// Allocates the tensors that a request overwrites and was not given, for callers that leave their
/// results out. Their extents and types follow from the tensors that were given: an extent from
/// the symbols of the description, a type from its combinations of types (of several, the first
/// listed). They are row-major where the request takes that. So are lists of results whose forms
/// the description derives. Optional results are left alone, unless the description says that they
/// must be given or `also` has their offsets; so are those in host memory.
/// \returns the offsets of the allocated fields in the request, in the order of the description
/// \errors `invalid_argument` for a tensor whose type or extents nothing determines, which names
/// it, or the operand that is not given; `type_mismatch` where the types of those given do not go
/// together; those of the function that derives forms, and of `allocate`. The request is then
/// unchanged, except for tensors allocated before
[[nodiscard]] TROUPE_EXPORT result<std::vector<std::size_t>> allocate_outputs(
    const request_type& type, void* request,
    const std::function<result<any_tensor>(dtype, const shape&)>& allocate,
    std::span<const std::size_t> also = {});

}  // namespace troupe
