#include "libraries/collective/shared/nccl/communicators.hpp"

#include "wire/world_bells.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <utility>

namespace troupe::collective::nccl {
namespace {

using namespace std::chrono_literals;

wire::world_page& page_of(const world_part& part) noexcept {
  return *reinterpret_cast<wire::world_page*>(part.page.address());
}

}  // namespace

connection::use::use(std::shared_ptr<connection> of) noexcept : of_(std::move(of)) {
  if (!of_ || of_->is_broken()) return;
  const std::lock_guard lock(of_->mutex_);
  comm_ = of_->comm_;
  if (comm_ != nullptr) ++of_->users_;
}

connection::use::~use() {
  if (!of_ || comm_ == nullptr) return;
  const std::lock_guard lock(of_->mutex_);
  --of_->users_;
}

bool connection::is_broken() const noexcept { return wire::is_broken(page_, number_); }

void connection::fail(std::string_view why) noexcept {
  wire::world_page::nccl_rank& words = mine();
  if (words.failed.load(std::memory_order_relaxed) < number_) {
    const std::size_t length = std::min(why.size(), sizeof(words.why) - 1);
    std::memcpy(words.why, why.data(), length);
    words.why[length] = '\0';
    words.failed.store(number_, std::memory_order_release);
  }
  wire::break_connection(page_, number_);
}

// Sleeps until someone rings, or for so long.
void connection::pause(std::chrono::milliseconds longest) noexcept {
  wire::world_page::bell& bell = page_.bells[static_cast<std::size_t>(rank_)];
  const std::uint32_t seen = bell.rung.load(std::memory_order_acquire);
  bell.asleep.store(1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (is_broken()) return;
  os::futex_wait(bell.rung, seen, std::chrono::steady_clock::now() + longest,
                 os::sharing::processes);
}

void connection::serve(void (*attach)()) {
  if (attach != nullptr) attach();
  if (make()) watch();
  end();
}

bool connection::make() {
  unique_id id{};
  if (!take_id(id) || !wait_for_all()) return false;
  communicator made = nullptr;
  const int code = nccl_.init_rank(&made, ranks_, id, rank_);
  if (code != success) {
    fail("ncclCommInitRank: " + std::string(nccl_.text_of(code)));
    return false;
  }
  {
    const std::lock_guard lock(mutex_);
    comm_ = made;
  }
  mine().connected.store(number_, std::memory_order_release);
  return true;
}

bool connection::take_id(unique_id& id) {
  static_assert(sizeof(id) == sizeof(page_.id));
  if (rank_ == 0) {
    if (const int code = nccl_.get_id(&id); code != success) {
      fail("ncclGetUniqueId: " + std::string(nccl_.text_of(code)));
      return false;
    }
    page_.id_of.store(0, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
    std::memcpy(page_.id, &id, sizeof(id));
    page_.id_of.store(number_, std::memory_order_release);
    for (int peer = 0; peer < ranks_; ++peer)
      wire::ring(page_.bells[peer]);
    return true;
  }
  for (; !is_broken(); pause(5ms)) {
    const std::uint64_t of = page_.id_of.load(std::memory_order_acquire);
    if (of > number_) return false;  // that of a later connection
    if (of < number_) continue;
    std::memcpy(&id, page_.id, sizeof(id));
    std::atomic_thread_fence(std::memory_order_acquire);
    if (page_.id_of.load(std::memory_order_relaxed) == number_) return true;
  }
  return false;
}

// A rank whose worker was lost would never come, and NCCL would wait for it for ever.
bool connection::wait_for_all() {
  mine().arrived.store(number_, std::memory_order_release);
  for (int peer = 0; peer < ranks_; ++peer)
    wire::ring(page_.bells[peer]);
  for (; !is_broken(); pause(5ms)) {
    const auto has_come = [&](const wire::world_page::nccl_rank& one) {
      return one.arrived.load(std::memory_order_acquire) >= number_;
    };
    if (std::all_of(page_.nccl, page_.nccl + ranks_, has_come)) return true;
  }
  return false;
}

void connection::watch() {
  for (; !is_broken(); pause(20ms)) {
    int state = success;
    const int code = nccl_.async_error(comm_, &state);
    constexpr int in_progress = 7;
    if (code == success && (state == success || state == in_progress)) continue;
    fail("NCCL: " + std::string(nccl_.text_of(code == success ? state : code)));
  }
}

void connection::end() {
  communicator last = nullptr;
  for (int waits = 0; waits < 100; ++waits) {
    {
      const std::lock_guard lock(mutex_);
      if (comm_ != nullptr) last = std::exchange(comm_, nullptr);
      if (users_ == 0) break;
    }
    std::this_thread::sleep_for(1ms);  // a call that waits for a lost peer ends by the abort alone
  }
  if (last != nullptr) (void)nccl_.abort(last);
}

connections& connections::of_this_process() {
  static auto* const all = new connections;
  return *all;
}

void connections::begin(const functions& nccl, const world_part& part, std::uint64_t number,
                        void (*attach)()) {
  wire::world_page& page = page_of(part);
  const std::lock_guard lock(mutex_);
  std::erase_if(all_, [](const auto& one) { return one->is_broken(); });
  const auto is_it = [&](const auto& one) { return one->is(page, number); };
  if (wire::is_broken(page, number) || std::ranges::any_of(all_, is_it)) return;
  auto made =
      std::make_shared<connection>(nccl, page, static_cast<int>(part.rank), part.ranks(), number);
  all_.push_back(made);
  std::thread([made, attach] { made->serve(attach); }).detach();
}

connection::use connections::find(const world_part& part) {
  wire::world_page& page = page_of(part);
  const auto number = static_cast<std::uint64_t>(part.connection);
  const std::lock_guard lock(mutex_);
  const auto found =
      std::ranges::find_if(all_, [&](const auto& one) { return one->is(page, number); });
  if (found != all_.end()) return connection::use(*found);
  if (!wire::is_broken(page, number)) wire::break_connection(page, number);
  return connection::use(nullptr);
}

}  // namespace troupe::collective::nccl
