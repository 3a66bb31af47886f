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

/// Maximum size of a plain reply.
inline constexpr std::size_t reply_capacity_bytes = 128;

/// A request: an aggregate with a name `library.operation`, a reply type, and a description of its
/// fields, from which everything else is derived.
///
/// The arguments are validated in the program before anything is queued, and again in the worker.
/// This is skipped if the same request has been found valid before. Validation reads the fields,
/// never the memory of a tensor.
template <class R>
concept request =
    std::move_constructible<R> && std::default_initializable<R> && requires(description<R>& d) {
      typename R::reply;
      { R::name } -> std::convertible_to<std::string_view>;
      { R::describe(d) } -> std::same_as<void>;
    };

/// The type of a request's reply.
template <request R>
using reply_of = typename R::reply;

/// How values of a type are made, and what their fields are: without the C++ type, which one that
/// is made at run time does not have.
struct value_type {
  std::size_t bytes = 0;
  std::size_t alignment = 0;
  const void* context = nullptr;  ///< the argument of `construct` and `destroy`
  void (*construct)(const void* context, void* at) = nullptr;
  void (*destroy)(const void* context, void* value) noexcept = nullptr;
  const description_table* fields = nullptr;
};

/// A request type without its C++ type, as the wire, the supervisor and the worker use it.
struct request_type : value_type {
  std::string_view name{};
  std::uint64_t id =
      0;  ///< hash of name, fields and reply: the same where both sides agree on them
  std::size_t reply_bytes = 0;    ///< of a plain reply; 0 for none, and for a described one
  std::string_view reply_name{};  ///< of its type, for people
  /// False for bytes that are no plain reply of this type, whatever they say; null where any are.
  bool (*reply_can_be)(const std::byte* bytes) noexcept = nullptr;
  /// The type of a described reply: it is sent as its fields, and may have any length.
  const value_type* described_reply = nullptr;

  [[nodiscard]] constexpr bool has_reply() const noexcept {
    return reply_bytes != 0 || described_reply != nullptr;
  }
  /// Checks a request's arguments. \errors those of its description
  [[nodiscard]] TROUPE_EXPORT result<void> validate(const void* r) const;
  /// The part of the name before the dot.
  [[nodiscard]] constexpr std::string_view library() const noexcept {
    return name.substr(0, name.find('.'));
  }
};

namespace detail {

/// The id of a request type, of all that both sides must agree on.
[[nodiscard]] TROUPE_EXPORT std::uint64_t id_of(const request_type& type) noexcept;

/// For `request_named`. `type` is there for good.
TROUPE_EXPORT void add_to_catalogue(const request_type& type);

/// FNV-1a, 64 bit. Source: http://www.isthe.com/chongo/tech/comp/fnv/
[[nodiscard]] constexpr std::uint64_t hash_of(std::string_view name) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : name)
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

/// A reply whose fields are described, as a request's are. It holds no tensors.
template <class Reply>
concept described = requires(description<Reply>& d) { Reply::describe(d); };

template <class T>
[[nodiscard]] value_type value_type_of() {
  value_type made;
  made.bytes = sizeof(T);
  made.alignment = alignof(T);
  made.construct = [](const void*, void* at) { ::new (at) T(); };
  made.destroy = [](const void*, void* value) noexcept { static_cast<T*>(value)->~T(); };
  made.fields = &description_of<T>();
  return made;
}

template <class Reply>
constexpr std::size_t reply_bytes() {
  if constexpr (std::is_void_v<Reply> || described<Reply>) {
    return 0;
  } else {
    static_assert(
        std::is_trivially_copyable_v<Reply> && sizeof(Reply) <= reply_capacity_bytes,
        "a reply is plain data of at most reply_capacity_bytes, or has a description; large "
        "results go into tensors");
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

/// A worker may leave any bytes as a reply, and not all bytes are a value of every type.
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

/// The `request_type` of `R`, made and added to the catalogue on first use.
template <request R>
[[nodiscard]] const request_type& request_type_of() {
  static const request_type& type = []() -> const request_type& {
    static const request_type made = [] {
      request_type t;
      static_cast<value_type&>(t) = detail::value_type_of<R>();
      t.name = R::name;
      t.reply_bytes = detail::reply_bytes<reply_of<R>>();
      t.reply_name = detail::reply_name<reply_of<R>>();
      t.reply_can_be = detail::reply_check<reply_of<R>>();
      if constexpr (detail::described<reply_of<R>>) {
        static const value_type reply = detail::value_type_of<reply_of<R>>();
        t.described_reply = &reply;
      }
      t.id = detail::id_of(t);
      return t;
    }();
    detail::add_to_catalogue(made);
    return made;
  }();
  return type;
}

/// Validates a request's arguments, as sending it does. \errors those of its description
template <request R>
[[nodiscard]] result<void> validate(const R& r) {
  return request_type_of<R>().validate(&r);
}

}  // namespace troupe
