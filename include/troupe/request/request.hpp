#pragma once

#include <troupe/base/result.hpp>
#include <troupe/request/description.hpp>
#include <troupe/tensor/scalar.hpp>
#include <troupe/tensor/tensor.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace troupe {

/// Bytes that a reply may have; larger results go into tensors.
inline constexpr std::size_t reply_capacity_bytes = 128;

/// A request: an aggregate with a name `library.operation`, a reply type, and a description of its
/// fields, from which everything else is derived.
///
/// Its arguments are checked in the program, before anything is queued, and again in the worker;
/// not where the same request was valid before. Fields are looked at, never memory.
template <class R>
concept request =
    std::move_constructible<R> && std::default_initializable<R> && requires(description<R>& d) {
      typename R::reply;
      { R::name } -> std::convertible_to<std::string_view>;
      { R::describe(d) } -> std::same_as<void>;
    };

/// What a request answers with.
template <request R>
using reply_of = typename R::reply;

/// A request type, without its C++ type: what the wire, the supervisor and the worker handle.
struct request_type {
  std::string_view name;
  std::uint64_t id = 0;  ///< hash of name and fields: the same where both sides agree on them
  std::size_t bytes = 0;
  std::size_t alignment = 0;
  std::size_t reply_bytes = 0;
  std::string_view reply_name{};  ///< of its type, for people
  /// False for bytes that are no reply of this type, whatever they say; null where any are.
  bool (*reply_can_be)(const std::byte* bytes) noexcept = nullptr;
  void (*construct)(void* at) = nullptr;
  void (*destroy)(void* r) noexcept = nullptr;
  const description_table* fields = nullptr;

  /// Checks a request's arguments. \errors those of its description
  [[nodiscard]] TROUPE_EXPORT result<void> validate(const void* r) const;
  /// The part of the name before the dot.
  [[nodiscard]] constexpr std::string_view library() const noexcept {
    return name.substr(0, name.find('.'));
  }
};

namespace detail {

[[nodiscard]] TROUPE_EXPORT std::uint64_t fingerprint_of(const description_table& table) noexcept;

/// For `request_named`. `type` is there for good.
TROUPE_EXPORT void add_to_catalogue(const request_type& type);

/// FNV-1a, 64 bit. Source: http://www.isthe.com/chongo/tech/comp/fnv/
[[nodiscard]] constexpr std::uint64_t hash_of(std::string_view name) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : name)
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

template <class Reply>
constexpr std::size_t reply_bytes() {
  if constexpr (std::is_void_v<Reply>) {
    return 0;
  } else {
    static_assert(std::is_trivially_copyable_v<Reply> && sizeof(Reply) <= reply_capacity_bytes,
                  "a reply is plain data of at most reply_capacity_bytes; larger results go into "
                  "tensors");
    return sizeof(Reply);
  }
}

template <class Reply>
constexpr std::string_view reply_name() noexcept {
  if constexpr (std::is_void_v<Reply>)
    return "nothing";
  else if constexpr (std::is_same_v<Reply, scalar>)
    return "scalar";
  else if constexpr (std::is_same_v<Reply, bool>)
    return "bool";
  else if constexpr (std::is_integral_v<Reply>)
    return "integer";
  else if constexpr (std::is_floating_point_v<Reply>)
    return "real";
  else
    return "struct";
}

/// What a worker leaves as a reply may be any bytes, and not all are a value of every type.
template <class Reply>
constexpr auto reply_check() -> bool (*)(const std::byte*) noexcept {
  if constexpr (std::is_same_v<Reply, bool>) {
    return [](const std::byte* bytes) noexcept { return bytes[0] <= std::byte{1}; };
  } else if constexpr (std::is_same_v<Reply, scalar>) {
    return [](const std::byte* bytes) noexcept {
      scalar value;
      std::memcpy(static_cast<void*>(&value), bytes, sizeof(value));
      return value.what() <= scalar::kind::complex;
    };
  } else {
    return nullptr;
  }
}

}  // namespace detail

/// The `request_type` of `R`, made and put into the catalogue when it is first asked for.
template <request R>
[[nodiscard]] const request_type& request_type_of() {
  static const request_type& type = []() -> const request_type& {
    static const request_type made{
        .name = R::name,
        .id = detail::fingerprint_of(description_of<R>()),
        .bytes = sizeof(R),
        .alignment = alignof(R),
        .reply_bytes = detail::reply_bytes<reply_of<R>>(),
        .reply_name = detail::reply_name<reply_of<R>>(),
        .reply_can_be = detail::reply_check<reply_of<R>>(),
        .construct = [](void* at) { ::new (at) R(); },
        .destroy = [](void* r) noexcept { static_cast<R*>(r)->~R(); },
        .fields = &description_of<R>(),
    };
    detail::add_to_catalogue(made);
    return made;
  }();
  return type;
}

/// Checks a request's arguments, as sending it does. \errors those of its description
template <request R>
[[nodiscard]] result<void> validate(const R& r) {
  return request_type_of<R>().validate(&r);
}

}  // namespace troupe
