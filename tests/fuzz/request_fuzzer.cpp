// Bytes that claim to be a request: an accepted one lies within the memory it may use, is validated
// and printed without touching that memory, and is written back as the same bytes. Some inputs are
// drawn from the descriptions, valid and spoiled, so that every field is reached.
#include "os/shared_memory.hpp"
#include "random_requests.hpp"
#include "request/built_in_requests.hpp"
#include "request/description/text.hpp"
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
  result<place> locate(std::string_view, const any_tensor&, troupe::access role) override {
    if (next_ == operands_.size() || operands_[next_].role != role) std::abort();
    const wire::operand& o = operands_[next_++];
    return place{.buffer = o.buffer, .pool = o.pool, .offset = o.begin};
  }

 private:
  const std::vector<wire::operand>& operands_;
  std::size_t next_ = 0;
};

/// Each at the start of its space: drawn tensors are small.
class at_the_start final : public wire::operand_source {
 public:
  result<place> locate(std::string_view, const any_tensor& t, troupe::access) override {
    return place{.buffer = 1, .pool = wire::own_pool(t.space()), .offset = 0};
  }
};

// Address space without memory: a look at it ends the fuzzer.
const wire::address_ranges& ranges() {
  static const os::mapping spaces[3] = {os::reserve(nullptr, space_bytes).value(),
                                        os::reserve(nullptr, space_bytes).value(),
                                        os::reserve(nullptr, space_bytes).value()};
  // The device's, the host's and that of one peer.
  static const wire::address_ranges all{wire::address_range{spaces[0].address(), space_bytes},
                                        wire::address_range{spaces[1].address(), space_bytes},
                                        wire::address_range{spaces[2].address(), space_bytes}};
  return all;
}

}  // namespace

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned int seed) {
  testing_requests::random_requests draw(seed);
  auto& random = draw.generator();
  if (random() % 4 != 0 || most < 2) return LLVMFuzzerMutate(data, size, most);
  const auto types = built_in_requests();
  const std::size_t which = random() % types.size();
  worker::request_storage room;
  void* request = room.emplace(*types[which]);
  draw.fill(*types[which], request);
  for (auto wrong = random() % 3; wrong > 0; --wrong)
    draw.spoil(*types[which], request);
  at_the_start source;
  const auto bytes = std::as_writable_bytes(std::span(data, most)).subspan(1);
  const auto used = wire::encode(*types[which], request, bytes, source);
  if (!used || *used > bytes.size()) return LLVMFuzzerMutate(data, size, most);
  data[0] = static_cast<std::uint8_t>(which);
  return *used + 1;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto types = built_in_requests();
  const request_type& type = *types[data[0] % types.size()];
  const auto bytes = std::as_bytes(std::span(data, size)).subspan(1);
  worker::request_storage room;
  void* request = room.emplace(type);
  std::vector<wire::operand> operands;
  if (!wire::decode(type, request, bytes, ranges(), operands)) return 0;

  for (const wire::operand& o : operands) {
    if (o.pool > wire::first_peer_pool || o.begin > o.end || o.end > space_bytes) std::abort();
  }
  // The outcome does not matter, only that it returns.
  (void)type.validate(request);
  (void)print(type, request);
  same_places source(operands);
  std::vector<std::byte> again(bytes.size());
  auto used = wire::encode(type, request, again, source);
  if (!used || *used != bytes.size() || !std::ranges::equal(again, bytes)) std::abort();
  return 0;
}
