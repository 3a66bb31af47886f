#include "jit/client/compiler_process.hpp"
#include "jit/client/disk_cache.hpp"
#include "jit/client/memory_cache.hpp"
#include "jit/client/plan.hpp"
#include "os/cache/content_folder.hpp"
#include "os/event.hpp"
#include "os/thread.hpp"

#include <troupe/device/device.hpp>
#include <troupe/jit/compiler.hpp>

#include <fmt/format.h>
#include <sys/eventfd.h>

#include <charconv>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>

namespace troupe::jit {
namespace {

result<disk_cache> open_disk_cache(const compiler_config& config) {
  if (!config.disk_cache) {
    return error{.code = errc::unsupported, .message = "compiler_config::disk_cache is off"};
  }
  const std::string folder =
      config.cache_folder.empty() ? os::cache_folder("kernels") : config.cache_folder;
  if (folder.empty()) {
    return error{.code = errc::unsupported,
                 .message =
                     "neither XDG_CACHE_HOME nor HOME says where a cache may be; set "
                     "compiler_config::cache_folder"};
  }
  return disk_cache::open(folder, config.disk_cache_bytes);
}

// The program may change its folder before they are used. A path without a slash is searched for.
compiler_config with_absolute_paths(compiler_config config) {
  for (std::string* path : {&config.compiler_path, &config.nvrtc_path, &config.nvjitlink_path}) {
    std::error_code failed;
    const auto whole = std::filesystem::absolute(*path, failed);
    if (path->find('/') != std::string::npos && !failed) *path = whole.lexically_normal().string();
  }
  return config;
}

}  // namespace

/// Owned by the compiler, and by its threads: one of them may run the continuation that destroys
/// the compiler. `mutex_` guards the members below it; the disk cache is thread-safe.
class compiler::service : public std::enable_shared_from_this<service> {
 public:
  explicit service(compiler_config config)
      : config_(with_absolute_paths(std::move(config))),
        executable_(compiler_executable(config_)),
        disk_(open_disk_cache(config_)),
        end_(os::create_event()),
        memory_(config_.memory_cache_bytes) {
    config_.processes = std::max(config_.processes, 1);
  }

  service(const service&) = delete;
  service& operator=(const service&) = delete;
  ~service() = default;

  void end() {
    std::vector<std::thread> threads;
    std::deque<task> waiting;
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
      threads.swap(threads_);
      waiting.swap(waiting_);
    }
    // Also wakes threads that wait for the end of a compilation; the event is never reset.
    if (end_) ::eventfd_write(end_->get(), 1);
    work_.notify_all();
    for (std::thread& one : threads) {
      if (one.get_id() == std::this_thread::get_id()) {
        one.detach();
      } else {
        one.join();
      }
    }
    for (task& one : waiting)
      one.answer.set_error({.code = errc::cancelled, .message = "the compiler was destroyed"});
  }

  template <class What>
  future<binary> make(What what) {
    auto planned = plan_for(std::move(what), config_);
    if (!planned) return failed(std::move(planned).error());
    if (!end_) return failed(end_.error());
    if (planned->cacheable) {
      if (auto kept = find(planned->key)) return make_ready_future(*std::move(kept));
    }
    task next{.planned = *std::move(planned), .answer = {}};
    future<binary> answer = next.answer.get_future();
    std::unique_lock lock(mutex_);
    waiting_.push_back(std::move(next));
    if (auto started = start_thread_if_needed(); !started) {
      next = std::move(waiting_.back());
      waiting_.pop_back();
      ++counts_.failed;
      lock.unlock();
      next.answer.set_error(std::move(started).error());
      return answer;
    }
    work_.notify_one();
    return answer;
  }

  [[nodiscard]] compiler_statistics statistics() const {
    const std::lock_guard lock(mutex_);
    return counts_;
  }
  [[nodiscard]] result<void> disk() const {
    return disk_ ? result<void>() : result<void>(disk_.error());
  }

 private:
  struct task {
    plan planned;
    promise<binary> answer;
  };

  // With the lock. Fails if there is no thread at all, and none can be started.
  result<void> start_thread_if_needed() {
    const bool enough =
        idle_ >= waiting_.size() || threads_.size() == static_cast<std::size_t>(config_.processes);
    if (enough) return {};
    try {
      threads_.push_back(
          os::start_thread<std::thread>([self = shared_from_this()] { self->run(); }));
    } catch (const std::system_error& none) {
      if (!threads_.empty()) return {};
      return system_failure("pthread_create", none.code().value(),
                            "a thread that waits for compilations cannot be started");
    }
    return {};
  }

  future<binary> failed(error why) {
    const std::lock_guard lock(mutex_);
    ++counts_.failed;
    return make_failed_future<binary>(std::move(why));
  }

  // In memory, else on disk.
  std::optional<binary> find(const digest& key) {
    {
      const std::lock_guard lock(mutex_);
      if (auto kept = memory_.find(key)) {
        ++counts_.memory_hits;
        kept->from = origin::memory_cache;
        return kept;
      }
    }
    if (!disk_) return std::nullopt;
    const jit::disk_cache::entry entry = disk_->find(key);
    if (entry.what == jit::disk_cache::state::missing) return std::nullopt;
    auto kept = entry.what == jit::disk_cache::state::good ? decode_binary(entry.content)
                                                           : std::optional<binary>();
    const std::lock_guard lock(mutex_);
    if (!kept) {
      ++counts_.damaged_entries;
      return std::nullopt;
    }
    ++counts_.disk_hits;
    memory_.keep(key, *kept);
    kept->from = origin::disk_cache;
    return kept;
  }

  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      ++idle_;
      work_.wait(lock, [this] { return ending_ || !waiting_.empty(); });
      --idle_;
      if (ending_) return;
      task next = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      perform(next);
      lock.lock();
    }
  }

  result<binary> run(const plan& planned) {
    try {
      auto made = run_job(planned.what, config_.limits, executable_, *end_);
      if (made) {
        made->architecture = planned.architecture;
        if (planned.cacheable && disk_) disk_->keep(planned.key, encode(*made));
      }
      return made;
    } catch (...) {  // for example a copy of a large source
      return detail::current_exception_error();
    }
  }

  void perform(task& next) {
    const plan& planned = next.planned;
    // While it waited, another thread may have made the same binary.
    if (planned.cacheable) {
      if (auto kept = find(planned.key)) return next.answer.set_value(*std::move(kept));
    }
    auto made = run(planned);
    {
      const std::lock_guard lock(mutex_);
      ++(made ? counts_.compiled : counts_.failed);
      if (made && planned.cacheable) memory_.keep(planned.key, *made);
    }
    next.answer.set_result(std::move(made));
  }

  compiler_config config_;
  std::string executable_;
  result<jit::disk_cache> disk_;
  result<os::unique_fd> end_;

  mutable std::mutex mutex_;
  std::condition_variable work_;
  memory_cache memory_;
  compiler_statistics counts_;
  std::deque<task> waiting_;
  std::size_t idle_ = 0;
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

compiler::compiler(compiler_config config)
    : service_(std::make_shared<service>(std::move(config))) {}
compiler::~compiler() { service_->end(); }

future<binary> compiler::compile(source what) { return service_->make(std::move(what)); }
future<binary> compiler::link(linkage what) { return service_->make(std::move(what)); }
compiler_statistics compiler::statistics() const { return service_->statistics(); }
result<void> compiler::disk_cache() const { return service_->disk(); }

result<std::string> architecture_of(const device& gpu) {
  const std::string& real = gpu.description().architecture;
  int number = 0;
  constexpr std::string_view before = "sm_";
  const auto read = std::from_chars(real.data() + std::min(before.size(), real.size()),
                                    real.data() + real.size(), number);
  if (read.ec != std::errc()) {
    return error{.code = errc::unsupported,
                 .message = fmt::format("device {} is {}, no GPU: name the architecture to compile "
                                        "for, such as sm_90a",
                                        gpu.ordinal(), gpu.description().name)};
  }
  // From compute capability 9.0 on there is code for exactly one GPU.
  constexpr int with_own_code = 90;
  return number >= with_own_code ? real + "a" : real;
}

}  // namespace troupe::jit
