#include "device/operands.hpp"

#include <fmt/format.h>

namespace troupe {
namespace {

memory_pool& pool_of(const kept_operand& operand) {
  // Every buffer that a request may name belongs to a pool; `locate` has checked it.
  return static_cast<memory_pool&>(*operand.buffer->owner);
}

error refusal(errc code, std::string_view field, std::string_view rule) {
  return error{.code = code, .message = fmt::format("{} {}", field, rule)};
}

}  // namespace

result<wire::operand_source::place> outgoing_operands::locate(std::string_view field, any_tensor& t,
                                                              access role) {
  const detail::buffer_ref& buffer = t.buffer();
  const bool on_device = buffer && buffer->owner == &device_memory_;
  if (!on_device && (!buffer || buffer->owner != &host_memory_)) {
    if (buffer && static_cast<memory_pool*>(buffer->owner)->closed()) {
      return refusal(errc::stale_buffer, field, "is stale: its device has stopped");
    }
    return refusal(errc::foreign_buffer, field,
                   buffer ? fmt::format("belongs to device {}, not to device {}",
                                        static_cast<memory_pool*>(buffer->owner)->device(),
                                        device_memory_.device())
                          : "is not in memory that Troupe handed out");
  }
  if (on_device && device_memory_.closed()) {
    return refusal(errc::stale_buffer, field, "is stale: its device has stopped");
  }
  const any_tensor::byte_range reach = t.reach();
  const std::int64_t first = t.address() - buffer->address;
  kept_operand operand{.buffer = buffer,
                       .role = role,
                       .whole = role == access::write && t.packed(),
                       .begin = static_cast<std::uint64_t>(first + reach.begin),
                       .end = static_cast<std::uint64_t>(first + reach.end)};
  if (const auto flags = buffer->state.load(std::memory_order_acquire); flags != 0) [[unlikely]] {
    if (auto allowed = check_flags(field, operand, flags); !allowed) {
      return std::move(allowed).error();
    }
  }
  const place where{.buffer = buffer->id,
                    .space = buffer->space,
                    .offset = buffer->offset + static_cast<std::uint64_t>(first)};
  kept_.add(std::move(operand));
  return where;
}

result<void> outgoing_operands::check_flags(std::string_view field, const kept_operand& operand,
                                            std::uint32_t flags) {
  if ((flags & buffer_released) != 0) {
    return refusal(errc::stale_buffer, field, "is stale: it was released");
  }
  if ((flags & buffer_frozen) != 0 && operand.role != access::read) {
    return refusal(errc::frozen_buffer, field, "is frozen and would be written");
  }
  if ((flags & buffer_tainted) == 0) return {};
  if (operand.role == access::write) {
    overwrites_taint_ = true;
    return {};
  }
  const std::string culprit =
      pool_of(operand).tainted_by(*operand.buffer.get(), operand.begin, operand.end);
  if (culprit.empty()) return {};
  return refusal(errc::tainted_buffer, field,
                 fmt::format("is undefined since {} was lost with its worker", culprit));
}

bool safe_to_repeat(const operand_list& operands) {
  bool safe = true;
  operands.for_each([&](const kept_operand& written) {
    if (written.role == access::read) return;
    safe = safe && written.role != access::update;
    operands.for_each([&](const kept_operand& read) {
      const bool overlap = read.buffer.get() == written.buffer.get() && read.begin < written.end &&
                           written.begin < read.end;
      safe = safe && !(read.role == access::read && overlap);
    });
  });
  return safe;
}

std::string tainted_operand(const operand_list& operands) {
  std::string culprit;
  operands.for_each([&](const kept_operand& o) {
    if (!culprit.empty() || o.role == access::write ||
        (o.buffer->state.load(std::memory_order_acquire) & buffer_tainted) == 0) {
      return;
    }
    culprit = pool_of(o).tainted_by(*o.buffer.get(), o.begin, o.end);
    if (!culprit.empty()) {
      culprit = fmt::format("reads what is undefined since {} was lost with its worker", culprit);
    }
  });
  return culprit;
}

void taint_outputs(const operand_list& operands, std::string_view request, std::uint64_t ticket) {
  operands.for_each([&](const kept_operand& o) {
    if (o.role == access::read || o.begin == o.end) return;
    pool_of(o).taint(*o.buffer.get(), o.begin, o.end, fmt::format("{} #{}", request, ticket));
  });
}

void clear_overwritten_taints(const operand_list& operands) {
  operands.for_each([](const kept_operand& o) {
    if (o.whole && (o.buffer->state.load(std::memory_order_acquire) & buffer_tainted) != 0) {
      pool_of(o).clear_taint(*o.buffer.get(), o.begin, o.end);
    }
  });
}

}  // namespace troupe
