#pragma once

#include "wire/layout.hpp"

#include <optional>

namespace troupe::wire {

/// Writes an error into a reply slot; texts are cut to what fits.
void write_failure(reply_slot& to, std::uint64_t ticket, const error& failure) noexcept;

/// The error of a reply slot, or nothing when it is a success. `slot` is a private copy: what it
/// says is checked here and cannot change any more.
[[nodiscard]] std::optional<error> read_failure(const reply_slot& slot);

}  // namespace troupe::wire
