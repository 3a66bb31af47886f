#include <troupe/core/block_pool.hpp>

#include <array>
#include <mutex>
#include <new>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#define TROUPE_POOL_BYPASSED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TROUPE_POOL_BYPASSED 1
#endif
#endif

namespace troupe::detail {
namespace {

constexpr std::align_val_t block_alignment{block_pool::smallest_bytes};
// Per size class: filling and emptying a mailbox of the default capacity stays within it.
constexpr std::size_t depot_bytes = std::size_t{8} << 20U;

#ifdef TROUPE_POOL_BYPASSED
// A recycled block would hide a use after free from AddressSanitizer.
constexpr bool bypassed = true;
#else
constexpr bool bypassed = false;
#endif

void* take_from_system(std::size_t size_class) {
  return ::operator new(block_pool::smallest_bytes << size_class, block_alignment);
}

void give_to_system(void* block) noexcept { ::operator delete(block, block_alignment); }

// Pointers rather than a chain through the blocks: a block that another thread freed is in that
// thread's cache, and following a chain would wait for each in turn.
struct magazine {
  std::array<void*, block_pool::magazine_blocks> blocks;
  std::size_t count = 0;
  magazine* next = nullptr;

  [[nodiscard]] bool full() const noexcept { return count == blocks.size(); }

  void push(void* block) noexcept { blocks[count++] = block; }

  void* pop() noexcept {
    // The caller will write to the block, and soon to the next ones.
    constexpr std::size_t ahead = 6;
    if (count > ahead) __builtin_prefetch(blocks[count - 1 - ahead], 1);
    return blocks[--count];
  }

  void drain() noexcept {
    while (count > 0)
      give_to_system(blocks[--count]);
  }
};

// Full magazines of one size class, shared by all threads under the lock.
class depot {
 public:
  /// A full magazine for an empty one; returns the empty one if there is none.
  magazine* exchange_for_full(magazine* empty) noexcept {
    const std::lock_guard lock(mutex_);
    if (full_ == nullptr) return empty;
    empty->next = empty_;
    empty_ = empty;
    --count_;
    return std::exchange(full_, full_->next);
  }

  /// An empty magazine for a full one; returns the full one if the depot is full.
  magazine* exchange_for_empty(magazine* filled, std::size_t size_class) noexcept {
    const std::lock_guard lock(mutex_);
    const std::size_t magazine_bytes =
        block_pool::magazine_blocks * (block_pool::smallest_bytes << size_class);
    if (count_ * magazine_bytes >= depot_bytes) return filled;
    filled->next = full_;
    full_ = filled;
    ++count_;
    // Without memory for bookkeeping the program ends, as with any allocation here.
    // NOLINTNEXTLINE(bugprone-unhandled-exception-at-new)
    if (empty_ == nullptr) return new magazine;
    return std::exchange(empty_, empty_->next);
  }

 private:
  std::mutex mutex_;
  std::size_t count_ = 0;
  magazine* full_ = nullptr;
  magazine* empty_ = nullptr;
};

// Never destroyed: blocks are still given back while a process exits.
std::array<depot, block_pool::class_count>& depots() {
  static auto& all = *new std::array<depot, block_pool::class_count>;
  return all;
}

// `spare` is either empty or full, so a thread that alternates around a boundary stays off the
// depot.
struct class_magazines {
  magazine* loaded = nullptr;
  magazine* spare = nullptr;
};

using thread_magazines = std::array<class_magazines, block_pool::class_count>;

void hand_in(thread_magazines& all) noexcept {
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (magazine* m : {all[i].loaded, all[i].spare}) {
      if (m->full()) m = depots()[i].exchange_for_empty(m, i);
      m->drain();
      delete m;
    }
  }
}

// The fast path reads one trivially destructible pointer. It is null before a thread's first use
// and again after its magazines were handed in, when late frees go straight to the system.
constinit thread_local thread_magazines* current = nullptr;
constinit thread_local bool closed = false;

struct thread_owner {
  thread_magazines magazines{};
  thread_owner() {
    for (class_magazines& m : magazines)
      m = {new magazine, new magazine};
    current = &magazines;
  }
  thread_owner(const thread_owner&) = delete;
  thread_owner& operator=(const thread_owner&) = delete;
  ~thread_owner() {
    current = nullptr;
    closed = true;
    hand_in(magazines);
  }
};

thread_magazines* open_thread() noexcept {
  if (closed || bypassed) return nullptr;
  thread_local thread_owner owner;
  return &owner.magazines;
}

}  // namespace

void* block_pool::take(std::size_t size_class) {
  thread_magazines* mine = current;
  if (mine == nullptr) [[unlikely]] {
    mine = open_thread();
    if (mine == nullptr) return take_from_system(size_class);
  }
  class_magazines& m = (*mine)[size_class];
  if (m.loaded->count == 0) [[unlikely]] {
    std::swap(m.loaded, m.spare);
    if (m.loaded->count == 0) m.loaded = depots()[size_class].exchange_for_full(m.loaded);
    if (m.loaded->count == 0) return take_from_system(size_class);
  }
  return m.loaded->pop();
}

void block_pool::give(void* block, std::size_t size_class) noexcept {
  thread_magazines* mine = current;
  if (mine == nullptr) [[unlikely]] {
    mine = open_thread();
    if (mine == nullptr) return give_to_system(block);
  }
  class_magazines& m = (*mine)[size_class];
  if (m.loaded->full()) [[unlikely]] {
    if (m.spare->full()) m.spare = depots()[size_class].exchange_for_empty(m.spare, size_class);
    if (m.spare->full()) m.spare->drain();
    std::swap(m.loaded, m.spare);
  }
  m.loaded->push(block);
}

}  // namespace troupe::detail
