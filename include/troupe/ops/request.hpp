#pragma once

#include <troupe/core/result.hpp>
#include <troupe/memory/scalar.hpp>
#include <troupe/memory/tensor.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace troupe {

/// What a request does with a tensor.
enum class access : std::uint8_t {
  read,
  write,   ///< overwrites every element without reading any
  update,  ///< reads and writes, or writes only some elements
};

/// Walks the fields of a request in order. A request describes itself to one of these, once; from
/// that come encoding and decoding, hazards, keep-alive, retry safety, messages, traces and the
/// reference page.
class TROUPE_EXPORT field_visitor {
 public:
  void reads(std::string_view name, any_tensor& t) { tensor(name, t, access::read); }
  void writes(std::string_view name, any_tensor& t) { tensor(name, t, access::write); }
  /// `reads_old` false says that the old content does not matter (a `beta` of zero, say); the
  /// request is then safe to run again after a fault.
  void updates(std::string_view name, any_tensor& t, bool reads_old = true) {
    tensor(name, t, reads_old ? access::update : access::write);
  }
  void reads(std::string_view name, std::vector<any_tensor>& list) {
    tensors(name, list, access::read);
  }
  void writes(std::string_view name, std::vector<any_tensor>& list) {
    tensors(name, list, access::write);
  }
  void updates(std::string_view name, std::vector<any_tensor>& list, bool reads_old = true) {
    tensors(name, list, reads_old ? access::update : access::write);
  }

  virtual void value(std::string_view name, scalar& v) = 0;
  virtual void value(std::string_view name, std::int64_t& v) = 0;
  virtual void value(std::string_view name, double& v) = 0;
  virtual void value(std::string_view name, bool& v) = 0;
  virtual void value(std::string_view name, std::string& v) = 0;
  virtual void value(std::string_view name, std::vector<std::int64_t>& v) = 0;
  virtual void value(std::string_view name, std::vector<scalar>& v) = 0;

  /// An enumeration whose enumerators are 0 … `last`.
  template <class Enum>
    requires std::is_enum_v<Enum>
  void option(std::string_view name, Enum& v, Enum last) {
    auto number = static_cast<std::uint32_t>(v);
    choice(name, number, static_cast<std::uint32_t>(last));
    // Nothing is written where it is only read: requests are sent by several threads at once.
    if (v != static_cast<Enum>(number)) v = static_cast<Enum>(number);
  }

 protected:
  ~field_visitor() = default;
  virtual void tensor(std::string_view name, any_tensor& t, access role) = 0;
  virtual void tensors(std::string_view name, std::vector<any_tensor>& list, access role) = 0;
  virtual void choice(std::string_view name, std::uint32_t& v, std::uint32_t last) = 0;
};

/// Bytes that a reply may have; larger results go into tensors.
inline constexpr std::size_t reply_capacity_bytes = 128;

/// A request: an aggregate with a name `library.operation`, a reply type, a description of its
/// fields, and a check of its own arguments.
///
/// `validate` looks at shapes, types, strides, aliasing and ranges of the fields that `describe`
/// shows, never at memory. It runs in the program, before anything is queued, and again in the
/// worker; not where the same request was valid before.
template <class R>
concept request = std::move_constructible<R> && std::default_initializable<R> &&
                  requires(R& r, const R& c, field_visitor& fields) {
                    typename R::reply;
                    { R::name } -> std::convertible_to<std::string_view>;
                    { r.describe(fields) } -> std::same_as<void>;
                    { c.validate() } -> std::same_as<result<void>>;
                  };

/// What a request answers with.
template <request R>
using reply_of = typename R::reply;

/// A request type, without its C++ type: what the wire, the supervisor and the worker handle.
struct request_type {
  std::string_view name;
  std::uint64_t id = 0;  ///< hash of the name; the same in every process
  std::size_t bytes = 0;
  std::size_t alignment = 0;
  std::size_t reply_bytes = 0;
  /// False for bytes that are no reply of this type, whatever they say; null where any are.
  bool (*reply_can_be)(const std::byte* bytes) noexcept = nullptr;
  void (*construct)(void* at) = nullptr;
  void (*destroy)(void* r) noexcept = nullptr;
  /// Changes nothing unless the visitor does.
  void (*describe)(void* r, field_visitor& fields) = nullptr;
  result<void> (*validate)(const void* r) = nullptr;

  /// `describe` for a visitor that only looks.
  void show(const void* r, field_visitor& fields) const { describe(const_cast<void*>(r), fields); }
  /// The part of the name before the dot.
  [[nodiscard]] constexpr std::string_view library() const noexcept {
    return name.substr(0, name.find('.'));
  }
};

namespace detail {

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

/// The `request_type` of `R`.
template <request R>
[[nodiscard]] const request_type& request_type_of() noexcept {
  static constexpr request_type type{
      .name = R::name,
      .id = detail::hash_of(R::name),
      .bytes = sizeof(R),
      .alignment = alignof(R),
      .reply_bytes = detail::reply_bytes<reply_of<R>>(),
      .reply_can_be = detail::reply_check<reply_of<R>>(),
      .construct = [](void* at) { ::new (at) R(); },
      .destroy = [](void* r) noexcept { static_cast<R*>(r)->~R(); },
      .describe = [](void* r, field_visitor& fields) { static_cast<R*>(r)->describe(fields); },
      .validate = [](const void* r) { return static_cast<const R*>(r)->validate(); },
  };
  return type;
}

}  // namespace troupe
