#pragma once

#include <troupe/ops/request.hpp>

#include <span>

namespace troupe::fuzz {

/// Every request type that a public header declares.
[[nodiscard]] std::span<const request_type* const> every_request();

}  // namespace troupe::fuzz
