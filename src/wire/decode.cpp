#include "wire/codec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

namespace troupe::wire {
namespace {

class decoder final : public field_visitor {
 public:
  decoder(std::span<const std::byte> bytes, const address_ranges& ranges,
          std::vector<operand>& operands) noexcept
      : bytes_(bytes), ranges_(ranges), operands_(operands) {}

  void value(std::string_view name, scalar& v) override {
    static_assert(std::is_trivially_copyable_v<scalar>);
    std::byte raw[sizeof(scalar)];
    if (!take(name, raw, sizeof(raw))) return;
    if (static_cast<std::uint8_t>(raw[0]) > static_cast<std::uint8_t>(scalar::kind::complex)) {
      return fail(name, fmt::format("scalar of kind {}", static_cast<int>(raw[0])));
    }
    std::memcpy(static_cast<void*>(&v), raw, sizeof(raw));
  }
  void value(std::string_view name, std::int64_t& v) override { take(name, &v, sizeof(v)); }
  void value(std::string_view name, double& v) override { take(name, &v, sizeof(v)); }
  void value(std::string_view name, bool& v) override {
    std::uint8_t byte = 0;
    if (!take(name, &byte, sizeof(byte))) return;
    if (byte > 1) return fail(name, fmt::format("bool of value {}", byte));
    v = byte == 1;
  }
  void value(std::string_view name, std::string& v) override {
    if (const auto size = length(name, 1)) {
      v.resize(*size);
      take(name, v.data(), *size);
    }
  }
  void value(std::string_view name, std::vector<std::int64_t>& v) override {
    if (const auto size = length(name, sizeof(std::int64_t))) {
      v.resize(*size);
      take(name, v.data(), *size * sizeof(std::int64_t));
    }
  }
  void value(std::string_view name, std::vector<scalar>& v) override {
    if (const auto size = length(name, sizeof(scalar))) {
      v.resize(*size);
      for (scalar& one : v)
        value(name, one);
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
  void tensor(std::string_view name, any_tensor& t, access) override {
    std::uint8_t present = 0;
    if (!take(name, &present, sizeof(present)) || present == 0) return;
    const int rank = present - 1;
    if (rank > max_rank) return fail(name, fmt::format("rank {}", rank));
    const std::byte* const at = claim(name, tensor_layout::bytes(rank));
    if (at == nullptr) return;
    const auto type = static_cast<std::uint8_t>(at[tensor_layout::type]);
    const auto space = static_cast<std::uint8_t>(at[tensor_layout::space]);
    operand used;
    std::uint64_t offset = 0;
    std::memcpy(&used.buffer, at + tensor_layout::buffer, sizeof(used.buffer));
    std::memcpy(&offset, at + tensor_layout::offset, sizeof(offset));
    if (type >= dtype_count) return fail(name, fmt::format("element type {}", type));
    if (space >= ranges_.size()) return fail(name, fmt::format("memory space {}", space));

    // The farthest element and the number of elements, with no step that can overflow unseen. Both
    // are bounded even where an extent of 0 leaves no elements, because whoever handles the view
    // multiplies before it meets the 0.
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
        return fail(name, fmt::format("extent {} with stride {} in dimension {}: more elements "
                                      "than can be",
                                      extents[i], strides[i], i));
      }
    }
    const auto element_bytes = static_cast<std::uint64_t>(size_of(static_cast<dtype>(type)));
    // What every buffer of ours satisfies, and what the processor wants of an element's parts.
    if (const auto alignment = std::min<std::uint64_t>(element_bytes, 8); offset % alignment != 0) {
      return fail(name, fmt::format("offset {} is no multiple of {}", offset, alignment));
    }
    const address_range& range = ranges_[space];
    const std::uint64_t bytes =
        no_elements ? 0 : (static_cast<std::uint64_t>(last) + 1) * element_bytes;
    if (offset > range.mapped_bytes || bytes > range.mapped_bytes - offset) {
      return fail(name, fmt::format("offset {} is outside the {} mapped bytes", offset,
                                    range.mapped_bytes));
    }
    t = any_tensor::unowned(range.base + offset, static_cast<dtype>(type),
                            shape(std::span(extents, static_cast<std::size_t>(rank))),
                            std::span(strides, static_cast<std::size_t>(rank)),
                            static_cast<memory_space>(space));
    used.space = t.space();
    used.begin = offset;
    used.end = offset + bytes;
    operands_.push_back(used);
  }
  void tensors(std::string_view name, std::vector<any_tensor>& list, access role) override {
    if (const auto size = length(name, 1)) {
      if (*size > max_list_tensors) return fail(name, fmt::format("{} tensors", *size));
      list.resize(*size);
      for (any_tensor& t : list)
        tensor(name, t, role);
    }
  }
  void choice(std::string_view name, std::uint32_t& v, std::uint32_t last) override {
    std::uint32_t read = 0;
    if (!take(name, &read, sizeof(read))) return;
    if (read > last) return fail(name, fmt::format("choice {} of 0 to {}", read, last));
    v = read;
  }

  bool take(std::string_view name, void* to, std::size_t bytes) {
    const std::byte* const at = claim(name, bytes);
    if (at != nullptr && bytes != 0) std::memcpy(to, at, bytes);
    return at != nullptr;
  }

  // Where the next bytes are, or null once that many are not there.
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

  // A length that the bytes left can hold, so that nothing is allocated on the word of the sender.
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

// Roles may depend on fields that come after the tensor (a beta of zero), so they are read once
// all fields are there. Null tensors have no operand and are skipped in both walks.
class role_reader final : public field_visitor {
 public:
  explicit role_reader(std::vector<operand>& operands) noexcept : operands_(operands) {}
  void value(std::string_view, scalar&) override {}
  void value(std::string_view, std::int64_t&) override {}
  void value(std::string_view, double&) override {}
  void value(std::string_view, bool&) override {}
  void value(std::string_view, std::string&) override {}
  void value(std::string_view, std::vector<std::int64_t>&) override {}
  void value(std::string_view, std::vector<scalar>&) override {}

 private:
  void tensor(std::string_view, any_tensor& t, access role) override {
    if (!t.null() && next_ < operands_.size()) operands_[next_++].role = role;
  }
  void tensors(std::string_view name, std::vector<any_tensor>& list, access role) override {
    for (any_tensor& t : list)
      tensor(name, t, role);
  }
  void choice(std::string_view, std::uint32_t&, std::uint32_t) override {}

  std::vector<operand>& operands_;
  std::size_t next_ = 0;
};

}  // namespace

result<void> decode(const request_type& type, void* r, std::span<const std::byte> bytes,
                    const address_ranges& ranges, std::vector<operand>& operands) {
  operands.clear();
  decoder in(bytes, ranges, operands);
  type.describe(r, in);
  auto outcome = std::move(in).outcome();
  if (outcome && !operands.empty()) {
    role_reader roles(operands);
    type.describe(r, roles);
  }
  return outcome;
}

}  // namespace troupe::wire
