#include "worker/intake/decoded_requests.hpp"

#include "wire/byte_ranges.hpp"
#include "wire/hash.hpp"
#include "worker/graphs/graph_book.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace troupe::worker {
namespace {

// A request that touches more than this occupies its thread for so long (some 10 µs) that another
// thread should read the mailbox meanwhile.
constexpr std::uint64_t large_bytes = 65'536;

// More buffers than any program has; bounds the memory that a hostile number can make the hazards
// allocate.
constexpr std::uint32_t max_buffers = 1u << 22;

// Smaller requests are decoded as fast as they are recognised; larger ones are not worth the space.
// A graph of some hundred tensors is not larger.
constexpr std::size_t least_bytes = 64;
constexpr std::size_t most_bytes = 32'768;
constexpr std::size_t most_kept_bytes = std::size_t{2} << 20;

std::vector<wire::byte_range> all_that(std::span<const wire::operand> operands, access role) {
  std::vector<wire::byte_range> ranges;
  for (const wire::operand& o : operands) {
    if (o.role == role) ranges.push_back({o.buffer_key(), o.begin, o.end});
  }
  wire::join(ranges);
  return ranges;
}

// Nothing on this device writes a peer's memory. Apart, because hardly any request has one.
[[gnu::noinline, gnu::cold]] void forget_peers(std::vector<wire::operand>& operands) {
  std::erase_if(operands, [](const wire::operand& o) { return o.pool >= wire::first_peer_pool; });
}

bool is_repeatable(std::span<const wire::operand> operands) {
  if (operands.size() > wire::few_operands) [[unlikely]] {
    return all_that(operands, access::update).empty() &&
           !wire::meet(all_that(operands, access::read), all_that(operands, access::write));
  }
  return std::ranges::none_of(operands, [&](const wire::operand& written) {
    if (written.role == access::read || written.begin == written.end) return false;
    return written.role == access::update ||
           std::ranges::any_of(operands, [&](const wire::operand& read) {
             return read.role == access::read && read.buffer_key() == written.buffer_key() &&
                    read.begin < written.end && written.begin < read.end;
           });
  });
}

// Then what it reads of what it writes does not matter.
bool overwrites_first(const operation& what, std::span<const wire::operand> operands) {
  return graph::overwrites_first(*what.type) &&
         std::ranges::none_of(operands,
                              [](const wire::operand& o) { return o.role == access::update; });
}

// The effort of a graph is that of its requests. Asked only of graphs that come again.
bool is_short_graph(const operation& what, const decoded_request& one) {
  if (what.type->id != request_type_of<graph::run>().id) return false;
  std::uint64_t touched = 0;
  for (const wire::operand& o : one.operands)
    touched += o.end - o.begin;
  return touched <= large_bytes &&
         static_cast<graph_book*>(what.executor)
             ->is_short(*static_cast<const graph::run*>(one.request.get()));
}

}  // namespace

result<void> decoded_request::decode(const operation& what, std::span<const std::byte> bytes,
                                     const wire::address_ranges& ranges) {
  void* const r = request.emplace(*what.type);
  auto decoded = wire::decode(*what.type, r, bytes, ranges, operands);
  if (decoded) decoded = what.type->validate(r);
  std::uint64_t touched = 0;
  unsigned pools = 0;  // all numbers together; those of the device's own are one bit
  static_assert(wire::first_peer_pool == 2);
  for (const wire::operand& o : operands) {
    touched += o.end - o.begin;
    pools |= o.pool;
    if (decoded && o.buffer >= max_buffers) {
      decoded = error{.code = errc::protocol_violation,
                      .message = fmt::format("buffer number {}", o.buffer)};
    }
  }
  if (!decoded) {
    clear();
    return decoded;
  }
  if (pools >= wire::first_peer_pool) [[unlikely]]
    forget_peers(operands);
  large = what.effort != effort::by_size || touched > large_bytes;
  repeatable = is_repeatable(operands) || overwrites_first(what, operands);
  return {};
}

bool decoded_requests::entry::is(const operation& what,
                                 std::span<const std::byte> bytes) const noexcept {
  return operation_ == &what && bytes_.size() == bytes.size() &&
         std::memcmp(bytes_.data(), bytes.data(), bytes.size()) == 0;
}

decoded_requests::entry* decoded_requests::find(const operation& what,
                                                std::span<const std::byte> bytes,
                                                const wire::address_ranges& ranges) {
  if (bytes.size() < least_bytes || bytes.size() > most_bytes) return nullptr;
  entry* found = last_ != nullptr ? last_->next_ : nullptr;
  if (found == nullptr || !found->is(what, bytes)) {
    found = look_up(what, bytes, ranges);
    if (last_ != nullptr && found != nullptr) last_->next_ = found;
  }
  last_ = found;
  if (found != nullptr) found->users_.fetch_add(1, std::memory_order_relaxed);
  return found;
}

bool decoded_requests::came_before(std::uint64_t hash) noexcept {
  std::uint64_t& one = seen_[hash % seen_.size()];
  std::uint64_t& other = seen_[(hash >> 32) % seen_.size()];
  if (one == hash || other == hash) return true;
  (toss() ? one : other) = hash;
  return false;
}

decoded_requests::entry* decoded_requests::look_up(const operation& what,
                                                   std::span<const std::byte> bytes,
                                                   const wire::address_ranges& ranges) {
  const std::uint64_t hash = wire::hash_of(bytes);
  std::unique_ptr<entry>& one = entries_[hash % capacity];
  std::unique_ptr<entry>& other = entries_[(hash >> 32) % capacity];
  for (entry* kept : {one.get(), other.get()}) {
    if (kept != nullptr && kept->hash_ == hash && kept->is(what, bytes)) return kept;
  }
  if (!came_before(hash)) return nullptr;
  const bool first = !one || (other && toss());
  std::unique_ptr<entry>& place = first ? one : other;
  if (!place) place = std::make_unique<entry>();
  // Acquire: the last user has finished reading the entry.
  if (place->users_.load(std::memory_order_acquire) != 0) return nullptr;
  const std::size_t kept = kept_bytes_ - place->bytes_.size() + bytes.size();
  if (kept > most_kept_bytes) return nullptr;
  place->operation_ = nullptr;
  if (!place->decoded_.decode(what, bytes, ranges)) return nullptr;  // the caller finds out why
  if (place->decoded_.large && is_short_graph(what, place->decoded_)) place->decoded_.large = false;
  place->operation_ = &what;
  place->hash_ = hash;
  place->bytes_.assign(bytes.begin(), bytes.end());
  kept_bytes_ = kept;
  return place.get();
}

}  // namespace troupe::worker
