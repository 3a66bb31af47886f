#include "request/description/table.hpp"
#include "wire/codec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

namespace troupe::wire {
namespace {

class decoder {
 public:
  decoder(std::span<const std::byte> bytes, const address_ranges& ranges,
          std::vector<operand>& operands) noexcept
      : bytes_(bytes), ranges_(ranges), operands_(operands) {}

  void fields(const description_table& t, void* request) {
    for (const wire_part& part : t.wire) {
      switch (part.what) {
        case wire_part::sort::tensor:
          tensor(t.details[part.field].name, value_at<any_tensor>(request, part.offset));
          break;
        case wire_part::sort::values:
          values(t, part, static_cast<std::byte*>(request) + part.offset);
          break;
        case wire_part::sort::varying:
          varying(t, part.field, request);
          break;
      }
      if (failure_) [[unlikely]]
        return;
    }
  }

  [[nodiscard]] result<void> outcome() && {
    if (!failure_ && used_ != bytes_.size()) {
      fail("", fmt::format("{} bytes where the fields take {}", bytes_.size(), used_));
    }
    if (failure_) return std::move(*failure_);
    return {};
  }

 private:
  void values(const description_table& t, const wire_part& part, std::byte* to) {
    const std::byte* const from = claim(t.name, part.bytes);
    if (from == nullptr) return;
    for (std::size_t i = part.first_check; i != part.last_check; ++i) {
      const byte_check& check = t.byte_checks[i];
      const auto is = static_cast<std::uint8_t>(from[check.at]);
      if (is > check.most) [[unlikely]] {
        return fail(t.details[check.field].name, fmt::format("{} of 0 to {}", is, check.most));
      }
    }
    std::memcpy(to, from, part.bytes);
  }
  void varying(const description_table& t, std::size_t i, void* request) {
    const field& f = t.fields[i];
    const std::string_view name = t.details[i].name;
    switch (f.kind) {
      case field_kind::tensors:
        return tensors(name, value_at<std::vector<any_tensor>>(request, f.offset));
      case field_kind::text:
        return list(name, value_at<std::string>(request, f.offset));
      case field_kind::integers:
        return list(name, value_at<std::vector<std::int64_t>>(request, f.offset));
      case field_kind::scalars:
        return scalars(name, value_at<std::vector<scalar>>(request, f.offset));
      case field_kind::groups:
        return groups(name, t.lists[static_cast<std::size_t>(f.groups)],
                      static_cast<std::byte*>(request) + f.offset);
      default:
        return;
    }
  }
  template <class List>
  void list(std::string_view name, List& to) {
    constexpr std::size_t element = sizeof(typename List::value_type);
    if (const auto size = length(name, element)) {
      to.resize(*size);
      take(name, to.data(), *size * element);
    }
  }
  void scalars(std::string_view name, std::vector<scalar>& to) {
    static_assert(std::is_trivially_copyable_v<scalar>);
    const auto size = length(name, sizeof(scalar));
    if (!size) return;
    to.resize(*size);
    for (scalar& one : to) {
      std::byte raw[sizeof(scalar)];
      if (!take(name, raw, sizeof(raw))) return;
      if (static_cast<std::uint8_t>(raw[0]) > static_cast<std::uint8_t>(scalar::kind::complex)) {
        return fail(name, fmt::format("scalar of kind {}", static_cast<int>(raw[0])));
      }
      std::memcpy(static_cast<void*>(&one), raw, sizeof(raw));
    }
  }
  void tensors(std::string_view name, std::vector<any_tensor>& to) {
    const auto size = length(name, 1);
    if (!size) return;
    if (*size > max_list_tensors) return fail(name, fmt::format("{} tensors", *size));
    to.resize(*size);
    for (any_tensor& t : to)
      tensor(name, t);
  }
  void groups(std::string_view name, const group_list& list, void* to) {
    // A group takes at least one byte, so the remaining bytes bound their number.
    const auto size = length(name, 1);
    if (!size) return;
    if (*size > max_list_groups) return fail(name, fmt::format("{} groups", *size));
    list.type->resize(to, *size);
    std::byte* one = list.type->data(to);
    for (std::size_t i = 0; i < *size && !failure_; ++i, one += list.type->stride)
      fields(*list.of, one);
  }
  void tensor(std::string_view name, any_tensor& t) {
    std::uint8_t present = 0;
    if (!take(name, &present, sizeof(present)) || present == 0) return;
    const int rank = present - 1;
    if (rank > max_rank) return fail(name, fmt::format("rank {}", rank));
    const std::byte* const at = claim(name, tensor_layout::bytes(rank));
    if (at == nullptr) return;
    const auto type = static_cast<std::uint8_t>(at[tensor_layout::type]);
    const auto pool = static_cast<pool_number>(at[tensor_layout::pool]);
    operand used;
    std::uint64_t offset = 0;
    std::memcpy(&used.buffer, at + tensor_layout::buffer, sizeof(used.buffer));
    std::memcpy(&offset, at + tensor_layout::offset, sizeof(offset));
    if (type >= dtype_count) return fail(name, fmt::format("element type {}", type));
    if (pool >= ranges_.size() || ranges_[pool].base == nullptr) {
      return fail(name, fmt::format("memory pool {}", pool));
    }

    // Computes the farthest element and the number of elements without unnoticed overflow. Both are
    // bounded even if an extent of 0 leaves no elements, because users of the view multiply before
    // they meet the 0.
    std::int64_t extents[max_rank];
    std::int64_t strides[max_rank];
    std::int64_t last = 0;
    std::int64_t elements = 1;
    bool no_elements = false;
    for (int i = 0; i < rank; ++i) {
      const std::size_t step = static_cast<std::size_t>(i) * sizeof(std::int64_t);
      std::memcpy(&extents[i], at + tensor_layout::extents + step, sizeof(extents[i]));
      std::memcpy(&strides[i], at + tensor_layout::strides(rank) + step, sizeof(strides[i]));
      if (extents[i] < 0 || extents[i] > max_elements || strides[i] < 0 ||
          strides[i] > max_elements) {
        return fail(name, fmt::format("extent {} with stride {}", extents[i], strides[i]));
      }
      no_elements = no_elements || extents[i] == 0;
      const std::int64_t extent = extents[i] == 0 ? 1 : extents[i];
      std::int64_t reached = 0;
      if (__builtin_mul_overflow(elements, extent, &elements) || elements > max_elements ||
          __builtin_mul_overflow(extent - 1, strides[i], &reached) ||
          __builtin_add_overflow(last, reached, &last) || last > max_elements) {
        return fail(name, fmt::format("extent {} with stride {} in dimension {}: too many "
                                      "elements",
                                      extents[i], strides[i], i));
      }
    }
    const auto element_bytes = static_cast<std::uint64_t>(size_of(static_cast<dtype>(type)));
    // True for every buffer of ours, and required by the processor for an element's parts.
    if (const auto alignment = std::min<std::uint64_t>(element_bytes, 8);
        (offset & (alignment - 1)) != 0) {
      return fail(name, fmt::format("offset {} is no multiple of {}", offset, alignment));
    }
    const address_range& range = ranges_[pool];
    const std::uint64_t bytes =
        no_elements ? 0 : (static_cast<std::uint64_t>(last) + 1) * element_bytes;
    if (offset > range.mapped_bytes || bytes > range.mapped_bytes - offset) {
      return fail(name, fmt::format("offset {} is outside the {} mapped bytes", offset,
                                    range.mapped_bytes));
    }
    t = any_tensor::unowned(range.base + offset, static_cast<dtype>(type),
                            shape(std::span(extents, static_cast<std::size_t>(rank))),
                            std::span(strides, static_cast<std::size_t>(rank)), space_of(pool));
    used.pool = pool;
    used.begin = offset;
    used.end = offset + bytes;
    operands_.push_back(used);
  }
  bool take(std::string_view name, void* to, std::size_t bytes) {
    const std::byte* const at = claim(name, bytes);
    if (at != nullptr && bytes != 0) std::memcpy(to, at, bytes);
    return at != nullptr;
  }

  // The address of the next bytes, or null if there are not that many.
  [[nodiscard]] const std::byte* claim(std::string_view name, std::size_t bytes) {
    if (failure_) return nullptr;
    if (bytes > bytes_.size() - used_) {
      fail(name, fmt::format("needs {} bytes, {} are left", bytes, bytes_.size() - used_));
      return nullptr;
    }
    const std::byte* const at = bytes_.data() + used_;
    used_ += bytes;
    return at;
  }

  // A length that the remaining bytes can hold, so that the sender cannot cause a large allocation.
  std::optional<std::size_t> length(std::string_view name, std::size_t element_bytes) {
    std::uint64_t count = 0;
    if (!take(name, &count, sizeof(count))) return std::nullopt;
    if (count > (bytes_.size() - used_) / element_bytes) {
      fail(name, fmt::format("length {} with {} bytes left", count, bytes_.size() - used_));
      return std::nullopt;
    }
    return static_cast<std::size_t>(count);
  }

  void fail(std::string_view name, std::string what) {
    if (!failure_) {
      failure_ =
          error{.code = errc::protocol_violation,
                .message = name.empty() ? std::move(what) : fmt::format("{}: {}", name, what)};
    }
  }

  std::span<const std::byte> bytes_;
  const address_ranges& ranges_;
  std::vector<operand>& operands_;
  std::size_t used_ = 0;
  std::optional<error> failure_;
};

// Roles may depend on fields after the tensor (a beta of zero), so they are read once all fields
// are known. Null tensors have no operand.
class role_reader {
 public:
  explicit role_reader(std::vector<operand>& operands) noexcept : operands_(operands) {}

  void fields(const description_table& t, const void* request) noexcept {
    for (const wire_part& part : t.wire) {
      if (part.what == wire_part::sort::values) continue;
      const field& f = t.fields[part.field];
      if (f.kind == field_kind::tensor) {
        tensor(value_at<any_tensor>(request, f.offset), role_of(t, f, request));
      } else if (f.kind == field_kind::tensors) {
        for (const any_tensor& one : value_at<std::vector<any_tensor>>(request, f.offset))
          tensor(one, role_of(t, f, request));
      } else if (f.kind == field_kind::groups) {
        groups(t.lists[static_cast<std::size_t>(f.groups)],
               static_cast<const std::byte*>(request) + f.offset);
      }
    }
  }

 private:
  void tensor(const any_tensor& t, access role) noexcept {
    if (!t.null() && next_ < operands_.size()) operands_[next_++].role = role;
  }
  void groups(const group_list& list, const void* at) noexcept {
    void* const all = const_cast<void*>(at);  // only read
    const std::byte* one = list.type->data(all);
    for (std::size_t left = list.type->size(all); left > 0; --left, one += list.type->stride)
      fields(*list.of, one);
  }

  std::vector<operand>& operands_;
  std::size_t next_ = 0;
};

}  // namespace

result<void> decode(const value_type& type, void* r, std::span<const std::byte> bytes,
                    const address_ranges& ranges, std::vector<operand>& operands) {
  operands.clear();
  decoder in(bytes, ranges, operands);
  in.fields(*type.fields, r);
  auto outcome = std::move(in).outcome();
  if (outcome && !operands.empty()) {
    role_reader roles(operands);
    roles.fields(*type.fields, r);
  }
  return outcome;
}

}  // namespace troupe::wire
