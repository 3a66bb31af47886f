// A segment of any content, as a worker may leave it.
#include "wire/reply.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace troupe;
  // One slot, and the heap behind it: its first bytes and its last are what there is of the input.
  static const auto segment = std::make_unique<std::uint64_t[]>(wire::worker_segment_bytes(1) / 8);
  auto* const header = reinterpret_cast<wire::worker_header*>(segment.get());
  auto* const slot = reinterpret_cast<wire::reply_slot*>(header + 1);
  *slot = {};
  std::memcpy(static_cast<void*>(slot), data, std::min(size, sizeof(*slot)));
  wire::reply_copy got;
  if (!wire::copy_reply(header, 1, 0, slot->ticket, got)) std::abort();
  if (!got.is_whole) return 0;
  const auto failure = wire::read_failure(got.slot, got.bytes());
  if (!failure) return 0;
  if (failure->code == errc{} || failure->code > errc::system_error) std::abort();
  (void)failure->to_string();
  if (wire::text_bytes(*failure) > sizeof(slot->bytes)) return 0;
  // A reply that was read fits a slot, so it is the same once written and read again.
  wire::reply_slot copy;
  wire::write_failure(copy, slot->ticket, *failure);
  const auto again = wire::read_failure(copy);
  if (!again || again->to_string() != failure->to_string()) std::abort();
  return 0;
}
