#include "journal/twin.hpp"

#include "device/endpoint.hpp"

#include <troupe/request/fields.hpp>

#include <cstring>

namespace troupe::journal {

twin::twin(system& of, std::int32_t number, const device_config& config, const footprint& memory)
    : device_(of.device(number, config)), memory_(memory) {}

result<std::vector<std::byte>> twin::read(device& on, const footprint& memory, std::uint8_t pool,
                                          std::uint64_t offset, std::uint64_t bytes) {
  auto there = memory.bytes_at(pool, offset, bytes);
  if (!there) return std::move(there).error();
  std::vector<std::byte> content(bytes);
  if (pool == wire::host_pool) {
    std::memcpy(content.data(), there->address(), bytes);
  } else if (auto copied = on.copy_out(*there, dtype::u8, content).get_result(); !copied) {
    return std::move(copied).error();
  }
  return content;
}

result<void> twin::begin(const std::vector<wire::operand>& operands, device& first,
                         const footprint& its_memory) {
  for (const wire::operand& one : operands) {
    const std::uint64_t bytes = one.end - one.begin;
    if (bytes == 0) continue;
    auto content = read(first, its_memory, one.pool, one.begin, bytes);
    // It was left undefined by a failed request.
    if (!content && content.error().code == errc::tainted_buffer) continue;
    if (!content) return std::move(content).error();
    auto there = memory_.bytes_at(one.pool, one.begin, bytes);
    if (!there) return std::move(there).error();
    if (one.pool == wire::host_pool) {
      std::memcpy(there->address(), content->data(), bytes);
    } else if (auto copied = device_.copy_in(dtype::u8, *content, *there).get_result(); !copied) {
      return copied;
    }
  }
  return {};
}

result<std::optional<error>> twin::run(const request_type& type, any_request&& request) {
  if (auto moved = memory_.move(type, request); !moved) return std::move(moved).error();
  auto done = device_.ask(request).get_result();
  if (done) return std::optional<error>();
  return std::optional(std::move(done).error());
}

auto twin::compare(const request_type& type, any_request& decoded, device& first,
                   const footprint& its_memory, const closeness& how, std::uint64_t& elements)
    -> result<std::optional<found>> {
  std::optional<found> difference;
  std::optional<error> why;
  for_each_tensor(
      type, decoded.data(), [&](std::string_view name, const any_tensor& t, access role) {
        if (t.null() || t.empty() || role == access::read || difference || why) return;
        if (type.library() == "graph" && name == "results") return;  // replies
        const footprint::place place = memory_.place_of(t);
        const any_tensor::byte_range reach = t.reach();
        const auto bytes = static_cast<std::uint64_t>(reach.end - reach.begin);
        const std::uint64_t offset = place.offset + static_cast<std::uint64_t>(reach.begin);
        auto mine = read(device_, memory_, place.pool, offset, bytes);
        auto its = read(first, its_memory, place.pool, offset, bytes);
        if (!mine || !its) {
          why = !mine ? std::move(mine).error() : std::move(its).error();
          return;
        }
        elements += static_cast<std::uint64_t>(t.count());
        if (auto what = first_difference(t, *mine, *its, how)) {
          difference = found{.field = std::string(name), .what = *std::move(what)};
        }
      });
  if (why) return *std::move(why);
  return difference;
}

}  // namespace troupe::journal
