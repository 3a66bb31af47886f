// The definition of a graph with any content: one that is accepted has only numbers in range, so
// that its requests can be made, or are refused.
#include "builtin/graph/requests/definition.hpp"

#include <troupe/request/catalogue.hpp>

#include <cstdlib>
#include <span>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace troupe;
  constexpr std::size_t magic_bytes = 8;
  static const std::vector<std::byte> empty = graph::encode({});
  std::vector<std::byte> bytes(empty.begin(), empty.begin() + magic_bytes);
  const auto rest = std::as_bytes(std::span(data, size));
  bytes.insert(bytes.end(), rest.begin(), rest.end());
  const auto read = graph::decode(bytes);
  if (!read) return 0;
  if (graph::encode(*read) != bytes) std::abort();
  const std::vector<any_tensor> roots(read->roots.size());
  for (const graph::node& n : read->nodes) {
    if (n.kind != graph::node_kind::request) continue;
    const request_type* const type = request_named(read->types[n.type].name);
    if (type != nullptr) (void)graph::request_of(*type, *read, n, roots);
  }
  return 0;
}
