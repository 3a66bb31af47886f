#pragma once

#include "binding.hpp"

#include <memory>

namespace troupe {
class request_journal;
}

namespace troupe::python {

/// The journal of a `troupe.Journal`; null for any other object.
[[nodiscard]] std::shared_ptr<request_journal> journal_of(nb::handle object);

}  // namespace troupe::python
