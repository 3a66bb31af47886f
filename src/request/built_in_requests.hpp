#pragma once

#include <troupe/request/request.hpp>

#include <span>

namespace troupe {

/// Every request of the public headers, so that none can be forgotten.
[[nodiscard]] std::span<const request_type* const> built_in_requests();

}  // namespace troupe
