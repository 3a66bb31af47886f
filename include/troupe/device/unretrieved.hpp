#pragma once

#include <troupe/base/error.hpp>
#include <troupe/base/export.hpp>

namespace troupe {

/// Has `hear` called with the failure of each request of run-time type (`any_request`) whose future
/// had been dropped before: without it nothing but the device's statistics tells of that. For
/// bindings of other languages. `hear` is called on the thread that completes the request and must
/// not wait; null ends it. One for the program.
TROUPE_EXPORT void on_unretrieved_failure(void (*hear)(const error&) noexcept) noexcept;

}  // namespace troupe
