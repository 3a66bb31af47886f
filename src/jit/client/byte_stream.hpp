#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

/// Numbers and texts as bytes, for data that leaves the process: a text is its length and its
/// bytes. The reader trusts nothing; once something is missing, everything after it is empty.
namespace troupe::jit {

class byte_writer {
 public:
  byte_writer& number(std::uint64_t v) {
    put(&v, sizeof(v));
    return *this;
  }
  byte_writer& text(std::string_view v) {
    number(v.size());
    put(v.data(), v.size());
    return *this;
  }
  byte_writer& bytes(std::span<const std::byte> v) {
    number(v.size());
    put(v.data(), v.size());
    return *this;
  }
  byte_writer& texts(const std::vector<std::string>& list) {
    number(list.size());
    for (const std::string& one : list)
      text(one);
    return *this;
  }

  [[nodiscard]] std::vector<std::byte> take() && { return std::move(bytes_); }

 private:
  void put(const void* from, std::size_t size) {
    const auto* const begin = static_cast<const std::byte*>(from);
    bytes_.insert(bytes_.end(), begin, begin + size);
  }

  std::vector<std::byte> bytes_;
};

class byte_reader {
 public:
  explicit byte_reader(std::span<const std::byte> bytes) noexcept : left_(bytes) {}

  [[nodiscard]] std::uint64_t number() noexcept {
    std::uint64_t v = 0;
    const auto from = take(sizeof(v));
    if (from.size() == sizeof(v)) std::memcpy(&v, from.data(), sizeof(v));
    return v;
  }
  [[nodiscard]] std::span<const std::byte> bytes() noexcept { return take(number()); }
  [[nodiscard]] std::string text() {
    const auto from = bytes();
    return {reinterpret_cast<const char*>(from.data()), from.size()};
  }
  /// The number of elements that follow; each takes at least a number.
  [[nodiscard]] std::size_t count() noexcept {
    const std::uint64_t many = number();
    good_ = good_ && many <= left_.size() / sizeof(std::uint64_t);
    return good_ ? many : 0;
  }
  [[nodiscard]] std::vector<std::string> texts() {
    std::vector<std::string> list(count());
    for (std::string& one : list)
      one = text();
    return list;
  }

  [[nodiscard]] bool good() const noexcept { return good_; }
  [[nodiscard]] bool at_end() const noexcept { return good_ && left_.empty(); }

 private:
  [[nodiscard]] std::span<const std::byte> take(std::uint64_t size) noexcept {
    good_ = good_ && size <= left_.size();
    if (!good_) return {};
    const auto taken = left_.first(size);
    left_ = left_.subspan(size);
    return taken;
  }

  std::span<const std::byte> left_;
  bool good_ = true;
};

}  // namespace troupe::jit
