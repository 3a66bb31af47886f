#pragma once

#include <troupe/request/request.hpp>
#include <troupe/tensor/tensor.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace troupe::testing_requests {

/// Gives a view with these extents and strides, of memory that no other one has.
using view_source = std::function<any_tensor(
    dtype type, const shape& extents, std::span<const std::int64_t> strides, memory_space space)>;

/// Fills the request by a new `Drawing` if it is one of `Requests`. \returns false for any other
/// request
template <class Drawing, class... Requests>
bool drawn_by(const request_type& type, void* request, std::mt19937_64& random,
              const view_source& views) {
  const auto is = [&]<class R>(std::type_identity<R>) {
    if (type.name != R::name) return false;
    Drawing(random, views).fill(*static_cast<R*>(request));
    return true;
  };
  return (is(std::type_identity<Requests>()) || ...);
}

/// Views of addresses that must not be accessed.
class address_source {
 public:
  any_tensor operator()(dtype type, const shape& extents, std::span<const std::int64_t> strides,
                        memory_space space);

  static constexpr std::uint64_t first_device_address = std::uint64_t{1} << 40;
  static constexpr std::uint64_t first_host_address = std::uint64_t{1} << 44;

 private:
  std::uint64_t next_ = 0;  ///< from the first of either
};

/// Draws requests of any type from its description.
class random_requests {
 public:
  explicit random_requests(std::uint64_t seed, view_source views = address_source())
      : random_(seed), views_(std::move(views)) {}

  /// Fills a new request with small sizes so that all holds that its description says in tables;
  /// its own rules may refuse it.
  void fill(const request_type& type, void* request);
  /// Changes one thing of it that may not be so, and says which.
  std::string spoil(const request_type& type, void* request);

  std::mt19937_64& generator() noexcept { return random_; }

 private:
  class drawing;
  void fill(const description_table& table, void* request);
  std::size_t below(std::size_t n) { return random_() % n; }
  bool one_in(std::size_t n) { return below(n) == 0; }

  std::mt19937_64 random_;
  view_source views_;
};

}  // namespace troupe::testing_requests
