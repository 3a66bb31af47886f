#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string_view>

namespace troupe {

/// A limit on the cases that a vendor's library is given, with its evidence. The rows of a library
/// are in its files limits.hpp, each before the predicate that decides whether a case is within.
struct vendor_limit {
  std::string_view name;       ///< "dnn.convolution_order": library of Troupe, and what is limited
  std::string_view library;    ///< the vendor's: "cuDNN"
  std::string_view from;       ///< the version that it was seen in first
  std::string_view to{};       ///< the last version that has it; "" where none is known without it
  std::string_view condition;  ///< what the library is given; other cases go another way
  std::string_view evidence;   ///< what was seen beyond the limit: version, card, date
  std::string_view test;       ///< filter of conformance tests beyond it, behind their environment
  bool can_be_lifted = true;   ///< false where no code of ours gives the library such a case
};

/// A number that changes with any word of the rows.
[[nodiscard]] constexpr std::uint64_t fingerprint(std::span<const vendor_limit> rows) noexcept {
  std::uint64_t mixed = 0xcbf29ce484222325;
  const auto add = [&](std::string_view text) {
    for (const char c : text)
      mixed = (mixed ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    mixed = (mixed ^ 0x100) * 0x100000001b3;  // marks the end of a text
  };
  for (const vendor_limit& row : rows) {
    for (const std::string_view text :
         {row.name, row.library, row.from, row.to, row.condition, row.evidence, row.test})
      add(text);
  }
  return mixed;
}

/// True if the environment variable TROUPE_TEST_LIFT names the limit, so that a test shows the
/// library beyond it. A predicate asks only for a case that it would refuse. The first such case
/// writes a line to stderr, because a test that never reaches the limit proves nothing.
template <const vendor_limit& Limit>
[[nodiscard]] bool is_lifted() noexcept {
  static const bool lifted = [] {
    const char* const named = std::getenv("TROUPE_TEST_LIFT");  // NOLINT(concurrency-mt-unsafe)
    if (named == nullptr || named != Limit.name) return false;
    std::fprintf(stderr, "lifted: %s\n", named);
    return true;
  }();
  return lifted;
}

}  // namespace troupe
