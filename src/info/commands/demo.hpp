#pragma once

namespace troupe::info {

/// `troupe demo`: matrix products go on while their worker is killed three times. \returns the exit
/// status: 1 if a product was wrong or lost
[[nodiscard]] int show_demo();

}  // namespace troupe::info
