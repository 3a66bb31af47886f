// Calls the executors of the CUDA backend in the thread of the test, on memory of the program: what
// they enqueue, the emulation of their libraries does at once.

#include "backend/cuda/lane.hpp"
#include "conformance/runner.hpp"

#include <troupe/worker/plugin.hpp>

#include <new>

namespace troupe::conformance {
namespace {

class blocks {
 public:
  std::byte* take(std::size_t bytes) {
    taken_.emplace_back(static_cast<std::byte*>(::operator new(bytes, alignment)));
    return taken_.back().get();
  }
  void give_back() { taken_.clear(); }

 private:
  static constexpr std::align_val_t alignment{256};
  struct deleter {
    void operator()(std::byte* memory) const { ::operator delete(memory, alignment); }
  };
  std::vector<std::unique_ptr<std::byte, deleter>> taken_;
};

class emulated_lane final : public cuda::lane {
 public:
  int lane() const noexcept override { return 0; }
  result<std::span<std::byte>> workspace(std::size_t bytes) override {
    workspace_.give_back();
    return std::span(workspace_.take(bytes), bytes);
  }
  result<void> wait_for(accelerator_lane&) override { return {}; }
  result<void> mark(std::uint64_t* where, std::uint64_t value) override {
    *where = value;
    return {};
  }
  result<void> check() override { return {}; }
  result<void> finish() override { return {}; }
  cudaStream_t stream() const noexcept override { return nullptr; }
  std::shared_ptr<void>& attachment(const void*) override { return attached_; }
  int multiprocessors() const noexcept override { return 1; }

 private:
  blocks workspace_;
  std::shared_ptr<void> attached_;
};

const operation_table& emulated_operations() {
  static const operation_table table = [] {
    operation_table filled;
    plugin_operations::visit([&](auto& add) { add(filled); });
    return filled;
  }();
  return table;
}

class emulated_runner final : public runner {
 public:
  any_tensor allocate(dtype type, std::int64_t count) override {
    const auto bytes = static_cast<std::size_t>(count * size_of(type));
    return any_tensor::unowned(memory_.take(bytes + 1), type, shape{count});
  }
  void release() override { memory_.give_back(); }
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
    const operation* const found = emulated_operations().find(type.id);
    if (found == nullptr) return error{.code = errc::unsupported, .message = "no executor"};
    return found->run(found->executor, request, lane_, reply.data());
  }

  emulated_lane lane_;
  blocks memory_;
};

}  // namespace

std::unique_ptr<runner> make_runner() { return std::make_unique<emulated_runner>(); }

}  // namespace troupe::conformance
