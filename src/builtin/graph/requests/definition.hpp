#pragma once

#include "base/sha256.hpp"

#include <troupe/graph/run.hpp>
#include <troupe/request/any_request.hpp>
#include <troupe/request/fields.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace troupe::graph {

inline constexpr std::size_t most_requests = 65'536;
inline constexpr int most_depth = 8;

enum class node_kind : std::uint8_t {
  request,
  repeat,  ///< its body, while the condition is not zero
  when,    ///< the first body if the condition is not zero, else the second if there is one
  choose,  ///< the body with the condition's number; none if there is no such body
};

/// The types of a condition: one element.
inline constexpr std::array condition_types{dtype::boolean, dtype::u8, dtype::i32, dtype::u32,
                                            dtype::i64};

/// A request of a graph, or bodies of requests under a condition.
struct node {
  static constexpr std::uint64_t none = ~std::uint64_t{0};

  node_kind kind = node_kind::request;
  std::uint64_t type = 0;     ///< a request's: its place in `definition::types`
  std::uint64_t payload = 0;  ///< where its bytes begin
  std::uint64_t payload_bytes = 0;
  /// In `definition::uses`: the tensors of a request, as `for_each_tensor` visits those that are
  /// given; or the condition.
  std::uint64_t first_use = 0;
  std::uint64_t uses = 0;
  std::uint64_t first_body = 0;
  std::uint64_t bodies = 0;
  std::uint64_t reply = none;  ///< its row in the results; of a condition, for its value on a GPU
  std::uint64_t at_most = 0;   ///< rounds of `repeat`
};

/// A view that nodes use: its place in the list that `graph::run` has for its role.
struct root {
  access role = access::read;
  std::uint64_t place = 0;
};

/// A field of a request whose value each run may choose.
struct value_place {
  std::uint64_t node = 0;
  std::uint64_t field = 0;  ///< in `fields_of` of its type
};

/// The content of a graph. Tensors are numbers of roots, so it holds no address.
struct definition {
  struct type_entry {
    std::uint64_t id = 0;
    std::string name;
  };

  std::vector<type_entry> types;
  std::vector<root> roots;
  std::vector<node> nodes;
  std::vector<std::uint64_t> uses;
  /// The numbers of the nodes of each body, in order. The first body is the graph.
  std::vector<std::vector<std::uint64_t>> bodies;
  std::vector<value_place> values;  ///< as `run::values` has them
  std::uint64_t replies = 0;
  std::vector<std::byte> payloads;
};

/// True for `run` and `run_conditional`.
[[nodiscard]] bool is_run(const request_type& type) noexcept;
/// True for requests that overwrite bytes before they read them, if they are of a written tensor
/// without gaps and of a read one, and that read no other bytes that they write. So they may be run
/// again, and the old content of these bytes may be undefined. Those are graphs, see `roles_of`.
[[nodiscard]] inline bool overwrites_first(const request_type& type) noexcept {
  return is_run(type);
}

[[nodiscard]] std::vector<std::byte> encode(const definition& d);
/// Trusts nothing of the bytes: every number of the result is in range, each node is in one body,
/// and each body but the first belongs to one node, which comes before its own nodes.
/// \errors `protocol_violation` with the place
[[nodiscard]] result<definition> decode(std::span<const std::byte> bytes);

[[nodiscard]] std::vector<std::int64_t> digest_of(std::span<const std::byte> bytes);

/// The bytes of a request without its tensors' places. \errors those of `wire::encode`
[[nodiscard]] result<std::vector<std::byte>> payload_of(const request_type& type,
                                                        const void* request);
/// The request of a node, with these views as its roots. It is not validated.
/// \errors `protocol_violation` for bytes that are no such request
[[nodiscard]] result<any_request> request_of(const request_type& type, const definition& d,
                                             const node& n, std::span<const any_tensor> roots);
/// Gives a request of the node other roots. \errors `protocol_violation` if it has another number
/// of tensors
[[nodiscard]] result<void> bind(any_request& request, const definition& d, const node& n,
                                std::span<const any_tensor> roots);

/// The field of a request whose value a run may choose: a number. None for any other field.
[[nodiscard]] std::optional<field_view> number_field(const request_type& type, std::uint64_t field);
[[nodiscard]] scalar number_in(const field_view& field, const void* request) noexcept;
void set_number(const field_view& field, void* request, const scalar& value) noexcept;

/// The views of a sent graph in the order of its roots. \errors `protocol_violation`
[[nodiscard]] result<std::vector<any_tensor>> roots_of(const definition& d, const run& sent);

/// A request for errors; for a graph, its name and its request with number `part`, if there is one.
[[nodiscard]] std::string request_text(const request_type& type, const void* request,
                                       std::uint64_t part);
/// The same number, from 1, as progress is reported; 0 for none.
[[nodiscard]] constexpr std::uint64_t part_of(std::uint64_t node_number) noexcept {
  return node_number + 1;
}

}  // namespace troupe::graph
