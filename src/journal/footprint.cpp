#include "journal/footprint.hpp"

#include <troupe/request/fields.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace troupe::journal {
namespace {

// The addresses of decoded tensors, where no memory is. Both ranges are larger than any pool.
constexpr std::uintptr_t device_base = std::uintptr_t{1} << 56;
constexpr std::uintptr_t host_base = std::uintptr_t{1} << 57;
constexpr std::uint64_t most_range_bytes = std::uint64_t{1} << 48;
// Views keep their alignment up to this.
constexpr std::uint64_t alignment = 4096;
// An empty tensor has a place as well.
constexpr std::uint64_t least_bytes = 16;

std::byte* at_address(std::uintptr_t address) noexcept {
  return reinterpret_cast<std::byte*>(address);  // NOLINT(performance-no-int-to-ptr)
}

}  // namespace

footprint::footprint(const noted_device& of) {
  const auto range = [&](std::string_view name) {
    // "BASE BYTES"
    const std::string_view text = of.fact(name);
    const std::size_t space = text.find(' ');
    std::uint64_t bytes = 0;
    if (space != std::string_view::npos) {
      for (const char c : text.substr(space + 1)) {
        if (c < '0' || c > '9' || bytes > most_range_bytes) break;
        bytes = bytes * 10 + static_cast<std::uint64_t>(c - '0');
      }
    }
    return std::min(bytes, most_range_bytes);
  };
  ranges_[wire::device_pool] = {at_address(device_base), range("device_range")};
  ranges_[wire::host_pool] = {at_address(host_base), range("host_range")};
}

auto footprint::decode(const request_type& type, std::span<const std::byte> frame) const
    -> result<decoded> {
  decoded made{.request = any_request(type), .operands = {}};
  if (auto read = wire::decode(type, made.request.data(), frame, ranges_, made.operands); !read) {
    return std::move(read).error();
  }
  return made;
}

void footprint::add(const std::vector<wire::operand>& operands) {
  for (const wire::operand& one : operands) {
    add(one.pool == wire::host_pool ? host_ : device_, one.begin,
        std::max(one.end, one.begin + least_bytes));
  }
}

void footprint::add(const bytes_note& bytes) {
  const std::uint64_t most = ranges_[std::min<std::size_t>(bytes.pool, 1)].mapped_bytes;
  if (bytes.pool > wire::host_pool || bytes.offset > most || bytes.bytes > most - bytes.offset) {
    return;  // refused when it is used
  }
  add(bytes.pool == wire::host_pool ? host_ : device_, bytes.offset, bytes.offset + bytes.bytes);
}

// Pieces that touch stay apart: nothing crosses their border.
void footprint::add(pieces& to, std::uint64_t begin, std::uint64_t end) {
  auto at = to.lower_bound(begin);
  if (at != to.begin() && std::prev(at)->second.end > begin) --at;
  while (at != to.end() && at->first < end) {
    begin = std::min(begin, at->first);
    end = std::max(end, at->second.end);
    at = to.erase(at);
  }
  to.insert_or_assign(begin, piece{.end = end});
}

result<void> footprint::allocate(device& on) {
  for (const auto& [all, is_host] : {std::pair(&device_, false), std::pair(&host_, true)}) {
    for (auto& [begin, one] : *all) {
      one.shift = begin % alignment;
      const auto bytes = static_cast<std::int64_t>(one.end - begin + one.shift + least_bytes);
      auto memory = is_host ? on.allocate_host(dtype::u8, {bytes})
                            : on.allocate(dtype::u8, {bytes}, initial::undefined);
      if (!memory) return std::move(memory).error();
      one.memory = memory->buffer();
    }
  }
  return {};
}

auto footprint::place_of(const any_tensor& t) const noexcept -> place {
  const auto address = reinterpret_cast<std::uintptr_t>(t.address());
  if (address >= host_base) return {wire::host_pool, address - host_base};
  return {wire::device_pool, address - device_base};
}

result<any_tensor> footprint::moved(const any_tensor& t) const {
  const place where = place_of(t);
  const pieces& all = where.pool == wire::host_pool ? host_ : device_;
  auto at = all.upper_bound(where.offset);
  if (at == all.begin()) {
    return error{.code = errc::invalid_argument, .message = "a tensor outside of all memory"};
  }
  --at;
  const std::int64_t size = size_of(t.type());
  const auto offset = static_cast<std::int64_t>(where.offset - at->first + at->second.shift);
  if (offset % size != 0) {
    return error{.code = errc::invalid_argument,
                 .message = fmt::format("a tensor of {} at byte {} of its buffer",
                                        to_string(t.type()), offset)};
  }
  const auto whole = any_tensor::owned(
      at->second.memory, t.type(), {static_cast<std::int64_t>(at->second.memory->bytes) / size});
  auto first = whole.slice(0, offset / size, offset / size + 1);
  if (!first) return first;
  return first->as_strided(shape(t.extents()), t.strides());
}

result<void> footprint::move(const request_type& type, any_request& request) const {
  std::optional<error> why;
  for_each_tensor(type, request.data(), [&](std::string_view name, any_tensor& t, access) {
    if (t.null() || why) return;
    auto there = moved(t);
    if (there) {
      t = *std::move(there);
    } else {
      why = std::move(there).error();
      why->message = fmt::format("{}: {}", name, why->message);
    }
  });
  if (why) return *std::move(why);
  return {};
}

result<any_tensor> footprint::bytes_at(std::uint8_t pool, std::uint64_t offset,
                                       std::uint64_t bytes) const {
  const pieces& all = pool == wire::host_pool ? host_ : device_;
  auto at = all.upper_bound(offset);
  if (pool > wire::host_pool || at == all.begin() || std::prev(at)->second.end < offset ||
      bytes > std::prev(at)->second.end - offset) {
    return error{.code = errc::invalid_argument,
                 .message = fmt::format("{} bytes at {} of pool {} belong to no request", bytes,
                                        offset, pool)};
  }
  --at;
  const auto begin = static_cast<std::int64_t>(offset - at->first + at->second.shift);
  const auto whole = any_tensor::owned(at->second.memory, dtype::u8,
                                       {static_cast<std::int64_t>(at->second.memory->bytes)});
  return whole.slice(0, begin, begin + static_cast<std::int64_t>(bytes));
}

}  // namespace troupe::journal
