// A mailbox segment as a worker finds it: header, ring, replay list, slots and heap of any content.
#include "os/shared_memory.hpp"
#include "request/built_in_requests.hpp"
#include "worker/intake/inbox.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

namespace {

using namespace troupe;

const operation_table& operations() {
  static const operation_table table = [] {
    operation_table every;
    for (const request_type* type : built_in_requests())
      every.insert({.type = type, .run = nullptr, .executor = nullptr});
    return every;
  }();
  return table;
}

constexpr std::uint32_t capacity = 4;

wire::mailbox_geometry good_geometry() {
  wire::mailbox_geometry g;
  g.capacity = capacity;
  g.ring_size = 2 * capacity;
  g.ring_offset = sizeof(wire::mailbox_header);
  g.replay_offset = g.ring_offset + std::uint64_t{g.ring_size} * 8;
  g.slots_offset = g.replay_offset + wire::cache_line;
  g.heap_offset = g.slots_offset + capacity * wire::slot_bytes;
  g.heap_bytes = 1024;
  g.total_bytes = g.heap_offset + g.heap_bytes;
  return g;
}

struct aligned_free {
  void operator()(std::byte* p) const { std::free(p); }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  // At least the size of the shortest inputs, so that most mappings hold a good geometry.
  const bool keep_geometry = data[0] % 4 != 0;
  const std::size_t content = size - 2;
  const std::size_t bytes =
      keep_geometry ? std::max<std::size_t>(good_geometry().total_bytes, content) : content;
  const std::size_t room = (bytes + wire::cache_line - 1) / wire::cache_line * wire::cache_line;
  const std::unique_ptr<std::byte, aligned_free> pages(static_cast<std::byte*>(
      std::aligned_alloc(wire::cache_line, std::max(room, wire::cache_line))));
  std::memset(pages.get(), 0, std::max(room, wire::cache_line));

  auto* header = reinterpret_cast<wire::mailbox_header*>(pages.get());
  if (keep_geometry) {
    // The input begins behind the header; slots name an operation by its place in the list, because
    // 64 bits cannot be guessed.
    ::new (header) wire::mailbox_header();
    header->geometry = good_geometry();
    header->active.worker.store(1, std::memory_order_relaxed);
    header->active.replay_count = data[1] % 8;
    std::memcpy(pages.get() + sizeof(wire::mailbox_header), data + 2,
                std::min(content, bytes - sizeof(wire::mailbox_header)));
    for (std::uint32_t slot = 0; slot < capacity; ++slot) {
      auto* s = reinterpret_cast<wire::slot_header*>(pages.get() + header->geometry.slots_offset +
                                                     slot * wire::slot_bytes);
      const auto types = built_in_requests();
      if (s->operation % 8 != 7) s->operation = types[s->operation % types.size()]->id;
    }
  } else {
    std::memcpy(pages.get(), data + 2, content);
    if (data[1] % 2 == 0 && bytes >= sizeof(wire::mailbox_header)) {
      header->magic_number = wire::magic;
      header->version = wire::protocol_version;
    }
  }

  auto opened = worker::inbox::open(header, bytes);
  if (!opened) return 0;
  worker::inbox& inbox = *opened;
  static const os::mapping space = os::reserve(nullptr, 1 << 16).value();
  wire::address_ranges ranges{wire::address_range{space.address(), space.bytes()},
                              wire::address_range{space.address(), space.bytes()}};
  inbox.begin();
  worker::job job;
  for (int i = 0; i < 32 && inbox.has_more(); ++i) {
    const std::uint64_t entry = inbox.poll();
    inbox.read(entry, operations(), ranges, job);
    if (job.slot >= inbox.capacity() || job.lane >= wire::max_lanes) std::abort();
    (void)inbox.revoked(job.slot);
  }
  return 0;
}
