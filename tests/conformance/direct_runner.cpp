// Calls the executors of the CPU backend's plugin in the thread of the test: fast, and every
// sanitizer sees all of it.

#include "guarded_workspace.hpp"
#include "runners.hpp"

namespace troupe::conformance {
namespace {

class heap_lane final : public lane_context {
 public:
  int lane() const noexcept override { return 0; }
  result<std::span<std::byte>> workspace(std::size_t bytes) override {
    return workspace_.take(bytes);
  }
  result<std::span<std::byte>> host_workspace(std::size_t bytes) override {
    return host_workspace_.take(bytes);
  }
  library_methods methods() const noexcept override { return methods_by_environment({}); }
  void expect_untouched() const {
    workspace_.expect_untouched();
    host_workspace_.expect_untouched();
  }

 private:
  guarded_workspace workspace_;
  guarded_workspace host_workspace_;
};

class direct_runner final : public runner {
 public:
  any_tensor allocate(dtype type, std::int64_t count) override {
    // Never without an address, as a device's empty tensors have one too.
    const auto bytes = static_cast<std::size_t>(count * size_of(type));
    memory_.emplace_back(new std::byte[bytes + 1]);
    return any_tensor::unowned(memory_.back().get(), type, shape{count});
  }
  void release() override { memory_.clear(); }

  void upload(const any_tensor& to, std::span<const std::byte> bytes) override {
    if (!bytes.empty()) std::memcpy(to.address(), bytes.data(), bytes.size());
  }
  void download(const any_tensor& from, std::span<std::byte> bytes) override {
    if (!bytes.empty()) std::memcpy(bytes.data(), from.address(), bytes.size());
  }

 private:
  const library_actor* actor_of(std::string_view) override { return nullptr; }

  result<void> run(const request_type& type, void* request, std::span<std::byte> reply) override {
    if (auto valid = type.validate(request); !valid) return valid;
    const operation* const found = backend_operations().find(type.id);
    if (found == nullptr) return error{.code = errc::unsupported, .message = "no executor"};
    auto done = found->run(found->executor, request, lane_, reply.data());
    lane_.expect_untouched();
    return done;
  }

  heap_lane lane_;
  std::vector<std::unique_ptr<std::byte[]>> memory_;
};

}  // namespace

std::unique_ptr<runner> make_direct_runner() { return std::make_unique<direct_runner>(); }

}  // namespace troupe::conformance
