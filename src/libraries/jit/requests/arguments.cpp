#include <troupe/jit/arguments.hpp>
#include <troupe/request/argument_checks.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

namespace troupe::jit {
namespace {

/// How an argument's kind and size travel: kind, role and type a byte each, a byte that is 0, and
/// the size of its value.
struct code {
  argument::kind what{};
  access role{};
  dtype type{};
  std::uint32_t size = 0;
};

constexpr int role_at = 8;
constexpr int type_at = 16;
constexpr int size_at = 32;
constexpr std::uint64_t byte_mask = 0xff;
constexpr std::size_t map_bytes = 128;  // the size of a CUtensorMap

std::int64_t pack(const code& c) noexcept {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(c.what) |
                                   static_cast<std::uint64_t>(c.role) << role_at |
                                   static_cast<std::uint64_t>(c.type) << type_at |
                                   static_cast<std::uint64_t>(c.size) << size_at);
}

// Nothing for an invalid code.
std::optional<code> unpack(std::int64_t packed) noexcept {
  const auto bits = static_cast<std::uint64_t>(packed);
  const std::uint64_t kind = bits & byte_mask;
  const std::uint64_t role = bits >> role_at & byte_mask;
  const std::uint64_t type = bits >> type_at & byte_mask;
  if (kind > static_cast<std::uint64_t>(argument::kind::tile) ||
      role > static_cast<std::uint64_t>(access::update) ||
      type >= static_cast<std::uint64_t>(dtype_count) || (bits >> 24 & byte_mask) != 0) {
    return std::nullopt;
  }
  return code{.what = static_cast<argument::kind>(kind),
              .role = static_cast<access>(role),
              .type = static_cast<dtype>(type),
              .size = static_cast<std::uint32_t>(bits >> size_at)};
}

std::size_t words_of(std::size_t bytes) noexcept {
  return (bytes + sizeof(std::int64_t) - 1) / sizeof(std::int64_t);
}

bool has_tensor(argument::kind what) noexcept {
  switch (what) {
    case argument::kind::scalar:
    case argument::kind::bytes:
      return false;
    case argument::kind::tensor:
    case argument::kind::reached:
    case argument::kind::tile:
      return true;
  }
  return false;
}

std::string argument_name(std::size_t i) { return fmt::format("argument {}", i); }

void arguments_can_be(argument_checks& check, const arguments& given) {
  arguments::reader r(given);
  for (std::size_t i = 0; check.good(); ++i) {
    const auto one = r.next();
    if (!one) break;
    if (one->tensor == nullptr) continue;
    check.rule(!one->tensor->null(), errc::invalid_argument,
               [&] { return argument_name(i) + " must not be a null tensor"; });
    if (!check.good() || one->what != argument::kind::tile) continue;
    const auto how = tile::read(one->tile);
    if (!how) break;
    if (auto fits = how->check(*one->tensor); !fits) {
      const error why = std::move(fits).error();
      check.rule(false, why.code, [&] { return argument_name(i) + ": " + why.message; });
    }
  }
  check.rule(r.at_end(), errc::invalid_argument, [] {
    return std::string(
        "an argument cannot be: a struct without bytes, or of more than 4 GiB, or a tile of more "
        "than 5 dimensions");
  });
}

void parameters_fit(argument_checks& check, const arguments& given) {
  if (!check.good()) return;
  std::size_t bytes = 0;
  given.for_each([&](const arguments::view& one) { bytes += one.parameter_bytes(); });
  check.rule(bytes <= arguments::most_bytes, errc::size_overflow, [&] {
    return fmt::format("the arguments take {} bytes, a kernel's parameters have at most {}", bytes,
                       arguments::most_bytes);
  });
}

}  // namespace

argument of_tensor(argument::kind what, const any_tensor& t, access role) {
  argument made(what);
  made.role_ = role;
  made.type_ = t.type();
  made.tensor_ = t;
  return made;
}

argument bytes(std::span<const std::byte> value) {
  argument made(argument::kind::bytes);
  made.value_.assign(reinterpret_cast<const char*>(value.data()), value.size());
  return made;
}

argument tile_of(const any_tensor& t, access role, const tile& how) {
  argument made = of_tensor(argument::kind::tile, t, role);
  made.tile_ = how;
  return made;
}

arguments::arguments(std::initializer_list<argument> list) {
  codes_.reserve(list.size());
  values_.reserve(list.size());
  for (const access role : {access::read, access::write, access::update}) {
    tensors(role).reserve(static_cast<std::size_t>(std::ranges::count_if(
        list, [role](const argument& one) { return has_tensor(one.kind_) && one.role_ == role; })));
  }
  for (const argument& one : list)
    add(one);
}

void arguments::add(const argument& one) {
  // A value that does not fit its code is one that no kernel takes: a rule refuses it.
  const std::size_t size =
      std::min<std::size_t>(one.value_.size(), std::numeric_limits<std::uint32_t>::max());
  codes_.push_back(pack({.what = one.kind_,
                         .role = one.role_,
                         .type = one.type_,
                         .size = static_cast<std::uint32_t>(size)}));
  if (size != 0) {
    const std::size_t word = values_.size();
    values_.resize(word + words_of(size));
    std::memcpy(&values_[word], one.value_.data(), size);
  }
  if (!has_tensor(one.kind_)) return;
  tensors(one.role_).push_back(one.tensor_);
  if (one.kind_ == argument::kind::tile) one.tile_.write(tiles_);
}

std::vector<any_tensor>& arguments::tensors(access role) noexcept {
  return role == access::read ? reads_ : role == access::write ? writes_ : updates_;
}
const std::vector<any_tensor>& arguments::tensors(access role) const noexcept {
  return role == access::read ? reads_ : role == access::write ? writes_ : updates_;
}

void arguments::describe(description<arguments>& d) {
  d.value("codes", &arguments::codes_, "kind, role, type and size of each argument").range(0, most);
  d.reads("reads", &arguments::reads_, {}, "tensors that are only read");
  d.writes("writes", &arguments::writes_, {}, "tensors that are overwritten");
  d.updates("updates", &arguments::updates_, {}, "tensors that are read and written").may_repeat();
  d.value("values", &arguments::values_, "of numbers and structs, each from a word of its own on");
  d.value("tiles", &arguments::tiles_, "how tensor maps are made");
  d.rule("the codes tell what there is, and tiles can be of their tensors", arguments_can_be);
  d.rule("the arguments fit a kernel's parameters", parameters_fit);
}

std::optional<arguments::view> arguments::reader::next() {
  if (!good_ || code_ == of_.codes_.size()) return std::nullopt;
  const auto c = unpack(of_.codes_[code_++]);
  good_ = c.has_value();
  if (!good_) return std::nullopt;
  view one{.what = c->what, .role = c->role, .type = c->type};
  if (!has_tensor(c->what)) {
    const bool right =
        c->what == argument::kind::bytes || static_cast<std::int64_t>(c->size) == size_of(c->type);
    good_ = right && c->size != 0 && words_of(c->size) <= of_.values_.size() - word_;
    if (!good_) return std::nullopt;
    one.value = std::as_bytes(std::span(of_.values_).subspan(word_)).first(c->size);
    word_ += words_of(c->size);
    return one;
  }
  const std::vector<any_tensor>& tensors = of_.tensors(c->role);
  std::size_t& tensor = tensor_[static_cast<std::size_t>(c->role)];
  good_ = c->size == 0 && tensor < tensors.size();
  if (!good_) return std::nullopt;
  one.tensor = &tensors[tensor++];
  one.type = one.tensor->type();
  if (c->what == argument::kind::tile) {
    const auto left = std::span(of_.tiles_).subspan(tile_);
    const std::size_t length = tile::length(left);
    good_ = length != 0;
    if (!good_) return std::nullopt;
    one.tile = left.first(length);
    tile_ += length;
  }
  return one;
}

bool arguments::reader::at_end() const noexcept {
  const auto all_read = [this](access role) {
    return tensor_[static_cast<std::size_t>(role)] == of_.tensors(role).size();
  };
  return good_ && code_ == of_.codes_.size() && all_read(access::read) && all_read(access::write) &&
         all_read(access::update) && word_ == of_.values_.size() && tile_ == of_.tiles_.size();
}

std::size_t arguments::view::parameter_bytes() const noexcept {
  switch (what) {
    case argument::kind::scalar:
    case argument::kind::bytes:
      return value.size();
    case argument::kind::tensor:
      return sizeof(void*);
    case argument::kind::reached:
      return 0;
    case argument::kind::tile:
      return map_bytes;
  }
  return 0;
}

std::string arguments::view::to_string() const {
  switch (what) {
    case argument::kind::scalar:
      return fmt::format("a number of type {}", troupe::to_string(type));
    case argument::kind::bytes:
      return fmt::format("{} bytes by value", value.size());
    case argument::kind::tensor:
      return fmt::format("a tensor of {} that is {}", troupe::to_string(type),
                         role == access::read    ? "read"
                         : role == access::write ? "written"
                                                 : "updated");
    case argument::kind::reached:
      return "a tensor without a parameter";
    case argument::kind::tile:
      return fmt::format("a tensor map of {}", troupe::to_string(type));
  }
  return {};
}

}  // namespace troupe::jit
