#pragma once

#include <troupe/base/error.hpp>

#include <string_view>

namespace troupe {

/// The kind of fault that ended a worker (`fault_count::kind`), by the error that tells it.
[[nodiscard]] std::string_view kind_of_fault(const error& why) noexcept;

}  // namespace troupe
