// Bytes that claim to be a request: whatever is taken for good lies within the memory it may use,
// is validated and printed without touching that memory, and is written back as the same bytes.
#include "os/shared_memory.hpp"
#include "request/built_in_requests.hpp"
#include "request/description_text.hpp"
#include "wire/codec.hpp"
#include "worker/intake/job.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

using namespace troupe;

constexpr std::size_t space_bytes = 1 << 16;

/// Says of each tensor what it was decoded from.
class same_places final : public wire::operand_source {
 public:
  explicit same_places(const std::vector<wire::operand>& operands) : operands_(operands) {}
  result<place> locate(std::string_view, any_tensor&, troupe::access role) override {
    if (next_ == operands_.size() || operands_[next_].role != role) std::abort();
    const wire::operand& o = operands_[next_++];
    return place{.buffer = o.buffer, .space = o.space, .offset = o.begin};
  }

 private:
  const std::vector<wire::operand>& operands_;
  std::size_t next_ = 0;
};

// Address space without memory: a look at it ends the fuzzer.
const wire::address_ranges& ranges() {
  static const os::mapping spaces[2] = {os::reserve(nullptr, space_bytes).value(),
                                        os::reserve(nullptr, space_bytes).value()};
  static const wire::address_ranges both{wire::address_range{spaces[0].address(), space_bytes},
                                         wire::address_range{spaces[1].address(), space_bytes}};
  return both;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto types = built_in_requests();
  const request_type& type = *types[data[0] % types.size()];
  const auto bytes = std::as_bytes(std::span(data, size)).subspan(1);
  worker::request_room room;
  void* request = room.emplace(type);
  std::vector<wire::operand> operands;
  if (!wire::decode(type, request, bytes, ranges(), operands)) return 0;

  for (const wire::operand& o : operands) {
    if (o.begin > o.end || o.end > space_bytes) std::abort();
  }
  // What it says does not matter; that it comes back does.
  (void)type.validate(request);
  (void)print(type, request);
  same_places source(operands);
  std::vector<std::byte> again(bytes.size());
  auto used = wire::encode(type, request, again, source);
  if (!used || *used != bytes.size() || !std::ranges::equal(again, bytes)) std::abort();
  return 0;
}
