#pragma once

#include "libraries/rng/cpu/engines.hpp"
#include "libraries/rng/shared/philox.hpp"
#include "libraries/rng/shared/sobol.hpp"

#include <troupe/rng/generator.hpp>

#include <cstdint>
#include <utility>
#include <vector>

/// A source gives the words of one element after the other: `next<Count>()`, each time with the
/// same Count.
namespace troupe::cpu {

class philox_source {
 public:
  explicit philox_source(const rng::position& from) noexcept
      : seed_(from.seed),
        subsequence_(from.subsequence),
        at_(static_cast<std::uint64_t>(from.offset)),
        block_(rng::philox_block(seed_, subsequence_, at_ / 4)) {}

  template <std::size_t Count>
  rng::words<Count> next() noexcept {
    rng::words<Count> drawn;
    for (std::uint32_t& word : drawn.word) {
      word = block_.word[at_ % 4];
      if (++at_ % 4 == 0) block_ = rng::philox_block(seed_, subsequence_, at_ / 4);
    }
    return drawn;
  }

 private:
  std::uint64_t seed_;
  std::uint64_t subsequence_;
  std::uint64_t at_;
  rng::words<4> block_;
};

template <class Engine>
class engine_source {
 public:
  explicit engine_source(Engine engine) noexcept : engine_(std::move(engine)) {}

  template <std::size_t Count>
  rng::words<Count> next() {
    rng::words<Count> drawn;
    for (std::uint32_t& word : drawn.word)
      word = static_cast<std::uint32_t>(engine_());
    return drawn;
  }
  [[nodiscard]] const Engine& engine() const noexcept { return engine_; }

 private:
  Engine engine_;
};

template <class Integer>
class sobol_source {
 public:
  sobol_source(const rng::position& from, std::int64_t dimensions)
      : rows_(rng::sobol_rows<Integer>(dimensions,
                                       from.type == rng::generator_type::scrambled_sobol32 ||
                                           from.type == rng::generator_type::scrambled_sobol64,
                                       from.seed)),
        row_(rows_.data()),
        point_(static_cast<std::uint64_t>(from.offset)) {}

  template <std::size_t Count>
  rng::words<Count> next() noexcept {
    const Integer coordinate = rng::sobol_coordinate(row_, point_);
    row_ += rng::sobol_row<Integer>;
    if (row_ == rows_.data() + rows_.size()) {
      row_ = rows_.data();
      ++point_;
    }
    return rng::sobol_words<Count>(coordinate);
  }

 private:
  std::vector<Integer> rows_;
  const Integer* row_;
  std::uint64_t point_;
};

}  // namespace troupe::cpu
