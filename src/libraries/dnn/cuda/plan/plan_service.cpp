#include "libraries/dnn/cuda/plan/plan_service.hpp"

#include "backend/cuda/context/failure.hpp"
#include "backend/cuda/context/per_context.hpp"
#include "libraries/dnn/cuda/plan/graph_builder.hpp"
#include "libraries/dnn/cuda/plan/graph_fingerprint.hpp"
#include "libraries/dnn/cuda/plan/measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>
#include <utility>

namespace troupe::cuda {
namespace {

using namespace std::chrono_literals;

// Give up on a plan after this time.
constexpr auto longest_build = 120s;
// The longest wait for news of kept blobs, so that the thread stops or turns to other blobs soon.
constexpr auto between_looks = 100ms;

std::int64_t now_ns() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// Identifies the machine and versions for which a plan's bytes are valid.
result<std::string> identity_of_machine() {
  int device = 0;
  int driver = 0;
  cudaDeviceProp properties{};
  TRY(check(cudaGetDevice(&device), "cudaGetDevice"));
  TRY(check(cudaDriverGetVersion(&driver), "cudaDriverGetVersion"));
  TRY(check(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties"));
  return fmt::format(
      "dnn plan 1, cudnn {}, frontend {}, driver {}, {} with {} multiprocessors, "
      "sm_{}{}\n",
      cudnnGetVersion(), graphs::frontend_version(), driver, properties.name,
      properties.multiProcessorCount, properties.major, properties.minor);
}

/// The services of this process, by device. Their threads end with this object, before anything
/// that they use is destroyed.
struct all_services : per_context<plan_service, int> {
  ~all_services() {
    visit([](plan_service& one) { one.stop(); });
  }
};

}  // namespace

std::size_t plan_words_hash::operator()(const plan_words& words) const noexcept {
  constexpr std::uint64_t odd = 0x9e3779b97f4a7c15;  // the golden ratio spreads low bits
  std::uint64_t mixed = words.size();
  for (const std::int64_t word : words)
    mixed = std::rotl(mixed * odd, 29) ^ static_cast<std::uint64_t>(word);
  return mixed * odd;
}

result<plan_service*> plan_service::of_current_context() {
  static all_services services;
  int device = 0;
  TRY(check(cudaGetDevice(&device), "cudaGetDevice"));
  return services.of(device, [device]() -> result<std::unique_ptr<plan_service>> {
    std::string identity = TRY(identity_of_machine());
    return std::unique_ptr<plan_service>(new plan_service(device, std::move(identity)));
  });
}

plan_service::plan_service(int device, std::string identity)
    : device_(device), identity_(std::move(identity)) {
  const unsigned processors = std::thread::hardware_concurrency();
  const unsigned builders = std::clamp(processors / 4, 1U, 4U);
  for (unsigned i = 0; i < builders; ++i)
    threads_.emplace_back([this](const std::stop_token& stop) { work(stop); });
}

plan_service::~plan_service() { stop(); }

void plan_service::stop() noexcept {
  std::vector<std::jthread> threads;
  {
    const std::lock_guard lock(mutex_);
    threads.swap(threads_);
  }
  for (std::jthread& one : threads)
    one.request_stop();
  threads.clear();
}

std::shared_ptr<plan_entry> plan_service::look(const plan_words& key) {
  const std::lock_guard lock(mutex_);
  const std::shared_ptr<plan_entry>* const found = plans_.find(key);
  return found == nullptr ? nullptr : *found;
}

std::shared_ptr<plan_entry> plan_service::start(const plan_words& key,
                                                std::vector<graphs::description> graphs,
                                                std::shared_ptr<kept_blobs> blobs) {
  std::shared_ptr<plan_entry> entry;
  {
    const std::lock_guard lock(mutex_);
    if (const auto* const found = plans_.find(key)) return *found;
    entry = plans_.add(key, std::make_shared<plan_entry>());
    asked_.push_back({.key = key,
                      .entry = entry,
                      .graphs = std::move(graphs),
                      .blobs = std::move(blobs),
                      .image = {},
                      .owner = work_owner::of_this_thread()});
    ++counts_.pending;
  }
  work_there_.notify_one();
  return entry;
}

bool plan_service::is_decided(const plan_entry& entry) noexcept {
  if (entry.now.load(std::memory_order_acquire) != plan_entry::state::pending) return true;
  const std::int64_t begun = entry.begun_ns.load(std::memory_order_relaxed);
  return begun != 0 && now_ns() - begun > std::chrono::nanoseconds(longest_build).count();
}

result<std::shared_ptr<compiled_plan>> plan_service::wait(const plan_words& key,
                                                          const plan_entry& entry) {
  using enum plan_entry::state;
  if (entry.now.load(std::memory_order_acquire) == ready) return entry.plan;
  std::unique_lock lock(mutex_);
  while (!is_decided(entry))
    decided_.wait_for(lock, 1s);
  switch (entry.now.load(std::memory_order_acquire)) {
    case ready:
      return entry.plan;
    case failed:
      // Only `unsupported` is final. Memory may be available the next time.
      if (entry.failure.code != errc::unsupported) plans_.erase(key);
      return entry.failure;
    case pending:
      break;
  }
  return error{.code = errc::library_error,
               .message = fmt::format("cuDNN has not made a plan within {} s", longest_build / 1s),
               .library = "cudnn"};
}

void plan_service::load_ahead(std::shared_ptr<kept_blobs> blobs) {
  if (!blobs) return;
  const std::lock_guard lock(mutex_);
  if (watched_ == blobs) return;
  const bool first = !watched_;
  watched_ = blobs;
  if (!first) return;  // an earlier worker of this process has one: its thread looks here
  threads_.emplace_back([this](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      std::shared_ptr<kept_blobs> now;
      {
        const std::lock_guard held(mutex_);
        now = watched_;
      }
      watch(stop, now);
    }
  });
}

plan_counts plan_service::counts() {
  const std::lock_guard lock(mutex_);
  plan_counts now = counts_;
  now.kept = static_cast<std::int64_t>(plans_.size());
  return now;
}

// Runs until it is told to watch other blobs.
void plan_service::watch(const std::stop_token& stop, const std::shared_ptr<kept_blobs>& blobs) {
  std::vector<bool> seen(blobs->places());
  for (;;) {
    const std::uint32_t news = blobs->news();
    for (std::size_t place = 0; place < seen.size() && !stop.stop_requested(); ++place) {
      if (seen[place]) continue;
      auto found = blobs->at(place);
      if (!found) continue;
      seen[place] = true;
      take_ahead(*std::move(found), blobs);
    }
    while (blobs->news() == news) {
      blobs->await_news(news, between_looks);
      const std::lock_guard lock(mutex_);
      if (stop.stop_requested() || watched_ != blobs) return;
    }
  }
}

void plan_service::take_ahead(kept_blobs::blob found, const std::shared_ptr<kept_blobs>& blobs) {
  const std::span name = std::as_bytes(std::span(identity_));
  if (found.key.size() <= name.size() ||
      !std::ranges::equal(name, std::span(found.key).first(name.size())) ||
      (found.key.size() - name.size()) % sizeof(std::int64_t) != 0) {
    return;  // for another library or another machine
  }
  plan_words key((found.key.size() - name.size()) / sizeof(std::int64_t));
  std::memcpy(key.data(), found.key.data() + name.size(), found.key.size() - name.size());
  {
    const std::lock_guard lock(mutex_);
    if (plans_.size() >= most_plans || plans_.find(key) != nullptr) return;
    auto entry = plans_.add(key, std::make_shared<plan_entry>());
    entry->only_loaded = true;
    entry->compared = false;
    ahead_.push_back({.key = std::move(key),
                      .entry = std::move(entry),
                      .graphs = {},
                      .blobs = blobs,
                      .image = std::move(found.content),
                      .owner = {}});
    ++counts_.pending;
  }
  work_there_.notify_one();
}

void plan_service::work(const std::stop_token& stop) {
  (void)cudaSetDevice(device_);  // the primary context, which is the worker's
  // Made with the first plan. It is never destroyed, like everything of the context.
  std::shared_ptr<cudnn_handle> library;
  for (;;) {
    job j;
    {
      std::unique_lock lock(mutex_);
      if (!work_there_.wait(lock, stop, [this] { return !asked_.empty() || !ahead_.empty(); }))
        break;
      std::deque<job>& from = asked_.empty() ? ahead_ : asked_;
      j = std::move(from.front());
      from.pop_front();
    }
    {
      std::vector<std::unique_ptr<compiled_plan>> dropped;
      {
        const std::lock_guard lock(dropped_mutex_);
        dropped.swap(dropped_);
      }
    }
    j.entry->begun_ns.store(now_ns(), std::memory_order_relaxed);
    result<std::shared_ptr<compiled_plan>> outcome = std::shared_ptr<compiled_plan>();
    try {
      const works_for owner(j.owner);
      if (!library) {
        auto made = cudnn_handle::make();
        if (made) {
          library = std::make_shared<cudnn_handle>(*std::move(made));
        } else {
          outcome = std::move(made).error();
        }
      }
      if (library) outcome = make(library->get(), j);
    } catch (const std::exception& thrown) {
      outcome = error{.code = errc::library_error, .message = thrown.what(), .library = "cudnn"};
    }
    finish(j, std::move(outcome));
  }
  // At process exit the driver may be unloaded already.
  static std::vector<std::shared_ptr<cudnn_handle>>& left_behind =
      *new std::vector<std::shared_ptr<cudnn_handle>>;  // NOLINT(cppcoreguidelines-owning-memory)
  const std::lock_guard lock(mutex_);
  if (library) left_behind.push_back(std::move(library));
}

std::shared_ptr<compiled_plan> plan_service::share(std::unique_ptr<compiled_plan> plan) {
  return {plan.release(), [this](compiled_plan* unused) {
            std::unique_ptr<compiled_plan> dropped(unused);
            const std::lock_guard lock(dropped_mutex_);
            dropped_.push_back(std::move(dropped));
          }};
}

bool plan_service::compare(const plan_words& key, const std::shared_ptr<plan_entry>& entry,
                           std::span<const graphs::description> graphs,
                           const std::shared_ptr<kept_blobs>& blobs) {
  if (fits(*entry->plan, graphs)) return entry->compared = true;
  if (blobs) blobs->end_loading(name_of(key), false);
  const std::lock_guard lock(mutex_);
  ++counts_.damaged;
  const auto* const found = plans_.find(key);
  if (found != nullptr && *found == entry) plans_.erase(key);
  return false;
}

std::shared_ptr<compiled_plan> plan_service::restore(cudnnHandle_t library, const job& j,
                                                     std::span<const std::byte> name,
                                                     std::span<const std::byte> bytes) {
  if (!j.blobs->begin_loading(name, bytes)) return nullptr;
  std::shared_ptr<compiled_plan> plan;
  bool keep = false;
  if (auto image = plan_image::from_bytes(bytes)) {
    auto loaded = compiled_plan::load(library, *std::move(image));
    keep = !loaded && loaded.error().code == errc::out_of_memory;
    if (loaded && (j.graphs.empty() || fits(**loaded, j.graphs))) plan = share(*std::move(loaded));
  }
  if (plan && j.graphs.empty()) plan->load_code(library);
  j.blobs->end_loading(name, plan || keep);
  if (plan) return plan;
  const std::lock_guard lock(mutex_);
  ++counts_.damaged;
  return nullptr;
}

result<std::shared_ptr<compiled_plan>> plan_service::make(cudnnHandle_t library, const job& j) {
  const std::vector<std::byte> name = name_of(j.key);
  if (j.graphs.empty()) {
    if (auto plan = restore(library, j, name, j.image)) {
      const std::lock_guard lock(mutex_);
      ++counts_.ahead;
      return plan;
    }
    return error{.code = errc::library_error,
                 .message = "the saved plan is damaged or of another version"};
  }
  if (j.blobs) {
    if (const auto bytes = j.blobs->find(name)) {
      if (auto plan = restore(library, j, name, *bytes)) {
        const std::lock_guard lock(mutex_);
        ++counts_.restored;
        return plan;
      }
    }
  }
  error why;
  for (std::size_t i = 0; i < j.graphs.size(); ++i) {
    auto images = graphs::build(library, j.graphs[i]);
    if (!images) {
      why = std::move(images).error();
      if (why.code != errc::unsupported) break;
      continue;
    }
    for (plan_image& one : *images) {
      one.alternative = static_cast<std::int64_t>(i);
      one.graph = graphs::fingerprint(j.graphs[i]);
    }
    auto chosen = fastest_of(library, j.graphs[i], *std::move(images));
    if (!chosen) {
      why = std::move(chosen).error();
      continue;
    }
    if (j.blobs) (void)j.blobs->publish(name, chosen->bytes);
    const std::lock_guard lock(mutex_);
    ++counts_.built;
    return share(std::move(chosen->plan));
  }
  if (why.code == errc::unsupported) {
    why.message = fmt::format("not offered: cuDNN {}: {}", cudnnGetVersion(), why.message);
  }
  const std::lock_guard lock(mutex_);
  ++counts_.failed;
  return why;
}

void plan_service::finish(const job& j, result<std::shared_ptr<compiled_plan>> outcome) {
  {
    const std::lock_guard lock(mutex_);
    --counts_.pending;
    if (outcome) {
      j.entry->plan = *std::move(outcome);
    } else {
      j.entry->failure = std::move(outcome).error();
      // A request that asks for the plan will build it.
      if (j.graphs.empty()) plans_.erase(j.key);
    }
    j.entry->now.store(j.entry->plan ? plan_entry::state::ready : plan_entry::state::failed,
                       std::memory_order_release);
  }
  decided_.notify_all();
}

std::vector<std::byte> plan_service::name_of(const plan_words& key) const {
  const std::span name = std::as_bytes(std::span(identity_));
  const std::span words = std::as_bytes(std::span(key));
  std::vector<std::byte> both(name.begin(), name.end());
  both.insert(both.end(), words.begin(), words.end());
  return both;
}

}  // namespace troupe::cuda
