#include "request/description/table.hpp"
#include "wire/codec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

namespace troupe::wire {
namespace {

class encoder {
 public:
  encoder(std::span<std::byte> to, operand_source& operands) noexcept
      : to_(to), operands_(operands) {}

  void fields(const description_table& t, const void* request) {
    for (const wire_part& part : t.wire) {
      switch (part.what) {
        case wire_part::sort::tensor:
          tensor(t.details[part.field].name, value_at<any_tensor>(request, part.offset),
                 role_of(t, t.fields[part.field], request));
          break;
        case wire_part::sort::values:
          put_bytes(static_cast<const std::byte*>(request) + part.offset, part.bytes);
          break;
        case wire_part::sort::varying:
          varying(t, part.field, request);
          break;
      }
      if (failure_) [[unlikely]]
        return;
    }
  }

  [[nodiscard]] result<std::size_t> outcome() && {
    if (failure_) return std::move(*failure_);
    return used_;
  }

 private:
  void varying(const description_table& t, std::size_t i, const void* request) {
    const field& f = t.fields[i];
    switch (f.kind) {
      case field_kind::tensors:
        return tensors(t.details[i].name, value_at<std::vector<any_tensor>>(request, f.offset),
                       role_of(t, f, request));
      case field_kind::text:
        return list(value_at<std::string>(request, f.offset));
      case field_kind::integers:
        return list(value_at<std::vector<std::int64_t>>(request, f.offset));
      case field_kind::scalars:
        return list(value_at<std::vector<scalar>>(request, f.offset));
      case field_kind::groups:
        return groups(t.lists[static_cast<std::size_t>(f.groups)],
                      static_cast<const std::byte*>(request) + f.offset);
      default:
        return;
    }
  }

  void tensor(std::string_view name, const any_tensor& t, access role) {
    if (t.null()) return put(std::uint8_t{0});
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
    at[tensor_layout::pool] = static_cast<std::byte>(place->pool);
    std::memcpy(at + tensor_layout::buffer, &place->buffer, sizeof(place->buffer));
    std::memcpy(at + tensor_layout::offset, &place->offset, sizeof(place->offset));
    for (int d = 0; d < rank; ++d) {
      const std::size_t step = static_cast<std::size_t>(d) * sizeof(std::int64_t);
      const std::int64_t extent = t.extent(d);
      // The stride of a single element is never used, so it may be any number; but the reader
      // accepts none larger than this.
      const std::int64_t stride = extent > 1 ? t.stride(d) : std::min(t.stride(d), max_elements);
      std::memcpy(at + tensor_layout::extents + step, &extent, sizeof(extent));
      std::memcpy(at + tensor_layout::strides(rank) + step, &stride, sizeof(stride));
    }
  }
  void tensors(std::string_view name, const std::vector<any_tensor>& all, access role) {
    if (all.size() > max_list_tensors) {
      failure_ = error{.code = errc::size_overflow,
                       .message = fmt::format("{} holds {} tensors, at most {} can be sent", name,
                                              all.size(), max_list_tensors)};
      return;
    }
    put(static_cast<std::uint64_t>(all.size()));
    for (const any_tensor& t : all) {
      tensor(name, t, role);
      if (failure_) return;
    }
  }
  void groups(const group_list& list, const void* at) {
    void* const all = const_cast<void*>(at);  // only read
    const std::size_t count = list.type->size(all);
    put(static_cast<std::uint64_t>(count));
    const std::byte* one = list.type->data(all);
    for (std::size_t i = 0; i < count && !failure_; ++i, one += list.type->stride)
      fields(*list.of, one);
  }
  template <class List>
  void list(const List& all) noexcept {
    put(static_cast<std::uint64_t>(all.size()));
    put_bytes(all.data(), all.size() * sizeof(typename List::value_type));
  }

  template <class T>
  void put(const T& v) noexcept {
    put_bytes(&v, sizeof(v));
  }
  void put_bytes(const void* from, std::size_t bytes) noexcept {
    std::byte* const at = claim(bytes);
    if (at != nullptr && bytes != 0) std::memcpy(at, from, bytes);
  }
  // Space for the next bytes, or null if there is none left; counts them in any case.
  [[nodiscard]] std::byte* claim(std::size_t bytes) noexcept {
    std::byte* const at = used_ + bytes <= to_.size() ? to_.data() + used_ : nullptr;
    used_ += bytes;
    return at;
  }

  std::span<std::byte> to_;
  operand_source& operands_;
  std::size_t used_ = 0;
  std::optional<error> failure_;
};

}  // namespace

result<std::size_t> encode(const value_type& type, const void* r, std::span<std::byte> to,
                           operand_source& operands) {
  encoder out(to, operands);
  out.fields(*type.fields, r);
  return std::move(out).outcome();
}

}  // namespace troupe::wire
