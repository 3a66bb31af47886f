#pragma once

#include <troupe/jit/tile.hpp>
#include <troupe/request/request.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace troupe::jit {

/// One argument of a kernel launch, made by the functions below or from a number.
class argument {
 public:
  /// The kind of a kernel's argument. The values are part of the wire format.
  enum class kind : std::uint8_t {
    scalar = 0,  ///< a number, by value
    bytes,       ///< a struct, by value
    tensor,      ///< the address of a tensor's first element
    reached,     ///< nothing: the kernel reaches the tensor through other data
    tile,        ///< a tensor map of the tensor, see `tile`
  };

  /// A number of exactly this type: an `int` for a parameter of type `long` is refused.
  template <element T>
  argument(T value)
      : kind_(kind::scalar),
        type_(dtype_of<T>),
        value_(reinterpret_cast<const char*>(&value), sizeof(value)) {}

  [[nodiscard]] kind what() const noexcept { return kind_; }

 private:
  friend class arguments;
  friend TROUPE_EXPORT argument bytes(std::span<const std::byte> value);
  friend TROUPE_EXPORT argument of_tensor(kind what, const any_tensor& t, access role);
  friend TROUPE_EXPORT argument tile_of(const any_tensor& t, access role, const tile& how);

  explicit argument(kind what) noexcept : kind_(what) {}

  kind kind_;
  access role_ = access::read;
  dtype type_{};
  std::string value_{};
  any_tensor tensor_{};
  jit::tile tile_{};
};

[[nodiscard]] TROUPE_EXPORT argument of_tensor(argument::kind what, const any_tensor& t,
                                               access role);

/// The address of a tensor that the kernel only reads, for a parameter `const T*` or `T*`.
[[nodiscard]] inline argument reads(const any_tensor& t) {
  return of_tensor(argument::kind::tensor, t, access::read);
}
/// The address of a tensor that the kernel overwrites completely without reading it. If it does not
/// overwrite every element, use `updates`: a request that only writes a tensor may be run again
/// after a fault.
[[nodiscard]] inline argument writes(const any_tensor& t) {
  return of_tensor(argument::kind::tensor, t, access::write);
}
/// The address of a tensor that the kernel reads and writes, or writes in part.
[[nodiscard]] inline argument updates(const any_tensor& t) {
  return of_tensor(argument::kind::tensor, t, access::update);
}

/// Tensors that the kernel reaches through an address inside a struct or another tensor. They have
/// no kernel parameter, but ordering, keep-alive, taint and retries apply as to all others. Their
/// addresses (`any_tensor::address`) are the same in every worker.
[[nodiscard]] inline argument also_reads(const any_tensor& t) {
  return of_tensor(argument::kind::reached, t, access::read);
}
[[nodiscard]] inline argument also_writes(const any_tensor& t) {
  return of_tensor(argument::kind::reached, t, access::write);
}
[[nodiscard]] inline argument also_updates(const any_tensor& t) {
  return of_tensor(argument::kind::reached, t, access::update);
}

/// Bytes by value, for a parameter of the same size.
[[nodiscard]] TROUPE_EXPORT argument bytes(std::span<const std::byte> value);
/// A struct by value.
template <class T>
  requires(std::is_trivially_copyable_v<T> && std::is_class_v<T>)
[[nodiscard]] argument value(const T& v) {
  return bytes(std::as_bytes(std::span(&v, 1)));
}

/// A tensor map (TMA) of the tensor, encoded in the worker, which knows the address. For a
/// parameter `const __grid_constant__ CUtensorMap`.
[[nodiscard]] TROUPE_EXPORT argument tile_of(const any_tensor& t, access role, const tile& how);
[[nodiscard]] inline argument reads_tile(const any_tensor& t, const tile& how) {
  return tile_of(t, access::read, how);
}
[[nodiscard]] inline argument writes_tile(const any_tensor& t, const tile& how) {
  return tile_of(t, access::write, how);
}

/// The arguments of a launch, in the kernel's order, in the form in which they are sent.
class TROUPE_EXPORT arguments {
 public:
  /// Maximum size of a kernel's parameters in bytes. Source: CUDA C++ Programming Guide, "Function
  /// Parameters"; 32 764 from sm_70 on.
  static constexpr std::size_t most_bytes = 32'764;
  /// Maximum number of arguments, including those without a parameter.
  static constexpr std::size_t most = 4096;

  arguments() = default;
  arguments(std::initializer_list<argument> list);
  /// For lists assembled at run time.
  void add(const argument& one);

  static void describe(description<arguments>& d);

  /// One argument as its reader sees it; valid as long as the `arguments` object.
  struct view {
    argument::kind what{};
    access role{};
    dtype type{};                        ///< the scalar's or the tensor's
    std::span<const std::byte> value{};  ///< for scalar and bytes
    const any_tensor* tensor = nullptr;
    std::span<const std::int64_t> tile{};  ///< see `tile::read`

    /// Size of the kernel's parameter; 0 if it has none.
    [[nodiscard]] std::size_t parameter_bytes() const noexcept;
    /// "a scalar i32", "a tensor f32".
    [[nodiscard]] std::string to_string() const;
  };
  /// Calls `f(view)` for each, in order. Precondition: valid.
  template <class F>
  void for_each(F&& f) const {
    reader r(*this);
    while (auto one = r.next())
      f(*one);
  }
  [[nodiscard]] bool empty() const noexcept { return codes_.empty(); }
  /// Kind, role, type and size of each argument; lists with equal codes are interchangeable.
  [[nodiscard]] std::span<const std::int64_t> codes() const noexcept { return codes_; }

  /// Reads the arguments one by one, and detects invalid ones.
  class TROUPE_EXPORT reader {
   public:
    explicit reader(const arguments& of) noexcept : of_(of) {}
    [[nodiscard]] std::optional<view> next();
    /// False once an invalid argument was found.
    [[nodiscard]] bool good() const noexcept { return good_; }
    [[nodiscard]] bool at_end() const noexcept;

   private:
    const arguments& of_;
    std::size_t code_ = 0;
    std::array<std::size_t, 3> tensor_{};  // by role
    std::size_t word_ = 0;
    std::size_t tile_ = 0;
    bool good_ = true;
  };

 private:
  [[nodiscard]] std::vector<any_tensor>& tensors(access role) noexcept;
  [[nodiscard]] const std::vector<any_tensor>& tensors(access role) const noexcept;

  std::vector<std::int64_t> codes_;   // kind, role, type and size of each
  std::vector<std::int64_t> values_;  // of scalars and bytes, each from a word of its own on
  std::vector<std::int64_t> tiles_;   // of tiles, the same
  // The tensors, in the order in which the codes name them.
  std::vector<any_tensor> reads_;
  std::vector<any_tensor> writes_;
  std::vector<any_tensor> updates_;
};

}  // namespace troupe::jit
