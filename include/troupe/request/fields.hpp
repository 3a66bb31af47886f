#pragma once

#include <troupe/request/request.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

/// The fields of a request whose type is known only at run time, for bindings to other languages.
namespace troupe {

using detail::field_kind;

/// One field of a request and its location. The fields of a group appear singly, as `from.seed`.
struct field_view {
  std::string_view name;
  field_kind kind{};
  std::size_t offset = 0;  ///< in the request
  bool may_write = false;  ///< of a tensor: not only reads it
  bool per_rank = false;   ///< a list that holds a tensor per rank and item; some may be null
  /// For an enumeration: the size of its type, and its enumerators in order, from 0.
  std::size_t enumeration_bytes = 0;
  std::vector<std::string_view> enumerators{};

  /// The value. Precondition: `T` is the field's type in C++: `any_tensor`, `scalar`,
  /// `std::int64_t`, `std::vector<any_tensor>` and so on, as `description::value` takes them.
  template <class T>
  [[nodiscard]] T& in(void* request) const noexcept {
    return *reinterpret_cast<T*>(static_cast<std::byte*>(request) + offset);
  }
  template <class T>
  [[nodiscard]] const T& in(const void* request) const noexcept {
    return *reinterpret_cast<const T*>(static_cast<const std::byte*>(request) + offset);
  }
};

/// The fields, in the order of the description; without those of a `world_part`.
[[nodiscard]] TROUPE_EXPORT std::vector<field_view> fields_of(const value_type& type);

/// Calls `visit` for each tensor of a request, including those in lists, with the request's access
/// to it. Tensors that are not given are visited, too.
TROUPE_EXPORT void for_each_tensor(
    const request_type& type, void* request,
    const std::function<void(std::string_view name, any_tensor& tensor, access role)>& visit);

}  // namespace troupe
