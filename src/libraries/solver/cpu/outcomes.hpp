#pragma once

#include "libraries/solver/shared/outcomes.hpp"

#include <troupe/base/result.hpp>
#include <troupe/tensor/tensor.hpp>

#include <cstdint>
#include <string>
#include <utility>

namespace troupe::cpu {

/// The outcomes of a batch: `info`, and the error for the first matrix that has no answer.
class outcomes {
 public:
  /// `a`: an operand of matrices; `info` may be null.
  outcomes(const any_tensor& a, const any_tensor& info)
      : in_batch_(a.rank() > 2), info_(info.null() ? nullptr : info.data<std::int32_t>()) {}

  /// The outcome of a matrix; `info` = 0 is a good one.
  void note(std::int64_t matrix, std::int64_t info, const solver::outcome_text& text) {
    note_with(matrix, info, text, info);
  }
  /// The same with another number in the message.
  void note_with(std::int64_t matrix, std::int64_t info, const solver::outcome_text& text,
                 std::int64_t number) {
    if (info_ != nullptr) info_[matrix] = static_cast<std::int32_t>(info);
    if (info != 0)
      fail(matrix, std::string(text.before) + std::to_string(number) + std::string(text.after));
  }
  void note_not_finite(std::int64_t matrix) {
    if (info_ != nullptr) info_[matrix] = -1;
    fail(matrix, std::string(solver::not_finite));
  }

  [[nodiscard]] result<void> verdict() {
    if (first_.empty()) return {};
    return error{.code = errc::numerical, .message = std::move(first_)};
  }

 private:
  void fail(std::int64_t matrix, std::string text) {
    if (!first_.empty()) return;
    first_ = in_batch_ ? "matrix " + std::to_string(matrix) + ": " + text : std::move(text);
  }

  bool in_batch_;
  std::int32_t* info_;
  std::string first_;
};

}  // namespace troupe::cpu
