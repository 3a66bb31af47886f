#include "builtin/graph/requests/definition.hpp"

#include "request/description/text.hpp"
#include "wire/codec.hpp"

#include <troupe/request/catalogue.hpp>
#include <troupe/request/fields.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

namespace troupe::graph {
namespace {

constexpr std::uint64_t magic = 0x31'30'48'50'41'52'47'54u;  // "TGRAPH01"

error invalid(std::string what) {
  return {.code = errc::protocol_violation,
          .message = "the definition of the graph: " + std::move(what)};
}

/// The definition is a list of 64-bit words, then texts and payloads.
class writer {
 public:
  void word(std::uint64_t value) {
    for (int i = 0; i < 8; ++i)
      bytes_.push_back(static_cast<std::byte>(value >> (8 * i)));
  }
  void all(std::span<const std::byte> bytes) {
    word(bytes.size());
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  [[nodiscard]] std::vector<std::byte> take() && { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

class reader {
 public:
  explicit reader(std::span<const std::byte> bytes) noexcept : bytes_(bytes) {}

  std::uint64_t word() {
    std::uint64_t value = 0;
    const auto from = take(sizeof(value));
    if (!from.empty()) std::memcpy(&value, from.data(), sizeof(value));
    return value;
  }
  /// The number of items that follow, of at least `least_bytes` each, so that no number makes the
  /// reader allocate more than the bytes can hold.
  std::size_t count(std::size_t least_bytes) {
    const std::uint64_t n = word();
    if (n <= bytes_.size() / least_bytes) return static_cast<std::size_t>(n);
    good_ = false;
    return 0;
  }
  std::span<const std::byte> all() { return take(count(1)); }
  [[nodiscard]] bool ended() const noexcept { return good_ && bytes_.empty(); }

 private:
  std::span<const std::byte> take(std::size_t bytes) {
    if (!good_ || bytes > bytes_.size()) {
      good_ = false;
      return {};
    }
    const auto taken = bytes_.first(bytes);
    bytes_ = bytes_.subspan(bytes);
    return taken;
  }

  std::span<const std::byte> bytes_;
  bool good_ = true;
};

constexpr bool within(std::uint64_t first, std::uint64_t count, std::uint64_t size) noexcept {
  return first <= size && count <= size - first;
}

std::optional<std::string> wrong(const definition& d, const node& n) {
  if (n.kind > node_kind::choose) return "its kind";
  if (!within(n.first_use, n.uses, d.uses.size())) return "its tensors";
  if (!within(n.first_body, n.bodies, d.bodies.size())) return "its bodies";
  if (n.reply != node::none && n.reply >= d.replies) return "its reply";
  if (n.kind == node_kind::request) {
    if (n.type >= d.types.size()) return "its type";
    if (!within(n.payload, n.payload_bytes, d.payloads.size())) return "its bytes";
    if (n.bodies != 0) return "its bodies";
    return std::nullopt;
  }
  if (n.uses != 1) return "its condition";
  if ((n.kind == node_kind::repeat && n.bodies != 1) ||
      (n.kind == node_kind::when && (n.bodies < 1 || n.bodies > 2)))
    return "its bodies";
  return std::nullopt;
}

/// Each node is in one body, and each body but the first belongs to one earlier node: so there is
/// no cycle.
std::optional<std::string> wrong_tree(const definition& d) {
  constexpr std::uint64_t free = ~std::uint64_t{0};
  std::vector<std::uint64_t> owner(d.bodies.size(), free);
  for (std::size_t i = 0; i < d.nodes.size(); ++i) {
    for (std::uint64_t b = d.nodes[i].first_body; b < d.nodes[i].first_body + d.nodes[i].bodies;
         ++b) {
      if (b == 0 || owner[b] != free) return fmt::format("node {}: its bodies", i);
      owner[b] = i;
    }
  }
  std::vector<int> depth(d.nodes.size(), -1);
  for (std::size_t b = 0; b < d.bodies.size(); ++b) {
    if (b != 0 && owner[b] == free) return fmt::format("body {} belongs to no node", b);
    for (const std::uint64_t member : d.bodies[b]) {
      const bool follows = member < d.nodes.size() && depth[member] < 0 &&
                           (b == 0 || (member > owner[b] && depth[owner[b]] >= 0));
      if (!follows) return fmt::format("body {}: node {}", b, member);
      depth[member] = b == 0 ? 0 : depth[owner[b]] + 1;
      if (depth[member] > most_depth) return fmt::format("node {} lies too deep", member);
    }
  }
  const auto outside = std::ranges::find_if(depth, [](int one) { return one < 0; });
  if (outside != depth.end()) return fmt::format("node {} is in no body", outside - depth.begin());
  return std::nullopt;
}

/// Tensors are sent as numbers of roots, so their places are left out.
class no_places final : public wire::operand_source {
 public:
  result<place> locate(std::string_view, const any_tensor& t, access) override {
    return place{.pool = wire::own_pool(t.space())};
  }
};

}  // namespace

bool is_run(const request_type& type) noexcept {
  return type.id == request_type_of<run>().id || type.id == request_type_of<run_conditional>().id;
}

std::vector<std::byte> encode(const definition& d) {
  writer to;
  to.word(magic);
  to.word(d.types.size());
  for (const auto& [id, name] : d.types) {
    to.word(id);
    to.all(std::as_bytes(std::span(name)));
  }
  to.word(d.roots.size());
  for (const root& r : d.roots) {
    to.word(static_cast<std::uint64_t>(r.role));
    to.word(r.place);
  }
  to.word(d.nodes.size());
  for (const node& n : d.nodes) {
    for (const std::uint64_t word :
         {static_cast<std::uint64_t>(n.kind), n.type, n.payload, n.payload_bytes, n.first_use,
          n.uses, n.first_body, n.bodies, n.reply, n.at_most})
      to.word(word);
  }
  to.word(d.uses.size());
  for (const std::uint64_t use : d.uses)
    to.word(use);
  to.word(d.bodies.size());
  for (const auto& body : d.bodies) {
    to.word(body.size());
    for (const std::uint64_t member : body)
      to.word(member);
  }
  to.word(d.values.size());
  for (const value_place& v : d.values) {
    to.word(v.node);
    to.word(v.field);
  }
  to.word(d.replies);
  to.all(d.payloads);
  return std::move(to).take();
}

result<definition> decode(std::span<const std::byte> bytes) {
  constexpr std::size_t word = sizeof(std::uint64_t);
  reader from(bytes);
  definition d;
  if (from.word() != magic) return invalid("its first word");
  d.types.resize(from.count(2 * word));
  for (auto& [id, name] : d.types) {
    id = from.word();
    const auto text = from.all();
    name.assign(reinterpret_cast<const char*>(text.data()), text.size());
  }
  d.roots.resize(from.count(2 * word));
  for (root& r : d.roots) {
    const std::uint64_t role = from.word();
    if (role > static_cast<std::uint64_t>(access::update)) return invalid("the role of a root");
    r.role = static_cast<access>(role);
    r.place = from.word();
  }
  d.nodes.resize(from.count(10 * word));
  for (node& n : d.nodes) {
    n.kind = static_cast<node_kind>(std::min<std::uint64_t>(from.word(), 0xff));
    for (std::uint64_t* const to : {&n.type, &n.payload, &n.payload_bytes, &n.first_use, &n.uses,
                                    &n.first_body, &n.bodies, &n.reply, &n.at_most})
      *to = from.word();
  }
  d.uses.resize(from.count(word));
  for (std::uint64_t& use : d.uses) {
    use = from.word();
    if (use >= d.roots.size()) return invalid(fmt::format("root {}", use));
  }
  d.bodies.resize(from.count(word));
  for (auto& body : d.bodies) {
    body.resize(from.count(word));
    for (std::uint64_t& member : body)
      member = from.word();
  }
  d.values.resize(from.count(2 * word));
  for (value_place& v : d.values) {
    v.node = from.word();
    v.field = from.word();
  }
  d.replies = from.word();
  const auto payloads = from.all();
  d.payloads.assign(payloads.begin(), payloads.end());
  if (!from.ended()) return invalid("its length");
  if (d.bodies.empty() || d.nodes.size() > most_requests || d.replies > d.nodes.size()) {
    return invalid(
        fmt::format("{} bodies, {} nodes, {} replies", d.bodies.size(), d.nodes.size(), d.replies));
  }
  for (std::size_t i = 0; i < d.nodes.size(); ++i) {
    if (auto what = wrong(d, d.nodes[i])) return invalid(fmt::format("node {}: {}", i, *what));
  }
  for (const value_place& v : d.values) {
    if (v.node >= d.nodes.size() || d.nodes[v.node].kind != node_kind::request) {
      return invalid(fmt::format("a value of node {}", v.node));
    }
  }
  if (auto what = wrong_tree(d)) return invalid(*std::move(what));
  return d;
}

std::vector<std::int64_t> digest_of(std::span<const std::byte> bytes) {
  const auto digest = troupe::detail::sha256().bytes(bytes).finish();
  std::vector<std::int64_t> words(run::digest_words);
  static_assert(sizeof(digest) == run::digest_words * sizeof(std::int64_t));
  std::memcpy(words.data(), digest.data(), sizeof(digest));
  return words;
}

result<std::vector<std::byte>> payload_of(const request_type& type, const void* request) {
  no_places none;
  auto bytes = wire::encode(type, request, {}, none);
  if (!bytes) return std::move(bytes).error();
  std::vector<std::byte> made(*bytes);
  if (auto written = wire::encode(type, request, made, none); !written) {
    return std::move(written).error();
  }
  return made;
}

result<void> bind(any_request& request, const definition& d, const node& n,
                  std::span<const any_tensor> roots) {
  std::uint64_t used = 0;
  for_each_tensor(request.type(), request.data(), [&](std::string_view, any_tensor& t, access) {
    if (t.null()) return;
    if (used < n.uses) t = roots[d.uses[n.first_use + used]];
    ++used;
  });
  if (used == n.uses) return {};
  return invalid(fmt::format("{} tensors of {}, which has {}", n.uses, request.type().name, used));
}

result<any_request> request_of(const request_type& type, const definition& d, const node& n,
                               std::span<const any_tensor> roots) {
  // Any place will do: each tensor is replaced by a root.
  static const wire::address_range anywhere{
      reinterpret_cast<std::byte*>(std::uintptr_t{1} << 20),  // NOLINT(performance-no-int-to-ptr)
      std::uint64_t{1} << 62};
  any_request made(type);
  std::vector<wire::operand> operands;
  auto good =
      wire::decode(type, made.data(), std::span(d.payloads).subspan(n.payload, n.payload_bytes),
                   {anywhere, anywhere}, operands);
  if (good) good = bind(made, d, n, roots);
  if (!good) return std::move(good).error();
  return made;
}

std::optional<field_view> number_field(const request_type& type, std::uint64_t field) {
  std::vector<field_view> all = fields_of(type);
  if (field >= all.size()) return std::nullopt;
  switch (all[field].kind) {
    case field_kind::scalar:
    case field_kind::integer:
    case field_kind::unsigned_integer:
    case field_kind::real:
      return std::move(all[field]);
    default:
      return std::nullopt;
  }
}

scalar number_in(const field_view& field, const void* request) noexcept {
  switch (field.kind) {
    case field_kind::integer:
      return field.in<std::int64_t>(request);
    case field_kind::unsigned_integer:
      return field.in<std::uint64_t>(request);
    case field_kind::real:
      return field.in<double>(request);
    default:
      return field.in<scalar>(request);
  }
}

void set_number(const field_view& field, void* request, const scalar& value) noexcept {
  switch (field.kind) {
    case field_kind::integer:
      field.in<std::int64_t>(request) = value.as<std::int64_t>();
      break;
    case field_kind::unsigned_integer:
      field.in<std::uint64_t>(request) = value.as<std::uint64_t>();
      break;
    case field_kind::real:
      field.in<double>(request) = value.as<double>();
      break;
    default:
      field.in<scalar>(request) = value;
      break;
  }
}

result<std::vector<any_tensor>> roots_of(const definition& d, const run& sent) {
  std::vector<any_tensor> all;
  all.reserve(d.roots.size());
  for (const root& r : d.roots) {
    const std::vector<any_tensor>& list = r.role == access::read    ? sent.reads
                                          : r.role == access::write ? sent.writes
                                                                    : sent.updates;
    if (r.place >= list.size()) return invalid(fmt::format("root {} of {}", r.place, list.size()));
    all.push_back(list[r.place]);
  }
  return all;
}

std::string request_text(const request_type& type, const void* request, std::uint64_t part) {
  if (!is_run(type)) return print(type, request);
  const run& sent = *static_cast<const run*>(request);
  const auto bytes =
      std::span(sent.definition.address(), static_cast<std::size_t>(sent.definition.count()));
  auto d = decode(bytes);
  if (!d) return fmt::format("{} {}", run::name, sent.label);
  std::string text = fmt::format("{} {} ({} requests)", run::name, sent.label, d->nodes.size());
  if (part == 0 || part > d->nodes.size()) return text;
  const node& n = d->nodes[part - 1];
  const request_type* part_type =
      n.kind == node_kind::request ? request_named(d->types[n.type].name) : nullptr;
  text += fmt::format(", request {}", part - 1);
  auto roots = roots_of(*d, sent);
  if (part_type == nullptr || !roots) return text;
  auto one = request_of(*part_type, *d, n, *roots);
  if (one) text += ": " + print(*part_type, one->data());
  return text;
}

}  // namespace troupe::graph
