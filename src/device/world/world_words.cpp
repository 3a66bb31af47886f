#include "device/world/world_words.hpp"

#include "wire/world_words.hpp"

#include <troupe/device/device.hpp>
#include <troupe/memory/fill.hpp>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <new>
#include <utility>

namespace troupe {
namespace {

constexpr std::int64_t staging_slots = 4;

result<any_tensor> take(local_device& of, memory_space space, std::int64_t bytes) {
  // Peers write words, and rights apply to whole slabs.
  auto buffer = of.allocate(space, static_cast<std::uint64_t>(bytes), placement::own);
  if (!buffer) return std::move(buffer).error();
  return any_tensor::owned(*std::move(buffer), dtype::u8, {bytes});
}

std::int64_t words_bytes(std::size_t words, std::int64_t staging_bytes, std::int64_t least_slot) {
  const std::int64_t slots = std::max(staging_bytes / staging_slots / least_slot, std::int64_t{1});
  return static_cast<std::int64_t>(words) + staging_slots * slots * least_slot;
}

result<any_tensor> words_in_host_memory(local_device& of, std::int64_t staging_bytes) {
  constexpr std::int64_t least_slot = 64;
  auto words =
      take(of, memory_space::host, words_bytes(wire::staging_offset, staging_bytes, least_slot));
  if (words) ::new (words->address()) wire::rank_words();
  return words;
}

// As a GPU sees them.
result<any_tensor> words_of_blocks(local_device& of, memory_space space,
                                   std::int64_t staging_bytes) {
  // Each block's part of a slot is aligned to 256 bytes.
  constexpr std::int64_t least_slot = std::int64_t{256} * wire::blocks_of_part;
  auto words = take(of, space, words_bytes(wire::device_staging_offset, staging_bytes, least_slot));
  if (words && space == memory_space::host)
    std::memset(words->address(), 0, wire::device_staging_offset);
  return words;
}

}  // namespace

result<world_words> world_words::allocate(std::span<const std::shared_ptr<local_device>> devices,
                                          std::int64_t staging_bytes, bool through_host) {
  world_words made;
  auto page = take(*devices.front(), memory_space::host, sizeof(wire::world_page));
  if (!page) return std::move(page).error();
  made.page = *std::move(page);
  ::new (made.page.address()) wire::world_page();
  std::vector<future<void>> zeroed;
  for (const auto& one : devices) {
    const bool has_blocks = one->memory().on_device();
    const bool on_device = has_blocks && !through_host;
    const auto space = on_device ? memory_space::device : memory_space::host;
    auto words = has_blocks ? words_of_blocks(*one, space, staging_bytes)
                            : words_in_host_memory(*one, staging_bytes);
    if (!words) return std::move(words).error();
    if (on_device) zeroed.push_back(device(one).library("memory").ask(memory::fill{.to = *words}));
    made.ranks.push_back(*std::move(words));
  }
  // A peer may write words as soon as it runs, so they must be zero before. A device that is
  // starting takes a while.
  constexpr auto longest = std::chrono::seconds(60);
  const auto until = std::chrono::steady_clock::now() + longest;
  for (future<void>& one : zeroed) {
    if (!one.wait_until(until)) {
      return error{.code = errc::timed_out,
                   .message = "a device has not prepared the memory of a world within a minute"};
    }
    if (auto done = one.get_result(); !done) return std::move(done).error();
  }
  return made;
}

}  // namespace troupe
