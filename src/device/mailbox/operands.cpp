#include "device/mailbox/operands.hpp"

#include "builtin/graph/requests/definition.hpp"
#include "wire/byte_ranges.hpp"

#include <troupe/request/request.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace troupe {
namespace {

// Identifies the pattern of bytes that a view with gaps writes; 0 for a view without gaps.
std::uint32_t pattern_of(const any_tensor& t, any_tensor::byte_range reach) {
  if (t.packed()) return 0;
  const bool dense = t.injective() && t.count() * size_of(t.type()) == reach.end - reach.begin;
  if (dense) return 0;
  const auto text = [](std::span<const std::int64_t> numbers) {
    return std::string_view(reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes());
  };
  const std::uint64_t hash = detail::hash_of(text(t.extents())) * 31 +
                             detail::hash_of(text(t.strides())) +
                             static_cast<std::uint64_t>(t.type());
  constexpr std::uint32_t reserved = 2;
  return std::max(static_cast<std::uint32_t>(hash ^ (hash >> 32)), reserved);
}

error refusal(errc code, std::string_view field, std::string_view rule) {
  return error{.code = code, .message = fmt::format("{} {}", field, rule)};
}

bool overlap(const kept_operand& a, const kept_operand& b) noexcept {
  return a.buffer.get() == b.buffer.get() && a.where.begin < b.where.end &&
         b.where.begin < a.where.end;
}

/// The byte ranges of the operands that satisfy `which`.
template <class Which>
std::vector<wire::byte_range> ranges_of(const operand_list& operands, Which which) {
  std::vector<wire::byte_range> ranges;
  operands.for_each([&](const kept_operand& o) {
    if (!which(o.role)) return;
    const auto buffer = reinterpret_cast<std::uintptr_t>(o.buffer.get());
    ranges.push_back({.buffer = buffer, .begin = o.where.begin, .end = o.where.end});
  });
  wire::join(ranges);
  return ranges;
}

constexpr auto reads = [](access role) { return role == access::read; };
constexpr auto writes = [](access role) { return role != access::read; };
constexpr auto uses = [](access) { return true; };

}  // namespace

result<wire::operand_source::place> checked_operands::locate(std::string_view field,
                                                             const any_tensor& t, access role) {
  const detail::buffer_ref& buffer = t.buffer();
  const bool on_device = buffer && buffer->owner == &device_memory_;
  if (!on_device && (!buffer || buffer->owner != &host_memory_)) return elsewhere(field, t, role);
  if (on_device && device_memory_.closed()) {
    return refusal(errc::stale_buffer, field, "is stale: its device has stopped");
  }
  const any_tensor::byte_range reach = t.reach();
  const std::int64_t first = t.address() - buffer->address;
  kept_operand operand{.buffer = buffer,
                       .role = role,
                       .where = {.begin = static_cast<std::uint64_t>(first + reach.begin),
                                 .end = static_cast<std::uint64_t>(first + reach.end),
                                 .pattern = role == access::read ? 0 : pattern_of(t, reach)}};
  // seq_cst for `record::on_its_way`.
  if (const auto flags = buffer->state.load(std::memory_order_seq_cst); flags != 0) [[unlikely]] {
    if (auto allowed = check_flags(field, operand, flags); !allowed) {
      return std::move(allowed).error();
    }
  }
  const place where{.buffer = buffer->id,
                    .pool = wire::own_pool(buffer->space),
                    .offset = buffer->offset + static_cast<std::uint64_t>(first)};
  kept_.add(std::move(operand));
  return where;
}

auto checked_operands::elsewhere(std::string_view field, const any_tensor& t, access)
    -> result<place> {
  const detail::buffer_ref& buffer = t.buffer();
  if (buffer && static_cast<memory_pool*>(buffer->owner)->closed()) {
    return refusal(errc::stale_buffer, field, "is stale: its device has stopped");
  }
  return refusal(
      errc::foreign_buffer, field,
      buffer ? static_cast<memory_pool*>(buffer->owner)->belongs_to_another_than(device_memory_)
             : "is not in memory that Troupe handed out");
}

auto part_operands::elsewhere(std::string_view field, const any_tensor& t, access role)
    -> result<place> {
  const detail::buffer_ref& buffer = t.buffer();
  if (!buffer) return checked_operands::elsewhere(field, t, role);
  const auto& owner = static_cast<const memory_pool&>(*buffer->owner);
  const wire::pool_number pool = peers_.number_of(owner);
  if (pool == 0 || owner.closed()) return checked_operands::elsewhere(field, t, role);
  keep(buffer);
  const bool is_read = role != access::write || reads_outputs_;
  if (is_read && owner.on_device()) peers_.reach(*buffer.get(), pool);
  return place{.buffer = buffer->id,
               .pool = pool,
               .offset = static_cast<std::uint64_t>(t.address() - owner.base())};
}

result<void> checked_operands::check_flags(std::string_view field, const kept_operand& operand,
                                           std::uint32_t flags) {
  if ((flags & buffer_released) != 0) {
    return refusal(errc::stale_buffer, field, "is stale: it was released");
  }
  if ((flags & buffer_frozen) != 0 && operand.role != access::read) {
    return refusal(errc::frozen_buffer, field,
                   "is written by this request but is frozen; call device::thaw first");
  }
  if ((flags & buffer_table) != 0) {
    auto used = host_memory_.sets().use(*operand.buffer.get(), device_memory_);
    if (!used) return std::move(used).error();
    kept_.add(*std::move(used));
  }
  if ((flags & buffer_watched) == 0) return {};
  watched_ = true;
  if (operand.role == access::write) return {};
  for (const footprint& part : read_through(operand, of_, kept_)) {
    const taint_cause culprit = pool_of(operand).taints().undefined_for(
        {.device = &device_memory_}, *operand.buffer.get(), part.begin, part.end);
    if (culprit) return taint_book::refusal(field, culprit);
  }
  return {};
}

std::vector<footprint> read_through(const kept_operand& operand, const request_type& type,
                                    const operand_list& operands) {
  std::vector<footprint> left{{.begin = operand.where.begin, .end = operand.where.end}};
  if (!graph::overwrites_first(type) || operand.role != access::read) return left;
  operands.for_each([&](const kept_operand& written) {
    if (written.role != access::write || written.where.pattern != 0) return;
    if (!overlap(written, operand)) return;
    std::vector<footprint> rest;
    for (const footprint& part : left) {
      if (part.begin < written.where.begin) {
        rest.push_back({.begin = part.begin, .end = std::min(part.end, written.where.begin)});
      }
      if (written.where.end < part.end) {
        rest.push_back({.begin = std::max(part.begin, written.where.end), .end = part.end});
      }
    }
    left = std::move(rest);
  });
  return left;
}

bool safe_to_repeat(const request_type& type, const operand_list& operands) {
  bool safe = true;
  if (graph::overwrites_first(type)) {
    operands.for_each([&](const kept_operand& o) { safe = safe && o.role != access::update; });
    return safe;
  }
  if (operands.size() > wire::few_operands) {
    operands.for_each([&](const kept_operand& o) { safe = safe && o.role != access::update; });
    return safe && !wire::meet(ranges_of(operands, reads), ranges_of(operands, writes));
  }
  operands.for_each([&](const kept_operand& written) {
    if (written.role == access::read) return;
    safe = safe && written.role != access::update;
    operands.for_each([&](const kept_operand& read) {
      safe = safe && !(read.role == access::read && overlap(read, written));
    });
  });
  return safe;
}

bool in_conflict(const operand_list& one, const operand_list& other) {
  if (std::min(one.size(), other.size()) > wire::few_operands) {
    return wire::meet(ranges_of(one, writes), ranges_of(other, uses)) ||
           wire::meet(ranges_of(one, reads), ranges_of(other, writes));
  }
  bool conflict = false;
  one.for_each([&](const kept_operand& a) {
    other.for_each([&](const kept_operand& b) {
      const bool written = a.role != access::read || b.role != access::read;
      conflict = conflict || (written && overlap(a, b));
    });
  });
  return conflict;
}

memory_pool& pool_of(const kept_operand& operand) noexcept {
  return static_cast<memory_pool&>(*operand.buffer->owner);
}

}  // namespace troupe
