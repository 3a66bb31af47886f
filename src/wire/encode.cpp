#include "wire/codec.hpp"

#include <fmt/format.h>

#include <algorithm>
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
    const int rank = t.rank();
    put(static_cast<std::uint8_t>(rank + 1));
    std::byte* const at = claim(tensor_layout::bytes(rank));
    if (at == nullptr) return;
    at[tensor_layout::type] = static_cast<std::byte>(t.type());
    at[tensor_layout::space] = static_cast<std::byte>(place->space);
    std::memcpy(at + tensor_layout::buffer, &place->buffer, sizeof(place->buffer));
    std::memcpy(at + tensor_layout::offset, &place->offset, sizeof(place->offset));
    for (int d = 0; d < rank; ++d) {
      const std::size_t step = static_cast<std::size_t>(d) * sizeof(std::int64_t);
      const std::int64_t extent = t.extent(d);
      // The step of a single element is never taken, so that it may be any number; but the reader
      // takes no more than this one.
      const std::int64_t stride = extent > 1 ? t.stride(d) : std::min(t.stride(d), max_elements);
      std::memcpy(at + tensor_layout::extents + step, &extent, sizeof(extent));
      std::memcpy(at + tensor_layout::strides(rank) + step, &stride, sizeof(stride));
    }
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
  void choice(std::string_view name, std::uint32_t& v, std::uint32_t last) override {
    if (v > last && !failure_) {
      failure_ =
          error{.code = errc::invalid_argument,
                .message = fmt::format("{} is {}, but its values are 0 to {}", name, v, last)};
    }
    put(v);
  }

  template <class T>
  void put(const T& v) noexcept {
    if (std::byte* const at = claim(sizeof(v))) std::memcpy(at, &v, sizeof(v));
  }
  void put_bytes(const void* from, std::size_t bytes) noexcept {
    std::byte* const at = claim(bytes);
    if (at != nullptr && bytes != 0) std::memcpy(at, from, bytes);
  }
  // Room for the next bytes, or null once there is none; what they take is counted in any case.
  [[nodiscard]] std::byte* claim(std::size_t bytes) noexcept {
    std::byte* const at = used_ + bytes <= room_.size() ? room_.data() + used_ : nullptr;
    used_ += bytes;
    return at;
  }

  std::span<std::byte> room_;
  operand_source& operands_;
  std::size_t used_ = 0;
  std::optional<error> failure_;
};

}  // namespace

result<std::size_t> encode(const request_type& type, const void* r, std::span<std::byte> room,
                           operand_source& operands) {
  encoder out(room, operands);
  type.show(r, out);
  return std::move(out).outcome();
}

}  // namespace troupe::wire
