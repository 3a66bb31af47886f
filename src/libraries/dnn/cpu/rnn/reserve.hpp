#pragma once

#include "libraries/dnn/cpu/rnn/sequences.hpp"

#include <fmt/format.h>

#include <cstring>

namespace troupe::cpu::rnn {

/// The records of a training pass. If the operand is not aligned to a number, they are computed in
/// scratch memory.
template <class R>
class reserve_records {
 public:
  reserve_records(const any_tensor& reserve, const dnn::rnn_shape& s,
                  scratch<R>& workspace) noexcept
      : reserve_(&reserve), layout_(s), states_(s.states()), workspace_(&workspace) {
    const auto address = reinterpret_cast<std::uintptr_t>(reserve.address());
    if (address % alignof(R) != 0) piece_ = workspace.add(states_ * layout_.count());
  }
  /// \errors `invalid_argument` where the operand is too small
  [[nodiscard]] result<void> check() const {
    if (reserve_->extent(0) >= bytes()) return {};
    return error{
        .code = errc::invalid_argument,
        .message = fmt::format("reserve must have the {} bytes that rnn_sizes says; it has {}",
                               bytes(), reserve_->extent(0))};
  }
  /// Once the scratch memory is there.
  void begin() {
    base_ = piece_ < 0 ? reinterpret_cast<R*>(reserve_->address()) : workspace_->at(piece_);
    if (piece_ >= 0) std::memcpy(base_, reserve_->address(), static_cast<std::size_t>(bytes()));
  }
  void end() {
    if (piece_ >= 0) std::memcpy(reserve_->address(), base_, static_cast<std::size_t>(bytes()));
  }
  [[nodiscard]] state_records<R> of(std::int64_t state) const noexcept {
    return layout_.at(base_ + state * layout_.count());
  }

 private:
  [[nodiscard]] std::int64_t bytes() const noexcept { return layout_.template reserve_bytes<R>(); }

  const any_tensor* reserve_;
  record_layout layout_;
  std::int64_t states_;
  scratch<R>* workspace_;
  std::int64_t piece_ = -1;
  R* base_ = nullptr;
};

}  // namespace troupe::cpu::rnn
