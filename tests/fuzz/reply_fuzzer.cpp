// A reply slot of any content, as a worker may leave it.
#include "wire/reply.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace troupe;
  wire::reply_slot slot;
  std::memcpy(static_cast<void*>(&slot), data, std::min(size, sizeof(slot)));
  const auto failure = wire::read_failure(slot);
  if (!failure) return 0;
  if (failure->code == errc{} || failure->code > errc::system_error) std::abort();
  (void)failure->to_string();
  // What was read fits a slot, so it is the same once written and read again.
  wire::reply_slot copy;
  wire::write_failure(copy, slot.ticket, *failure);
  const auto again = wire::read_failure(copy);
  if (!again || again->to_string() != failure->to_string()) std::abort();
  return 0;
}
