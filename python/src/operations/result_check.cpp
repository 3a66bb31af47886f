#include "operations/result_check.hpp"

#include "binding.hpp"
#include "operations/array_view.hpp"
#include "operations/cuda_driver.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>

namespace troupe::python {
namespace {

// Fewer bytes may equal the function's results by chance.
constexpr std::size_t least_bytes = 4;

void expect(int code, const char* call) {
  if (code == 0) return;
  throw nb::value_error(
      (std::string("TROUPE_CHECK_RESULTS: ") + call + " failed: " + std::to_string(code)).c_str());
}

void copy_to_gpu(std::byte* to, const std::vector<std::byte>& from, std::uintptr_t stream) {
  static auto* const copy =
      of_driver<int(std::uintptr_t, const void*, std::size_t, std::uintptr_t)>(
          "cuMemcpyHtoDAsync_v2");
  expect(copy == nullptr
             ? -1
             : copy(reinterpret_cast<std::uintptr_t>(to), from.data(), from.size(), stream),
         "cuMemcpyHtoDAsync");
}

void copy_from_gpu(std::vector<std::byte>& to, const std::byte* from, std::uintptr_t stream) {
  static auto* const copy =
      of_driver<int(void*, std::uintptr_t, std::size_t, std::uintptr_t)>("cuMemcpyDtoHAsync_v2");
  static auto* const wait = of_driver<int(std::uintptr_t)>("cuStreamSynchronize");
  expect(copy == nullptr
             ? -1
             : copy(to.data(), reinterpret_cast<std::uintptr_t>(from), to.size(), stream),
         "cuMemcpyDtoHAsync");
  expect(wait(stream), "cuStreamSynchronize");
}

}  // namespace

bool result_check::enabled() noexcept {
  static const bool is_set = [] {
    const char* const value = std::getenv("TROUPE_CHECK_RESULTS");
    return value != nullptr && std::strcmp(value, "0") != 0 && *value != '\0';
  }();
  return is_set;
}

result_check::result_check(const python_operation& op, const void* request, std::uintptr_t stream)
    : stream_(stream) {
  std::random_device random;
  std::ranges::generate(pattern_, [&] { return static_cast<std::byte>(random()); });
  for (const python_operation::argument& a : op.arguments) {
    if (!a.overwrites) continue;
    const auto& t = a.field.in<any_tensor>(request);
    if (t.null() || !array_view(t, t.address(), false).packed()) continue;
    const auto element = static_cast<std::size_t>(size_of(t.type()));
    const std::size_t bytes = static_cast<std::size_t>(t.count()) * element;
    if (bytes < least_bytes) continue;
    results_.push_back({.name = a.field.name,
                        .address = static_cast<std::byte*>(t.address()),
                        .bytes = bytes,
                        .element_bytes = element,
                        .on_gpu = stream != 0 && t.space() != memory_space::host});
  }
  for (const filled& one : results_) {
    std::vector<std::byte> room(one.on_gpu ? one.bytes : 0);
    std::byte* const to = one.on_gpu ? room.data() : one.address;
    for (std::size_t i = 0; i < one.bytes; ++i)
      to[i] = pattern_[i % pattern_.size()];
    if (one.on_gpu) copy_to_gpu(one.address, room, stream_);
  }
}

// The place of the first piece that has the pattern still; the size if there is none.
std::size_t result_check::first_left(std::span<const std::byte> found) const noexcept {
  if (found.size() < pattern_.size()) {
    return std::ranges::equal(found, std::span(pattern_).first(found.size())) ? 0 : found.size();
  }
  for (std::size_t at = 0; at + pattern_.size() <= found.size(); at += pattern_.size()) {
    if (std::ranges::equal(found.subspan(at, pattern_.size()), pattern_)) return at;
  }
  return found.size();
}

void result_check::expect_written() const {
  for (const filled& one : results_) {
    std::vector<std::byte> room(one.on_gpu ? one.bytes : 0);
    if (one.on_gpu) copy_from_gpu(room, one.address, stream_);
    const std::size_t left =
        first_left(one.on_gpu ? std::span<const std::byte>(room)
                              : std::span<const std::byte>(one.address, one.bytes));
    if (left == one.bytes) continue;
    const std::string name(one.name);
    throw nb::value_error((name + " is a result, and its element " +
                           std::to_string(left / one.element_bytes) +
                           " was not written: an operation fills the array that it is given, as " +
                           name + "[:] = x * 2; " + name + " = x * 2 makes another one")
                              .c_str());
  }
}

}  // namespace troupe::python
