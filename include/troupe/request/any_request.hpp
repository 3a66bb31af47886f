#pragma once

#include <troupe/request/request.hpp>

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

/// Requests and replies whose types are known at run time only, as another language has them. Their
/// fields are found by `fields_of` (`troupe/request/fields.hpp`).
namespace troupe {

/// A value of a `value_type`: a request, a group of fields, a described reply. Move-only.
class any_value {
 public:
  /// With its default fields.
  explicit any_value(const value_type& type) : value_(allocate(type), deleter{&type}) {
    type.construct(type.context, value_.get());
    value_.get_deleter().constructed = true;
  }

  [[nodiscard]] const value_type& type() const noexcept { return *value_.get_deleter().type; }
  [[nodiscard]] void* data() noexcept { return value_.get(); }
  [[nodiscard]] const void* data() const noexcept { return value_.get(); }
  /// Precondition: `T` is its type.
  template <class T>
  [[nodiscard]] T& as() noexcept {
    return *static_cast<T*>(data());
  }
  template <class T>
  [[nodiscard]] const T& as() const noexcept {
    return *static_cast<const T*>(data());
  }

 private:
  struct deleter {
    const value_type* type = nullptr;
    bool constructed = false;
    void operator()(std::byte* value) const noexcept {
      if (constructed) type->destroy(type->context, value);
      ::operator delete(value, std::align_val_t(type->alignment));
    }
  };
  static std::byte* allocate(const value_type& type) {
    return static_cast<std::byte*>(::operator new(type.bytes, std::align_val_t(type.alignment)));
  }

  std::unique_ptr<std::byte, deleter> value_;
};

/// A request of any type.
class any_request {
 public:
  /// With the default values of its fields. `type` is there for good: see `request_named`.
  explicit any_request(const request_type& type) : type_(&type), value_(type) {}

  [[nodiscard]] const request_type& type() const noexcept { return *type_; }
  [[nodiscard]] void* data() noexcept { return value_.data(); }
  [[nodiscard]] const void* data() const noexcept { return value_.data(); }

 private:
  const request_type* type_;
  any_value value_;
};

/// The answer to a request of any type.
class any_reply {
 public:
  /// The bytes of a plain reply; a value of its type for a described one; else null.
  any_reply(const request_type& type, std::byte* reply) : type_(&type) {
    if (type.described_reply != nullptr) {
      described_ = std::make_shared<any_value>(std::move(*reinterpret_cast<any_value*>(reply)));
    } else if (type.reply_bytes != 0) {
      std::memcpy(plain_, reply, type.reply_bytes);
    }
  }

  [[nodiscard]] const request_type& type() const noexcept { return *type_; }
  /// The reply's value; null if the request has none.
  [[nodiscard]] const void* data() const noexcept {
    if (described_) return described_->data();
    return type_->reply_bytes != 0 ? plain_ : nullptr;
  }
  /// Precondition: `T` is the type of the reply.
  template <class T>
  [[nodiscard]] const T& as() const noexcept {
    return *static_cast<const T*>(data());
  }

 private:
  const request_type* type_;
  std::shared_ptr<const any_value> described_;
  alignas(32) std::byte plain_[reply_capacity_bytes]{};
};

}  // namespace troupe
