#pragma once

#include <troupe/base/export.hpp>
#include <troupe/base/result.hpp>
#include <troupe/tensor/scalar.hpp>
#include <troupe/tensor/tensor.hpp>

#include <initializer_list>
#include <optional>
#include <string_view>

namespace troupe {

/// A tensor operand and the field's name.
struct operand {
  std::string_view name;
  const any_tensor& view;
};

/// Checks of a request's arguments; the first rule that fails is the verdict, and the checks after
/// it do nothing. Each is named for what it checks, and its message gives rule, value and name.
class TROUPE_EXPORT argument_checks {
 public:
  // The view itself. ----------------------------------------------------------------------------
  /// Some memory (unless it has no elements), extents and strides that are not negative, a reach
  /// that 63 bits hold; `rank` dimensions, any number when negative.
  argument_checks& tensor(const operand& t, int rank = -1);
  /// Rank 1 with exactly one element.
  argument_checks& one_element(const operand& t);
  /// A matrix that BLAS can take, in the last two of `rank` dimensions.
  argument_checks& matrix(const operand& t, int rank = 2);
  /// Two matrices that can be taken in the same order.
  argument_checks& same_order(const operand& t, const operand& as);
  /// No two indices name the same element: what every written view must satisfy.
  argument_checks& written(const operand& t);

  // Types. --------------------------------------------------------------------------------------
  argument_checks& type(const operand& t, std::initializer_list<dtype> allowed);
  argument_checks& same_type(const operand& t, const operand& as);
  /// No imaginary part where `type` is not complex.
  argument_checks& factor(std::string_view name, const scalar& value, dtype type);
  /// A number without imaginary part, whatever the type (herk's alpha and beta).
  argument_checks& real_factor(std::string_view name, const scalar& value);

  // Several operands. ---------------------------------------------------------------------------
  /// `t` has these extents; `what` says where they come from: "c is [3, 4] but a·b is [3, 5]".
  argument_checks& extents(const operand& t, std::initializer_list<std::int64_t> expected,
                           std::string_view what);
  /// `t`, which is written, shares no element with `read`.
  argument_checks& apart(const operand& t, const operand& read);
  /// The same, but `t` may be the very same view.
  argument_checks& apart_or_same(const operand& t, const operand& read);

  /// Any other rule; `message` is built only when it is broken.
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
