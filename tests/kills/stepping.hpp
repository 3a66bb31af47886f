#pragma once

#include <atomic>
#include <cstdint>

namespace troupe::kills {

/// False where `die_in_steps` does nothing: on other processors, and under ThreadSanitizer, whose
/// own instructions would be most of those counted.
[[nodiscard]] bool can_step() noexcept;

/// Kills this process when the calling thread has done so many instructions more, of whatever it
/// does next; notes the time, in nanoseconds of the steady clock, just before. They take a thousand
/// times as long as usual, so others see the world between any two of them. Once in a process.
void die_in_steps(std::uint32_t count, std::atomic<std::int64_t>& when) noexcept;

}  // namespace troupe::kills
