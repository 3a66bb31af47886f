#include "wire/codec.hpp"

#include <fmt/format.h>

#include <cstring>
#include <optional>

namespace troupe::wire {
namespace {

class encoder final : public field_visitor {
 public:
  encoder(std::span<std::byte> room, operand_source& operands) noexcept
      : room_(room), operands_(operands) {}

  void value(std::string_view, scalar& v) override { put(v); }
  void value(std::string_view, std::int64_t& v) override { put(v); }
  void value(std::string_view, double& v) override { put(v); }
  void value(std::string_view, bool& v) override { put(static_cast<std::uint8_t>(v)); }
  void value(std::string_view, std::string& v) override {
    put(static_cast<std::uint64_t>(v.size()));
    put_bytes(v.data(), v.size());
  }
  void value(std::string_view, std::vector<std::int64_t>& v) override {
    put(static_cast<std::uint64_t>(v.size()));
    put_bytes(v.data(), v.size() * sizeof(std::int64_t));
  }
  void value(std::string_view, std::vector<scalar>& v) override {
    put(static_cast<std::uint64_t>(v.size()));
    for (const scalar& one : v)
      put(one);
  }

  [[nodiscard]] result<std::size_t> outcome() && {
    if (failure_) return std::move(*failure_);
    return used_;
  }

 private:
  void tensor(std::string_view name, any_tensor& t, access role) override {
    if (failure_) return;
    if (t.null()) {
      put(std::uint8_t{0});
      return;
    }
    auto place = operands_.locate(name, t, role);
    if (!place) {
      failure_ = std::move(place).error();
      return;
    }
    put(static_cast<std::uint8_t>(t.rank() + 1));
    put(static_cast<std::uint8_t>(t.type()));
    put(static_cast<std::uint8_t>(place->space));
    put(place->buffer);
    put(place->offset);
    put_bytes(t.extents().data(), t.extents().size_bytes());
    put_bytes(t.strides().data(), t.strides().size_bytes());
  }
  void tensors(std::string_view name, std::vector<any_tensor>& list, access role) override {
    if (failure_) return;
    if (list.size() > max_list_tensors) {
      failure_ = error{.code = errc::size_overflow,
                       .message = fmt::format("{} holds {} tensors, at most {} can be sent", name,
                                              list.size(), max_list_tensors)};
      return;
    }
    put(static_cast<std::uint64_t>(list.size()));
    for (any_tensor& t : list)
      tensor(name, t, role);
  }
  void choice(std::string_view, std::uint32_t& v, std::uint32_t) override { put(v); }

  template <class T>
  void put(const T& v) noexcept {
    put_bytes(&v, sizeof(v));
  }
  void put_bytes(const void* from, std::size_t bytes) noexcept {
    if (bytes != 0 && used_ + bytes <= room_.size()) {
      std::memcpy(room_.data() + used_, from, bytes);
    }
    used_ += bytes;
  }

  std::span<std::byte> room_;
  operand_source& operands_;
  std::size_t used_ = 0;
  std::optional<error> failure_;
};

}  // namespace

result<std::size_t> encode(const request_type& type, void* r, std::span<std::byte> room,
                           operand_source& operands) {
  encoder out(room, operands);
  type.describe(r, out);
  return std::move(out).outcome();
}

}  // namespace troupe::wire
