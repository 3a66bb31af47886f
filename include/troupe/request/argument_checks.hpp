#pragma once

#include <troupe/base/export.hpp>
#include <troupe/base/result.hpp>
#include <troupe/tensor/scalar.hpp>
#include <troupe/tensor/tensor.hpp>

#include <initializer_list>
#include <optional>
#include <string_view>

namespace troupe {

/// A tensor operand and the name of its field.
struct operand {
  std::string_view name;
  const any_tensor& view;
};

/// Checks of a request's arguments. The first rule that fails is the verdict; later checks do
/// nothing. Each function is named for its rule, and its message gives the rule, the value and the
/// field's name.
class TROUPE_EXPORT argument_checks {
 public:
  // The view itself. ----------------------------------------------------------------------------
  /// The view has memory (unless it has no elements), no negative extents or strides, and a byte
  /// range that fits in 63 bits. It has `rank` dimensions; a negative `rank` allows any number.
  argument_checks& tensor(const operand& t, int rank = -1);
  /// Rank 1 with exactly one element.
  argument_checks& one_element(const operand& t);
  /// The last two of `rank` dimensions are a matrix with a layout that BLAS accepts.
  argument_checks& matrix(const operand& t, int rank = 2);
  /// Both matrices can be passed to BLAS in the same storage order.
  argument_checks& same_order(const operand& t, const operand& as);
  /// No two indices refer to the same element; required of every tensor that is written.
  argument_checks& written(const operand& t);

  // Types. --------------------------------------------------------------------------------------
  argument_checks& type(const operand& t, std::initializer_list<dtype> allowed);
  argument_checks& same_type(const operand& t, const operand& as);
  /// The value has no imaginary part unless `type` is complex.
  argument_checks& factor(std::string_view name, const scalar& value, dtype type);
  /// The value has no imaginary part, whatever the type (herk's alpha and beta).
  argument_checks& real_factor(std::string_view name, const scalar& value);

  // Several operands. ---------------------------------------------------------------------------
  /// `t` has these extents; `what` says where they come from: "c is [3, 4] but a·b is [3, 5]".
  argument_checks& extents(const operand& t, std::initializer_list<std::int64_t> expected,
                           std::string_view what);
  /// `t`, which is written, shares no element with `read`.
  argument_checks& apart(const operand& t, const operand& read);
  /// The same, but `t` may be the identical view.
  argument_checks& apart_or_same(const operand& t, const operand& read);

  /// Any other rule; `message` is called only if the rule is violated.
  template <class Message>
  argument_checks& rule(bool holds, errc code, Message message) {
    if (!error_ && !holds) fail(code, message());
    return *this;
  }

  [[nodiscard]] bool good() const noexcept { return !error_; }
  [[nodiscard]] result<void> verdict() {
    if (error_) return *std::move(error_);
    return {};
  }

 private:
  void fail(errc code, std::string message);

  std::optional<error> error_;
};

}  // namespace troupe
