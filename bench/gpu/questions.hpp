#pragma once

#include "side_by_side.hpp"

#include <troupe/blas/level1_reductions.hpp>
#include <troupe/device/device.hpp>

#include <fmt/format.h>

#include <cstdint>
#include <numeric>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

namespace troupe::bench {

/// Questions that only a device with its memory and its libraries in order can answer. No two of
/// many are the same request: one that was under way when its worker was killed is blamed for it,
/// and twice the same would be in quarantine.
class questions {
 public:
  explicit questions(device gpu)
      : blas_(gpu.library("blas")),
        numbers_(places + length),
        x_(gpu.tensor<float>({places + length}).value()),
        ones_(gpu.tensor<float>({length}).value()) {
    for (std::size_t i = 0; i < numbers_.size(); ++i)
      numbers_[i] = static_cast<float>(i % 251);
    const std::vector<float> ones(length, 1.0F);
    gpu.copy(std::span(std::as_const(numbers_)), x_).get();
    gpu.copy(std::span(ones), ones_).get();
  }

  /// False when the question went down with its worker. Any other failure, and a wrong answer, is
  /// an exception.
  bool ask() {
    const std::int64_t place = next_++ % places;
    auto answer = blas_.ask(blas::dot{.x = x_.slice(0, place, place + length).value(), .y = ones_})
                      .get_result();
    if (!answer) {
      const errc code = answer.error().code;
      if (code == errc::device_fault || code == errc::aborted) return false;
      throw failure(std::move(answer).error());
    }
    const auto first = numbers_.begin() + place;
    const double right = std::accumulate(first, first + length, 0.0);  // small enough to be exact
    if (answer->as<double>() != right) {
      throw std::runtime_error(
          fmt::format("a wrong answer: {} instead of {}", answer->as<double>(), right));
    }
    return true;
  }

 private:
  static constexpr std::int64_t places = 65'536;
  static constexpr std::int64_t length = 64;

  library_actor blas_;
  std::vector<float> numbers_;
  tensor<float> x_;
  tensor<float> ones_;
  std::int64_t next_ = 0;
};

/// Asks until a later generation answers; how many questions went down with their worker.
inline int ask_until_replaced(const device& gpu, questions& asked, std::uint64_t generation) {
  int lost = 0;
  for (;;) {
    if (!asked.ask()) {
      ++lost;
    } else if (gpu.generation() != generation) {
      return lost;
    }
  }
}

}  // namespace troupe::bench
