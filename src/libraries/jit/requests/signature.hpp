#pragma once

#include <troupe/jit/arguments.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::jit {

/// The types encoded in the name of a kernel in an image: a C++ name holds its parameters' types.
class signature {
 public:
  struct parameter {
    std::string text;  ///< "float const*"
    bool pointer = false;
    bool to_const = false;
    /// The element type of a number or of a pointer's target; nothing for types that Troupe has no
    /// element type for.
    std::optional<dtype> type{};
    bool any_byte = false;  ///< `char`, which may be meant with or without a sign
    bool map = false;       ///< a CUtensorMap
  };

  /// Nothing for a name that is not mangled as the Itanium C++ ABI says: `extern "C"`.
  [[nodiscard]] static std::optional<signature> of(const std::string& mangled);

  /// As in the source, without parameters: "add<float>".
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] const std::vector<parameter>& parameters() const noexcept { return parameters_; }

  /// Count, kind and type of each, as far as the parameters' types are known here.
  /// \errors `invalid_argument`, `type_mismatch`, both naming kernel and parameter
  [[nodiscard]] result<void> check(const arguments& given) const;

 private:
  std::string name_;
  std::vector<parameter> parameters_;
};

}  // namespace troupe::jit
