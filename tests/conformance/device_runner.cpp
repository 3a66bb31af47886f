// Sends every request to a device as users do: encoded, through the ring to its worker, decoded,
// validated on both sides, ordered, executed, completed.

#include "runners.hpp"

#include <troupe/memory/copy.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

namespace troupe::conformance {
namespace {

/// `TROUPE_TEST_WORKER_PATH` names another worker, such as one under a tool that makes it many
/// times slower: then it has all the time it wants.
device_config config(isolation which) {
  device_config made{.isolation = which};
  if (const char* path = std::getenv("TROUPE_TEST_WORKER_PATH")) {  // NOLINT(concurrency-mt-unsafe)
    made.worker_path = path;
    made.start_timeout = std::chrono::minutes(5);
    made.silence_timeout = std::chrono::minutes(1);
  }
  return made;
}

/// The program's one device, there while the tests run.
class one_device final : public testing::Environment {
 public:
  one_device(isolation which, bool recorded) : isolation_(which), recorded_(recorded) {}
  void SetUp() override {
    system_.emplace();
    device_.emplace(system_->device(0, config(isolation_)));
    const auto ready = device_->wait_until_ready();
    ASSERT_TRUE(ready) << ready.error().to_string();
  }
  void TearDown() override {
    EXPECT_EQ(device_->generation(), 1u) << "a request has ended its worker";
    const device_statistics counts = device_->statistics();
    const char* const kernels = std::getenv("OPENBLAS_CORETYPE");  // NOLINT(concurrency-mt-unsafe)
    if (kernels != nullptr) std::printf("with OPENBLAS_CORETYPE=%s: ", kernels);
    std::printf("%lu requests on the device, %lu failed\n", counts.sent, counts.failed);
    if (recorded_) recorded_check::print_summary();
    device_.reset();
    system_.reset();
  }
  device& get() { return device_.value(); }
  [[nodiscard]] bool recorded() const { return recorded_; }

 private:
  isolation isolation_;
  bool recorded_;
  std::optional<system> system_;
  std::optional<device> device_;
};

one_device* shared = nullptr;  // GoogleTest deletes it

class device_runner final : public runner {
 public:
  explicit device_runner(device on, bool recorded = false) : device_(std::move(on)) {
    if (recorded) check_.emplace(device_);
  }

  any_tensor allocate(dtype type, std::int64_t count) override {
    any_tensor made = device_.allocate(type, shape{count}).value();
    if (check_) check_->add(made);
    return made;
  }
  void use(const any_tensor& memory) override {
    if (check_) check_->add(memory);
  }
  void release() override {
    settle();
    if (check_) check_->clear();
  }
  device* its_device() override { return &device_; }

  // Not waited for: the device orders the requests that use the tensor after it.
  void upload(const any_tensor& to, std::span<const std::byte> bytes) override {
    const any_tensor staged = host_tensor_like(to);
    std::memcpy(staged.address(), bytes.data(), bytes.size());
    uploads_.push_back(memory_.ask(memory::copy{.from = staged, .to = to}));
  }
  void download(const any_tensor& from, std::span<std::byte> bytes) override {
    const any_tensor staged = host_tensor_like(from);
    auto copied = memory_.ask(memory::copy{.from = from, .to = staged}).get_result();
    settle();
    if (!copied) return fail(copied.error());
    std::memcpy(bytes.data(), staged.address(), bytes.size());
  }

 private:
  bool save() override {
    if (check_) check_->save();
    return check_.has_value();
  }
  void compare(const any_request& request, std::span<const std::byte> reply) override {
    check_->run(request, *actor_of(request.type().library()), reply);
  }
  const library_actor* actor_of(std::string_view library) override {
    if (library == memory_.library()) return &memory_;
    auto place = others_.find(library);
    if (place == others_.end()) {
      place = others_.emplace(library, device_.library(library).on_new_lane()).first;
    }
    return &place->second;
  }
  result<void> run(const request_type&, void*, std::span<std::byte>) override {
    return error{.code = errc::library_missing, .message = "every request has an actor"};
  }

  [[nodiscard]] any_tensor host_tensor_like(const any_tensor& t) {
    return device_.allocate_host(t.type(), shape(t.extents())).value();
  }
  void settle() {
    for (future<void>& one : uploads_) {
      if (auto copied = one.get_result(); !copied) fail(copied.error());
    }
    uploads_.clear();
  }
  static void fail(const error& why) { ADD_FAILURE() << "the runner's copy: " << why.to_string(); }

  device device_;
  library_actor memory_ = device_.library("memory").on_new_lane();
  std::map<std::string_view, library_actor> others_;  // the lanes of other libraries, by name
  std::vector<future<void>> uploads_;
  std::optional<recorded_check> check_;
};

}  // namespace

void add_device(isolation which, bool recorded) {
  shared = new one_device(which, recorded);
  testing::AddGlobalTestEnvironment(shared);
}
std::unique_ptr<runner> make_device_runner() {
  return std::make_unique<device_runner>(shared->get(), shared->recorded());
}
std::unique_ptr<runner> make_device_runner_on(const device& own) {
  return std::make_unique<device_runner>(own);
}

}  // namespace troupe::conformance
