#pragma once

#include <troupe/base/error.hpp>

/// Failures of futures that were dropped without a look: each is said once, as a warning.
namespace troupe::python {

/// Warns where the future was dropped. With the GIL, from a destructor.
void warn_unretrieved(const error& why) noexcept;

/// Has the main thread warn when it runs Python next. On any thread, without the GIL.
void note_unretrieved(const error& why) noexcept;

}  // namespace troupe::python
