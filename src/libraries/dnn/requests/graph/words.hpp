#pragma once

#include <troupe/base/result.hpp>
#include <troupe/dnn/computation.hpp>

#include <cstdint>
#include <span>
#include <vector>

/// How nodes are written as numbers.
namespace troupe::dnn::detail {

inline constexpr std::size_t most_operands = 3;
inline constexpr std::size_t most_numbers = 24;

[[nodiscard]] inline std::vector<std::int64_t> words_of(const nodes::entry& one) {
  std::vector<std::int64_t> words{static_cast<std::int64_t>(one.what) |
                                      std::int64_t{one.detail} << 8 |
                                      static_cast<std::int64_t>(one.operands.size()) << 16 |
                                      static_cast<std::int64_t>(one.numbers.size()) << 24,
                                  0};
  for (std::size_t i = 0; i < one.operands.size(); ++i)
    words[1] |= std::int64_t{one.operands[i]} << 16 * i;
  words.insert(words.end(), one.numbers.begin(), one.numbers.end());
  return words;
}

/// Takes the next node from `words`; false where there is none.
[[nodiscard]] inline bool take(std::span<const std::int64_t>& words, nodes::entry& one) {
  if (words.size() < 2) return false;
  const auto first = static_cast<std::uint64_t>(words[0]);
  const std::size_t operands = first >> 16 & 0xff;
  const std::size_t numbers = first >> 24 & 0xff;
  if (first >> 32 != 0 || (first & 0xff) >= nodes::kind_count || operands > most_operands ||
      numbers > most_numbers || words.size() < 2 + numbers) {
    return false;
  }
  one.what = static_cast<nodes::kind>(first & 0xff);
  one.detail = static_cast<std::uint8_t>(first >> 8 & 0xff);
  one.operands.clear();
  for (std::size_t i = 0; i < operands; ++i)
    one.operands.push_back(
        static_cast<std::uint16_t>(static_cast<std::uint64_t>(words[1]) >> 16 * i));
  one.numbers.assign(words.begin() + 2, words.begin() + 2 + static_cast<std::ptrdiff_t>(numbers));
  words = words.subspan(2 + numbers);
  return true;
}

}  // namespace troupe::dnn::detail
