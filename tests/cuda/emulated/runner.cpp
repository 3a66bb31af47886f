// Calls the executors of the CUDA backend in the thread of the test, on memory of the program: the
// emulation of their libraries runs enqueued work at once. The CPU backend runs their elementwise
// functions and products.

#include "conformance/runner.hpp"

#include "cuda/emulated/lane.hpp"

#include <troupe/blas/level3.hpp>
#include <troupe/elementwise/map.hpp>
#include <troupe/plugin/static_registration.hpp>

namespace troupe::conformance {
namespace {

// A product of the CPU backend, in workspace of its own: those of a GPU need none.
result<void> run_product(void*, const void* request, lane_context&, std::byte* reply) {
  static emulated_lane own;
  const operation& product = *backend_operations().find(request_type_of<blas::gemm>().id);
  return product.run(product.executor, request, own, reply);
}

const operation_table& emulated_operations() {
  static const operation_table table = [] {
    operation_table filled;
    filled.insert(*backend_operations().find(request_type_of<elementwise::map>().id));
    filled.insert({.type = &request_type_of<blas::gemm>(), .run = run_product});
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
  bool is_emulation() const override { return true; }
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
    auto done = found->run(found->executor, request, lane_, reply.data());
    lane_.expect_untouched();
    return done;
  }

  emulated_lane lane_;
  blocks memory_;
};

}  // namespace

std::unique_ptr<runner> make_runner() { return std::make_unique<emulated_runner>(); }
std::unique_ptr<runner> make_runner_on(const device&) { return nullptr; }

}  // namespace troupe::conformance
