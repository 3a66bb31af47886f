#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace troupe::gpu_test {

/// How a card is, as its management library (NVML) says. Asking makes no context on it.
struct card_state {
  std::uint64_t used_bytes = 0;          ///< by all processes together
  std::uint64_t corrected_errors = 0;    ///< of its memory (ECC), since the driver was loaded
  std::uint64_t uncorrected_errors = 0;  ///< likewise
};

/// The state of the first card that CUDA_VISIBLE_DEVICES leaves visible; nothing if there is no
/// card or no management library.
[[nodiscard]] std::optional<card_state> read_card();

/// The same once its use has stood still for a second, in which no context is created and no
/// library loaded; after ten seconds as it is then.
[[nodiscard]] std::optional<card_state> read_quiet_card();

/// The tolerated difference of its memory between two moments at which it should be the same: a
/// worker's context takes more once its libraries have been used. One that is left behind takes ten
/// times as much.
inline constexpr std::int64_t card_tolerance_bytes = std::int64_t{64} << 20;

/// The damage to the card since `before`: memory that does not come back, errors of its memory that
/// were counted. Empty if there is none, or no card.
[[nodiscard]] std::string card_amiss(const std::optional<card_state>& before);

}  // namespace troupe::gpu_test
