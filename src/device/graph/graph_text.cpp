// A graph for readers: its requests, and the order between them.
#include "device/graph/recorded_graph.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iterator>
#include <string_view>

namespace troupe {
namespace {

using detail::recorded_graph;

struct edge {
  std::uint64_t from = 0;
  std::uint64_t to = 0;
  std::string_view kind;  ///< read after write, write after read, write after write
};

/// The bodies that requests are in, with the node that each belongs to.
std::vector<std::uint64_t> body_of_nodes(const graph::definition& d) {
  std::vector<std::uint64_t> all(d.nodes.size());
  for (std::size_t b = 0; b < d.bodies.size(); ++b) {
    for (const std::uint64_t member : d.bodies[b])
      all[member] = b;
  }
  return all;
}

// Between a request and the last ones before it that use the same bytes; through a write, which
// hides what is before it.
std::vector<edge> edges_of(const recorded_graph& g) {
  const graph::definition& d = g.what;
  std::vector<edge> all;
  for (std::uint64_t to = 0; to < d.nodes.size(); ++to) {
    const graph::node& later = d.nodes[to];
    for (std::uint64_t i = later.first_use; i < later.first_use + later.uses; ++i) {
      bool hidden = false;
      for (std::uint64_t from = to; from-- > 0 && !hidden;) {
        const graph::node& earlier = d.nodes[from];
        for (std::uint64_t j = earlier.first_use; j < earlier.first_use + earlier.uses; ++j) {
          const bool reads = g.roles[i] == access::read;
          const bool read = g.roles[j] == access::read;
          if ((reads && read) || !g.roots[d.uses[i]].overlaps(g.roots[d.uses[j]])) continue;
          const std::string_view kind = read ? "WAR" : g.roles[i] == access::write ? "WAW" : "RAW";
          if (all.empty() || all.back().from != from || all.back().to != to ||
              all.back().kind != kind)
            all.push_back({from, to, kind});
          hidden = hidden || (!read && d.uses[i] == d.uses[j]);
        }
      }
    }
  }
  return all;
}

std::string quoted(std::string_view text) {
  std::string made = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') made += '\\';
    if (static_cast<unsigned char>(c) < ' ') {
      fmt::format_to(std::back_inserter(made), "\\u{:04x}", static_cast<unsigned>(c));
    } else {
      made += c;
    }
  }
  return made + '"';
}

void write_body(const recorded_graph& g, std::uint64_t body, const std::string& indent,
                std::string& to) {
  for (const std::uint64_t number : g.what.bodies[body]) {
    const graph::node& n = g.what.nodes[number];
    fmt::format_to(std::back_inserter(to), "{}n{} [label={}];\n", indent, number,
                   quoted(fmt::format("{}: {}", number, g.text_at(number))));
    for (std::uint64_t b = n.first_body; b < n.first_body + n.bodies; ++b) {
      fmt::format_to(std::back_inserter(to),
                     "{}subgraph cluster{} {{\n{}  label=\"{}, body {}\";\n", indent, b, indent,
                     number, b - n.first_body);
      write_body(g, b, indent + "  ", to);
      to += indent + "}\n";
    }
  }
}

}  // namespace

std::string request_graph::dot() const {
  std::string text = fmt::format("digraph {} {{\n  node [shape=box];\n", quoted(name()));
  write_body(*graph_, 0, "  ", text);
  for (const edge& e : edges_of(*graph_))
    fmt::format_to(std::back_inserter(text), "  n{} -> n{} [label={}];\n", e.from, e.to, e.kind);
  return text + "}\n";
}

std::string request_graph::json() const {
  const auto bodies = body_of_nodes(graph_->what);
  std::vector<std::string> nodes;
  nodes.reserve(size());
  for (std::uint64_t i = 0; i < size(); ++i)
    nodes.push_back(fmt::format(R"({{"number": {}, "body": {}, "request": {}}})", i, bodies[i],
                                quoted(graph_->text_at(i))));
  std::vector<std::string> edges;
  for (const edge& e : edges_of(*graph_))
    edges.push_back(fmt::format(R"({{"from": {}, "to": {}, "kind": "{}"}})", e.from, e.to, e.kind));
  return fmt::format(R"({{"name": {}, "requests": [{}], "edges": [{}]}})", quoted(name()),
                     fmt::join(nodes, ", "), fmt::join(edges, ", "));
}

}  // namespace troupe
