#pragma once

#include "libraries/elementwise/requests/typed_program.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace troupe::elementwise {

/// The 64-bit integer type of a value. A value that is never negative and below 2^63 may have
/// either.
enum class integers : std::uint8_t { either, signed_ones, unsigned_ones };

[[nodiscard]] constexpr integers integers_of(dtype type) noexcept {
  if (type == dtype::u64) return integers::unsigned_ones;
  const bool has_sign =
      type == dtype::i8 || type == dtype::i16 || type == dtype::i32 || type == dtype::i64;
  return has_sign ? integers::signed_ones : integers::either;
}

/// The properties of a function's values before any exists: a constant has no type of its own.
class inference {
 public:
  inference(const function& f, std::span<const dtype> inputs, std::span<const dtype> outputs,
            std::uint32_t repeated, std::uint32_t reduced) noexcept;

  struct known {
    number result{};
    number type{};                      ///< that it computes in
    integers which = integers::either;  ///< of a result of type i64
    bool is_unsigned = false;           ///< its operands are u64
    bool constant = false;
    bool real_constant = false;
    bool uniform = false;
  };

  /// \errors as `typed_program::bind`
  [[nodiscard]] result<void> run();
  [[nodiscard]] const known& of(std::size_t i) const noexcept { return all_[i]; }

 private:
  using numbers = std::span<const std::uint16_t>;

  /// The common type of some operands.
  [[nodiscard]] number common(numbers operands) const noexcept;
  /// Which integers some operands are together. \errors `type_mismatch` for u64 and others
  [[nodiscard]] result<integers> joined(std::size_t i, numbers operands) const;
  [[nodiscard]] number real(number type) const noexcept {
    return type < number::f32 ? widest_ : type;
  }
  [[nodiscard]] result<void> infer(std::size_t i);
  [[nodiscard]] result<void> infer_source(std::size_t i, const instruction& one, known& made) const;
  [[nodiscard]] result<void> infer_integers(std::size_t i, const instruction& one,
                                            known& made) const;
  [[nodiscard]] result<void> infer_output(std::size_t i, const instruction& one, known& made) const;

  const function& f_;
  std::span<const dtype> inputs_;
  std::span<const dtype> outputs_;
  std::uint32_t repeated_;
  std::uint32_t reduced_;
  number widest_ = number::f32;  ///< the real inputs'
  std::array<known, function::most_instructions> all_;
};

}  // namespace troupe::elementwise
