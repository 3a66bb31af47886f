#pragma once

#include "request/vendor_limit.hpp"

#include <array>
#include <cstdint>

/// The cases that cuTENSOR is given.
namespace troupe::limits::cutensor {

inline constexpr vendor_limit rows{
    .name = "tensors.rows",
    .library = "cuTENSOR",
    .from = "2.3",
    .condition = "all rows of a tensor begin at multiples of 16 bytes",
    .evidence =
        "contractions and sums of some others ended in a misaligned address, whatever it "
        "was told of their alignment: 2.3.0, H100, 2026-11-26",
    .test = "TROUPE_TENSORS=cutensor TensorsContract.*:TensorsReduce.*:TensorsEinsum.*"};
/// True if cuTENSOR takes a tensor whose rows all begin at multiples of `alignment` bytes.
[[nodiscard]] inline bool accepts_rows(std::uint32_t alignment) noexcept {
  return alignment >= 16 || is_lifted<rows>();
}

inline constexpr std::array all{rows};

}  // namespace troupe::limits::cutensor
